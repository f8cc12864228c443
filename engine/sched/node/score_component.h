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

/// A node on which the group fits, as the components see it.
struct ScoredOption {
  Scorer& scorer;
  tables::NodeRow row;
  const tables::NodeCapacity& capacity;
  const NodeOverlay* overlay;  ///< null: the plan does not change the node
  const tables::CompiledGroup& group;
  const FitUse& use;     ///< of the node, with the group
  const Option* option;  ///< built for the node; null: none was
};

struct ScoreComponent {
  /// When the value may change: only with the node, or from Select to Select, or with the victims on the node. In the
  /// last case it is appended where victims are chosen (evict_options.cc).
  enum class Changes : std::uint8_t { with_node, with_select, with_victims };
  using OfNode = std::optional<double> (*)(const ScoredOption& of);
  using OfSelect = std::optional<double> (*)(Scorer& scorer, tables::NodeRow row);

  rank::Component place;  ///< in the row
  const char* name;       ///< in score maps
  bool logged_always;     ///< a node's score map shows it as 0 if it is not appended (R-RANK-701)
  bool of_system_jobs;    ///< system jobs are scored by it as well (R-RANK-202)
  Changes changes;
  OfNode of_node = nullptr;      ///< for with_node; nullopt: not appended
  OfSelect of_select = nullptr;  ///< for with_select; nullopt: not appended
  /// Needs of every Select while the component is in the table. For a component that Columns do not compute, a need
  /// that no fast source serves: then the walk answers, which is slower but correct.
  tables::Needs adds = {};
};

}  // namespace berth::sched
