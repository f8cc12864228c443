#include "hcl/variables.h"

#include <algorithm>

#include <fmt/format.h>

#include "hcl/parser.h"
#include "hcl/references.h"
#include "hcl/type_expression.h"
#include "hcl/unicode.h"

namespace berth::hcl {
namespace {

const Schema& variable_schema() {
  static const Schema schema{{{"default"}, {"description"}, {"type"}}, {{"validation", {}}}, false};
  return schema;
}

const Schema& validation_schema() {
  static const Schema schema{{{"condition", true}, {"error_message", true}}, {}, false};
  return schema;
}

bool is_blank(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    if (!is_space(next_code_point(text, at))) return false;
  }
  return true;
}

}  // namespace

Variables::Variable* Variables::find(std::string_view name) {
  const auto found = position_.find(std::string(name));
  return found == position_.end() ? nullptr : &all_[found->second];
}

void Variables::add(Variable variable) {
  position_.emplace(variable.name, all_.size());
  all_.push_back(std::move(variable));
}

// --- Declarations ---

void Variables::declare(const Block& block) {
  const std::string& name = block.labels.front();
  if (find(name) != nullptr) {
    out_.add({std::nullopt, "Duplicate variable", fmt::format("Duplicate {} variable definition found.", name)});
    return;
  }
  Variable variable;
  variable.name = name;
  const Content content = block.body.content(variable_schema(), out_);
  if (!is_identifier(name)) {
    out_.add(block.label_ranges.front(), "Invalid variable name",
             "A name must start with a letter or underscore and may contain only letters, digits, underscores, and "
             "dashes.");
  }
  read_description(content);
  const bool typed = read_type(content, variable);
  const bool valued = typed && read_default(content, variable);
  for (const Block& rule : content.blocks) read_validation(rule, variable);
  if (valued) add(std::move(variable));  // otherwise it is dropped (R-HCL-254)
}

void Variables::declare_all(const Block& block) {
  const Content content = block.body.everything(out_);
  for (const Block& nested : content.blocks) {
    out_.add(nested.type_range, fmt::format("Unexpected \"{}\" block", nested.type), "Blocks are not allowed here.");
  }
  for (const Attribute& attribute : content.attributes) {
    if (find(attribute.name) != nullptr) {
      out_.add(attribute.name_range, "Duplicate variable",
               fmt::format("Duplicate {} variable definition found.", attribute.name));
      continue;
    }
    const std::size_t before = out_.count();
    Variable variable;
    variable.name = attribute.name;
    variable.value = evaluate(attribute.expression.expr(), constants_, nullptr, out_);
    variable.value_range = attribute.expression.range();
    variable.type = variable.value->type();
    if (out_.count() == before) add(std::move(variable));
  }
}

void Variables::read_description(const Content& content) {
  const Attribute* attribute = content.attribute("description");
  if (attribute == nullptr) return;
  const Value value = evaluate(attribute->expression.expr(), constants_, nullptr, out_);
  if (const Outcome text = to_string(value); !text) {
    out_.add(attribute->expression.start(), "Unsuitable value type", fmt::format("Unsuitable value: {}", text.error()));
  }
}

bool Variables::read_type(const Content& content, Variable& variable) {
  const Attribute* attribute = content.attribute("type");
  if (attribute == nullptr) return true;
  const Expr* written = attribute->expression.written(out_);
  if (written == nullptr) return false;
  variable.type = type_of_expression(*written, false, out_);
  return variable.type.has_value();
}

bool Variables::read_default(const Content& content, Variable& variable) {
  const Attribute* attribute = content.attribute("default");
  if (attribute == nullptr) return true;
  const std::size_t before = out_.count();
  Value value = evaluate(attribute->expression.expr(), constants_, nullptr, out_);
  if (out_.count() > before) return false;
  variable.value_range = attribute->expression.range();
  if (!variable.type) {
    variable.type = value.type();
  } else {
    const Outcome converted = convert(value, *variable.type);
    if (!converted) {
      out_.add(variable.value_range, "Invalid default value for variable",
               fmt::format("This default value is not compatible with the variable's type constraint: {}.",
                           converted.error()));
      return false;
    }
    value = *converted;
  }
  variable.value = std::move(value);
  return true;
}

