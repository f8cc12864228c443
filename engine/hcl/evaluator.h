// The evaluator's state, shared by its two parts: expressions (evaluate.cc), steps and calls (evaluate_steps.cc).
// Recursion is as deep as the tree: kMaxNesting levels, each of a few frames.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hcl/evaluate.h"

namespace berth::hcl {

class Evaluator {
 public:
  Evaluator(const Context& context, const Scope* scope, Diagnostics& out)
      : context_(context), scope_(scope), out_(&out) {}

  Value value(const Expr& expr);

 private:
  static constexpr std::string_view kOperationFailed = "Operation failed";
  static constexpr std::size_t kScopesPerStep = 16;   // of a look-up
  static constexpr std::uint64_t kStepsPerRound = 4;  // of a loop: a stored value may take 50 bytes
  static constexpr std::size_t kBytesPerStep = 128;   // copied, compared or converted: eight small values

  bool charge(std::uint64_t steps);
  Value fail(Range subject, std::string_view summary, std::string detail);
  Value bounded(Value value, Range subject);
  Value aside(const Expr& expr, Diagnostics& out);

  Value reference(const ReferenceExpr& reference);
  Value unbound(const ReferenceExpr& reference);
  Value unary(const UnaryExpr& unary);
  Value null_operand(Range whole);
  Value operation(const OperationExpr& operation);
  Value apply(TokenKind op, const Value& left, Range left_range, const Value& right, Range right_range);
  Value arithmetic(TokenKind op, const Number& a, const Number& b, Range whole);
  Value choose(const Expr& condition, const Expr& if_true, const Expr& if_false);
  Value tuple(const TupleExpr& tuple);
  Value object(const ObjectExpr& object);
  bool object_key(const ObjectExpr::Item& item, std::string& key, bool& known);
  bool iterable(const Value& collection, Range subject);
  template <class Work>
  void with_names(std::string_view key_name, std::string_view value_name, Iteration pair, const Work& work);
  std::optional<bool> passes(const Expr& condition);
  Value for_loop(const ForExpr& loop);
  Value for_tuple(const ForExpr& loop, const Value& collection);
  Value for_object(const ForExpr& loop, const Value& collection);
  std::optional<std::string> for_key(const Expr& expr);
  Value string(const StringExpr& string);
  bool append(const Value& part, Range subject, std::string& text);
  Value template_for(const TemplateForExpr& loop);

  // Applies the steps [at, end). `terse`: for a reference, whose missing elements are reported without a reason.
  Value steps(Value source, const std::vector<Step>& steps, std::size_t at, std::size_t end, Range so_far, bool terse);
  Value attribute(const Value& source, const Step& step);
  Value no_attribute(std::string_view name, Range subject);
  Value index(const Value& source, const Value& key, Range subject, bool terse);
  Value index_sequence(const Value& source, const Value& key, Range subject, bool terse);
  Value index_members(const Value& source, const Value& key, Range subject);
  Value splat(const Value& source, const std::vector<Step>& all, std::size_t at, Range so_far, bool terse);

  Value call(const CallExpr& call);
  bool expand(const CallExpr& call, std::vector<Value>& arguments, bool& known);
  bool count_fits(const CallExpr& call, std::size_t given, std::size_t least, bool variadic,
                  const std::vector<std::string_view>& names);
  Value call_failed(const CallExpr& call, const std::string& text);
  Value try_call(const CallExpr& call);
  Value convert_call(const CallExpr& call);

  const Context& context_;
  const Scope* scope_;
  Diagnostics* out_;
};

}  // namespace berth::hcl
