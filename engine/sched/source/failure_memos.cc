#include "sched/source/failure_memos.h"

namespace berth::sched {

namespace {

constexpr std::size_t kMemosMost = 16384;

/// The place of the next one of at most `most`, in turn.
template <class List>
std::size_t next_place(List& list, std::size_t last, std::size_t most) {
  if (list.size() >= most) return (last + 1) % list.size();
  list.emplace_back();
  return list.size() - 1;
}

}  // namespace

FailureMemo& FailureMemos::add(const FailureKey& key, std::size_t nodes) {
  if (FailureMemo* known = find(key)) return *known;
  constexpr std::size_t kBytes = std::size_t{32} << 20, kLeast = 4;
  next_ = next_place(memos_, next_, std::clamp(kBytes / (nodes + 1), kLeast, kMemosMost));
  FailureMemo& memo = memos_[next_];
  drop(memo);
  memo.key = key;
  memo.number = ++numbers_;
  of_key_[key] = next_;
  return memo;
}

RetryMemo& FailureMemos::add_retry(const tables::CompiledJob& job, const FailureMemo& memo) {
  std::size_t place = next_retry_;
  if (const auto known = of_job_.find(job.group_number); known != of_job_.end()) {
    place = known->second;
  } else {
    place = next_retry_ = next_place(retries_, next_retry_, kMemosMost);
    of_job_.erase(retries_[place].group_number);
    of_job_[job.group_number] = place;
  }
  RetryMemo& out = retries_[place];
  out.group_number = job.group_number;
  out.memo = of_key_.at(memo.key);
  out.memo_number = memo.number;
  return out;
}

}  // namespace berth::sched
