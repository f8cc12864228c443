// Cache by state: the result of a job's attempt that planned nothing because its only placement failed. Another attempt
// has the same result as long as the table of the failed Select (ask_table.h) has no node with room and all other
// inputs are unchanged. Threads: one worker.
#pragma once

#include <memory>

#include "sched/failures.h"
#include "sched/source/ask_table.h"

namespace berth::tables {
struct ColdState;
}
namespace berth::sched {

struct RetryMemo {
  AskKey table;
  std::uint64_t job_changes = 0;             ///< JobKey::changes
  std::shared_ptr<const model::Job> object;  ///< JobTable::objects
  std::shared_ptr<const tables::ColdState> surroundings;
  NodePlace ready{NodePlace::kReady};
  std::uint64_t epoch = 0, kinds_left = 0;  ///< of the node table for which `eligibility` is valid
  std::vector<GroupResult> groups;          ///< without the metrics of the failure
  std::size_t failed = 0;                   ///< position of the group that failed
  Eligibility eligibility;
  base::Uuid deployment;
};

class RetryMemos {
 public:
  /// Returns the result cached for the job; null: there is none.
  [[nodiscard]] const RetryMemo* find(const tables::CompiledJob& job) const {
    const auto at = of_job_.find(job.group_number);
    return at == of_job_.end() ? nullptr : &at->second;
  }
  /// Returns the entry of the job, or a new one to be filled.
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
