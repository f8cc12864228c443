#include <algorithm>

#include "base/assert.h"
#include "preempt/victims.h"

namespace berth::preempt {
namespace {

using base::wrap_add;
using base::wrap_sub;

bool reserves(const model::NetworkResource& network, std::int64_t port) {
  return std::any_of(network.reserved_ports.begin(), network.reserved_ports.end(),
                     [&](const model::Port& p) { return p.value == port; });
}

/// One network request on one device.
class Device {
 public:
  Device(const std::string& name, std::int64_t job_priority, const model::NetworkResource& ask,
         const network::NetworkIndex& index, std::span<const Candidate> candidates, Scratch& scratch,
         const model::Quirks& quirks)
      : name_(name), priority_(job_priority), ask_(ask), candidates_(candidates), s_(scratch), quirks_(quirks) {
    total_ = index.node().available_mbits(name);
    free_ = wrap_sub(total_, index.used_mbits(name));
  }

  /// Appends positions in network_users to `chosen`; false: this device cannot help (R-PREEMPT-505 to 508).
  bool choose(std::vector<std::uint32_t>& chosen) {
    if (total_ < ask_.mbits) return false;
    s_.listed.clear();
    for (std::uint32_t i = 0; i < s_.network_users.size(); ++i)
      if (first(i).device == name_ && candidate(i).preemptible_by(priority_)) s_.listed.push_back(i);
    BERTH_ASSERT(!s_.listed.empty());                      // the device is that of a preemptible candidate
    for (const model::Port& port : ask_.reserved_ports) {  // R-PREEMPT-506
      const auto holder = std::find_if(s_.listed.rbegin(), s_.listed.rend(), [&](std::uint32_t i) {
        const auto& networks = s_.network_users[i].networks;
        return std::any_of(networks.begin(), networks.end(), [&](const auto& n) { return reserves(n, port.value); });
      });
      if (holder == s_.listed.rend()) {
        if (blocked(port.value)) return false;
      } else if (quirks_.port_holders_dropped || std::find(chosen.begin(), chosen.end(), *holder) == chosen.end()) {
        take(*holder, chosen);
      }
    }
    holders_ = chosen.size();
    std::erase_if(s_.listed,
                  [&](std::uint32_t i) { return std::find(chosen.begin(), chosen.end(), i) != chosen.end(); });
    if (enough()) return true;
    s_.ranked.clear();
    for (const std::uint32_t i : s_.listed)
      s_.ranked.push_back(
          {i, 0,
           network_distance(ask_.mbits, first(i).mbits) + penalty(candidate(i).max_parallel, candidate(i).preempted)});
    // A stable sort: with a request of 0 Mbit/s the keys are not comparable and keep their order.
    std::stable_sort(s_.ranked.begin(), s_.ranked.end(), [&](const Scratch::Ranked& a, const Scratch::Ranked& b) {
      const std::int64_t qa = candidate(a.candidate).priority, qb = candidate(b.candidate).priority;
      return qa != qb ? qa < qb : a.key < b.key;
    });
    for (const Scratch::Ranked& x : s_.ranked) {
      take(x.candidate, chosen);
      if (enough()) return true;
    }
    return false;
  }

  /// Drops victims that the bandwidth does not need (R-PREEMPT-511), holders of requested ports included
  /// (R-PREEMPT-514).
  void eliminate(std::vector<std::uint32_t>& chosen) const {
    const std::int64_t ask = ask_.mbits;
    if (ask == 0) return;
    const std::size_t kept = quirks_.port_holders_dropped ? 0 : holders_;
    std::stable_sort(chosen.begin() + static_cast<std::ptrdiff_t>(kept), chosen.end(), [&](auto a, auto b) {
      return network_distance(ask, first(a).mbits) > network_distance(ask, first(b).mbits);
    });
    std::int64_t sum = free_;
    for (std::size_t i = 0; i < chosen.size(); ++i) {
      for (const model::NetworkResource& network : s_.network_users[chosen[i]].networks)
        if (network.device == name_) sum = wrap_add(sum, network.mbits);
      if (i + 1 < kept || sum == 0 || sum < ask) continue;
      chosen.resize(i + 1);
      return;
    }
  }

 private:
  [[nodiscard]] const model::NetworkResource& first(std::uint32_t user) const {
    return s_.network_users[user].networks.front();
  }
  [[nodiscard]] const Candidate& candidate(std::uint32_t user) const {
    return candidates_[s_.network_users[user].candidate];
  }
  void take(std::uint32_t user, std::vector<std::uint32_t>& chosen) {
    chosen.push_back(user);
    got_ = wrap_add(got_, first(user).mbits);
  }
  [[nodiscard]] bool enough() const { return wrap_add(got_, free_) >= ask_.mbits; }
  [[nodiscard]] bool blocked(std::int64_t port) const {  // R-PREEMPT-503
    for (std::uint32_t i = 0; i < s_.network_users.size(); ++i)
      if (first(i).device == name_ && !candidate(i).preemptible_by(priority_) && reserves(first(i), port)) return true;
    return false;
  }

  const std::string& name_;
  std::int64_t priority_;
  const model::NetworkResource& ask_;
  std::span<const Candidate> candidates_;
  Scratch& s_;
  const model::Quirks& quirks_;
  std::size_t holders_ = 0;  // number of chosen ones, at the front, that hold requested ports
  std::int64_t total_ = 0, free_ = 0, got_ = 0;
};

}  // namespace

void choose_for_network(std::int64_t job_priority, const model::NetworkResource& ask,
                        const network::NetworkIndex& index, std::span<const Candidate> candidates, Scratch& s,
                        Victims& victims, const model::Quirks& quirks) {
  s.network_users.clear();
  std::vector<std::string> devices;  // devices of the lists, ascending (R-PREEMPT-1102)
  for (std::uint32_t i = 0; i < candidates.size(); ++i) {
    if (!candidates[i].resources) continue;
    auto networks = model::flatten_networks(*candidates[i].resources);
    if (networks.empty()) continue;
    if (candidates[i].preemptible_by(job_priority)) devices.push_back(networks.front().device);
    s.network_users.push_back({i, std::move(networks)});
  }
  std::sort(devices.begin(), devices.end());
  devices.erase(std::unique(devices.begin(), devices.end()), devices.end());
  std::vector<std::uint32_t> chosen;
  for (const std::string& name : devices) {
    chosen.clear();
    Device device(name, job_priority, ask, index, candidates, s, quirks);
    if (!device.choose(chosen)) continue;
    device.eliminate(chosen);
    for (const std::uint32_t user : chosen) victims.push_back(s.network_users[user].candidate);
    return;
  }
}

}  // namespace berth::preempt
