#include "hcl/references.h"

#include <algorithm>
#include <string_view>

namespace berth::hcl {
namespace {

class References {
 public:
  std::vector<const ReferenceExpr*> found;

  void visit(const Expr& expr) {
    switch (expr.kind) {
      case Expr::Kind::literal:
        return;
      case Expr::Kind::reference:
        return reference(static_cast<const ReferenceExpr&>(expr));
      case Expr::Kind::steps: {
        const auto& chain = static_cast<const StepsExpr&>(expr);
        visit(*chain.source);
        for (const Step& step : chain.steps) visit(step.index);
        return;
      }
      case Expr::Kind::call:
        return all(static_cast<const CallExpr&>(expr).arguments);
      case Expr::Kind::unary:
        return visit(*static_cast<const UnaryExpr&>(expr).operand);
      case Expr::Kind::operation: {
        const auto& operation = static_cast<const OperationExpr&>(expr);
        visit(*operation.first);
        for (const auto& [op, operand] : operation.rest) visit(*operand);
        return;
      }
      case Expr::Kind::conditional: {
        const auto& conditional = static_cast<const ConditionalExpr&>(expr);
        return all({conditional.condition, conditional.if_true, conditional.if_false});
      }
      case Expr::Kind::tuple:
        return all(static_cast<const TupleExpr&>(expr).items);
      case Expr::Kind::object: {
        for (const ObjectExpr::Item& item : static_cast<const ObjectExpr&>(expr).items) {
          if (!item.bare && !item.ambiguous) visit(*item.key);
          visit(*item.value);
        }
        return;
      }
      case Expr::Kind::for_loop: {
        const auto& loop = static_cast<const ForExpr&>(expr);
        visit(*loop.collection);
        return within(loop.key_name, loop.value_name, {loop.key, loop.value, loop.condition});
      }
      case Expr::Kind::parentheses:
        return visit(*static_cast<const ParenthesesExpr&>(expr).inner);
      case Expr::Kind::string:
        return all(static_cast<const StringExpr&>(expr).parts);
      case Expr::Kind::template_if: {
        const auto& directive = static_cast<const TemplateIfExpr&>(expr);
        return all({directive.condition, directive.if_true, directive.if_false});
      }
      case Expr::Kind::template_for: {
        const auto& loop = static_cast<const TemplateForExpr&>(expr);
        visit(*loop.collection);
        return within(loop.key_name, loop.value_name, {loop.body});
      }
    }
  }

 private:
  void visit(const Expr* expr) {
    if (expr != nullptr) visit(*expr);
  }
  void all(const std::vector<const Expr*>& exprs) {
    for (const Expr* expr : exprs) visit(expr);
  }
  void reference(const ReferenceExpr& reference) {
    if (std::find(bound_.begin(), bound_.end(), reference.name) == bound_.end()) found.push_back(&reference);
  }
  void within(std::string_view key, std::string_view value, const std::vector<const Expr*>& exprs) {
    const std::size_t before = bound_.size();
    if (!key.empty()) bound_.push_back(key);
    bound_.push_back(value);
    all(exprs);
    bound_.resize(before);
  }

  std::vector<std::string_view> bound_;
};

}  // namespace

std::vector<const ReferenceExpr*> free_references(const Expr& expr) {
  References references;
  references.visit(expr);
  return std::move(references.found);
}

}  // namespace berth::hcl
