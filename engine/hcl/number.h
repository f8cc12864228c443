// Numbers of HCL: binary floats of up to 512 bits, each with its own precision (R-HCL-103). Whole numbers that fit into
// 64 bits, the vast majority, are stored in place; others share an immutable MPFR number.
#pragma once

#include <compare>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <tl/expected.hpp>

namespace berth::hcl {

class Number {
 public:
  static constexpr int kLiteralPrecision = 512;  // bits, R-HCL-103
  static constexpr int kMachinePrecision = 64;   // for lengths, indices and counts
  /// Larger numbers are infinite and smaller ones zero, so that a text of digits stays below 40,000 characters.
  static constexpr std::int64_t kMaxExponent = 131'072;  // bits

  Number() = default;  ///< 0
  /// A whole number. Counts made by functions have 64 bits, literals 512.
  static Number of(std::int64_t value, int precision = kMachinePrecision);
  static Number of(double value);  ///< 53 bits; the value must not be NaN
  static Number infinity(bool negative);
  /// Parses a whole text as a decimal number, as in a literal token or a string to convert: optional sign, digits,
  /// fraction, exponent; with `words` also "inf" (R-HCL-25, R-HCL-106). nullopt if it is not one.
  static std::optional<Number> parse(std::string_view text, bool words = false);
  /// Parses an integer with an optional sign in a base from 2 to 62 (parseint). nullopt: a digit is not in the base.
  static std::optional<Number> parse_integer(std::string_view text, int base);

  [[nodiscard]] bool is_infinite() const;
  [[nodiscard]] bool is_zero() const;
  [[nodiscard]] bool is_negative() const;                        ///< the sign bit: true for -0
  [[nodiscard]] bool is_whole() const;                           ///< false for infinities
  [[nodiscard]] std::optional<std::int64_t> to_int64() const;    ///< nullopt: not whole or out of range
  [[nodiscard]] std::optional<std::uint64_t> to_uint64() const;  ///< nullopt: not whole or out of range
  [[nodiscard]] double to_double() const;

  /// Plain decimal: the shortest digits that read back to the same value at its precision (R-HCL-105), or "+Inf",
  /// "-Inf".
  [[nodiscard]] std::string text() const;
  /// As C's printf with this conversion ('e', 'E', 'f', 'g', 'G'); `precision` -1 is the shortest exact text. Cost and
  /// length are O(precision + digits): the caller bounds `precision`.
  [[nodiscard]] std::string text(char conversion, int precision) const;
  /// Digits of a whole number in base 2 to 36, lower case, with a sign if negative.
  [[nodiscard]] std::string integer_text(int base) const;

  [[nodiscard]] Number negated() const;
  [[nodiscard]] Number absolute() const;
  [[nodiscard]] Number floor() const;
  [[nodiscard]] Number ceil() const;

  // Errors are the texts of R-HCL-143 to 145 without a final dot.
  using Outcome = tl::expected<Number, std::string>;
  friend Outcome add(const Number& a, const Number& b);
  friend Outcome subtract(const Number& a, const Number& b);
  friend Outcome multiply(const Number& a, const Number& b);
  friend Outcome divide(const Number& a, const Number& b);
  friend Outcome modulo(const Number& a, const Number& b);  ///< sign of `a`; `a` itself if b = 0 (R-HCL-144)

  /// By value, independent of precision; -0 equals 0.
  friend bool operator==(const Number& a, const Number& b) { return (a <=> b) == 0; }
  friend std::strong_ordering operator<=>(const Number& a, const Number& b);

 private:
  struct Big;  // an MPFR number, immutable once made
  class Operand;
  friend struct NumberAccess;
  static Number from_big(std::shared_ptr<Big> big);

  std::shared_ptr<const Big> big_;  // null: the number is small_
  std::int64_t small_ = 0;
  int precision_ = kLiteralPrecision;
};

Number::Outcome add(const Number& a, const Number& b);
Number::Outcome subtract(const Number& a, const Number& b);
Number::Outcome multiply(const Number& a, const Number& b);
Number::Outcome divide(const Number& a, const Number& b);
Number::Outcome modulo(const Number& a, const Number& b);

}  // namespace berth::hcl
