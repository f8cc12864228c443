// Input variables: declarations, values from environment, files and arguments, validation (R-HCL-250 to 273).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "hcl/body.h"
#include "hcl/evaluate.h"

namespace berth::hcl {

class Variables {
 public:
  /// `constants`: names for defaults and values; `job`: names for the file's other expressions. `values` becomes `var`.
  Variables(const Context& constants, const Context& job, Root& values, Diagnostics& out, Diagnostics& warnings)
      : constants_(constants), values_(values), out_(out), warnings_(warnings) {
    validation_.others = Context::Others::unknown;
    validation_.variables = &validated_;
    validation_.workspace = job.workspace;  // file functions stay off (R-HCL-272)
  }

  void declare(const Block& block);      ///< `variable "name"`
  void declare_all(const Block& block);  ///< `variables`
  // Call in this order: a later source wins (R-HCL-260).
  void set_from_environment(const std::vector<std::string>& environment);
  void set_from_file(const Body& body, bool strict);
  void set_from_arguments(const std::vector<std::string>& arguments, bool strict);
  /// Checks the final values and stores them in `values`; returns them in the order of declaration.
  std::vector<std::pair<std::string, Value>> settle();

 private:
  struct Validation {
    Expression condition;  // evaluated with validation_
    std::string message;
    Range rule;
  };
  struct Variable {
    std::string name;
    std::optional<Type> type;  // nullopt: neither a type nor a default
    std::vector<Validation> validations;
    std::optional<Value> value;  // the last one set
    Range value_range;
    const char* source = "default";
  };

  Variable* find(std::string_view name);
  void add(Variable variable);
  bool read_type(const Content& content, Variable& variable);
  bool read_default(const Content& content, Variable& variable);
  void read_description(const Content& content);
  void read_validation(const Block& block, Variable& variable);
  void check_condition(const Expression& condition, const std::string& name);
  std::optional<std::pair<Value, Range>> value_of_text(const Variable& variable, std::string_view text,
                                                       std::string_view origin);
  void set(Variable& variable, Value value, Range where, const char* source);
  void undeclared(std::string_view name, bool argument, bool strict);
  void validate(const Variable& variable);

  const Context& constants_;
  Root& values_;
  Diagnostics& out_;
  Diagnostics& warnings_;
  Root validated_;  // `var` of a validation: only its own variable
  Context validation_;
  std::vector<Variable> all_;
  std::unordered_map<std::string, std::size_t> position_;  // in all_
};

}  // namespace berth::hcl
