// R-HCL-582 to 584: format() and formatlist().
#include <algorithm>

#include "hcl/function_table.h"
#include "hcl/unicode.h"

namespace berth::hcl {
namespace {

constexpr std::size_t kMaxWidth = 4096;  // of a verb; no job needs wider texts

/// One verb of a format string, from its % to its letter.
struct Verb {
  std::string raw;
  std::size_t offset = 0;
  char letter = 0;
  bool plus = false, minus = false, sharp = false, space = false, zero = false;
  std::size_t width = 0;
  int precision = -1;
  std::size_t argument = 0;  // from 0
};

using Text = tl::expected<std::string, std::string>;

/// Pads to the width in grapheme clusters; zeros go between sign and digits.
std::string padded(const Verb& verb, std::string text, bool numeric) {
  const std::size_t length = grapheme_count(text);
  if (length >= verb.width) return text;
  const std::size_t missing = verb.width - length;
  if (verb.minus) return text + std::string(missing, ' ');
  if (!verb.zero) return std::string(missing, ' ') + text;
  const bool has_sign = numeric && !text.empty() && (text[0] == '-' || text[0] == '+' || text[0] == ' ');
  text.insert(has_sign ? 1 : 0, missing, '0');
  return text;
}

std::string with_sign(const Verb& verb, std::string digits) {
  if (digits.starts_with("-") || digits.starts_with("+")) return digits;
  if (verb.plus) return "+" + digits;
  return verb.space ? " " + digits : digits;
}

std::string cut(const Verb& verb, const std::string& text) {
  if (verb.precision < 0) return text;
  std::size_t at = 0;
  for (int i = 0; i < verb.precision && at < text.size(); ++i) at = grapheme_end(text, at);
  return text.substr(0, at);
}

Text integer(const Verb& verb, const Value& value) {
  const auto number = to_number(value);
  if (!number) return tl::unexpected(number.error());
  if (!number->number().is_whole()) return tl::unexpected<std::string>("an integer is required");
  const int base = verb.letter == 'b' ? 2 : verb.letter == 'o' ? 8 : verb.letter == 'd' ? 10 : 16;
  std::string digits = number->number().absolute().integer_text(base);
  if (verb.letter == 'X') {
    std::transform(digits.begin(), digits.end(), digits.begin(),
                   [](char c) { return c >= 'a' ? static_cast<char>(c - 'a' + 'A') : c; });
  }
  if (verb.precision > 0 && digits.size() < static_cast<std::size_t>(verb.precision)) {
    digits.insert(0, static_cast<std::size_t>(verb.precision) - digits.size(), '0');
  }
  if (verb.sharp && base == 2) digits.insert(0, "0b");
  if (verb.sharp && base == 8) digits.insert(0, "0");
  if (verb.sharp && base == 16) digits.insert(0, verb.letter == 'X' ? "0X" : "0x");
  if (number->number().is_negative() && !number->number().is_zero()) digits.insert(0, "-");
  return padded(verb, with_sign(verb, digits), true);
}

Text floating(const Verb& verb, const Value& value, char conversion) {
  const auto number = to_number(value);
  if (!number) return tl::unexpected(number.error());
  const bool general = conversion == 'g' || conversion == 'G';
  const int precision = verb.precision >= 0 || general ? verb.precision : 6;
  return padded(verb, with_sign(verb, number->number().text(conversion, precision)), true);
}

Text json_of(const Verb& verb, const Value& value) {
  auto text = json_text(value);
  if (!text) return text;
  return padded(verb, *std::move(text), false);
}

Text default_form(const Verb& verb, const Value& value) {
  if (verb.sharp) return json_of(verb, value);
  if (value.is_null()) return padded(verb, "null", false);
  switch (value.kind()) {
    case Kind::string:
      return padded(verb, cut(verb, value.string()), false);
    case Kind::number:
      return floating(verb, value, 'g');
    case Kind::boolean:
      return padded(verb, value.boolean() ? "true" : "false", false);
    default:
      return json_of(verb, value);
  }
}

Text formatted(const Verb& verb, const Value& value) {
  if (verb.letter == 'v') return default_form(verb, value);
  if (value.is_null()) return tl::unexpected<std::string>("null value cannot be formatted");
  switch (verb.letter) {
    case 't': {
      const auto boolean = to_bool(value);
      if (!boolean) return tl::unexpected(boolean.error());
      return padded(verb, boolean->boolean() ? "true" : "false", false);
    }
    case 's':
    case 'q': {
      const auto text = to_string(value);
      if (!text) return tl::unexpected(text.error());
      const std::string shortened = cut(verb, text->string());
      if (verb.letter == 's') return padded(verb, shortened, false);
      return json_of(verb, Value::of(shortened));
    }
    case 'b':
    case 'd':
    case 'o':
    case 'x':
    case 'X':
      return integer(verb, value);
    default:
      return floating(verb, value, verb.letter);
  }
}

/// Formats a format string with its arguments, from left to right.
class Format {
 public:
  Format(std::string_view format, Arguments arguments) : format_(format), arguments_(arguments) {}