// `condition` may refer to the variable only; `error_message` is a constant (R-HCL-270, 271).
void Variables::read_validation(const Block& block, Variable& variable) {
  const Content content = block.body.content(validation_schema(), out_);
  std::string message;
  if (const Attribute* attribute = content.attribute("error_message")) {
    const Expression& expression = attribute->expression;
    const std::size_t before = out_.count();
    const Value value = evaluate(expression.expr(), constants_, nullptr, out_);
    const Outcome text = to_string(value);
    if (!text || text->is_null()) {
      out_.add(expression.start(), "Unsuitable value type",
               fmt::format("Unsuitable value: {}", text ? "null value is not allowed" : text.error()));
    } else if (text->is_known() && is_blank(text->string())) {
      out_.add(expression.range(), "Invalid validation error message",
               "An empty or blank string is not a valid nor useful error message.");
    } else if (text->is_known() && out_.count() == before) {
      message = text->string();
    }
  }
  const Attribute* condition = content.attribute("condition");
  if (condition == nullptr) return;
  check_condition(condition->expression, variable.name);
  variable.validations.push_back(
      {Expression(condition->expression.expr(), nullptr, validation_), std::move(message), block.type_range});
}

void Variables::check_condition(const Expression& condition, const std::string& name) {
  bool refers = false;
  for (const ReferenceExpr* reference : free_references(condition.expr())) {
    if (reference->name == "var" && !reference->steps.empty() &&
        reference->steps.front().kind == Step::Kind::attribute && reference->steps.front().name == name) {
      refers = true;
      continue;
    }
    out_.add(
        reference->range, "Invalid reference in variable validation",
        fmt::format("The condition for variable \"{0}\" can only refer to the variable itself, using var.{0}.", name));
  }
  if (!refers) {
    out_.add(condition.range(), "Invalid variable validation condition",
             fmt::format("The condition for variable \"{0}\" must refer to var.{0} in order to test incoming values.",
                         name));
  }
}

// --- Values ---

// A text is the value itself if the variable is a string, a number or has no type; else it is an expression
// (R-HCL-262).
std::optional<std::pair<Value, Range>> Variables::value_of_text(const Variable& variable, std::string_view text,
                                                                std::string_view origin) {
  if (!variable.type || variable.type->kind() == Kind::string || variable.type->kind() == Kind::number) {
    return std::pair(Value::of(text), Range{});
  }
  Workspace& workspace = *constants_.workspace;
  workspace.sources.emplace_back(fmt::format("<value for var.{} from {}>", variable.name, origin), std::string(text));
  const Expr* expr = parse_expression(workspace.sources.back(), workspace.tree, out_);
  if (expr == nullptr) return std::nullopt;
  Value value = evaluate(*expr, constants_, nullptr, out_);
  return std::pair(std::move(value), expr->range);
}

// A value that does not convert is reported, but counts as set.
void Variables::set(Variable& variable, Value value, Range where, const char* source) {
  const bool argument = std::string_view(source) == "cmd";
  if (variable.type) {
    const Outcome converted = convert(value, *variable.type);
    if (!converted) {
      out_.add(where, argument ? "Invalid argument value for -var variable" : "Invalid value for variable",
               fmt::format("The {} for {} is not compatible with the variable's type constraint: {}.",
                           argument ? "received arg value" : "value", variable.name, converted.error()));
      value = Value::unknown(*variable.type);
    } else {
      value = *converted;
    }
  }
  variable.value = std::move(value);
  variable.value_range = where;
  variable.source = source;
}

void Variables::set_from_environment(const std::vector<std::string>& environment) {
  constexpr std::string_view kPrefix = "NOMAD_VAR_";
  for (const std::string& entry : environment) {
    const std::size_t equals = entry.find('=');
    if (!entry.starts_with(kPrefix) || equals == std::string::npos || equals < kPrefix.size()) continue;
    const std::string_view whole = entry;
    Variable* variable = find(whole.substr(kPrefix.size(), equals - kPrefix.size()));
    if (variable == nullptr) continue;
    if (auto found = value_of_text(*variable, whole.substr(equals + 1), "env")) {
      set(*variable, std::move(found->first), found->second, "env");
    }
  }
}

