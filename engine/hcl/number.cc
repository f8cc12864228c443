#include "hcl/number.h"

#include <mpfr.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "base/assert.h"

namespace berth::hcl {

struct Number::Big {
  explicit Big(int precision) { mpfr_init2(value, precision); }
  ~Big() { mpfr_clear(value); }
  Big(const Big&) = delete;
  Big& operator=(const Big&) = delete;
  mpfr_t value;
};

/// A number as MPFR reads it; one stored in place is copied for the operation.
class Number::Operand {
 public:
  explicit Operand(const Number& number) {
    if (number.big_ != nullptr) {
      value_ = number.big_->value;
      return;
    }
    mpfr_init2(own_, 64);
    mpfr_set_sj(own_, number.small_, MPFR_RNDN);
    value_ = own_;
    owned_ = true;
  }
  ~Operand() {
    if (owned_) mpfr_clear(own_);
  }
  Operand(const Operand&) = delete;
  Operand& operator=(const Operand&) = delete;
  [[nodiscard]] mpfr_srcptr get() const { return value_; }

 private:
  mpfr_srcptr value_ = nullptr;
  mpfr_t own_;
  bool owned_ = false;
};

namespace {

constexpr int kMaxPrecision = 512;
constexpr std::size_t kMaxIntegerDigits = 8192;  // of parseint(): more bits than a job file needs

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Digits without trailing zeros, and the exponent: 0.MANTISSA times 10^exponent.
struct Digits {
  bool negative = false;
  std::string mantissa;
  long exponent = 0;
};

/// The `count` leading digits, rounded to nearest.
Digits digits_of(mpfr_srcptr value, std::size_t count, int base = 10) {
  Digits digits;
  mpfr_exp_t exponent = 0;
  char* text = mpfr_get_str(nullptr, &exponent, base, count, value, MPFR_RNDN);
  digits.negative = text[0] == '-';
  digits.mantissa = text + (digits.negative ? 1 : 0);
  digits.exponent = exponent;
  mpfr_free_str(text);
  return digits;
}

void drop_trailing_zeros(Digits& digits) {
  const auto last = digits.mantissa.find_last_not_of('0');
  digits.mantissa.resize(last == std::string::npos ? 0 : last + 1);
}

/// The fewest digits that read back to the same value at its precision. More digits are never less exact, so a binary
/// search finds the number: eight conversions for 512 bits.
Digits shortest_digits(mpfr_srcptr value) {
  const auto precision = mpfr_get_prec(value);
  std::size_t low = 1;
  std::size_t high = mpfr_get_str_ndigits(10, precision);
  mpfr_t back;
  mpfr_init2(back, precision);
  while (low < high) {
    const std::size_t middle = (low + high) / 2;
    const Digits digits = digits_of(value, middle);
    const std::string text = (digits.negative ? "-0." : "0.") + digits.mantissa + "e" + std::to_string(digits.exponent);
    mpfr_set_str(back, text.c_str(), 10, MPFR_RNDN);
    if (mpfr_equal_p(back, value) != 0) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  mpfr_clear(back);
  Digits digits = digits_of(value, low);
  drop_trailing_zeros(digits);
  return digits;
}

std::string plain_text(const Digits& digits, std::size_t fraction_digits) {
  std::string text = digits.negative ? "-" : "";
  const auto& mantissa = digits.mantissa;
  const auto digit = [&](long place) {  // place 0 is the first digit of the mantissa
    return place >= 0 && place < static_cast<long>(mantissa.size()) ? mantissa[static_cast<std::size_t>(place)] : '0';
  };
  if (digits.exponent <= 0) text += '0';
  for (long place = 0; place < digits.exponent; ++place) text += digit(place);
  if (fraction_digits > 0) text += '.';
  for (std::size_t i = 0; i < fraction_digits; ++i) text += digit(digits.exponent + static_cast<long>(i));
  return text;
}

std::string exponent_text(const Digits& digits, std::size_t fraction_digits, char letter) {
  std::string text = digits.negative ? "-" : "";
  text += digits.mantissa.empty() ? '0' : digits.mantissa[0];
  if (fraction_digits > 0) text += '.';
  for (std::size_t i = 1; i <= fraction_digits; ++i) text += i < digits.mantissa.size() ? digits.mantissa[i] : '0';
  const long exponent = digits.mantissa.empty() ? 0 : digits.exponent - 1;
  text += letter;
  text += exponent < 0 ? '-' : '+';
  const std::string number = std::to_string(std::labs(exponent));
  if (number.size() < 2) text += '0';
  return text + number;
}

std::string printf_text(const char* format, int precision, mpfr_srcptr value) {
  char* text = nullptr;
  mpfr_asprintf(&text, format, precision, value);
  std::string result = text;
  mpfr_free_str(text);
  return result;
}

}  // namespace

/// Makes every result: bounds the exponent and stores small whole numbers in place.
Number Number::from_big(std::shared_ptr<Big> big) {
  Number result;
  result.precision_ = static_cast<int>(mpfr_get_prec(big->value));
  if (mpfr_regular_p(big->value) != 0) {
    const auto exponent = mpfr_get_exp(big->value);
    if (exponent > kMaxExponent) mpfr_set_inf(big->value, mpfr_sgn(big->value));
    if (exponent < -kMaxExponent) mpfr_set_zero(big->value, mpfr_sgn(big->value));
  }
  const bool exact = result.precision_ >= 64 || mpfr_zero_p(big->value) != 0 ||
                     (mpfr_regular_p(big->value) != 0 && mpfr_get_exp(big->value) <= result.precision_);
  const bool minus_zero = mpfr_zero_p(big->value) != 0 && mpfr_signbit(big->value) != 0;
  if (exact && !minus_zero && mpfr_integer_p(big->value) != 0 && mpfr_fits_intmax_p(big->value, MPFR_RNDN) != 0) {
    result.small_ = mpfr_get_sj(big->value, MPFR_RNDN);
  } else {
    result.big_ = std::move(big);
  }
  return result;
}

Number Number::of(std::int64_t value, int precision) {
  BERTH_ASSERT(precision >= kMachinePrecision);
  Number result;
  result.small_ = value;
  result.precision_ = precision;
  return result;
}

Number Number::of(double value) {
  BERTH_ASSERT(!std::isnan(value));
  auto big = std::make_shared<Big>(53);
  mpfr_set_d(big->value, value, MPFR_RNDN);
  return from_big(std::move(big));
}

Number Number::infinity(bool negative) {
  auto big = std::make_shared<Big>(kLiteralPrecision);
  mpfr_set_inf(big->value, negative ? -1 : 1);
  return from_big(std::move(big));
}

std::optional<Number> Number::parse(std::string_view text, bool words) {
  std::size_t at = 0;
  const auto digits = [&] {
    const std::size_t begin = at;
    while (at < text.size() && is_digit(text[at])) ++at;
    return at - begin;
  };
  const bool negative = !text.empty() && text[0] == '-';
  if (!text.empty() && (text[0] == '-' || text[0] == '+')) ++at;
  if (words && (text.substr(at) == "inf" || text.substr(at) == "Inf")) return infinity(negative);
  const std::size_t whole_begin = at;
  const std::size_t whole = digits();
  if (at == text.size() && whole > 0 && whole <= 18) {
    std::int64_t value = 0;
    for (std::size_t i = whole_begin; i < at; ++i) value = value * 10 + (text[i] - '0');
    if (!negative || value != 0) return of(negative ? -value : value, kLiteralPrecision);
  }
  std::size_t fraction = 0;
  if (at < text.size() && text[at] == '.') {
    ++at;
    fraction = digits();
  }
  if (whole + fraction == 0) return std::nullopt;
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    ++at;
    if (at < text.size() && (text[at] == '-' || text[at] == '+')) ++at;
    if (digits() == 0) return std::nullopt;
  }
  if (at != text.size()) return std::nullopt;
  auto big = std::make_shared<Big>(kLiteralPrecision);
  mpfr_strtofr(big->value, std::string(text).c_str(), nullptr, 10, MPFR_RNDN);
  return from_big(std::move(big));
}

std::optional<Number> Number::parse_integer(std::string_view text, int base) {
  BERTH_ASSERT(base >= 2 && base <= 62);
  std::string digits(text);
  const std::size_t begin = !digits.empty() && (digits[0] == '-' || digits[0] == '+') ? 1 : 0;
  if (digits.size() == begin || digits.size() > kMaxIntegerDigits) return std::nullopt;
  for (std::size_t i = begin; i < digits.size(); ++i) {
    char& c = digits[i];
    int value = 62;
    if (is_digit(c)) value = c - '0';
    if (c >= 'a' && c <= 'z') value = c - 'a' + 10;
    if (c >= 'A' && c <= 'Z') value = c - 'A' + (base <= 36 ? 10 : 36);
    if (value >= base) return std::nullopt;
    // MPFR's bases above 36 have upper-case letters first.
    if (base > 36 && value >= 10) c = static_cast<char>(value < 36 ? 'A' + value - 10 : 'a' + value - 36);
  }
  const auto bits = static_cast<int>(std::ceil(static_cast<double>(digits.size()) * std::log2(base))) + 1;
  auto exact = std::make_shared<Big>(std::max(bits, kMachinePrecision));
  mpfr_set_str(exact->value, digits.c_str(), base, MPFR_RNDN);
  if (mpfr_regular_p(exact->value) != 0) {
    const auto needed = std::max<mpfr_exp_t>(mpfr_get_exp(exact->value), kMachinePrecision);
    mpfr_prec_round(exact->value, needed, MPFR_RNDN);
  }
  return from_big(std::move(exact));
}

bool Number::is_infinite() const { return big_ != nullptr && mpfr_inf_p(big_->value) != 0; }
bool Number::is_zero() const { return big_ != nullptr ? mpfr_zero_p(big_->value) != 0 : small_ == 0; }
bool Number::is_negative() const { return big_ != nullptr ? mpfr_signbit(big_->value) != 0 : small_ < 0; }
bool Number::is_whole() const { return big_ == nullptr || mpfr_integer_p(big_->value) != 0; }

std::optional<std::int64_t> Number::to_int64() const {
  if (big_ == nullptr) return small_;
  if (mpfr_integer_p(big_->value) == 0 || mpfr_fits_intmax_p(big_->value, MPFR_RNDN) == 0) return std::nullopt;
  return mpfr_get_sj(big_->value, MPFR_RNDN);
}

std::optional<std::uint64_t> Number::to_uint64() const {
  if (big_ == nullptr) return small_ < 0 ? std::nullopt : std::optional(static_cast<std::uint64_t>(small_));
  if (mpfr_integer_p(big_->value) == 0 || mpfr_fits_uintmax_p(big_->value, MPFR_RNDN) == 0) return std::nullopt;
  return mpfr_get_uj(big_->value, MPFR_RNDN);
}

double Number::to_double() const {
  return big_ != nullptr ? mpfr_get_d(big_->value, MPFR_RNDN) : static_cast<double>(small_);
}

std::string Number::text() const {
  if (big_ == nullptr) return std::to_string(small_);
  if (is_infinite()) return is_negative() ? "-Inf" : "+Inf";
  if (is_zero()) return is_negative() ? "-0" : "0";
  const Digits digits = shortest_digits(big_->value);
  const long fraction = static_cast<long>(digits.mantissa.size()) - digits.exponent;
  return plain_text(digits, static_cast<std::size_t>(std::max(fraction, 0L)));
}

std::string Number::text(char conversion, int precision) const {
  if (is_infinite()) return is_negative() ? "-Inf" : "+Inf";
  const Operand operand(*this);
  const mpfr_srcptr value = operand.get();
  if (conversion == 'f') return printf_text("%.*RNf", precision, value);
  if (conversion == 'e') return printf_text("%.*RNe", precision, value);
  if (conversion == 'E') return printf_text("%.*RNE", precision, value);
  const char letter = conversion == 'G' ? 'E' : 'e';
  Digits digits;
  if (is_zero()) {
    digits.negative = is_negative();
  } else if (precision < 0) {
    digits = shortest_digits(value);
  } else {
    digits = digits_of(value, static_cast<std::size_t>(std::max(precision, 1)));
    drop_trailing_zeros(digits);
  }
  // The exponent form applies to exponents below -4, and from the requested number of digits on, or from 6 on if all
  // digits are requested (R-HCL-582).
  const auto length = static_cast<long>(digits.mantissa.size());
  long least = precision < 0 ? 6 : std::max(precision, 1);
  if (precision >= 0 && least > length && length >= digits.exponent) least = length;
  const long exponent = digits.mantissa.empty() ? -1 : digits.exponent - 1;
  if (exponent < -4 || exponent >= least) {
    return exponent_text(digits, static_cast<std::size_t>(std::max(length - 1, 0L)), letter);
  }
  return plain_text(digits, static_cast<std::size_t>(std::max(length - digits.exponent, 0L)));
}

std::string Number::integer_text(int base) const {
  BERTH_ASSERT(is_whole() && base >= 2 && base <= 36);
  if (is_zero()) return is_negative() ? "-0" : "0";
  const Operand operand(*this);
  // The point's place is the number of digits of an integer; the first call finds it, at most rounded up.
  const long places = digits_of(operand.get(), 2, base).exponent;
  const Digits digits = digits_of(operand.get(), static_cast<std::size_t>(std::max(places, 2L)), base);
  return (digits.negative ? "-" : "") + digits.mantissa.substr(0, static_cast<std::size_t>(digits.exponent));
}

Number Number::negated() const {
  if (big_ == nullptr && small_ != 0 && small_ != std::numeric_limits<std::int64_t>::min()) {
    Number result = *this;
    result.small_ = -small_;
    return result;
  }
  const Operand operand(*this);
  auto big = std::make_shared<Big>(precision_);
  mpfr_neg(big->value, operand.get(), MPFR_RNDN);
  return from_big(std::move(big));
}

Number Number::absolute() const { return is_negative() ? negated() : *this; }

Number Number::floor() const {
  if (big_ == nullptr || is_infinite()) return *this;
  auto big = std::make_shared<Big>(precision_);
  mpfr_floor(big->value, big_->value);
  return from_big(std::move(big));
}

Number Number::ceil() const {
  if (big_ == nullptr || is_infinite()) return *this;
  auto big = std::make_shared<Big>(precision_);
  mpfr_ceil(big->value, big_->value);
  return from_big(std::move(big));
}

/// Access to the inside of numbers for the free functions.
struct NumberAccess {
  using Operation = int (*)(mpfr_ptr, mpfr_srcptr, mpfr_srcptr, mpfr_rnd_t);

