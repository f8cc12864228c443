// Port lookups by column: whether the ports that a group requests are free on a node, without reading the allocations
// there. The step-by-step check is in resources/ports.h.
//
// Cached by attempt: whether stored ports are free of collisions. Cached for the last group: its static ports. Texts of
// recent failures are cached as well: they are the same on many nodes, and building one allocates. Threads: one worker.
#pragma once

#include "sched/node/proposed.h"
#include "sched/source/candidates.h"

namespace berth::sched {

// Needs of a group whose fit columns can decide, in addition to cpu, memory and disk.
/// Needs that do not affect the fit.
inline constexpr Needs kNoResource{Need::host_volumes,   Need::own_volumes,       Need::csi_volumes,
                                   Need::distinct_hosts, Need::distinct_property, Need::affinity,
                                   Need::spread,         Need::escapes,           Need::secrets,
                                   Need::wide_amounts,   Need::no_ask_number};
inline constexpr Needs kDynamicPorts =
    kNoResource | Needs{Need::network, Need::dynamic_ports, Need::several_host_networks};
inline constexpr Needs kPorts = kDynamicPorts | Needs{Need::static_ports};
inline constexpr Needs kHeldPorts =  // a port in use is reported before other resources are examined
    kPorts | Needs{Need::task_network, Need::devices, Need::device_ids, Need::cores};

class PortFit {
 public:
  PortFit(Attempt& attempt, Proposed& proposed) : attempt_(attempt), scratch_(attempt.scratch), proposed_(proposed) {}

  void start() {
    no_conflicts_ = false;
    statics_.of = nullptr;
  }
  /// True if at most ports and cores are held on the node, they do not collide, and the requested ports are certainly
  /// free.
  [[nodiscard]] bool free_for_certain(tables::NodeRow row, const tables::CompiledGroup& group);
  /// If an allocation on the node certainly holds a requested static port, on the only address of its host network
  /// (R-RANK-613): the reason why a group with these needs does not fit. Otherwise kReasonNone.
  [[nodiscard]] std::uint32_t static_port_held(tables::NodeRow row, const tables::CompiledGroup& group, Needs needs);
  /// free_for_certain() for many nodes that the plan does not touch: the lookups that depend on the group alone are
  /// made once. The caller checks NodeCapacity::network_invalid.
  struct ByProfile {
    const tables::CowVector<std::uint32_t, 1024>* profile = nullptr;  ///< by row; null: no port is requested
    const std::vector<std::uint32_t>* free = nullptr;    ///< by profile; null: no dynamic port is requested
    const std::vector<std::uint8_t>* statics = nullptr;  ///< by profile; null: no static port is requested
    std::span<const std::uint16_t> numbers;              ///< the static ports
    std::uint64_t ports_most = 0, asked = 0;             ///< maximum of one allocation; requested by the group
    const tables::NodeTable* nodes = nullptr;
    bool known = false;  ///< false: call free_for_certain() instead
    [[nodiscard]] bool free_on(tables::NodeRow row, const tables::NodeUse& use) const {
      if (use.irregular != 0) return false;
      if (!profile) return true;
      const std::uint32_t of = (*profile)[row];
      return (!free || (*free)[of] > std::uint64_t{use.port_allocs} * ports_most + asked) &&
             (!statics || ((*statics)[of] == kPass && (use.port_allocs == 0 || holds_none(row))));
    }
    void prefetch(tables::NodeRow row) const {
      if (profile) profile->prefetch(row);
      if (statics && !nodes->ports.empty()) nodes->ports.prefetch(row);
    }

   private:
    [[nodiscard]] bool holds_none(tables::NodeRow row) const {
      const tables::HeldPorts* const held = nodes->held_ports(row);
      return held && std::ranges::none_of(numbers, [&](std::uint16_t number) { return held->holds(number); });
    }
  };
  [[nodiscard]] ByProfile by_profile(const tables::CompiledGroup& group);
  /// True if a Select on a cluster without room leaves no trace of ports: no collision event (R-RANK-608) and no error
  /// (R-RANK-618) on any node.
  [[nodiscard]] bool are_silent(const GroupView& view);
  /// The last result of are_silent() for stored allocations. True: held ports matter only to groups that request ports.
  [[nodiscard]] bool no_conflicts() const { return no_conflicts_; }
  /// True if the ports held on the node certainly do not collide: none are held, or those of the state do not collide
  /// and the plan adds none.
  [[nodiscard]] bool are_clear(tables::NodeRow row) const;
  /// Reason id for the text of a port failure.
  std::uint32_t reason_of(const network::PortFailure& failure);

 private:
  /// Ports that a group requests by number.
  struct StaticPorts {
    const tables::CompiledGroup* of = nullptr;
    std::vector<std::uint16_t> numbers;
    std::string asked;  // with their host networks, as text
  };
  [[nodiscard]] const StaticPorts& static_ports(const tables::CompiledGroup& group) {
    if (statics_.of != &group) read_static_ports(group);
    return statics_;
  }
  void read_static_ports(const tables::CompiledGroup& group);
  [[nodiscard]] bool has_static_ports(tables::NodeRow row, const tables::CompiledGroup& group);
  [[nodiscard]] std::uint8_t static_room(tables::NodeRow row, const tables::CompiledGroup& group);
  [[nodiscard]] bool has_ports(tables::NodeRow row, const tables::CompiledGroup& group);

  struct KnownFailure {
    network::PortFailure::Kind kind;
    std::int64_t port;
    std::string name;
    std::uint32_t reason;
  };
  static constexpr std::size_t kFailuresMost = 16;

  Attempt& attempt_;
  Scratch& scratch_;
  Proposed& proposed_;
  bool no_conflicts_ = false;
  StaticPorts statics_;
  std::vector<KnownFailure> failures_;
};

}  // namespace berth::sched
