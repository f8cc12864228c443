// Values of expressions (R-HCL-140 to 156, 190 to 192, 310 to 317).
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "hcl/ast.h"
#include "hcl/functions.h"
#include "hcl/source.h"
#include "hcl/value.h"

namespace berth::hcl {

/// One name bound by a for expression, a template's for or a dynamic block; inner names hide outer ones.
struct Scope {
  const Scope* outer = nullptr;
  std::string_view name;
  Value value;
};

/// Limit on the cost of all expressions of a job file: nodes evaluated and values handled. For loops and dynamic blocks
/// multiply, so a few lines could otherwise take hours.
class Budget {
 public:
  static constexpr std::uint64_t kSteps = 10'000'000;
  static constexpr const char* kSpent = "evaluating this file takes more than 10 million steps; make its loops smaller";

  /// Returns false if the budget is spent.
  bool charge(std::uint64_t steps) {
    left_ = left_ > steps ? left_ - steps : 0;
    return left_ > 0;
  }
  [[nodiscard]] bool spent() const { return left_ == 0; }
  /// True at the first call only: one diagnostic reports the spent budget.
  bool report() { return !std::exchange(reported_, true); }

 private:
  std::uint64_t left_ = kSteps;
  bool reported_ = false;
};

/// The members of `var` or `local`.
struct Root {
  std::unordered_map<std::string, Value> members;
  /// All members as one object; cached until they change.
  [[nodiscard]] const Value& object() const;
  [[nodiscard]] std::size_t object_cost() const { return fresh_ ? 0 : members.size(); }
  void set(const std::string& name, Value value);

 private:
  mutable Value object_;
  mutable bool fresh_ = false;
};

/// Objects created while a job file is read and decoded; everything else points into them.
struct Workspace {
  Tree tree;
  std::deque<Source> sources;
  std::deque<Scope> scopes;  // of dynamic blocks
  Budget budget;
};

/// Meaning of names. Must outlive the expressions that use it.
struct Context {
  enum class Others : std::uint8_t {
    constants,  // "Variables not allowed", "Function calls not allowed" (R-HCL-255)
    unknown,    // "Unknown variable": validation conditions
    pass,       // a runtime reference, kept as text (R-HCL-310)
  };
  Others others = Others::constants;
  const Root* variables = nullptr;  ///< `var`; null: no such name
  const Root* locals = nullptr;
  FileAccess files;
  Workspace* workspace = nullptr;
};

/// Reports failures to `out`; a failed expression is unknown.
[[nodiscard]] Value evaluate(const Expr& expr, const Context& context, const Scope* scope, Diagnostics& out);

/// Text of a runtime reference as written in the job file (R-HCL-312).
[[nodiscard]] std::string reference_text(Range reference);

/// One member of `collection` as seen by for expressions, template loops and dynamic blocks (R-HCL-149).
struct Iteration {
  Value key;
  Value value;
};
[[nodiscard]] std::size_t iteration_count(const Value& collection);
[[nodiscard]] Iteration iteration(const Value& collection, std::size_t position);

}  // namespace berth::hcl
