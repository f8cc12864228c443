// An expression or a job file as text, for tests of the language.
#pragma once

#include <string>

#include "hcl/evaluate.h"
#include "hcl/module.h"
#include "hcl/parser.h"

namespace berth::hcl {

/// JSON of the value, or the lines of its errors; the file's name is "x". Runtime references pass.
inline std::string evaluated(const std::string& expression) {
  Workspace workspace;
  workspace.sources.emplace_back("x", expression);
  Diagnostics out;
  const Expr* expr = parse_expression(workspace.sources.back(), workspace.tree, out);
  if (expr == nullptr) return out.all_text();
  Context context;
  context.others = Context::Others::pass;
  context.workspace = &workspace;
  const Value value = evaluate(*expr, context, nullptr, out);
  return out.empty() ? json_text(value).value_or("unknown") : out.all_text();
}

/// Reads a job file up to its job block. Returns "" or the error text.
inline std::string module_error(const std::string& text) {
  ModuleInput input;
  input.name = "f.hcl";
  input.text = text;
  auto module = read_module(std::move(input));
  return module ? std::string() : module.error();
}

}  // namespace berth::hcl
