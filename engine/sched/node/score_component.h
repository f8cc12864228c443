// A component of a node's score, as one entry of a table (component_table.h).
#pragma once

#include <cstdint>
#include <optional>

#include "rank/components.h"
#include "tables/needs.h"
#include "tables/node_table.h"

namespace berth::tables {
struct CompiledGroup;
}
namespace berth::sched {

class Scorer;
struct FitUse;
struct NodeOverlay;
struct Option;

/// A node on which the group fits, as components see it.
struct ScoredOption {
  Scorer& scorer;
  tables::NodeRow row;
  const tables::NodeCapacity& capacity;
  const NodeOverlay* overlay;  ///< null: the plan does not change the node
  const tables::CompiledGroup& group;
  const FitUse& use;     ///< of the node with the group
  const Option* option;  ///< what was built for the node; null: nothing was
};

struct ScoreComponent {
  /// When the value may change: only when the node does, or from Select to Select. Or it depends on the victims on the
  /// node: then it is appended where they are chosen (evict_options.cc).
  enum class Changes : std::uint8_t { with_node, with_select, with_victims };
  using OfNode = std::optional<double> (*)(const ScoredOption& of);
  using OfSelect = std::optional<double> (*)(Scorer& scorer, tables::NodeRow row);

  rank::Component place;  ///< in the row
  const char* name;       ///< in score maps
  bool logged_always;     ///< a node's score map shows it as 0 if it is not appended (R-RANK-701)
  bool of_system_jobs;    ///< they are scored by it as well (R-RANK-202)
  Changes changes;
  OfNode of_node = nullptr;      ///< for with_node; nullopt: it is not appended
  OfSelect of_select = nullptr;  ///< for with_select; nullopt: it is not appended
  /// Needs of every Select while the component is in the table. One that Columns do not compute adds a need that no
  /// fast source serves: then the walk answers, which is slower but right.
  tables::Needs adds = {};
};

}  // namespace berth::sched
