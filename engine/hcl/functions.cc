#include "hcl/functions.h"

#include <algorithm>

#include "base/assert.h"
#include "hcl/function_table.h"

namespace berth::hcl {
namespace {

/// All functions, ascending by name.
const std::vector<const Function*>& table() {
  static const Functions kFunctions = [] {
    Functions functions;
    add_number_functions(functions);
    add_text_functions(functions);
    add_format_functions(functions);
    add_time_functions(functions);
    add_collection_functions(functions);
    add_encoding_functions(functions);
    add_yaml_functions(functions);
    add_secret_functions(functions);
    add_network_functions(functions);
    add_file_functions(functions);
    return functions;
  }();
  static const std::vector<const Function*> kTable = [] {
    std::vector<const Function*> sorted;
    for (const Function& function : kFunctions) sorted.push_back(&function);
    std::sort(sorted.begin(), sorted.end(),
              [](const Function* a, const Function* b) { return std::string_view(a->name) < b->name; });
    return sorted;
  }();
  return kTable;
}

}  // namespace

const Function* find_function(std::string_view name) {
  const auto& functions = table();
  const auto found = std::lower_bound(functions.begin(), functions.end(), name,
                                      [](const Function* f, std::string_view wanted) { return f->name < wanted; });
  return found != functions.end() && (*found)->name == name ? *found : nullptr;
}

const std::vector<std::string>& function_names() {
  static const std::vector<std::string> kNames = [] {
    std::vector<std::string> names = {"can", "convert", "try"};
    for (const Function* function : table()) names.emplace_back(function->name);
    std::sort(names.begin(), names.end());
    return names;
  }();
  return kNames;
}

CallOutcome call(const Function& function, std::span<const Value> arguments, const FileAccess& files) {
  BERTH_ASSERT(arguments.size() >= function.parameters.size());
  BERTH_ASSERT(function.variadic || arguments.size() == function.parameters.size());
  std::vector<Value> converted;
  converted.reserve(arguments.size());
  bool known = true;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const Parameter& parameter = function.parameter(i);
    if (arguments[i].is_null() && !parameter.may_be_null) return fail_argument(i, "argument must not be null");
    auto value = convert(arguments[i], parameter.type);
    if (!value) return fail_argument(i, std::move(value.error()));
    known = known && value->is_wholly_known();
    converted.push_back(*std::move(value));
  }
  if (!known) return Value::unknown();
  auto result = function.body(converted, files);
  if (result && result->too_large()) return fail(kTooLarge);
  if (result && result->too_deep()) return fail(kTooDeep);
  return result;
}

}  // namespace berth::hcl
