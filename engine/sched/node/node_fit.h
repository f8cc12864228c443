// Whether a group fits on a node, and what it would hold there (R-RANK-532, 533, 601 to 662).
//
// Two ways to one verdict. Where nobody asks for or holds ports, devices or cores, it follows from two lines of
// figures: plain_fit(). Elsewhere the bin-pack stage is written out step by step over the node's proposed allocations
// (node_option.cc), and with `evict` each step that fails takes victims and is made again. Which one: is_special().
#pragma once

#include <algorithm>

#include "base/prefetch.h"
#include "base/wrap.h"
#include "sched/node/scorer.h"
#include "sched/node/victim_search.h"

namespace berth::sched {

/// What a group makes of the use of a node on which nobody holds ports or cores, and the first figure that is short
/// (R-RANK-532, 533); kReasonNone: it fits.
struct PlainFit {
  FitUse use;
  std::uint32_t dimension;
};
inline constexpr NodeOverlay kUntouched{};
inline PlainFit plain_fit(const tables::NodeCapacity& capacity, const tables::NodeUse& use, const NodeOverlay& overlay,
                          const tables::CompiledGroup& group) {
  using base::wrap_add;  // sums wrap (R-MODEL-3)
  PlainFit out{{wrap_add(wrap_add(use.cpu_mhz, overlay.cpu_mhz), group.cpu_mhz),
                wrap_add(wrap_add(use.memory_mb, overlay.memory_mb), group.memory_mb),
                wrap_add(wrap_add(use.disk_mb, overlay.disk_mb), group.disk_mb)},
               kReasonNone};
  if (capacity.max_allocs != 0 && capacity.max_allocs <= static_cast<std::int64_t>(use.alloc_count) + overlay.allocs)
    out.dimension = kDimensionMaxAllocs;
  else if (capacity.cpu_mhz < out.use.cpu_mhz)
    out.dimension = kDimensionCpu;
  else if (capacity.memory_mb < out.use.memory_mb)
    out.dimension = kDimensionMemory;
  else if (capacity.disk_mb < out.use.disk_mb)
    out.dimension = kDimensionDisk;
  return out;
}

class NodeFit {
 public:
  NodeFit(Attempt& attempt, PlanEffects& effects)
      : proposed(attempt, effects),
        scorer(attempt, effects, proposed),
        victims(attempt, effects, proposed),
        attempt_(attempt),
        scratch_(attempt.scratch) {}

  void start();

