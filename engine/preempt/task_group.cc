#include <algorithm>

#include "preempt/victims.h"
#include "rank/fit.h"

namespace berth::preempt {
namespace {

using base::wrap_add;
using base::wrap_sub;
using model::FlatResources;

void add(FlatResources& to, const Candidate& c) {
  to.cpu_mhz = wrap_add(to.cpu_mhz, c.cpu_mhz);
  to.memory_mb = wrap_add(to.memory_mb, c.memory_mb);
  to.disk_mb = wrap_add(to.disk_mb, c.disk_mb);
  if (c.cores && !c.cores->empty()) model::merge_cores(to.cores, *c.cores);
}

void subtract(FlatResources& from, const Candidate& c) {
  from.cpu_mhz = wrap_sub(from.cpu_mhz, c.cpu_mhz);
  from.memory_mb = wrap_sub(from.memory_mb, c.memory_mb);
  from.disk_mb = wrap_sub(from.disk_mb, c.disk_mb);
  if (c.cores && !c.cores->empty()) model::remove_cores(from.cores, *c.cores);
}

bool covers(const FlatResources& room, const FlatResources& ask) {
  return rank::uncovered(room, ask) == rank::Dimension::none;
}

}  // namespace

void choose_for_resources(std::int64_t job_priority, const FlatResources& room, const FlatResources& ask,
                          std::span<const Candidate> candidates, Scratch& s, Victims& victims, std::int64_t fewest) {
  auto take_all_out = [&] {  // R-PREEMPT-403
    s.room = room;
    for (const Candidate& c : candidates) subtract(s.room, c);
  };
  s.preemptible.clear();
  for (std::uint32_t i = 0; i < candidates.size(); ++i)
    if (candidates[i].preemptible_by(job_priority)) s.preemptible.push_back(i);
  std::sort(s.preemptible.begin(), s.preemptible.end(), [&](std::uint32_t a, std::uint32_t b) {
    const std::int64_t qa = candidates[a].priority, qb = candidates[b].priority;
    return qa != qb ? qa < qb : a < b;
  });

  take_all_out();
  s.need = ask;
  s.ranked.clear();
  bool met = fewest <= 0 && covers(s.room, ask);
  if (met) return;
  for (std::size_t first = 0; first < s.preemptible.size() && !met;) {  // R-PREEMPT-405, 407
    std::size_t end = first;
    while (end < s.preemptible.size() &&
           candidates[s.preemptible[end]].priority == candidates[s.preemptible[first]].priority)
      ++end;
    for (std::size_t last = end; last > first && !met; --last) {
      std::size_t nearest = first;
      double smallest = 0;
      for (std::size_t i = first; i < last; ++i) {
        const Candidate& c = candidates[s.preemptible[i]];
        const double score = distance(s.need, c) + penalty(c.max_parallel, c.preempted);
        if (i == first || score < smallest) nearest = i, smallest = score;
      }
      const std::uint32_t chosen = s.preemptible[nearest];
      add(s.room, candidates[chosen]);
      s.ranked.push_back({chosen, static_cast<std::uint32_t>(s.ranked.size()), distance(ask, candidates[chosen])});
      met = static_cast<std::int64_t>(s.ranked.size()) >= fewest && covers(s.room, ask);
      s.preemptible[nearest] = s.preemptible[last - 1];
      subtract(s.need, candidates[chosen]);
    }
    first = end;
  }
  if (!met) return;

  // R-PREEMPT-421: the largest first, as many as needed.
  std::sort(s.ranked.begin(), s.ranked.end(), [](const Scratch::Ranked& a, const Scratch::Ranked& b) {
    return a.key != b.key ? a.key > b.key : a.order < b.order;
  });
  take_all_out();
  for (const Scratch::Ranked& x : s.ranked) {
    victims.push_back(x.candidate);
    add(s.room, candidates[x.candidate]);
    if (--fewest <= 0 && covers(s.room, ask)) break;
  }
}

}  // namespace berth::preempt
