#include "server/eval_line.h"

#include <algorithm>

#include "base/time.h"

namespace berth::server {
namespace {

/// "columns:20,general:1"; "none" without Selects.
std::string sources_text(const sched::SourceCounts& counts) {
  std::string out;
  for (std::size_t i = 0; i < counts.selects.size(); ++i)
    if (counts.selects[i] > 0)
      out += (out.empty() ? "" : ",") + std::string(sched::kSourceNames[i]) + ":" + std::to_string(counts.selects[i]);
  std::replace(out.begin(), out.end(), ' ', '_');
  return out.empty() ? "none" : out;
}

}  // namespace

base::LogFields eval_fields(const Lane& lane, std::string_view trigger, std::int64_t took_ns) {
  const EvalRecord& record = *lane.record;
  const sched::EvalResult& result = lane.result;
  base::LogFields out{{"eval_id", base::to_text(record.id)}, {"type", std::string(broker::queue_name(record.type))}};
  if (record.job != tables::kNoRow) {
    const tables::JobKey& key = result.state->jobs.keys[record.job];
    out.emplace_back("namespace", result.state->text(key.job_namespace));
    out.emplace_back("job_id", result.state->text(key.job_id));
  }
  const char* const status = result.reblocked                               ? "blocked"
                             : result.status == sched::EvalStatus::complete ? "complete"
                                                                            : "failed";
  std::uint64_t failed = 0;
  for (const sched::GroupResult& group : result.groups)
    if (group.failed) failed += 1 + static_cast<std::uint64_t>(group.failure.coalesced);
  out.emplace_back("triggered_by", trigger);
  out.emplace_back("status", status);
  out.emplace_back("attempts", std::to_string(lane.attempts));
  out.emplace_back("placed", std::to_string(lane.placed));
  out.emplace_back("failed", std::to_string(failed));
  out.emplace_back("refused", std::to_string(lane.refused));
  out.emplace_back("sources", sources_text(lane.scratch.source_counts));
  out.emplace_back("took", base::duration_text(took_ns));
  return out;
}

}  // namespace berth::server
