// Finds the outer names that an expression refers to.
#pragma once

#include <vector>

#include "hcl/ast.h"

namespace berth::hcl {

/// References in source order, except to names that loops inside the expression bind.
[[nodiscard]] std::vector<const ReferenceExpr*> free_references(const Expr& expr);

}  // namespace berth::hcl
