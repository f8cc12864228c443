// The proposed allocations of one node (R-RANK-501 to 504), written out for whom sums do not do: ports, devices, cores,
// victims. What the plan places comes behind what runs.
//
//   rows     of the snapshot's allocations, ascending by ID where the order matters
//   shapes   what they hold once the plan is committed, then what finished ones and placements of the plan hold
#pragma once

#include <optional>
#include <vector>

#include "sched/stack/plan_effects.h"

namespace berth::sched {

class Proposed {
 public:
  Proposed(Attempt& attempt, PlanEffects& effects) : attempt_(attempt), effects_(effects), scratch_(attempt.scratch) {}

  void collect(tables::NodeRow row);
  /// Only those that hold ports, devices or cores; the others matter by their sums, which the columns have. Of the
  /// snapshot's, holders of ports and of cores are left out as well where the node's columns tell what they hold.
  /// Holders of devices: those too, or all where each is of interest, or none.
  enum class Devices : std::uint8_t { none, by_column, each };
  void collect_special(tables::NodeRow row, Devices devices);
  /// Takes victims out (R-PREEMPT-303).
  void remove(std::span<const tables::AllocRow> victims);

  /// Enters the ports of the node and of the allocations into Scratch::network_index; true when two collide. `clear`:
  /// none do, which spares looking. `like`: as NetworkIndex::start().
  bool enter_ports(const network::NodePorts& ports, const network::NodePorts& like, bool clear);
  bool enter_ports(const network::NodePorts& ports) { return enter_ports(ports, ports, false); }
  /// Starts `accounter` with the node's devices and the allocations' use of them.
  void enter_devices(tables::NodeRow row);
  /// Their cores and those of finished ones that the plan lists again, into an empty list.
  void merge_cores(tables::NodeRow row, std::vector<std::uint16_t>& cores) const;
  /// The cores of the snapshot's allocations, where these were left out for it.
  [[nodiscard]] const tables::HeldCores* held_cores() const { return held_cores_; }
  /// Asks for what choosing victims reads of an allocation.
  void prefetch(tables::AllocRow alloc) const;

  std::vector<tables::AllocRow> rows;
  std::vector<const tables::ResourceShape*> shapes;
  std::optional<rank::DeviceAccounter> accounter;

 private:
  Attempt& attempt_;
  PlanEffects& effects_;
  Scratch& scratch_;
  // What the snapshot's allocations hold, in the place of those that were left out.
  const tables::HeldPorts* held_ports_ = nullptr;
  const tables::HeldCores* held_cores_ = nullptr;
  const tables::HeldDevices* held_devices_ = nullptr;
  std::vector<std::pair<base::Uuid, tables::AllocRow>> ordered_;
};

}  // namespace berth::sched
