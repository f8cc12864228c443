// Which names an expression refers to from outside of it.
#pragma once

#include <vector>

#include "hcl/ast.h"

namespace berth::hcl {

/// References in source order, without those to names that loops inside the expression bind.
[[nodiscard]] std::vector<const ReferenceExpr*> free_references(const Expr& expr);

}  // namespace berth::hcl