  /// Fit and, where it fits, score of the group on the node, or the dimension that is short; into fit, score and
  /// dimension of `cell`.
  void decide(tables::NodeRow row, const GroupView& view, Cell& cell);
  /// Likewise where it does not fit as things are and somebody may go; who does is in `victims`.
  void decide_evicting(tables::NodeRow row, const GroupView& view, Cell& cell);
  /// What the group asks of the figures of a node, before anything else does.
  [[nodiscard]] PlainFit plain(tables::NodeRow row, const tables::CompiledGroup& group) const;
  /// What a group that asks for cores makes of a node's figures, the speed of the cores that it gets there with them
  /// (node_cores.cc). Nothing: the option has to be built to tell.
  [[nodiscard]] std::optional<PlainFit> fit_by_cores(tables::NodeRow row, const tables::CompiledGroup& group);
  /// The same of a node that the plan does not touch, whose ports leave it to figures.
  [[nodiscard]] std::optional<PlainFit> fit_untouched_by_cores(tables::NodeRow row,
                                                               const tables::NodeCapacity& capacity,
                                                               const tables::CompiledGroup& group);
  // Needs of a group for which numeric columns tell what fits, besides cpu, memory and disk.
  /// Those that do not matter to the fit.
  static constexpr Needs kNoResource{Need::host_volumes,   Need::own_volumes,       Need::csi_volumes,
                                     Need::distinct_hosts, Need::distinct_property, Need::affinity,
                                     Need::spread,         Need::escapes,           Need::secrets,
                                     Need::wide_amounts,   Need::no_ask_number};
  static constexpr Needs kDynamicPorts =
      kNoResource | Needs{Need::network, Need::dynamic_ports, Need::several_host_networks};
  static constexpr Needs kPorts = kDynamicPorts | Needs{Need::static_ports};
  static constexpr Needs kHeldPorts =  // a port in use is found out before other resources are examined
      kPorts | Needs{Need::task_network, Need::devices, Need::device_ids, Need::cores};
  static constexpr Needs kCores = kDynamicPorts | Needs{Need::cores};
  static constexpr Needs kDevices = kDynamicPorts | Needs{Need::devices};
  /// Whether free cores can tell of such a group at all.
  [[nodiscard]] bool cores_tell(const tables::CompiledGroup& group) const {
    return group.has_cores && tables::serves(kCores, group.needs) && attempt_.by_amounts() && !scratch_.strategy_fit;
  }
  /// Whether figures do for the node, but for what the chosen one is given: nothing is special there, or ports and
  /// cores are all that is, and those asked for are free for certain.
  [[nodiscard]] bool figures_do(tables::NodeRow row, const tables::CompiledGroup& group);
  /// figures_do() for nodes that the plan does not touch, and of which the caller has read use and capacity: what has
  /// to be known of their ports, looked up once for many nodes.
  struct PortFigures {
    const tables::CowVector<std::uint32_t, 1024>* profile = nullptr;  ///< by row; null: no port is requested
    const std::vector<std::uint32_t>* free = nullptr;    ///< by profile; null: no dynamic port is asked for
    const std::vector<std::uint8_t>* statics = nullptr;  ///< by profile; null: none is asked for by number
    std::span<const std::uint16_t> numbers;              ///< those that are
    std::uint64_t ports_most = 0, asked = 0;             ///< of an allocation; of the group
    const tables::NodeTable* nodes = nullptr;
    bool known = false;  ///< else figures_do() is to be asked
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
  [[nodiscard]] PortFigures port_figures(const tables::CompiledGroup& group);
  /// True if amounts alone do not decide the group's fit on most nodes.
  [[nodiscard]] bool is_expensive(const tables::CompiledGroup& group) const {
    return !figures_may_do(group) && !cores_tell(group);
  }
  /// Whether ports, devices or cores are asked for or held on the node.
  [[nodiscard]] bool is_special(tables::NodeRow row, const tables::CompiledGroup& group) const;
  /// Asks for what select() will read of the node.
  void ask_ahead(tables::NodeRow row, const tables::CompiledGroup& group) const {
    base::prefetch_to_write(&scratch_.marks[row]);
    if (!asks_more(group)) return;
    const tables::NodeTable& nodes = attempt_.snapshot->nodes;
    nodes.fixed->spec.prefetch(row);
    nodes.fixed->capacity.prefetch(row);
    if (!nodes.ports.empty()) nodes.ports.prefetch(row);
    scratch_.shapes.ask_ahead(kind_of(group));
  }
  /// Asks for what is found by what ask_ahead() asked for.
  void ask_further(tables::NodeRow row, const tables::CompiledGroup& group) const {
    if (asks_more(group)) base::prefetch_all(attempt_.snapshot->nodes.spec(row).ports);
  }
  /// The allocation that goes to the best node.
  [[nodiscard]] Selected select(const Found& best, const GroupView& view);
  /// Whether no node's ports make a pass leave anything behind where no node has room: no event of a collision
  /// (R-RANK-608), no error (R-RANK-618).
  [[nodiscard]] bool ports_are_silent(const GroupView& view);
  /// What ports_are_silent() found last: of stored allocations, who holds ports matters to port asks only.
  [[nodiscard]] bool no_port_conflicts() const { return no_port_conflicts_; }

  /// Whether the group requests more than cpu, memory and disk.
  [[nodiscard]] static bool asks_more(const tables::CompiledGroup& group) {
    return !tables::serves(kNoResource, group.needs);
  }
  /// What groups have in common for whose allocations memory is kept together (tables/shape_pool.h).
  [[nodiscard]] static std::uint8_t kind_of(const tables::CompiledGroup& group);

  Proposed proposed;
  Scorer scorer;
  VictimSearch victims;

