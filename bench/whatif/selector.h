// Selects nodes: "meta.rack=r7,datacenter=dc1", a node's name, a prefix of its ID, or "all".
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "berth/result.h"
#include "model/node.h"

namespace berth::whatif {

/// Terms that must all hold: KEY=VALUE with the keys name, id, datacenter, pool, class, attr.NAME and meta.NAME. A
/// value that ends in * matches by prefix. A term without = is a name, or an ID prefix of at least four digits.
class Selector {
 public:
  /// The error names the wrong term.
  [[nodiscard]] static Result<Selector, std::string> parse(std::string_view text);

  [[nodiscard]] bool matches(const model::Node& node) const;

 private:
  struct Term {
    std::string key, value;
    bool prefix = false;
  };
  std::vector<Term> terms_;
};

/// Value of a term's key on the node; null if it has none.
[[nodiscard]] const std::string* value_of(const model::Node& node, std::string_view key);
/// True if terms may have this key.
[[nodiscard]] bool is_key(std::string_view key);

}  // namespace berth::whatif
