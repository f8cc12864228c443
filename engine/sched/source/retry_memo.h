// Kept by state: what an attempt of a job came to that planned nothing, after one placement that failed. As long as the
// table of the Select that failed (ask_table.h) says that nobody has room, and all else is as it was, another attempt
// comes to the same. Threads: one worker's.
#pragma once

#include <memory>

#include "sched/failures.h"
#include "sched/source/ask_table.h"

namespace berth::sched {

struct RetryMemo {
  AskKey table;
  std::uint64_t job_changes = 0;             ///< JobKey::changes
  std::shared_ptr<const model::Job> object;  ///< JobTable::objects
  std::shared_ptr<const tables::ColdState> surroundings;
  NodePlace ready{NodePlace::kReady};
  std::uint64_t epoch = 0, kinds_left = 0;  ///< of the nodes that `eligibility` is of
  std::vector<GroupResult> groups;          ///< but for the counts of the failure
  std::size_t failed = 0;                   ///< position of the group that did
  Eligibility eligibility;
  base::Uuid deployment;
};

class RetryMemos {
 public:
  /// Null: none.
  [[nodiscard]] const RetryMemo* find(const tables::CompiledJob& job) const {
    const auto at = of_job_.find(job.group_number);
    return at == of_job_.end() ? nullptr : &at->second;
  }
  /// That of the job, or one to be filled in.
  RetryMemo& add(const tables::CompiledJob& job) {
    constexpr std::size_t kMost = 16384;
    if (of_job_.size() >= kMost) of_job_.clear();
    return of_job_[job.group_number];
  }

 private:
  friend struct MemoryAccess;
  tsl::robin_map<std::uint64_t, RetryMemo, base::BitHash> of_job_;  // by CompiledJob::group_number
};

}  // namespace berth::sched
