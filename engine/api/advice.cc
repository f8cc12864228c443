// Implements berth/advice.h.
#include "advice/advice.h"

#include "api/impl.h"
#include "tables/export.h"

namespace berth {
namespace {

GroupAdvice to_public(const advice::GroupAdvice& from) {
  GroupAdvice out;
  out.task_group = from.group;
  out.failed = from.failed, out.refused = from.refused;
  out.filtered_most = from.filtered_most, out.filtered_nodes = from.filtered_nodes;
  for (const advice::Shortage& node : from.nearest)
    out.nearest.push_back({node.node_name, node.cpu_mhz, node.memory_mb, node.disk_mb, node.cores, node.reason()});
  for (const advice::Change& change : from.changes)
    out.edits.push_back({change.node.empty() ? change.text : "on node " + change.text,
                         change.patch.is_null() ? "" : json::to_text(change.patch)});
  return out;
}

}  // namespace

Result<std::vector<GroupAdvice>> Cluster::advise(const Job& job, std::int64_t now_ns) const {
  const InUse::Turn turn(impl_->use);
  if (!turn) return tl::unexpected(impl_->use.input_error());
  const model::ClusterState state = tables::to_cluster(impl_->store().current());
  const advice::Question question{state, job.impl_->input, job.impl_->path, "", {}, now_ns, 0, &impl_->strategy};
  auto registration = advice::read_job(state, question.document, question.path, "");
  if (!registration) return tl::unexpected(registration.error());
  if (!registration->job) return tl::unexpected(InputError{question.path, "", registration->error, "correct the job"});
  server::DryRun dry_run(state, *registration, now_ns, question.strategy);
  const server::DryRunAnswer answer = dry_run.answer(question.order);
  if (!answer.error.empty()) return tl::unexpected(InputError{question.path, "", answer.error, ""});
  std::vector<GroupAdvice> out;
  for (const advice::GroupAdvice& group : advice::advise(question, *registration, dry_run, answer))
    out.push_back(to_public(group));
  return out;
}

}  // namespace berth
