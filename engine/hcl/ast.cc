#include "hcl/ast.h"

namespace berth::hcl {
namespace {

// The outermost node of a chain is made by its last step: a splat with everything that it applies to, an index, or a
// traversal.
Range start_of_steps(const StepsExpr& chain) {
  for (const Step& step : chain.steps) {
    if (step.kind == Step::Kind::splat) return step.range;
    if (step.kind == Step::Kind::attribute_splat && step.splat_end == chain.steps.size()) return step.range;
  }
  const Step& last = chain.steps.back();
  return last.kind == Step::Kind::index ? last.open : chain.range;
}

}  // namespace

Range start_of(const Expr& expr) {
  const Expr* at = &expr;
  for (;;) {  // along left operands: at most kMaxNesting deep
    switch (at->kind) {
      case Expr::Kind::operation:
        at = static_cast<const OperationExpr*>(at)->first;
        continue;
      case Expr::Kind::conditional:
        at = static_cast<const ConditionalExpr*>(at)->condition;
        continue;
      case Expr::Kind::unary:
        return static_cast<const UnaryExpr*>(at)->op_range;
      case Expr::Kind::tuple:
        return static_cast<const TupleExpr*>(at)->open;
      case Expr::Kind::object:
        return static_cast<const ObjectExpr*>(at)->open;
      case Expr::Kind::for_loop:
        return static_cast<const ForExpr*>(at)->open;
      case Expr::Kind::call: {
        const auto& call = *static_cast<const CallExpr*>(at);
        return {call.range.source, call.range.begin, call.open.end};
      }
      case Expr::Kind::steps:
        return start_of_steps(*static_cast<const StepsExpr*>(at));
      case Expr::Kind::string: {
        const auto& string = *static_cast<const StringExpr*>(at);
        if (string.wraps) return string.range;
        // An empty string counts as a piece of text after its quotes.
        if (string.parts.empty()) return {string.range.source, string.range.end, string.range.end};
        at = string.parts.front();
        continue;
      }
      default:
        return at->range;
    }
  }
}

Range NativeBlock::header() const {
  return {type_range.source, type_range.begin, label_ranges.empty() ? type_range.end : label_ranges.back().end};
}

}  // namespace berth::hcl
