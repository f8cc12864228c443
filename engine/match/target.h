// Targets: the node fields that the two sides of a constraint, affinity, spread or host network template refer to
// (R-FEAS-501 to 513).
//
// A target text is parsed once into a Target. resolve() reads its value from one node. Tables may instead map a Target
// to a column, by its kind and key, and look values up there. Plain values without synchronisation.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "model/node.h"

namespace berth::match {

enum class TargetKind : std::uint8_t {
  literal,     ///< key is the value; always found
  node_id,     ///< ${node.unique.id}
  datacenter,  ///< ${node.datacenter}
  node_name,   ///< ${node.unique.name}
  node_class,  ///< ${node.class}
  node_pool,   ///< ${node.pool}
  attribute,   ///< ${attr.K}, key is K, looked up verbatim
  meta,        ///< ${meta.K}, key is K, looked up verbatim
  unresolved,  ///< anything else beginning with ${; never found
};

struct Target {
  TargetKind kind = TargetKind::literal;
  std::string key;  ///< literal text, or key of the attribute or meta entry; else empty
  /// True when every node gives the same side(): a literal, or a target that no node resolves.
  [[nodiscard]] bool is_fixed() const { return kind == TargetKind::literal || kind == TargetKind::unresolved; }
  friend bool operator==(const Target&, const Target&) = default;
};

/// One side of a comparison: the text of a target and whether it was found. An unresolved side has an empty text.
/// The text belongs to the node or the Target it was resolved from.
struct Side {
  std::string_view text;
  bool found = false;
  friend bool operator==(const Side&, const Side&) = default;
};

/// R-FEAS-502 to 513.
[[nodiscard]] Target parse_target(std::string_view text);

/// Value of `target` on `node`. Attributes and meta cost one map lookup.
[[nodiscard]] Side resolve(const Target& target, const model::Node& node);

/// The side of a target for which is_fixed() holds.
[[nodiscard]] Side fixed_side(const Target& target);

/// True if the nodes of a computed class cannot share a verdict on this constraint, because a side names something
/// unique to a node (R-FEAS-405, R-MODEL-545). The operand does not matter.
[[nodiscard]] bool escapes_class(const model::Constraint& constraint);

/// True if a constraint list of a job or a group activates distinct_hosts. The first such constraint decides; it is
/// enabled unless its RTarget is a false boolean text (R-FEAS-1311).
[[nodiscard]] bool has_distinct_hosts(std::span<const model::Constraint> constraints);

}  // namespace berth::match
