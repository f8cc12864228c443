// Which nodes a question means: "meta.rack=r7,datacenter=dc1", a node's name, the beginning of its ID, or "all".
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "berth/result.h"
#include "model/node.h"

namespace berth::whatif {

/// Terms that must all hold: KEY=VALUE with the keys name, id, datacenter, pool, class, attr.NAME and meta.NAME. A
/// value that ends in * matches what begins so. A term without = is a name, or the beginning of an ID of at least four
/// digits.
class Selector {
 public:
  /// The error tells of the term that is wrong.
  [[nodiscard]] static Result<Selector, std::string> parse(std::string_view text);

  [[nodiscard]] bool matches(const model::Node& node) const;

 private:
  struct Term {
    std::string key, value;
    bool prefix = false;
  };
  std::vector<Term> terms_;
};

}  // namespace berth::whatif
