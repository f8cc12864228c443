// Parses texts in native HCL into trees (R-HCL-50 to 93). Handwritten instead of generated from a grammar: the
// scanner's modes depend on the open constructs (templates in strings in templates, heredoc markers, significant
// newlines), and each error has recorded words and a recorded place.
#pragma once

#include <string>

#include "hcl/ast.h"
#include "hcl/source.h"

namespace berth::hcl {

/// Parses a whole file. Errors are in the order in which Nomad reports them; the tree contains what could be read.
[[nodiscard]] NativeBody parse_file(const Source& source, Tree& tree, Diagnostics& out);

/// Parses a text that is one expression; newlines are not significant (R-HCL-92, 262). Null: errors.
[[nodiscard]] const Expr* parse_expression(const Source& source, Tree& tree, Diagnostics& out);

/// Parses a text that is a bare template, such as a JSON string (R-HCL-771). Null: errors.
[[nodiscard]] const Expr* parse_template(const Source& source, Tree& tree, Diagnostics& out);

[[nodiscard]] bool is_identifier(std::string_view text);

}  // namespace berth::hcl
