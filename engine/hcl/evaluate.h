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

/// One name bound by a for expression, a template's for or a dynamic block; the inner hides the outer.
struct Scope {
  const Scope* outer = nullptr;
  std::string_view name;
  Value value;
};

/// What an expression may cost together with all others of its job file: nodes evaluated and values handled.
/// For loops and dynamic blocks multiply, so a few lines could ask for hours.
class Budget {
 public:
  static constexpr std::uint64_t kSteps = 10'000'000;
  static constexpr const char* kSpent = "evaluating this file takes more than 10 million steps; make its loops smaller";

  /// False: spent.
  bool charge(std::uint64_t steps) {
    left_ = left_ > steps ? left_ - steps : 0;
    return left_ > 0;
  }
  [[nodiscard]] bool spent() const { return left_ == 0; }
  /// True the first time after it was spent: one diagnostic says so.
  bool report() { return !std::exchange(reported_, true); }

 private:
  std::uint64_t left_ = kSteps;
  bool reported_ = false;
};

/// The members of `var` or `local`.
struct Root {
  std::unordered_map<std::string, Value> members;
  /// As one object; kept until the members change.
  [[nodiscard]] const Value& object() const;
  [[nodiscard]] std::size_t object_cost() const { return fresh_ ? 0 : members.size(); }
  void set(const std::string& name, Value value);

 private:
  mutable Value object_;
  mutable bool fresh_ = false;
};

/// What reading and decoding a job file makes as it goes, and everything else points into.
struct Workspace {
  Tree tree;
  std::deque<Source> sources;
  std::deque<Scope> scopes;  // of dynamic blocks
  Budget budget;
};

/// What names mean. Lives as long as the expressions that use it.
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

/// Text of a runtime reference as it stands in the job file (R-HCL-312).
[[nodiscard]] std::string reference_text(Range reference);

/// Members of `collection` as for expressions, template loops and dynamic blocks see them (R-HCL-149).
struct Iteration {
  Value key;
  Value value;
};
[[nodiscard]] std::size_t iteration_count(const Value& collection);
[[nodiscard]] Iteration iteration(const Value& collection, std::size_t position);

}  // namespace berth::hcl
