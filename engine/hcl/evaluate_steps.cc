// Steps after a value, and calls (R-HCL-152 to 155, 650 to 652).
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "hcl/evaluator.h"
#include "hcl/type_expression.h"

namespace berth::hcl {
namespace {

constexpr std::string_view kUnsupportedAttribute = "Unsupported attribute";
constexpr std::string_view kInvalidIndex = "Invalid index";

}  // namespace

Value Evaluator::steps(Value source, const std::vector<Step>& steps, std::size_t at, std::size_t end, Range so_far,
                       bool terse) {
  while (at < end) {
    if (!charge(1)) return Value::unknown();
    const Step& step = steps[at];
    switch (step.kind) {
      case Step::Kind::attribute:
        source = attribute(source, step);
        break;
      case Step::Kind::constant_index:
        source = index(source, step.key, step.range, terse);
        break;
      case Step::Kind::index: {
        const Value key = value(*step.index);
        source = index(source, key, step.range, terse);
        break;
      }
      case Step::Kind::splat:
      case Step::Kind::attribute_splat:
        source = splat(source, steps, at, so_far, terse);
        at = step.splat_end - 1;
        break;
    }
    so_far.end = steps[at].range.end;
    ++at;
  }
  return source;
}

Value Evaluator::no_attribute(std::string_view name, Range subject) {
  return fail(subject, kUnsupportedAttribute,
              fmt::format("This object does not have an attribute named \"{}\".", name));
}

Value Evaluator::attribute(const Value& source, const Step& step) {
  if (source.is_null()) {
    return fail(step.range, "Attempt to get attribute from null value",
                "This value is null, so it does not have any attributes.");
  }
  if (!source.is_known()) return Value::unknown();
  if (source.has_members()) {
    if (const Value* member = source.member(step.name)) return *member;
    if (source.kind() == Kind::object) return no_attribute(step.name, step.range);
    return fail(step.range, "Missing map element",
                fmt::format("This map does not have an element with the key \"{}\".", step.name));
  }
  const Type type = source.type();
  if (type.is_primitive()) {
    return fail(step.range, kUnsupportedAttribute,
                fmt::format("Can't access attributes on a primitive-typed value ({}).", type.name()));
  }
  if (type.is_collection() && type.element().kind() == Kind::object) {
    const bool list = type.kind() == Kind::list;
    const bool known = type.element().attribute(step.name) != nullptr;
    const std::string which = known ? fmt::format("attribute \"{}\"", step.name) : "an attribute";
    return fail(step.range, kUnsupportedAttribute,
                list ? fmt::format("Can't access attributes on a list of objects. Did you mean to access {} for a "
                                   "specific element of the list, or across all elements of the list?",
                                   which)
                     : fmt::format("Can't access attributes on a set of objects. Did you mean to access {} across all "
                                   "elements of the set?",
                                   which));
  }
  return fail(step.range, kUnsupportedAttribute, "This value does not have any attributes.");
}

Value Evaluator::index(const Value& source, const Value& key, Range subject, bool terse) {
  if (source.is_null()) {
    return fail(subject, "Attempt to index null value", "This value is null, so it does not have any indices.");
  }
  if (key.is_null()) return fail(subject, kInvalidIndex, "Can't use a null value as an indexing key.");
  if (!source.is_known() || !key.is_known()) return Value::unknown();
  if (source.kind() == Kind::list || source.kind() == Kind::tuple) {
    return index_sequence(source, key, subject, terse);
  }
  if (source.has_members()) return index_members(source, key, subject);
  if (source.kind() == Kind::set) {
    return fail(subject, kInvalidIndex,
                "Elements of a set are identified only by their value and don't have any separate index or key to "
                "select with, so it's only possible to perform operations across all elements of the set.");
  }
  return fail(subject, kInvalidIndex, "This value does not have any indices.");
}

Value Evaluator::index_sequence(const Value& source, const Value& key, Range subject, bool terse) {
  const auto missing = [&](std::string_view reason) {
    return fail(subject, kInvalidIndex,
                terse
                    ? "The given key does not identify an element in this collection value."
                    : fmt::format("The given key does not identify an element in this collection value: {}.", reason));
  };
  const Outcome converted = to_number(key);
  if (!converted) {
    return fail(
        subject, kInvalidIndex,
        fmt::format("The given key does not identify an element in this collection value: {}.", converted.error()));
  }
  if (!converted->is_known()) return Value::unknown();
  const Number& number = converted->number();
  const auto position = number.to_int64();
  if (position && *position >= 0 && static_cast<std::uint64_t>(*position) < source.size()) {
    return source.items()[static_cast<std::size_t>(*position)];
  }
  if (!number.is_whole() && !number.is_infinite()) {
    return missing("indexing a sequence requires a whole number, but the given index has a fractional part");
  }
  if (number.is_negative()) return missing("a negative number is not a valid index for a sequence");
  if (source.size() == 0) return missing("the collection has no elements");
  return missing("the given index is greater than or equal to the length of the collection");
}

Value Evaluator::index_members(const Value& source, const Value& key, Range subject) {
  constexpr const char* kMissing = "The given key does not identify an element in this collection value";
  const Outcome converted = to_string(key);
  if (!converted) return fail(subject, kInvalidIndex, fmt::format("{}: {}.", kMissing, converted.error()));
  if (!converted->is_known()) return Value::unknown();
  if (const Value* member = source.member(converted->string())) return *member;
  const bool by_number = source.kind() == Kind::object && key.kind() == Kind::number;
  return fail(
      subject, kInvalidIndex,
      fmt::format("{}.{}", kMissing,
                  by_number ? " An object only supports looking up attributes by name, not by numeric index." : ""));
}

Value Evaluator::splat(const Value& source, const std::vector<Step>& all, std::size_t at, Range so_far, bool terse) {
  const Step& step = all[at];
  if (source.is_null()) {
    if (!source.type().is_dynamic() && source.has_items()) {
      return fail(so_far, "Splat of null value",
                  "Splat expressions (with the * symbol) cannot be applied to null sequences.");
    }
    return Value::empty_tuple();
  }
  if (!source.is_known()) return Value::unknown();
  std::vector<Value> results;
  const auto apply = [&](const Value& element) {
    if (charge(kStepsPerRound)) results.push_back(steps(element, all, at + 1, step.splat_end, step.range, terse));
  };
  if (source.has_items()) {
    for (const Value& element : source.items()) apply(element);
  } else {
    apply(source);
  }
  if (source.kind() == Kind::list || source.kind() == Kind::set) {
    std::size_t weight = 0;
    for (const Value& result : results) weight += std::min(result.weight(), kMaxWeight);
    if (!charge(weight / kBytesPerStep)) return Value::unknown();
    const Type type = results.empty() ? Type() : results.front().type();
    const bool same = std::all_of(results.begin(), results.end(), [&](const Value& v) { return v.type() == type; });
    if (same) return bounded(Value::list(type, std::move(results)), so_far);
  }
  return bounded(Value::tuple(std::move(results)), so_far);
}

// --- Calls (R-HCL-155) ---

Value Evaluator::call_failed(const CallExpr& call, const std::string& text) {
  return fail(start_of(call), "Error in function call",
              fmt::format("Call to function \"{}\" failed: {}.", call.name, text));
}

// Evaluates the arguments and expands the last one if it has `...`. False: failed and reported.
bool Evaluator::expand(const CallExpr& call, std::vector<Value>& arguments, bool& known) {
  const std::size_t plain = call.arguments.size() - (call.expands_last ? 1 : 0);
  for (std::size_t i = 0; i < plain; ++i) arguments.push_back(value(*call.arguments[i]));
  if (!call.expands_last) return true;
  constexpr std::string_view kInvalid = "Invalid expanding argument value";
  const Expr& last = *call.arguments.back();
  const Value spread = value(last);
  if (spread.is_null()) {
    fail(last.range, kInvalid, "The expanding argument (indicated by ...) must not be null.");
    return false;
  }
  if (!spread.is_known()) {
    known = false;
    return true;
  }
  if (!spread.has_items()) {
    fail(last.range, kInvalid, "The expanding argument (indicated by ...) must be of a tuple, list, or set type.");
    return false;
  }
  if (!charge(spread.size())) return false;
  arguments.insert(arguments.end(), spread.items().begin(), spread.items().end());
  return true;
}

bool Evaluator::count_fits(const CallExpr& call, std::size_t given, std::size_t least, bool variadic,
                           const std::vector<std::string_view>& names) {
  if (given < least) {
    fail(call.close, "Not enough function arguments",
         fmt::format("Function \"{}\" expects{} {} argument(s). Missing value for \"{}\".", call.name,
                     variadic ? " at least" : "", least, names[given]));
    return false;
  }
  if (given > least && !variadic) {
    const Expr& extra = *call.arguments[std::min(least, call.arguments.size() - 1)];
    fail(start_of(extra), "Too many function arguments",
         fmt::format("Function \"{}\" expects only {} argument(s).", call.name, least));
    return false;
  }
  return true;
}

Value Evaluator::call(const CallExpr& call) {
  if (context_.others == Context::Others::constants) {
    return fail(call.range, "Function calls not allowed", "Functions may not be called here.");
  }
  if (call.name == "try" || call.name == "can") return try_call(call);
  if (call.name == "convert") return convert_call(call);
  constexpr std::string_view kUnknown = "Call to unknown function";
  if (const auto colons = call.name.rfind("::"); colons != std::string::npos) {
    return fail(call.name_range, kUnknown,
                fmt::format("There are no functions in namespace \"{}\".", call.name.substr(0, colons + 2)));
  }
  const Function* function = find_function(call.name);
  if (function == nullptr) {
    const std::string_view meant = suggestion(call.name, function_names());
    return fail(call.name_range, kUnknown,
                fmt::format("There is no function named \"{}\".{}", call.name,
                            meant.empty() ? "" : fmt::format(" Did you mean \"{}\"?", meant)));
  }
  std::vector<Value> arguments;
  bool known = true;
  if (!expand(call, arguments, known)) return Value::unknown();
  if (!known) return Value::unknown();
  std::vector<std::string_view> names;
  for (const Parameter& parameter : function->parameters) names.emplace_back(parameter.name);
  if (!count_fits(call, arguments.size(), names.size(), function->variadic.has_value(), names)) {
    return Value::unknown();
  }
  std::size_t weight = 0;
  for (const Value& argument : arguments) weight += std::min(argument.weight(), kMaxWeight);
  if (!charge(arguments.size() + weight / kBytesPerStep)) return Value::unknown();
  CallOutcome outcome = hcl::call(*function, arguments, context_.files);
  if (outcome) {
    if (!charge(outcome->weight() / kBytesPerStep)) return Value::unknown();
    return bounded(*std::move(outcome), call.range);
  }
  const CallError& error = outcome.error();
  if (error.kind == CallError::Kind::call || call.arguments.empty()) return call_failed(call, error.text);
  const Expr& argument = *call.arguments[std::min(error.argument, call.arguments.size() - 1)];
  return fail(
      start_of(argument), "Invalid function argument",
      fmt::format("Invalid value for \"{}\" parameter: {}.", function->parameter(error.argument).name, error.text));
}

// try() and can(): the arguments are expressions, and their errors are not reported.
Value Evaluator::try_call(const CallExpr& call) {
  const bool tries = call.name == "try";
  if (!tries && !count_fits(call, call.arguments.size(), 1, false, {"expression"})) return Value::unknown();
  if (call.arguments.empty()) return call_failed(call, "at least one argument is required");
  std::string failures;
  for (const Expr* argument : call.arguments) {
    Diagnostics own;
    const Value result = aside(*argument, own);
    if (!tries) return Value::of(own.empty());
    if (own.empty()) return result;
    for (const Diagnostic& failure : own.items()) {
      if (failures.size() > kMaxWeight) break;
      failures += fmt::format("\n- {} (at {})\n  {}", failure.summary,
                              failure.subject ? failure.subject->text() : "<nil>", failure.detail);
    }
  }
  if (!charge(failures.size() / kBytesPerStep)) return Value::unknown();
  return call_failed(call, fmt::format("no expression succeeded:{}\n\nAt least one expression must produce a "
                                       "successful result",
                                       failures));
}

Value Evaluator::convert_call(const CallExpr& call) {
  if (!count_fits(call, call.arguments.size(), 2, false, {"value", "type"})) return Value::unknown();
  const Value given = value(*call.arguments[0]);
  const std::optional<Type> type = type_of_expression(*call.arguments[1], true, *out_);
  if (!type) return Value::unknown();
  if (!charge(given.weight() / kBytesPerStep)) return Value::unknown();
  const Outcome converted = convert(given, *type);
  if (converted) return bounded(*converted, call.range);
  return fail(start_of(*call.arguments[0]), "Invalid function argument",
              fmt::format("Invalid value for \"value\" parameter: {}.", converted.error()));
}

}  // namespace berth::hcl
