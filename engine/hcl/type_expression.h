// Types as written for variables and in convert() (R-HCL-253, 650).
#pragma once

#include <optional>

#include "hcl/ast.h"
#include "hcl/source.h"
#include "hcl/type.h"

namespace berth::hcl {

/// The type that an expression names. `any` is allowed in the arguments of convert(), not for variables. nullopt:
/// failed and reported.
[[nodiscard]] std::optional<Type> type_of_expression(const Expr& expr, bool any_allowed, Diagnostics& out);

}  // namespace berth::hcl
