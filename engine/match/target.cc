#include "match/target.h"

#include "base/assert.h"
#include "base/text.h"

namespace berth::match {
namespace {

constexpr std::string_view kAttr = "${attr.", kMeta = "${meta.";  // both seven bytes (R-FEAS-511)

/// The key behind a prefix, without one closing brace if there is one (R-FEAS-511).
std::string key_of(std::string_view text, std::string_view prefix) {
  text.remove_prefix(prefix.size());
  if (text.ends_with('}')) text.remove_suffix(1);
  return std::string(text);
}

Side find(const std::map<std::string, std::string>& map, const std::string& key) {
  const auto it = map.find(key);
  return it == map.end() ? Side{} : Side{it->second, true};
}

bool names_something_unique(std::string_view text) {
  return text.starts_with("${unique.") || text.starts_with("${node.unique.") || text.starts_with("${attr.unique.") ||
         text.starts_with("${meta.unique.");
}

}  // namespace

Target parse_target(std::string_view text) {
  if (!text.starts_with("${")) return {TargetKind::literal, std::string(text)};
  if (text == "${node.unique.id}") return {TargetKind::node_id, {}};
  if (text == "${node.datacenter}") return {TargetKind::datacenter, {}};
  if (text == "${node.unique.name}") return {TargetKind::node_name, {}};
  if (text == "${node.class}") return {TargetKind::node_class, {}};
  if (text == "${node.pool}") return {TargetKind::node_pool, {}};
  if (text.starts_with(kAttr)) return {TargetKind::attribute, key_of(text, kAttr)};
  if (text.starts_with(kMeta)) return {TargetKind::meta, key_of(text, kMeta)};
  return {TargetKind::unresolved, {}};
}

Side resolve(const Target& target, const model::Node& node) {
  switch (target.kind) {
    case TargetKind::literal:
      return {target.key, true};
    case TargetKind::node_id:
      return {node.id, true};
    case TargetKind::datacenter:
      return {node.datacenter, true};
    case TargetKind::node_name:
      return {node.name, true};
    case TargetKind::node_class:
      return {node.node_class, true};
    case TargetKind::node_pool:
      return {node.node_pool, true};
    case TargetKind::attribute:
      return find(node.attributes, target.key);
    case TargetKind::meta:
      return find(node.meta, target.key);
    case TargetKind::unresolved:
      break;
  }
  return {};
}

Side fixed_side(const Target& target) {
  BERTH_ASSERT(target.is_fixed());
  return target.kind == TargetKind::literal ? Side{target.key, true} : Side{};
}

bool escapes_class(const model::Constraint& constraint) {
  return names_something_unique(constraint.ltarget) || names_something_unique(constraint.rtarget);
}

bool has_distinct_hosts(std::span<const model::Constraint> constraints) {
  for (const model::Constraint& c : constraints)
    if (c.operand == "distinct_hosts") return base::parse_bool(c.rtarget).value_or(true);
  return false;
}

}  // namespace berth::match
