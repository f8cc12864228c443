#include "sched/source/port_profiles.h"

#include <algorithm>

namespace berth::sched {
namespace {

/// Prepares `answers` for `key`: clears it if it belonged to another key, and appends 0 (unknown) for new profiles.
template <class Answer>
void answer_for(const tables::NodeTable& nodes, const std::string& key, std::string& last,
                std::vector<Answer>& answers) {
  if (key != last) answers.clear(), last = key;
  answers.resize(nodes.fixed->port_profiles.size(), 0);
}

}  // namespace

const std::vector<std::uint32_t>& PortProfiles::free_on(const tables::NodeTable& nodes,
                                                        const std::string& host_network) {
  answer_for(nodes, host_network, host_network_, free_);
  return free_;
}

std::uint32_t PortProfiles::free_on(const tables::NodeTable& nodes, const std::string& host_network,
                                    std::uint32_t profile) {
  static_cast<void>(free_on(nodes, host_network));
  std::uint32_t& free = free_[profile];
  if (free != 0) return free;
  free = 1;
  const network::NodePorts& ports = nodes.ports_of_profile(profile);
  if (const network::NodePorts::Alias* const alias = ports.alias(host_network_))
    for (const std::uint32_t address : alias->addresses)
      free = std::max(free, ports.addresses[address].dynamic_free + 1);
  return free;
}

const std::vector<std::uint8_t>& PortProfiles::reserved_of(const tables::NodeTable& nodes,
                                                           const std::string& requested) {
  answer_for(nodes, requested, requested_, statics_);
  return statics_;
}

}  // namespace berth::sched
