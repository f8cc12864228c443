#include "io/cluster_json.h"

#include <limits>

#include "base/json_members.h"
#include "io/cluster_parts.h"
#include "model/job.h"
#include "model/predicates.h"

namespace berth::io {
namespace {

using model::JobTable;

Result<void> expect_list(const json::Value& list, const std::string& path, const std::string& place) {
  if (list.is_array() || list.is_null()) return {};
  return tl::unexpected(
      InputError{path, place, std::string("is ") + list.kind() + " and should be a list", "write a list"});
}

template <class T>
Result<void> read_list(const json::Value& list, std::vector<T>& out, const model::ReadOptions& base,
                       const std::string& name) {
  if (auto done = expect_list(list, base.path, base.place + "/" + name); !done) return done;
  out.resize(list.items().size());
  for (std::size_t i = 0; i < list.items().size(); ++i) {
    model::ReadOptions options = base;
    options.place += "/" + name + "/" + std::to_string(i);
    if (auto done = model::from_json(list.items()[i], out[i], options); !done) return done;
  }
  return {};
}

Result<void> read_references(const json::Value& list, const JobTable& jobs, JobTable& out,
                             const model::ReadOptions& base, const std::string& name) {
  if (auto done = expect_list(list, base.path, base.place + "/" + name); !done) return done;
  for (std::size_t i = 0; i < list.items().size(); ++i) {
    const std::uint64_t index = list.items()[i].as_uint(~0ULL);
    if (index >= jobs.size())
      return tl::unexpected(InputError{base.path, base.place + "/" + name + "/" + std::to_string(i),
                                       "is no index into the " + std::to_string(jobs.size()) + " jobs of the vector",
                                       "use an index into `jobs`"});
    out.push_back(jobs[index]);
  }
  return {};
}

Result<json::Value> expand_nodes(const json::Value& nodes, const model::ReadOptions& base) {
  if (auto done = expect_list(nodes, base.path, base.place + "/Nodes"); !done) return tl::unexpected(done.error());
  json::Array out;
  out.reserve(nodes.items().size());
  for (std::size_t i = 0; i < nodes.items().size(); ++i) {
    const json::Value& entry = nodes.items()[i];
    const json::Value* like = entry.find("_like");
    if (!like) {
      out.push_back(entry);
      continue;
    }
    const std::uint64_t source = like->as_uint(~0ULL);
    if (source >= nodes.items().size() || nodes.items()[source].has("_like"))
      return tl::unexpected(InputError{base.path, base.place + "/Nodes/" + std::to_string(i) + "/_like",
                                       "names no complete entry of the list", "name an entry without `_like`"});
    json::Value copy = nodes.items()[source];
    json::Object own = entry.members();
    std::erase_if(own, [](const json::Member& member) { return member.key == "_like"; });
    json::merge_members(own, copy);
    out.push_back(std::move(copy));
  }
  return json::Value(std::move(out));
}

}  // namespace

bool is_priority(std::int64_t priority) {
  return priority >= std::numeric_limits<std::int32_t>::min() && priority <= std::numeric_limits<std::int32_t>::max();
}

std::string job_problem(const model::Job& job) {
  if (!is_priority(job.priority)) return "has a priority of more than 32 bits";
  for (const model::TaskGroup& group : job.task_groups)
    if (std::string problem = model::count_problem(group); !problem.empty()) return problem;
  return {};
}

Result<JobTable> read_job_table(const json::Value& jobs, const std::string& path, const std::string& place) {
  if (auto done = expect_list(jobs, path, place); !done) return tl::unexpected(done.error());
  JobTable table;
  table.reserve(jobs.items().size());
  for (std::size_t i = 0; i < jobs.items().size(); ++i) {
    auto job = std::make_shared<model::Job>();
    model::ReadOptions options;
    options.path = path;
    options.place = place + "/" + std::to_string(i);
    if (auto done = model::from_json(jobs.items()[i], *job, options); !done) return tl::unexpected(done.error());
    for (std::size_t g = 0; g < job->task_groups.size(); ++g)
      if (const std::string problem = model::count_problem(job->task_groups[g]); !problem.empty())
        return tl::unexpected(InputError{path, options.place + "/TaskGroups/" + std::to_string(g), problem,
                                         "a count is at most " + std::to_string(model::kCountMax)});
    if (!is_priority(job->priority))
      return tl::unexpected(InputError{path, options.place + "/Priority", "is out of range", "write 1 to 32767"});
    table.push_back(std::move(job));
  }
  return table;
}

Result<model::ClusterState> read_vector_state(const json::Value& state, const JobTable& jobs, const std::string& path,
                                              const std::string& place) {
  model::ClusterState out;
  model::ReadOptions options;
  options.path = path;
  options.place = place;
  options.jobs = &jobs;
  const auto index = read_number(state, "Index", options);
  if (!index) return tl::unexpected(index.error());
  out.index = index->value_or(0);
  if (const json::Value* config = state.find("SchedulerConfig"); config && !config->is_null()) {
    model::ReadOptions here = options;
    here.place += "/SchedulerConfig";
    if (auto done = model::from_json(*config, out.scheduler_config.emplace(), here); !done)
      return tl::unexpected(done.error());
    if (const json::Value* preemption = config->find("PreemptionConfig"); !preemption || preemption->is_null())
      out.scheduler_config->preemption_config = {false, false, false, false};
    else if (!preemption->has("SystemSchedulerEnabled"))
      out.scheduler_config->preemption_config.system_scheduler_enabled = false;
  }
  auto nodes = expand_nodes(state["Nodes"], options);
  if (!nodes) return tl::unexpected(nodes.error());
  Result<void> done = read_list(*nodes, out.nodes, options, "Nodes");
  if (done) done = read_list(state["NodePools"], out.node_pools, options, "NodePools");
  if (done) done = read_list(state["Namespaces"], out.namespaces, options, "Namespaces");
  if (done) done = read_references(state["Jobs"], jobs, out.jobs, options, "Jobs");
  if (done) done = read_references(state["JobVersions"], jobs, out.job_versions, options, "JobVersions");
  if (done) done = read_list(state["Allocs"], out.allocs, options, "Allocs");
  if (done) done = read_list(state["Evals"], out.evals, options, "Evals");
  if (done) done = read_list(state["Deployments"], out.deployments, options, "Deployments");
  if (done) done = read_list(state["HostVolumes"], out.host_volumes, options, "HostVolumes");
  if (done) done = read_list(state["HostVolumeClaims"], out.host_volume_claims, options, "HostVolumeClaims");
  if (done) done = read_list(state["CSIVolumes"], out.csi_volumes, options, "CSIVolumes");
  if (done) done = read_list(state["CSIPlugins"], out.csi_plugins, options, "CSIPlugins");
  for (std::size_t i = 0; done && i < out.evals.size(); ++i)
    if (!is_priority(out.evals[i].priority))
      done = tl::unexpected(
          InputError{path, place + "/Evals/" + std::to_string(i) + "/Priority", "is out of range", "write 1 to 32767"});
  if (!done) return tl::unexpected(done.error());
  return out;
}

}  // namespace berth::io
