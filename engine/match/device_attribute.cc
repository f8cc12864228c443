#include "match/device_attribute.h"

#include <bit>
#include <cmath>
#include <optional>

#include "base/text.h"

namespace berth::match {
namespace {

enum class UnitBase : std::uint8_t { byte, byte_rate, hertz, watt };

struct Unit {
  std::string_view name;
  UnitBase base;
  std::int64_t multiplier;  ///< to the base unit; milliwatts divide instead
  bool divides;
};

constexpr std::int64_t kKilo = 1000, kMega = kKilo * kKilo, kGiga = kMega * kKilo, kTera = kGiga * kKilo,
                       kPeta = kTera * kKilo, kExa = kPeta * kKilo;

// Units of R-FEAS-925. Only `W` is a suffix of other names (mW, kW, MW, GW); the longest suffix wins.
constexpr Unit kUnits[] = {
    {"KiB", UnitBase::byte, 1LL << 10, false},
    {"MiB", UnitBase::byte, 1LL << 20, false},
    {"GiB", UnitBase::byte, 1LL << 30, false},
    {"TiB", UnitBase::byte, 1LL << 40, false},
    {"PiB", UnitBase::byte, 1LL << 50, false},
    {"EiB", UnitBase::byte, 1LL << 60, false},
    {"kB", UnitBase::byte, kKilo, false},
    {"KB", UnitBase::byte, kKilo, false},
    {"MB", UnitBase::byte, kMega, false},
    {"GB", UnitBase::byte, kGiga, false},
    {"TB", UnitBase::byte, kTera, false},
    {"PB", UnitBase::byte, kPeta, false},
    {"EB", UnitBase::byte, kExa, false},
    {"KiB/s", UnitBase::byte_rate, 1LL << 10, false},
    {"MiB/s", UnitBase::byte_rate, 1LL << 20, false},
    {"GiB/s", UnitBase::byte_rate, 1LL << 30, false},
    {"TiB/s", UnitBase::byte_rate, 1LL << 40, false},
    {"PiB/s", UnitBase::byte_rate, 1LL << 50, false},
    {"EiB/s", UnitBase::byte_rate, 1LL << 60, false},
    {"kB/s", UnitBase::byte_rate, kKilo, false},
    {"KB/s", UnitBase::byte_rate, kKilo, false},
    {"MB/s", UnitBase::byte_rate, kMega, false},
    {"GB/s", UnitBase::byte_rate, kGiga, false},
    {"TB/s", UnitBase::byte_rate, kTera, false},
    {"PB/s", UnitBase::byte_rate, kPeta, false},
    {"EB/s", UnitBase::byte_rate, kExa, false},
    {"MHz", UnitBase::hertz, kMega, false},
    {"GHz", UnitBase::hertz, kGiga, false},
    {"mW", UnitBase::watt, 1000, true},
    {"W", UnitBase::watt, 1, false},
    {"kW", UnitBase::watt, kKilo, false},
    {"MW", UnitBase::watt, kMega, false},
    {"GW", UnitBase::watt, kGiga, false},
};

const Unit* find_unit(std::string_view name) {
  for (const Unit& unit : kUnits)
    if (unit.name == name) return &unit;
  return nullptr;
}

const Unit* longest_unit_suffix(std::string_view text) {
  const Unit* best = nullptr;
  for (const Unit& unit : kUnits)
    if (text.ends_with(unit.name) && (!best || unit.name.size() > best->name.size())) best = &unit;
  return best;
}

bool is_letter(char c) { return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z'); }

__extension__ typedef __int128 Wide;
__extension__ typedef unsigned __int128 WideUnsigned;

/// mantissa * 2^exponent, exactly.
struct Exact {
  Wide mantissa;
  int exponent;
};

/// Multiplier that brings all units of one base to a common integer unit: milliwatts for watts.
std::int64_t exact_multiplier(const Unit* unit) {
  if (!unit) return 1;
  if (unit->base != UnitBase::watt) return unit->multiplier;
  return unit->divides ? 1 : unit->multiplier * 1000;
}

/// At most 63 + 60 bits from an int, 53 + 60 from a double: a Wide holds either.
Exact exact_of(const model::Attribute& a, const Unit* unit) {
  const std::int64_t multiplier = exact_multiplier(unit);
  if (a.int_value) return {static_cast<Wide>(*a.int_value) * multiplier, 0};
  int exponent = 0;
  const double fraction = std::frexp(*a.float_value, &exponent);  // |fraction| in [0.5, 1)
  const auto mantissa = static_cast<std::int64_t>(std::ldexp(fraction, 53));
  return {static_cast<Wide>(mantissa) * multiplier, exponent - 53};
}

int bit_length(WideUnsigned v) {
  const auto high = static_cast<std::uint64_t>(v >> 64), low = static_cast<std::uint64_t>(v);
  return high ? 64 + std::bit_width(high) : std::bit_width(low);
}

int compare_exact(const Exact& a, const Exact& b) {
  const auto sign = [](Wide v) { return (v > 0) - (v < 0); };
  if (sign(a.mantissa) != sign(b.mantissa)) return sign(a.mantissa) < sign(b.mantissa) ? -1 : 1;
  if (a.mantissa == 0) return 0;
  const int both = sign(a.mantissa);
  auto a_magnitude = static_cast<WideUnsigned>(both < 0 ? -a.mantissa : a.mantissa);
  auto b_magnitude = static_cast<WideUnsigned>(both < 0 ? -b.mantissa : b.mantissa);
  const int a_top = bit_length(a_magnitude) + a.exponent, b_top = bit_length(b_magnitude) + b.exponent;
  if (a_top != b_top) return a_top < b_top ? -both : both;
  // The top bits coincide, so shifting the one with the larger exponent gives it the other's bit length: no overflow.
  if (a.exponent > b.exponent)
    a_magnitude <<= a.exponent - b.exponent;
  else
    b_magnitude <<= b.exponent - a.exponent;
  if (a_magnitude == b_magnitude) return 0;
  return a_magnitude < b_magnitude ? -both : both;
}

DeviceOrder order_of(int order) {
  return order < 0 ? DeviceOrder::less : order > 0 ? DeviceOrder::greater : DeviceOrder::equal;
}
template <class T>
DeviceOrder order_of(const T& left, const T& right) {
  return left < right ? DeviceOrder::less : right < left ? DeviceOrder::greater : DeviceOrder::equal;
}

/// Multiplies like Nomad's int64: wraps around (R-FEAS-932).
std::int64_t wrapped(std::int64_t value, const Unit* unit) {
  if (!unit) return value;
  if (unit->divides) return value / unit->multiplier;
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(value) * static_cast<std::uint64_t>(unit->multiplier));
}

bool is_number(const model::Attribute& a) { return a.int_value || a.float_value; }

DeviceOrder compare_numbers(const model::Attribute& left, const Unit* left_unit, const model::Attribute& right,
                            const Unit* right_unit) {
  if (left.int_value && right.int_value)
    return order_of(wrapped(*left.int_value, left_unit), wrapped(*right.int_value, right_unit));
  const auto is = [](const model::Attribute& a, auto test) { return !a.int_value && test(*a.float_value); };
  const auto nan = [](double v) { return std::isnan(v); };
  const auto infinite = [](double v) { return std::isinf(v); };
  if (is(left, nan) || is(right, nan)) return DeviceOrder::not_a_number;
  if (is(left, infinite) || is(right, infinite)) {
    const double l = is(left, infinite) ? *left.float_value : 0, r = is(right, infinite) ? *right.float_value : 0;
    return order_of(l, r);
  }
  return order_of(compare_exact(exact_of(left, left_unit), exact_of(right, right_unit)));
}

}  // namespace

model::Attribute parse_device_literal(std::string_view text) {
  model::Attribute out;
  std::string_view number = text;
  const Unit* unit = !text.empty() && is_letter(text.back()) ? longest_unit_suffix(text) : nullptr;
  if (unit) number = base::trim_space(text.substr(0, text.size() - unit->name.size()));

  if (const auto as_int = base::parse_int64(number)) {
    out.int_value = as_int;
  } else if (const auto as_double = base::parse_double(number)) {
    out.float_value = as_double;
  } else {
    if (const auto as_bool = base::parse_bool(text))
      out.bool_value = as_bool;
    else
      out.string_value = std::string(text);
    return out;
  }
  if (unit) out.unit = unit->name;
  return out;
}

DeviceOrder compare(const model::Attribute& left, const model::Attribute& right) {
  const Unit *left_unit = find_unit(left.unit), *right_unit = find_unit(right.unit);
  if ((left_unit == nullptr) != (right_unit == nullptr)) return DeviceOrder::incomparable;
  if (left_unit && left_unit->base != right_unit->base) return DeviceOrder::incomparable;
  if (is_number(left) && is_number(right)) return compare_numbers(left, left_unit, right, right_unit);
  if (left.string_value && right.string_value)
    return order_of(std::string_view(*left.string_value), std::string_view(*right.string_value));
  if (left.bool_value && right.bool_value)
    return *left.bool_value == *right.bool_value ? DeviceOrder::equal : DeviceOrder::greater;
  return DeviceOrder::incomparable;
}

Result<bool, NotANumber> evaluate_device(Operand operand, const model::Attribute* left, const model::Attribute* right,
                                         Patterns& patterns) {
  const auto compared = [&](auto accepts) -> Result<bool, NotANumber> {
    const DeviceOrder order = compare(*left, *right);
    if (order == DeviceOrder::not_a_number) return tl::unexpected(NotANumber{});
    return order != DeviceOrder::incomparable && accepts(order);
  };
  switch (operand) {
    case Operand::distinct_hosts:
    case Operand::distinct_property:
      return true;
    case Operand::is_set:
      return left != nullptr;
    case Operand::is_not_set:
      return left == nullptr;
    case Operand::not_equal:
      if (!left || !right) return (left != nullptr) != (right != nullptr);
      return compared([](DeviceOrder o) { return o != DeviceOrder::equal; });
    default:
      break;
  }
  if (!left || !right) return false;
  switch (operand) {
    case Operand::equal:
      return compared([](DeviceOrder o) { return o == DeviceOrder::equal; });
    case Operand::less:
      return compared([](DeviceOrder o) { return o == DeviceOrder::less; });
    case Operand::less_equal:
      return compared([](DeviceOrder o) { return o != DeviceOrder::greater; });
    case Operand::greater:
      return compared([](DeviceOrder o) { return o == DeviceOrder::greater; });
    case Operand::greater_equal:
      return compared([](DeviceOrder o) { return o != DeviceOrder::less; });
    case Operand::version:
    case Operand::semver: {
      if (!right->string_value || !(left->string_value || left->int_value)) return false;
      const std::string version = left->string_value ? *left->string_value : std::to_string(*left->int_value);
      const auto list =
          operand == Operand::version ? patterns.version(*right->string_value) : patterns.semver(*right->string_value);
      return list && list->satisfied_by(version);
    }
    case Operand::regexp: {
      if (!left->string_value || !right->string_value) return false;
      const auto expression = patterns.regexp(*right->string_value);
      return expression && expression->matches(*left->string_value);
    }
    case Operand::set_contains_all:
    case Operand::set_contains_any:
      return left->string_value && right->string_value &&
             set_contains(operand, *left->string_value, *right->string_value);
    default:
      return false;
  }
}

}  // namespace berth::match
