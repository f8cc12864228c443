// The functions of HCL job files by name (R-HCL-550 to 665), except try(), can() and convert(). Their arguments are
// expressions and types, so they are in the evaluator.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hcl/value.h"

namespace berth::hcl {

/// Where file functions may read. Nothing outside `folder` is read, whatever the path or link.
struct FileAccess {
  bool allowed = false;
  std::string folder;  ///< start of relative paths
};

struct Parameter {
  const char* name;
  Type type;
  bool may_be_null = false;
};

/// The reason why a call failed, for the diagnostic of R-HCL-155 and 551.
struct CallError {
  enum class Kind {
    call,      ///< `Error in function call; Call to function "f" failed: <text>.`
    argument,  ///< `Invalid function argument; Invalid value for "<parameter>" parameter: <text>.`
  };
  Kind kind = Kind::call;
  std::size_t argument = 0;  ///< position of the argument at fault
  std::string text;
};
using CallOutcome = tl::expected<Value, CallError>;

struct Function {
  using Body = CallOutcome (*)(std::span<const Value> arguments, const FileAccess& files);
  const char* name;
  std::vector<Parameter> parameters;
  std::optional<Parameter> variadic;
  Body body;

  [[nodiscard]] const Parameter& parameter(std::size_t position) const {
    return position < parameters.size() ? parameters[position] : *variadic;
  }
};

/// nullptr if there is no such function (R-HCL-550).
[[nodiscard]] const Function* find_function(std::string_view name);
/// All names, ascending, with try, can and convert: candidates of "Did you mean".
[[nodiscard]] const std::vector<std::string>& function_names();

/// Converts the arguments to the parameters' types and calls the function. The caller must have checked the number of
/// arguments (the evaluator has the diagnostics). An unknown argument gives an unknown result. The result is checked
/// against kMaxWeight and kMaxDepth.
[[nodiscard]] CallOutcome call(const Function& function, std::span<const Value> arguments, const FileAccess& files);

}  // namespace berth::hcl