 private:
  /// Whether a node holds more than figures, or its ports are invalid.
  [[nodiscard]] bool holds_more(const tables::NodeUse& use, const tables::NodeCapacity& capacity,
                                const NodeOverlay* overlay) const {
    return (use.port_allocs != 0 && !no_port_conflicts_) || use.core_allocs != 0 || capacity.network_invalid != 0 ||
           (overlay && overlay->complex_allocs != 0);
  }
  bool decide_by_figures(tables::NodeRow row, const tables::CompiledGroup& group, Cell& cell);
  void decide_special(tables::NodeRow row, const GroupView& view, bool evict, Cell& cell);
  [[nodiscard]] bool ports_do(tables::NodeRow row, const tables::CompiledGroup& group);
  // A group that asks for devices, by how many are free (node_devices.cc).
  bool decide_by_free_devices(tables::NodeRow row, const GroupView& view, Cell& cell);
  void count_free_devices(tables::NodeRow row, std::span<std::uint32_t> out);
  [[nodiscard]] bool counts_tell(const GroupView& view) const;
  [[nodiscard]] std::optional<CoreOffer> offered_cores(tables::NodeRow row, const tables::CompiledGroup& group);
  void evict_plain(tables::NodeRow row, const GroupView& view, Cell& cell);

  // The option, step by step (node_option.cc). Each step is false when there is none; `option.dimension` says why.
  /// What the group would hold on the node; false where it does not fit. `chosen`: it is known to.
  bool build_option(tables::NodeRow row, const GroupView& view, bool evict, bool chosen, Option& option);
  bool assign_tasks(tables::NodeRow row, const GroupView& view, bool evict, Option& option);
  [[nodiscard]] bool ports_are_clear(tables::NodeRow row);
  [[nodiscard]] std::span<const std::uint16_t> leaving_ports(tables::NodeRow row);
  bool assign_group_network(tables::NodeRow row, const network::NodePorts& ports, const GroupView& view, bool evict,
                            Option& option);
  bool assign_task_network(tables::NodeRow row, const model::NetworkResource& ask, const network::NodePorts& ports,
                           bool evict, Option& option, model::AllocatedTask& task);
  bool assign_devices(std::span<const match::DeviceRequest> requests, tables::NodeRow row, bool evict, Option& option,
                      model::AllocatedTask& task);
  bool serve_devices(std::span<const match::DeviceRequest> requests, tables::NodeRow row, bool evict, Option& option,
                     model::AllocatedTask& task);
  bool assign_cores(const model::Node& node, tables::NodeRow row, std::int64_t cores, Option& option,
                    model::AllocatedTask& task);
  bool judge(tables::NodeRow row, bool evict, Option& option);
  bool sum_others(tables::NodeRow row, bool count_each);
  bool fail(Option& option, std::string_view prefix, std::string_view text);
  std::uint32_t reason_of(const network::PortFailure& failure);
  [[nodiscard]] static bool figures_may_do(const tables::CompiledGroup& group) {
    return tables::serves(kPorts, group.needs);
  }
  [[nodiscard]] bool has_static_ports(tables::NodeRow row, const tables::CompiledGroup& group);
  [[nodiscard]] std::uint8_t static_room(tables::NodeRow row, const tables::CompiledGroup& group);
  [[nodiscard]] std::uint32_t static_port_held(tables::NodeRow row, const tables::CompiledGroup& group);
  [[nodiscard]] bool has_ports(tables::NodeRow row, const tables::CompiledGroup& group);
  [[nodiscard]] bool one_network(const tables::CompiledGroup& group) const;

  Attempt& attempt_;
  Scratch& scratch_;
  Option option_;
  /// Why ports were not to be had lately: the texts are long, and the same on many nodes.
  struct KnownFailure {
    network::PortFailure::Kind kind;
    std::int64_t port;
    std::string name;
    std::uint32_t reason;
  };
  static constexpr std::size_t kFailuresMost = 16;
  std::vector<KnownFailure> port_failures_;
  std::string text_;
  // Of the option being built, reused.
  model::AllocatedTask task_;
  std::vector<model::AllocatedPort> ports_;
  std::vector<std::uint16_t> leaving_;  // leaving_ports()
  model::AllocatedDevice device_;
  model::FlatResources flat_, rest_;
  rank::NodeFit room_;
  std::vector<std::uint16_t> cores_;  // taken on the node, the option's own included
  bool no_port_conflicts_ = false;
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
  StaticPorts statics_;
};

}  // namespace berth::sched