void Variables::set_from_file(const Body& body, bool strict) {
  const Content content = body.everything(out_);
  for (const Block& block : content.blocks) {
    if (block.type != "variable" || block.labels.size() != 1) {
      out_.add(block.type_range, fmt::format("Unexpected \"{}\" block", block.type), "Blocks are not allowed here.");
      continue;
    }
    out_.add(block.type_range, "Variable declaration in a .var file",
             fmt::format("A .var file is used to assign values to variables that have already been declared in job "
                         "files, not to declare new variables. To declare variable \"{0}\", place this block in one of "
                         "your job files\n\nTo set a value for this variable in {1}, use the definition syntax "
                         "instead:\n    {0} = <value>",
                         block.labels.front(), block.type_range.source->name()));
  }
  for (const Attribute& attribute : content.attributes) {
    Variable* variable = find(attribute.name);
    if (variable == nullptr) {
      undeclared(attribute.name, false, strict);
      continue;
    }
    Value value = evaluate(attribute.expression.expr(), constants_, nullptr, out_);
    set(*variable, std::move(value), attribute.expression.range(), "varfile");
  }
}

void Variables::set_from_arguments(const std::vector<std::string>& arguments, bool strict) {
  // The last value of a name counts, at the position of the first.
  std::vector<std::pair<std::string_view, std::string_view>> last;
  std::unordered_map<std::string_view, std::size_t> position;
  for (const std::string& argument : arguments) {
    const std::size_t equals = argument.find('=');
    if (equals == std::string::npos) continue;  // ignored (R-HCL-263)
    const std::string_view whole = argument;
    const auto [at, added] = position.try_emplace(whole.substr(0, equals), last.size());
    if (added) last.emplace_back(whole.substr(0, equals), std::string_view());
    last[at->second].second = whole.substr(equals + 1);
  }
  for (const auto& [name, text] : last) {
    Variable* variable = find(name);
    if (variable == nullptr) {
      undeclared(name, true, strict);
      continue;
    }
    if (auto found = value_of_text(*variable, text, "arguments")) {
      set(*variable, std::move(found->first), found->second, "cmd");
    }
  }
}

void Variables::undeclared(std::string_view name, bool argument, bool strict) {
  (strict ? out_ : warnings_)
      .add({std::nullopt, argument ? "Undefined -var variable" : "Undefined variable",
            argument
                ? fmt::format("A \"{0}\" variable was passed in the command line but was not found in known "
                              "variables. To declare variable \"{0}\", place this block in your job file",
                              name)
                : fmt::format("A \"{0}\" variable was set but was not found in known variables. To declare variable "
                              "\"{0}\", place this block in your job files",
                              name)});
}

std::vector<std::pair<std::string, Value>> Variables::settle() {
  std::vector<std::pair<std::string, Value>> result;
  for (const Variable& variable : all_) {
    if (!variable.value) {
      out_.add({std::nullopt, fmt::format("Unset variable \"{}\"", variable.name),
                "A used variable must be set or have a default value; see "
                "https://developer.hashicorp.com/nomad/docs/reference/hcl2/variables  for details."});
      values_.set(variable.name, Value::unknown());
      continue;
    }
    values_.set(variable.name, *variable.value);
    result.emplace_back(variable.name, *variable.value);
    validate(variable);
  }
  return result;
}

void Variables::validate(const Variable& variable) {
  if (variable.validations.empty() || !variable.value->is_known()) return;
  validated_.members.clear();
  validated_.set(variable.name, *variable.value);
  constexpr std::string_view kInvalidResult = "Invalid variable validation result";
  for (const Validation& validation : variable.validations) {
    const Value result = validation.condition.value(out_);
    const Range where = validation.condition.range();
    if (result.is_null()) {
      out_.add(where, kInvalidResult, "Validation condition expression must return either true or false, not null.");
      continue;
    }
    const Outcome holds = to_bool(result);
    if (!holds) {
      out_.add(where, kInvalidResult, fmt::format("Invalid validation condition result value: {}.", holds.error()));
    } else if (holds->is_known() && !holds->boolean()) {
      out_.add(variable.value_range, fmt::format("Invalid value for {} variable", variable.source),
               fmt::format("{}\n\nThis was checked by the validation rule at {}.", validation.message,
                           validation.rule.text()));
    }
  }
}

}  // namespace berth::hcl
