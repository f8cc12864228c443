// What numeric columns tell of ports: whether those that a group asks for are free on a node, without a list of the
// allocations there. Built step by step, ports are in resources/ports.h.
//
// Cached by attempt: whether no stored ports collide. Of the group asked about last: its static ports. Texts of
// failures that were met lately, as they are long, and the same on many nodes. Threads: one worker.
#pragma once

#include "sched/node/proposed.h"
#include "sched/source/candidates.h"

namespace berth::sched {

// Needs of a group for which numeric columns tell what fits, besides cpu, memory and disk.
/// Those that do not matter to the fit.
inline constexpr Needs kNoResource{Need::host_volumes,   Need::own_volumes,       Need::csi_volumes,
                                   Need::distinct_hosts, Need::distinct_property, Need::affinity,
                                   Need::spread,         Need::escapes,           Need::secrets,
                                   Need::wide_amounts,   Need::no_ask_number};
inline constexpr Needs kDynamicPorts =
    kNoResource | Needs{Need::network, Need::dynamic_ports, Need::several_host_networks};
inline constexpr Needs kPorts = kDynamicPorts | Needs{Need::static_ports};
inline constexpr Needs kHeldPorts =  // a port in use is found out before other resources are examined
    kPorts | Needs{Need::task_network, Need::devices, Need::device_ids, Need::cores};

class PortFit {
 public:
  PortFit(Attempt& attempt, Proposed& proposed) : attempt_(attempt), scratch_(attempt.scratch), proposed_(proposed) {}

  void start() {
    no_conflicts_ = false;
    statics_.of = nullptr;
  }
  /// Whether what is special about the node are ports and cores at most, which do not collide, and the ports asked for
  /// are free for certain.
  [[nodiscard]] bool free_for_certain(tables::NodeRow row, const tables::CompiledGroup& group);
  /// Why a group with such needs does not fit on the node, where that is for certain that somebody there holds a port
  /// that it asks for by number, on the only address of its host network (R-RANK-613); else kReasonNone.
  [[nodiscard]] std::uint32_t static_port_held(tables::NodeRow row, const tables::CompiledGroup& group, Needs needs);
  /// free_for_certain() for nodes that the plan does not touch, and of which the caller has read use and capacity: what
  /// has to be known of their ports, looked up once for many nodes.
  struct Figures {
    const tables::CowVector<std::uint32_t, 1024>* profile = nullptr;  ///< by row; null: no port is requested
    const std::vector<std::uint32_t>* free = nullptr;    ///< by profile; null: no dynamic port is asked for
    const std::vector<std::uint8_t>* statics = nullptr;  ///< by profile; null: none is asked for by number
    std::span<const std::uint16_t> numbers;              ///< those that are
    std::uint64_t ports_most = 0, asked = 0;             ///< of an allocation; of the group
    const tables::NodeTable* nodes = nullptr;
    bool known = false;  ///< else free_for_certain() is to be asked
    [[nodiscard]] bool do_for(tables::NodeRow row, const tables::NodeUse& use) const {
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
  [[nodiscard]] Figures figures(const tables::CompiledGroup& group);
  /// Whether no node's ports make a pass leave anything behind where no node has room: no event of a collision
  /// (R-RANK-608), no error (R-RANK-618).
  [[nodiscard]] bool are_silent(const GroupView& view);
  /// What are_silent() found last: of stored allocations, who holds ports matters to port asks only.
  [[nodiscard]] bool no_conflicts() const { return no_conflicts_; }
  /// Whether nobody's ports collide on the node, for certain: nobody there holds any, or the state's do not and the
  /// plan brings none.
  [[nodiscard]] bool are_clear(tables::NodeRow row) const;
  /// Id of the text of why ports are not to be had.
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
