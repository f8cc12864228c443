// Texts in native HCL become trees (R-HCL-50 to 93). Written by hand, not generated from a grammar: the scanner's modes
// depend on what is open (templates in strings in templates, heredoc markers, newlines that count or not), and each
// error has recorded words and a recorded place.
#pragma once

#include <string>

#include "hcl/ast.h"
#include "hcl/source.h"

namespace berth::hcl {

/// A whole file. Errors are in the order in which Nomad reports them; the tree holds what could be read.
[[nodiscard]] NativeBody parse_file(const Source& source, Tree& tree, Diagnostics& out);

/// One expression that is the whole text; newlines do not count (R-HCL-92, 262). Null: errors.
[[nodiscard]] const Expr* parse_expression(const Source& source, Tree& tree, Diagnostics& out);

/// A bare template that is the whole text, as a JSON string is one (R-HCL-771). Null: errors.
[[nodiscard]] const Expr* parse_template(const Source& source, Tree& tree, Diagnostics& out);

[[nodiscard]] bool is_identifier(std::string_view text);

}  // namespace berth::hcl
