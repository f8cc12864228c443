#include <algorithm>
#include <limits>

#include "preempt/victims.h"

namespace berth::preempt {
namespace {

constexpr std::uint32_t kNoGroup = std::numeric_limits<std::uint32_t>::max();

std::uint32_t group_of(const rank::DeviceAccounter& accounter, const model::AllocatedDevice& held) {
  const auto groups = accounter.groups();
  for (std::uint32_t g = 0; g < groups.size(); ++g) {
    const model::NodeDevice& device = *groups[g].device;
    if (device.vendor == held.vendor && device.type == held.type && device.name == held.name) return g;
  }
  return kNoGroup;
}

}  // namespace

Result<void, match::NotANumber> choose_for_device(std::int64_t job_priority, const match::DeviceRequest& request,
                                                  const rank::DeviceAccounter& accounter,
                                                  std::span<const Candidate> candidates, match::Patterns& patterns,
                                                  Scratch& s, Victims& victims, const model::Quirks& quirks) {
  const auto groups = accounter.groups();
  const auto wanted = static_cast<std::int64_t>(request.count);
  bool has_best = false;
  std::int64_t best_net = 0;
  const std::size_t before = victims.size();
  s.device_users.clear();
  for (std::uint32_t i = 0; i < candidates.size(); ++i) {  // R-PREEMPT-603
    if (!candidates[i].resources) continue;
    for (const auto& [task, allocated] : candidates[i].resources->tasks)
      for (const model::AllocatedDevice& held : allocated.devices) {
        const std::uint32_t g = group_of(accounter, held);
        if (g == kNoGroup) continue;
        const auto fits = match::matches(request, *groups[g].device, patterns);
        if (!fits) return tl::unexpected(fits.error());
        if (*fits) s.device_users.push_back({g, i, held.device_ids.size()});
      }
  }
  for (std::uint32_t g = 0; g < groups.size(); ++g) {  // R-PREEMPT-604
    s.counts.assign(candidates.size(), 0);
    s.preemptible.clear();
    for (const Scratch::DeviceUser& user : s.device_users) {
      if (user.group != g) continue;
      s.counts[user.candidate] += static_cast<std::int64_t>(user.instances);
      if (!candidates[user.candidate].preemptible_by(job_priority)) continue;
      // Entries of the same candidate are adjacent.
      if (quirks.free_devices_ignored || s.preemptible.empty() || s.preemptible.back() != user.candidate)
        s.preemptible.push_back(user.candidate);
    }
    std::stable_sort(s.preemptible.begin(), s.preemptible.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return candidates[a].priority < candidates[b].priority; });
    const auto free = static_cast<std::int64_t>(groups[g].free_count());
    std::int64_t taken = 0;
    std::size_t used = 0;
    bool reached = false;
    while (used < s.preemptible.size() && !reached) {
      taken += s.counts[s.preemptible[used++]];
      reached = taken + free >= wanted;
    }
    if (!reached) continue;
    s.preemptible.resize(used);
    // R-PREEMPT-605: candidates with the most instances first. Free instances do not count here. Without the quirk they
    // do, but the first candidate is evicted anyway, because the offer failed without evictions.
    std::stable_sort(s.preemptible.begin(), s.preemptible.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return s.counts[a] > s.counts[b]; });
    taken = quirks.free_devices_ignored ? 0 : free;
    used = 0;
    while (used < s.preemptible.size() && ((!quirks.free_devices_ignored && used == 0) || taken < wanted))
      taken += s.counts[s.preemptible[used++]];
    s.preemptible.resize(used);
    std::int64_t net = 0;
    for (std::size_t i = 0; i < used; ++i) {
      const std::int64_t q = candidates[s.preemptible[i]].priority;
      const auto seen = s.preemptible.begin() + static_cast<std::ptrdiff_t>(i);
      if (std::none_of(s.preemptible.begin(), seen, [&](std::uint32_t c) { return candidates[c].priority == q; }))
        net += q;
    }
    if (has_best && net >= best_net) continue;  // R-PREEMPT-606
    has_best = true;
    best_net = net;
    victims.resize(before);
    victims.insert(victims.end(), s.preemptible.begin(), s.preemptible.end());
  }
  return {};
}

}  // namespace berth::preempt