  CallOutcome run() {
    while (at_ < format_.size()) {
      const std::size_t begin = at_;
      const auto percent = std::min(format_.find('%', begin), format_.size());
      out_.append(format_.substr(begin, percent - begin));
      at_ = percent;
      if (at_ == format_.size()) break;
      if (auto problem = verb()) return fail(*std::move(problem));
      if (out_.size() > kMaxWeight) return fail(kTooLarge);
    }
    if (!indexed_ && next_ < arguments_.size()) {
      // Argument 0 of the function is the format itself.
      return fail_argument(next_ + 1,
                           next_ == 0 ? std::string("too many arguments; no verbs in format string")
                                      : "too many arguments; only " + std::to_string(next_) + " used by format string");
    }
    return Value::of(out_);
  }

 private:
  using Problem = std::optional<std::string>;

  Problem unrecognized(std::size_t offset) const {
    if (offset >= format_.size()) return "invalid format string starting at offset " + std::to_string(start_);
    std::size_t end = offset;
    (void)next_code_point(format_, end);
    return "unrecognized format character '" + std::string(format_.substr(offset, end - offset)) + "' at offset " +
           std::to_string(offset);
  }

  /// Reads digits; false: the number exceeds kMaxWidth.
  bool number(std::size_t& value) {
    value = 0;
    while (at_ < format_.size() && format_[at_] >= '0' && format_[at_] <= '9') {
      value = value * 10 + static_cast<std::size_t>(format_[at_++] - '0');
      if (value > kMaxWidth) return false;
    }
    return true;
  }

