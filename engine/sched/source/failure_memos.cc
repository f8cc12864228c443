#include "sched/source/failure_memos.h"

#include <tuple>

namespace berth::sched {

namespace {

constexpr std::size_t kJobsMost = 16384;  // that are kept alive

/// The place of the next one of at most `most`, in turn.
template <class List>
std::size_t next_place(List& list, std::size_t last, std::size_t most) {
  if (list.size() >= most) return (last + 1) % list.size();
  list.emplace_back();
  return list.size() - 1;
}

}  // namespace

bool request_the_same(const tables::CompiledGroup& a, const tables::CompiledGroup& b) {
  if (&a == &b) return true;
  const auto amounts = [](const tables::CompiledGroup& g) {
    return std::tie(g.ask, g.needs, g.cpu_mhz, g.memory_mb, g.disk_mb, g.cores, g.cpu_beside_cores_mhz);
  };
  return amounts(a) == amounts(b) && a.spec->networks == b.spec->networks &&
         std::ranges::equal(a.spec->tasks, b.spec->tasks, [](const model::Task& x, const model::Task& y) {
           return x.resources == y.resources && x.lifecycle == y.lifecycle;
         });
}

std::size_t FailureKey::hash() const {
  const base::BitHash hash;
  const auto number = [](std::int64_t value) { return static_cast<std::uint64_t>(value); };
  std::uint64_t out = job ? hash(job) + position : hash(group->ask);
  if (!job)
    for (const std::int64_t amount : {group->cpu_mhz, group->memory_mb, group->disk_mb})
      out = hash(out ^ number(amount));
  return hash(out ^ number(evicted)) + base_set;
}

FailureMemo& FailureMemos::add(const FailureKey& key, const tables::CompiledJob& job, std::size_t nodes) {
  if (FailureMemo* known = find(key)) return *known;
  constexpr std::size_t kBytes = std::size_t{32} << 20, kLeast = 4;
  next_ = next_place(memos_, next_, std::clamp(kBytes / (nodes + 1), kLeast, kJobsMost));
  FailureMemo& memo = memos_[next_];
  drop(memo);
  memo.key = key;
  memo.number = ++numbers_;
  memo.job = job.spec, memo.groups = job.group_list;
  of_key_[key] = next_;
  return memo;
}

RetryMemo& FailureMemos::add_retry(const std::shared_ptr<const model::Job>& job, const FailureMemo& memo) {
  std::size_t place = next_retry_;
  if (const auto known = of_job_.find(job.get()); known != of_job_.end()) {
    place = known->second;
  } else {
    place = next_retry_ = next_place(retries_, next_retry_, kJobsMost);
    if (const RetryMemo& other = retries_[place]; other.job) of_job_.erase(other.job.get());
    of_job_[job.get()] = place;
  }
  RetryMemo& out = retries_[place];
  out.job = job;
  out.memo = of_key_.at(memo.key);
  out.memo_number = memo.number;
  return out;
}

}  // namespace berth::sched
