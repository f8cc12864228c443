// Rights: the rights of a token, merged from its policies (R-STORE-100 to 105). Immutable, so that other threads that
// write lists can use it too.
//
// Cost: one search for a name that is granted exactly; others try each glob of the token's policies.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "http/stores/policy.h"

namespace berth::http {

class Rights {
 public:
  /// All rights (R-STORE-104).
  [[nodiscard]] static Rights management();
  [[nodiscard]] static Rights of(const std::vector<const AclRules*>& policies);

  [[nodiscard]] bool is_management() const { return management_; }
  /// True if one of `wanted` is granted in the namespace; "*": in any (R-STORE-101, 102).
  [[nodiscard]] bool in_namespace(std::string_view name_space, Capabilities wanted) const;
  /// R-STORE-105.
  [[nodiscard]] bool sees_namespace(std::string_view name_space) const;
  [[nodiscard]] bool node_pool(std::string_view pool, Capabilities wanted) const;
  [[nodiscard]] bool host_volume(std::string_view source, Capabilities wanted) const;
  [[nodiscard]] bool on_operator(Capabilities wanted) const;
  /// R-STORE-103.
  [[nodiscard]] bool variable(const std::string& name_space, const std::string& path, Capabilities wanted) const;
  /// True if some path of the namespace has one of `wanted`; "*": of any namespace.
  [[nodiscard]] bool any_variable(const std::string& name_space, Capabilities wanted) const;
  [[nodiscard]] bool any_node_pool(Capabilities wanted) const;

  // Policy words of blocks without capabilities.
  enum class Level : std::uint8_t { none, list, read, write, deny };
  [[nodiscard]] bool agent(Level wanted) const { return reaches(agent_, wanted); }
  [[nodiscard]] bool node(Level wanted) const { return reaches(node_, wanted); }
  [[nodiscard]] bool operators(Level wanted) const { return reaches(operators_, wanted); }
  [[nodiscard]] bool plugin_list() const { return management_ || plugin_ == Level::list || plugin_ == Level::read; }
  [[nodiscard]] bool plugin_read() const { return management_ || plugin_ == Level::read; }

 private:
  /// Exact names and globs with their granted capabilities.
  struct Named {
    std::map<std::string, Capabilities, std::less<>> exact;
    std::vector<std::pair<std::string, Capabilities>> globs;  // sorted by glob
    [[nodiscard]] Capabilities of(std::string_view name) const;
    [[nodiscard]] bool any(Capabilities wanted) const;
  };
  [[nodiscard]] static Named named(const std::map<std::string, Capabilities>& granted);
  [[nodiscard]] bool reaches(Level has, Level wanted) const {
    return management_ || (has != Level::deny && has >= wanted);
  }

  bool management_ = false;
  Named namespaces_, node_pools_, host_volumes_, variables_;  // variables: namespace NUL path
  Level agent_ = Level::none, node_ = Level::none, operators_ = Level::none, plugin_ = Level::none;
  Capabilities operator_capabilities_ = 0;
};

}  // namespace berth::http