  static Number apply(Operation operation, const Number& a, const Number& b, int precision) {
    const Number::Operand left(a);
    const Number::Operand right(b);
    auto big = std::make_shared<Number::Big>(precision);
    operation(big->value, left.get(), right.get(), MPFR_RNDN);
    return Number::from_big(std::move(big));
  }
  static int larger_precision(const Number& a, const Number& b) { return std::max(a.precision_, b.precision_); }
  /// Bits of the exact product, at most 512, at least those of the operands (R-HCL-103).
  static int product_precision(const Number& a, const Number& b) {
    const int larger = larger_precision(a, b);
    if (larger >= kMaxPrecision) return larger;
    const Number::Operand left(a);
    const Number::Operand right(b);
    const auto exact = static_cast<int>(mpfr_min_prec(left.get()) + mpfr_min_prec(right.get()));
    return std::max(larger, std::min(exact, kMaxPrecision));
  }
  static bool both_small(const Number& a, const Number& b) {
    return a.big_ == nullptr && b.big_ == nullptr && a.precision_ >= Number::kMachinePrecision &&
           b.precision_ >= Number::kMachinePrecision;
  }
  static std::int64_t small(const Number& a) { return a.small_; }
  static Number truncated(const Number& a) { return a.is_negative() ? a.ceil() : a.floor(); }
  static std::strong_ordering compare(const Number& a, const Number& b) {
    if (a.big_ == nullptr && b.big_ == nullptr) return a.small_ <=> b.small_;
    const Number::Operand left(a);
    const Number::Operand right(b);
    return mpfr_cmp(left.get(), right.get()) <=> 0;
  }
};

Number::Outcome add(const Number& a, const Number& b) {
  std::int64_t sum = 0;
  if (NumberAccess::both_small(a, b) && !__builtin_add_overflow(NumberAccess::small(a), NumberAccess::small(b), &sum)) {
    return Number::of(sum, NumberAccess::larger_precision(a, b));
  }
  if (a.is_infinite() && b.is_infinite() && a.is_negative() != b.is_negative()) {
    return tl::unexpected<std::string>("can't compute sum of opposing infinities");
  }
  return NumberAccess::apply(mpfr_add, a, b, NumberAccess::larger_precision(a, b));
}

Number::Outcome subtract(const Number& a, const Number& b) {
  std::int64_t difference = 0;
  if (NumberAccess::both_small(a, b) &&
      !__builtin_sub_overflow(NumberAccess::small(a), NumberAccess::small(b), &difference)) {
    return Number::of(difference, NumberAccess::larger_precision(a, b));
  }
  if (a.is_infinite() && b.is_infinite() && a.is_negative() == b.is_negative()) {
    return tl::unexpected<std::string>("can't subtract infinity from itself");
  }
  return NumberAccess::apply(mpfr_sub, a, b, NumberAccess::larger_precision(a, b));
}

Number::Outcome multiply(const Number& a, const Number& b) {
  std::int64_t product = 0;
  if (NumberAccess::both_small(a, b) && !a.is_zero() && !b.is_zero() &&
      !__builtin_mul_overflow(NumberAccess::small(a), NumberAccess::small(b), &product)) {
    return Number::of(product, NumberAccess::larger_precision(a, b));
  }
  if ((a.is_infinite() && b.is_zero()) || (a.is_zero() && b.is_infinite())) {
    return tl::unexpected<std::string>("can't multiply zero by infinity");
  }
  return NumberAccess::apply(mpfr_mul, a, b, NumberAccess::product_precision(a, b));
}

Number::Outcome divide(const Number& a, const Number& b) {
  if ((a.is_zero() && b.is_zero()) || (a.is_infinite() && b.is_infinite())) {
    return tl::unexpected<std::string>("can't divide zero by zero or infinity by infinity");
  }
  return NumberAccess::apply(mpfr_div, a, b, NumberAccess::larger_precision(a, b));
}

Number::Outcome modulo(const Number& a, const Number& b) {
  if (a.is_infinite() || b.is_infinite()) {
    return tl::unexpected<std::string>("can't use modulo with zero and infinity");
  }
  if (b.is_zero()) return a;
  const auto times = NumberAccess::truncated(*divide(a, b));
  const auto product = multiply(b, times);
  if (!product) return product;
  return subtract(a, *product);
}

std::strong_ordering operator<=>(const Number& a, const Number& b) { return NumberAccess::compare(a, b); }

}  // namespace berth::hcl
