// The service and batch scheduler: one evaluation from snapshot to plan and status (part 06 of the specification).
#pragma once

#include "sched/stack.h"

namespace berth::sched {

/// What the scheduler needs to know of an evaluation.
struct EvalFacts {
  base::Uuid id;
  std::string_view id_text;  ///< as it is written: seed of the visiting order
  tables::JobKeyRow job = tables::kNoRow;
  std::int64_t priority = 0;
  std::string_view triggered_by;
  bool batch = false;
  bool blocked = false;   ///< its status is `blocked`
  bool annotate = false;  ///< AnnotatePlan
  base::Time wait_until;
};

/// IDs of what an evaluation creates, in order of creation (R-MODEL-590, R-RECON-12): splitmix64 of a seed.
class IdStream {
 public:
  explicit IdStream(std::uint64_t seed) : state_(seed) {}
  base::Uuid next() {
    const std::uint64_t hi = draw();
    return {hi, draw()};
  }

 private:
  std::uint64_t draw() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15ULL;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
    return z ^ z >> 31;
  }
  std::uint64_t state_;
};

/// Per task group: what was asked, what failed.
struct GroupResult {
  tables::Symbol name = 0;
  bool in_job = false;  ///< the job has the group (queued counts exist for it)
  std::int64_t queued = 0;
  bool has_queued = false;
  std::uint64_t place = 0;  ///< annotation Place (R-RECON-33)
  bool failed = false;
  SelectMetrics failure;  ///< of the first failed placement; coalesced counts the others
};

enum class EvalStatus : std::uint8_t { complete, failed, error };

/// Everything one evaluation decided. The plan's metrics live in the scratch arena until the next evaluation starts.
struct EvalResult {
  EvalStatus status = EvalStatus::complete;
  std::string description;          ///< of a failed one, or the processing error
  std::string unsupported;          ///< name of the behaviour this build lacks; nothing else is valid then
  std::vector<GroupResult> groups;  ///< R-RECON-9 order
  bool has_queued = false;
  std::uint32_t attempts = 0;  ///< submitted plans
  bool submitted = false;
  PlanRows plan;
  bool has_blocked = false;  ///< a blocked evaluation was created
  base::Uuid blocked_id;
  std::uint32_t blocked_coalesced = 0;
  bool escaped = false;
  bool reblocked = false;  ///< the evaluation goes back to the blocked ones; no status update (R-SCHED-18)
  std::vector<std::pair<std::uint32_t, bool>> classes;  ///< class map of the blocked evaluation, by class code
  std::vector<std::string> missing_resources;
  base::Uuid deployment_id;                                               ///< nil: none
  std::vector<std::pair<std::uint32_t, std::int64_t>> deployment_groups;  ///< group position, desired total
  std::uint32_t port_collision_events = 0;
  void clear();
};

class GenericScheduler {
 public:
  explicit GenericScheduler(Scratch& scratch) : scratch_(scratch), stack_(scratch) {}

  /// Exhaustive mode: every Select takes the best of all nodes, ties to the first in visiting order, instead of
  /// stopping after Nomad's limit. Same scores from the same code.
  void set_exhaustive(bool exhaustive) { exhaustive_ = exhaustive; }
  /// For tests: without the plain path every Select takes the general one; decisions and metrics must not differ.
  void set_plain_path(bool plain) { plain_path_ = plain; }

  /// Processes one evaluation on `snapshot`. The plan is what would be submitted; the caller commits it.
  void process(const tables::Snapshot& snapshot, const EvalFacts& eval, rank::OrderProvider provider, IdStream& ids,
               EvalResult& result);

 private:
  Scratch& scratch_;
  GenericStack stack_;
  bool exhaustive_ = false;
  bool plain_path_ = true;
};

}  // namespace berth::sched
