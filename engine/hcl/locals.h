// Local values (R-HCL-290 to 293).
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "hcl/body.h"
#include "hcl/evaluate.h"

namespace berth::hcl {

class Locals {
 public:
  /// `values` becomes `local`; it receives each value once it is known.
  Locals(Root& values, Diagnostics& out) : values_(values), out_(out) {}

  void collect(const Block& block);
  /// Evaluates in source order; one that fails is tried again after the others. At most kMostTries attempts fail in a
  /// row, so the cost is linear.
  void evaluate();

 private:
  static constexpr std::size_t kMostTries = 100;

  Root& values_;
  Diagnostics& out_;
  std::vector<Attribute> all_;
  std::unordered_map<std::string, std::size_t> position_;  // in all_
};

}  // namespace berth::hcl
