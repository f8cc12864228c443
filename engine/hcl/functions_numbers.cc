// R-HCL-560 to 565. Logarithms and powers use doubles, as the reference does.
#include <cmath>

#include "hcl/function_table.h"

namespace berth::hcl {
namespace {

constexpr std::size_t kMostOfRange = 1024;
constexpr const char* kInvalidArgument = "invalid argument";  // the reference crashes here, R-HCL-552

CallOutcome extreme(Arguments arguments, bool largest) {
  if (arguments.empty()) return fail("must pass at least one number");
  const Value* best = arguments.data();
  for (const Value& value : arguments) {
    if (largest ? value.number() > best->number() : value.number() < best->number()) best = &value;
  }
  return *best;
}

CallOutcome from_double(double value) {
  if (std::isnan(value)) return fail(kInvalidArgument);
  return Value::of(Number::of(value));
}

CallOutcome parse_integer(Arguments arguments, const FileAccess&) {
  if (arguments[0].kind() != Kind::string) {
    return fail_argument(0, "first argument must be a string, not " + arguments[0].type().name());
  }
  const auto base = to_integer(arguments[1].number());
  if (!base) return fail_argument(1, base.error());
  if (*base < 2 || *base > 62) return fail_argument(1, "base must be a whole number between 2 and 62 inclusive");
  auto number = Number::parse_integer(arguments[0].string(), static_cast<int>(*base));
  if (!number) {
    return fail_argument(
        0, "cannot parse \"" + arguments[0].string() + "\" as a base " + std::to_string(*base) + " integer");
  }
  return Value::of(*std::move(number));
}

CallOutcome range(Arguments arguments, const FileAccess&) {
  if (arguments.empty() || arguments.size() > 3) return fail("must have one, two, or three arguments");
  const Number zero = Number::of(std::int64_t{0}, Number::kMachinePrecision);
  const Number start = arguments.size() == 1 ? zero : arguments[0].number();
  const Number end = arguments[arguments.size() == 1 ? 0 : 1].number();
  const Number step = arguments.size() == 3 ? arguments[2].number() : Number::of(std::int64_t{end < start ? -1 : 1});
  const bool down = step < zero;
  if (arguments.size() == 3 && down && end > start) {
    return fail_argument(1, "end must be less than start when step is negative");
  }
  if (arguments.size() == 3 && step > zero && end < start) {
    return fail_argument(1, "end must be greater than start when step is positive");
  }
  std::vector<Value> values;
  for (Number number = start; down ? number > end : number < end;) {
    if (values.size() == kMostOfRange) {
      return fail(
          "more than 1024 values were generated; either decrease the difference between start and end or use a "
          "smaller step");
    }
    values.push_back(Value::of(number));
    auto next = add(number, step);
    if (!next) return fail(std::move(next.error()));
    number = *std::move(next);
  }
  return Value::list(Kind::number, std::move(values));
}

}  // namespace

void add_number_functions(Functions& table) {
  const Parameter number{"num", Kind::number};
  const Parameter numbers{"numbers", Kind::number};
  table.push_back({"abs", {number}, {}, [](Arguments a, const FileAccess&) -> CallOutcome {
                     return Value::of(a[0].number().absolute());
                   }});
  table.push_back({"ceil", {number}, {}, [](Arguments a, const FileAccess&) -> CallOutcome {
                     return Value::of(a[0].number().ceil());
                   }});
  table.push_back({"floor", {number}, {}, [](Arguments a, const FileAccess&) -> CallOutcome {
                     return Value::of(a[0].number().floor());
                   }});
  table.push_back({"signum", {number}, {}, [](Arguments a, const FileAccess&) -> CallOutcome {
                     const auto value = to_integer(a[0].number());
                     if (!value) return fail(value.error());
                     return Value::of(std::int64_t{(*value > 0) - (*value < 0)});
                   }});
  table.push_back({"min", {}, numbers, [](Arguments a, const FileAccess&) { return extreme(a, false); }});
  table.push_back({"max", {}, numbers, [](Arguments a, const FileAccess&) { return extreme(a, true); }});
  table.push_back({"log", {number, {"base", Kind::number}}, {}, [](Arguments a, const FileAccess&) {
                     return from_double(std::log(a[0].number().to_double()) / std::log(a[1].number().to_double()));
                   }});
  table.push_back({"pow", {number, {"power", Kind::number}}, {}, [](Arguments a, const FileAccess&) {
                     return from_double(std::pow(a[0].number().to_double(), a[1].number().to_double()));
                   }});
  table.push_back({"parseint", {{"number", Type()}, {"base", Kind::number}}, {}, parse_integer});
  table.push_back({"range", {}, Parameter{"params", Kind::number}, range});
}

}  // namespace berth::hcl
