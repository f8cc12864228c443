// AclRules: the rules of an ACL policy, parsed and checked (R-STORE-92 to 99, 122 to 124). rights.h merges several
// policies.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "base/json.h"

namespace berth::http {

/// Capabilities as bits; policy.cc assigns names to bits.
using Capabilities = std::uint64_t;

struct PolicyPath {
  std::string spec;
  std::vector<std::string> capabilities;
};

/// The grants of a labelled block, or of operator and sentinel.
struct PolicyBlock {
  std::string name, policy;
  std::vector<std::string> capabilities;  ///< expanded, in printing order
  bool has_variables = false;
  std::vector<PolicyPath> paths;
};

struct AclRules {
  std::vector<PolicyBlock> namespaces, node_pools, host_volumes;
  std::optional<PolicyBlock> operators, sentinel;
  std::optional<std::string> agent, node, quota, plugin;  ///< their policy words

  /// The error is Nomad's text, without "failed to parse rules: ".
  [[nodiscard]] static tl::expected<AclRules, std::string> parse(const std::string& rules);
};

/// R-STORE-99; `rules`: the text.
[[nodiscard]] json::Value policy_rules_json(const AclRules& policy, const std::string& rules);

// Bits of capabilities, 0 for unknown names.
[[nodiscard]] Capabilities namespace_capability(std::string_view name);
[[nodiscard]] Capabilities node_pool_capability(std::string_view name);
[[nodiscard]] Capabilities host_volume_capability(std::string_view name);
[[nodiscard]] Capabilities operator_capability(std::string_view name);
[[nodiscard]] Capabilities variable_capability(std::string_view name);
/// The bit of `deny` in each kind.
inline constexpr Capabilities kDeny = 1;

}  // namespace berth::http