  Problem verb() {
    start_ = at_++;
    if (at_ < format_.size() && format_[at_] == '%') {
      ++at_;
      out_ += '%';
      return std::nullopt;
    }
    Verb verb;
    verb.offset = start_;
    for (; at_ < format_.size(); ++at_) {
      const char c = format_[at_];
      if (c == '+') {
        verb.plus = true;
      } else if (c == '-') {
        verb.minus = true;
      } else if (c == '#') {
        verb.sharp = true;
      } else if (c == ' ') {
        verb.space = true;
      } else if (c == '0') {
        verb.zero = true;
      } else {
        break;
      }
    }
    const auto too_wide = [&] {
      return "width or precision at offset " + std::to_string(start_) + " is more than " + std::to_string(kMaxWidth);
    };
    if (!number(verb.width)) return too_wide();
    if (at_ < format_.size() && format_[at_] == '.') {
      ++at_;
      std::size_t precision = 0;
      if (!number(precision)) return too_wide();
      verb.precision = static_cast<int>(precision);
    }
    bool indexed = false;
    if (at_ < format_.size() && format_[at_] == '[') {
      ++at_;
      if (at_ >= format_.size() || format_[at_] < '1' || format_[at_] > '9') return unrecognized(at_);
      std::size_t index = 0;
      while (at_ < format_.size() && format_[at_] >= '0' && format_[at_] <= '9') {
        index = std::min<std::size_t>(index * 10 + static_cast<std::size_t>(format_[at_++] - '0'), 1'000'000'000);
      }
      if (at_ >= format_.size() || format_[at_] != ']') return unrecognized(at_);
      ++at_;
      indexed = true;
      indexed_ = true;
      verb.argument = index - 1;
      next_ = index;
    }
    if (at_ >= format_.size()) return unrecognized(at_);
    const char letter = format_[at_];
    if (!((letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z'))) return unrecognized(at_);
    ++at_;
    verb.letter = letter;
    verb.raw = format_.substr(start_, at_ - start_);
    if (!indexed) verb.argument = next_++;
    return append(verb);
  }

  Problem append(const Verb& verb) {
    const std::string where = "\"" + verb.raw + "\" at " + std::to_string(verb.offset);
    if (std::string_view("vtbdoxXeEfgGsq").find(verb.letter) == std::string_view::npos) {
      return std::string("unsupported format verb '") + verb.letter + "' in \"" + verb.raw + "\" at offset " +
             std::to_string(verb.offset);
    }
    if (verb.argument >= arguments_.size()) {
      return "not enough arguments for " + where + ": need index " + std::to_string(verb.argument + 1) + " but have " +
             std::to_string(arguments_.size()) + " total";
    }
    auto text = formatted(verb, arguments_[verb.argument]);
    if (!text) return "unsupported value for " + where + ": " + text.error();
    out_ += *text;
    return std::nullopt;
  }

  std::string_view format_;
  Arguments arguments_;
  std::string out_;
  std::size_t at_ = 0;
  std::size_t start_ = 0;  // of the current verb
  std::size_t next_ = 0;   // next argument for a verb without index
  bool indexed_ = false;
};

CallOutcome format_list(Arguments arguments, const FileAccess&) {
  const std::string& format = arguments[0].string();
  const auto values = arguments.subspan(1);
  if (values.empty()) {  // as format(), with its errors
    auto text = Format(format, values).run();
    return text ? CallOutcome(Value::list(Kind::string, {*std::move(text)})) : text;
  }
  std::optional<std::size_t> length;
  std::size_t first = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!values[i].is_value() || !values[i].has_items()) continue;
    if (length && *length != values[i].size()) {
      return fail_argument(i + 1, "argument " + std::to_string(i + 1) + " has length " +
                                      std::to_string(values[i].size()) + ", which is inconsistent with argument " +
                                      std::to_string(first + 1) + " of length " + std::to_string(*length));
    }
    if (!length) first = i;
    length = values[i].size();
  }
  std::vector<Value> results;
  std::size_t weight = 0;
  for (std::size_t row = 0; row < length.value_or(1); ++row) {
    std::vector<Value> row_values;
    row_values.reserve(values.size());
    for (const Value& value : values) {
      row_values.push_back(value.is_value() && value.has_items() ? value.items()[row] : value);
    }
    auto text = Format(format, row_values).run();
    if (!text) return fail("error on format iteration " + std::to_string(row) + ": " + text.error().text);
    weight += text->weight();
    if (weight > kMaxWeight) return fail(kTooLarge);
    results.push_back(*std::move(text));
  }
  return Value::list(Kind::string, std::move(results));
}

}  // namespace

void add_format_functions(Functions& table) {
  const Parameter format{"format", Kind::string};
  const Parameter values{"args", Type(), true};
  table.push_back({"format", {format}, values, [](Arguments a, const FileAccess&) {
                     return Format(a[0].string(), a.subspan(1)).run();
                   }});
  table.push_back({"formatlist", {format}, values, format_list});
}

}  // namespace berth::hcl
