#include "run/quotas.h"

#include <algorithm>
#include <limits>

#include "model/job.h"

namespace berth::run {
namespace {

void add(sim::Amounts& to, const sim::Amounts& what, std::int64_t sign) {
  to.cpu_mhz += sign * what.cpu_mhz, to.memory_mb += sign * what.memory_mb;
  to.disk_mb += sign * what.disk_mb, to.devices += sign * what.devices;
}

}  // namespace

void Quotas::wait(std::uint32_t space, double key, std::uint64_t number, const Job& job) {
  forget(job.eval.job);  // of an earlier version: the key may be another one
  const Place place{key, number};
  spaces_[space].waiting.emplace(place, job);
  place_of_.emplace(job.eval.job, std::pair(space, place));
  changed();
}

bool Quotas::forget(tables::JobKeyRow job) {
  const auto at = place_of_.find(job);
  if (at == place_of_.end()) return false;
  spaces_[at->second.first].waiting.erase(at->second.second);
  place_of_.erase(at);
  changed();
  return true;
}

void Quotas::started(std::uint32_t space, tables::JobKeyRow job, tables::AllocRow alloc, const sim::Amounts& held) {
  Running& runs = jobs_[job];
  if (runs.allocs.empty()) {
    runs.start = ++starts_;
    spaces_[space].runs.emplace(runs.start, job);
  }
  runs.allocs.push_back(alloc);
  add(runs.held, held, 1), add(spaces_[space].used, held, 1);
}

void Quotas::ended(std::uint32_t space, tables::JobKeyRow job, tables::AllocRow alloc, const sim::Amounts& held) {
  const auto at = jobs_.find(job);
  if (at == jobs_.end() || std::erase(at->second.allocs, alloc) == 0) return;
  add(at->second.held, held, -1), add(spaces_[space].used, held, -1);
  if (!at->second.allocs.empty()) return;
  spaces_[space].runs.erase(at->second.start);
  jobs_.erase(at);
}

bool Quotas::within(const Space& space, const sim::Amounts& used, double more) const {
  const double share = space.quota + more;
  const auto fits = [&](std::int64_t amount, std::int64_t capacity) {
    return static_cast<double>(amount) <= share * static_cast<double>(capacity);
  };
  return fits(used.cpu_mhz, capacity_.cpu_mhz) && fits(used.memory_mb, capacity_.memory_mb) &&
         fits(used.disk_mb, capacity_.disk_mb) && fits(used.devices, capacity_.devices);
}

double Quotas::dominant(const sim::Amounts& used) const {
  return std::max(
      {sim::Packing::share(used.cpu_mhz, capacity_.cpu_mhz), sim::Packing::share(used.memory_mb, capacity_.memory_mb),
       sim::Packing::share(used.disk_mb, capacity_.disk_mb), sim::Packing::share(used.devices, capacity_.devices)});
}

/// Dominant share / quota. Without a quota all use is above it.
double Quotas::rank(const Space& space, const sim::Amounts& used) const {
  const double share = dominant(used);
  if (space.quota > 0) return share / space.quota;
  return share > 0 ? std::numeric_limits<double>::infinity() : 0;
}

/// The namespace whose next job is examined; ties go to the first.
std::optional<std::size_t> Quotas::next_space() const {
  std::optional<std::size_t> best;
  for (std::size_t i = 0; i < spaces_.size(); ++i) {
    const Space& space = spaces_[i];
    const auto next = space.examined ? space.waiting.upper_bound(*space.examined) : space.waiting.begin();
    if (next == space.waiting.end()) continue;
    if (!best || rank(space, space.used) < rank(spaces_[*best], spaces_[*best].used)) best = i;
  }
  return best;
}

std::optional<Quotas::Start> Quotas::next_to_start(std::int64_t now_ns, std::uint64_t index) {
  const auto begin_part = [&](bool borrowing) {
    borrowing_ = borrowing;
    for (Space& space : spaces_) space.examined.reset();
  };
  if (!passing_) passing_ = true, lender_waits_ = false, begin_part(false);
  while (true) {
    const auto at = next_space();
    if (!at) {
      if (borrowing_ || lender_waits_) return std::nullopt;
      begin_part(true);
      continue;
    }
    Space& space = spaces_[*at];
    const auto next = space.examined ? space.waiting.upper_bound(*space.examined) : space.waiting.begin();
    space.examined = next->first;
    const Job& job = next->second;
    sim::Amounts used = space.used;
    add(used, job.demand, 1);
    if (!within(space, used, borrowing_ ? rule_.borrow : 0)) continue;
    forecast_->begin(now_ns, index);
    Start out{job.eval, {}};
    if (!fits(job)) {
      if (borrowing_) continue;
      auto evicted = rule_.reclaim ? reclaim(job, *at) : std::nullopt;
      if (!evicted) {
        lender_waits_ = true;
        continue;
      }
      out.evicted = std::move(*evicted);
    }
    place_of_.erase(out.eval.job);
    space.waiting.erase(next);
    return out;
  }
}

/// Ends jobs in the trial until the job fits. nullopt: it does not.
std::optional<std::vector<tables::JobKeyRow>> Quotas::reclaim(const Job& job, std::size_t of) {
  std::vector<tables::JobKeyRow> out;
  std::vector<sim::Amounts> used;
  std::vector<std::map<std::uint64_t, tables::JobKeyRow, std::greater<>>::const_iterator> next;
  for (const Space& space : spaces_) used.push_back(space.used), next.push_back(space.runs.begin());
  while (true) {
    std::optional<std::size_t> from;
    for (std::size_t i = 0; i < spaces_.size(); ++i) {
      if (i == of || next[i] == spaces_[i].runs.end() || within(spaces_[i], used[i], 0)) continue;
      if (!from || rank(spaces_[i], used[i]) > rank(spaces_[*from], used[*from])) from = i;
    }
    if (!from) return std::nullopt;
    const Running& runs = jobs_.at(next[*from]->second);
    out.push_back(next[*from]->second);
    for (const tables::AllocRow alloc : runs.allocs) forecast_->end(alloc);
    add(used[*from], runs.held, -1);
    ++next[*from];
    if (fits(job)) return out;
  }
}

}  // namespace berth::run
