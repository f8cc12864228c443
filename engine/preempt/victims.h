// Chooses the allocations to evict from one node (part 04 of the specification).
//
// Three attempts, one per kind of shortage. Each gets the node's candidates in candidate order (R-RANK-504) and appends
// the chosen ones to `victims` as positions in that list. If the list is unchanged, no eviction helps and the node
// stays unfit. The attempts are independent: the caller leaves victims of one out of the next one's candidates
// (R-PREEMPT-303).
//
// Comments name the quirks that apply; by default all are on, as in Nomad.
//
// Threads: a Scratch belongs to one worker; everything else is read only.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "match/device_match.h"
#include "model/quirks.h"
#include "network/network_index.h"
#include "preempt/candidate.h"
#include "rank/devices.h"

namespace berth::preempt {

using Victims = std::vector<std::uint32_t>;

/// Reused memory; its contents do not outlive a call.
struct Scratch {
  /// `order` settles ties where the sort itself is not stable (R-PREEMPT-423).
  struct Ranked {
    std::uint32_t candidate, order;
    double key;
  };
  /// A candidate with networks.
  struct NetworkUser {
    std::uint32_t candidate;
    std::vector<model::NetworkResource> networks;  ///< merged by device; the first network's device decides the list
  };
  /// A candidate's entry for a device group.
  struct DeviceUser {
    std::uint32_t group, candidate;
    std::size_t instances;
  };
  model::FlatResources need, room;
  std::vector<std::uint32_t> preemptible;
  std::vector<Ranked> ranked;
  std::vector<NetworkUser> network_users;
  std::vector<std::uint32_t> listed;  ///< positions in network_users
  std::vector<DeviceUser> device_users;
  std::vector<std::int64_t> counts;  ///< instances by candidate
};

/// Victims for cpu, memory, disk and cores. `ask` is the new allocation's peak use. `room` is the node's capacity minus
/// its reservation, candidates not yet subtracted (R-PREEMPT-401 to 424). At least `fewest` are evicted if any can be.
/// Nomad evicts at least one, even if none is needed (R-PREEMPT-406). With `fewest` 0 none is evicted if `room` covers
/// `ask` together with the candidates.
void choose_for_resources(std::int64_t job_priority, const model::FlatResources& room, const model::FlatResources& ask,
                          std::span<const Candidate> candidates, Scratch& scratch, Victims& victims,
                          std::int64_t fewest = 1);

/// Victims for bandwidth and reserved ports of `ask`, group or task network, on one device of the node's index
/// (R-PREEMPT-501 to 512). A candidate that holds two of the ports is listed twice (R-PREEMPT-516). The holder of a
/// port can be dropped if the other victims free enough bandwidth (R-PREEMPT-514). Without the quirk
/// port_holders_dropped, holders come first, once each, and all stay.
void choose_for_network(std::int64_t job_priority, const model::NetworkResource& ask,
                        const network::NetworkIndex& index, std::span<const Candidate> candidates, Scratch& scratch,
                        Victims& victims, const model::Quirks& quirks = {});

/// Victims for device instances for `request`, from one group of `accounter` (R-PREEMPT-603 to 606). A candidate with
/// two entries of the group may be listed twice, and more may be evicted than needed in addition to the free instances.
/// Without the quirk free_devices_ignored, each is listed once and free instances count. An error is a compared NaN,
/// which fails the evaluation (R-FEAS-933).
[[nodiscard]] Result<void, match::NotANumber> choose_for_device(std::int64_t job_priority,
                                                                const match::DeviceRequest& request,
                                                                const rank::DeviceAccounter& accounter,
                                                                std::span<const Candidate> candidates,
                                                                match::Patterns& patterns, Scratch& scratch,
                                                                Victims& victims, const model::Quirks& quirks = {});

}  // namespace berth::preempt
