#include "base/text.h"

#include <charconv>
#include <cmath>
#include <limits>

namespace berth::base {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_hex(char c) { return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }

bool equals_lower(std::string_view text, std::string_view wanted) {
  if (text.size() != wanted.size()) return false;
  for (std::size_t i = 0; i < text.size(); ++i)
    if (ascii_lower(text[i]) != wanted[i]) return false;
  return true;
}

/// Returns true if every underscore is between two digits, or between a base prefix and a digit.
bool underscores_separate_digits(std::string_view text, bool hex) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '_') continue;
    const bool before = i > 0 && (hex ? is_hex(text[i - 1]) || ascii_lower(text[i - 1]) == 'x' : is_digit(text[i - 1]));
    const bool after = i + 1 < text.size() && (hex ? is_hex(text[i + 1]) : is_digit(text[i + 1]));
    if (!before || !after) return false;
  }
  return true;
}

struct Rune {
  char32_t value;
  int length;
  bool valid;
};
Rune decode(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char b0 = byte(0);
  if (b0 < 0x80) return {b0, 1, true};
  int length = 0;
  char32_t value = 0;
  char32_t least = 0;
  if (b0 >= 0xC2 && b0 <= 0xDF) length = 2, value = b0 & 0x1F, least = 0x80;
  if (b0 >= 0xE0 && b0 <= 0xEF) length = 3, value = b0 & 0x0F, least = 0x800;
  if (b0 >= 0xF0 && b0 <= 0xF4) length = 4, value = b0 & 0x07, least = 0x10000;
  if (length == 0 || text.size() < static_cast<std::size_t>(length)) return {0xFFFD, 1, false};
  for (int i = 1; i < length; ++i) {
    if ((byte(static_cast<std::size_t>(i)) & 0xC0) != 0x80) return {0xFFFD, 1, false};
    value = value << 6 | (byte(static_cast<std::size_t>(i)) & 0x3F);
  }
  if (value < least || value > 0x10FFFF || (value >= 0xD800 && value <= 0xDFFF)) return {0xFFFD, 1, false};
  return {value, length, true};
}

bool is_space(char32_t c) {
  return (c >= 9 && c <= 13) || c == ' ' || c == 0x85 || c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) ||
         c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

/// True for code points that Go's quoting writes unescaped. Control, format, private use, surrogate and space
/// separators other than ' ' are escaped. Unassigned code points count as printable; no recorded text depends on it.
bool is_printable(char32_t c) {
  if (c < 0x20 || (c >= 0x7F && c <= 0xA0) || c == 0xAD) return false;
  if (is_space(c) && c != ' ') return false;
  if ((c >= 0x200B && c <= 0x200F) || (c >= 0x202A && c <= 0x202E) || (c >= 0x2060 && c <= 0x206F)) return false;
  if (c == 0xFEFF || (c >= 0xFFF0 && c <= 0xFFFB) || (c >= 0xE000 && c <= 0xF8FF)) return false;
  if ((c & 0xFFFE) == 0xFFFE || c >= 0xE0000) return false;
  return true;
}

}  // namespace

std::optional<std::int64_t> parse_int64(std::string_view text) {
  std::string_view digits = text;
  if (!digits.empty() && (digits[0] == '+' || digits[0] == '-')) digits.remove_prefix(1);
  if (digits.empty() || !is_digit(digits[0])) return std::nullopt;
  std::string_view rest = text[0] == '+' ? digits : text;
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), value);
  if (error != std::errc() || end != rest.data() + rest.size()) return std::nullopt;
  return value;
}

std::optional<std::uint64_t> parse_uint64(std::string_view text) {
  std::uint64_t value = 0;
  if (text.empty() || !is_digit(text[0])) return std::nullopt;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<double> parse_double(std::string_view text) {
  std::string_view body = text;
  bool negative = false;
  if (!body.empty() && (body[0] == '+' || body[0] == '-')) {
    negative = body[0] == '-';
    body.remove_prefix(1);
  }
  if (equals_lower(body, "inf") || equals_lower(body, "infinity"))
    return negative ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::infinity();
  if (equals_lower(body, "nan"))
    return body.size() == text.size() ? std::optional(std::numeric_limits<double>::quiet_NaN()) : std::nullopt;

  const bool hex = body.size() > 2 && body[0] == '0' && ascii_lower(body[1]) == 'x';
  if (!underscores_separate_digits(body, hex)) return std::nullopt;
  std::string clean;
  std::size_t digits = 0;
  bool point = false;
  std::size_t i = hex ? 2 : 0;
  for (; i < body.size(); ++i) {
    const char c = body[i];
    if (c == '_') continue;
    if (c == '.') {
      if (point) return std::nullopt;
      point = true;
    } else if (hex ? is_hex(c) : is_digit(c)) {
      ++digits;
    } else {
      break;
    }
    clean += c;
  }
  if (digits == 0) return std::nullopt;
  const char exponent_mark = hex ? 'p' : 'e';
  bool has_exponent = false;
  if (i < body.size() && ascii_lower(body[i]) == exponent_mark) {
    has_exponent = true;
    clean += exponent_mark;
    ++i;
    if (i < body.size() && (body[i] == '+' || body[i] == '-')) {
      if (body[i] == '-') clean += '-';
      ++i;
    }
    std::size_t exponent_digits = 0;
    for (; i < body.size() && (is_digit(body[i]) || body[i] == '_'); ++i) {
      if (body[i] == '_') continue;
      clean += body[i];
      ++exponent_digits;
    }
    if (exponent_digits == 0) return std::nullopt;
  }
  if (i != body.size() || (hex && !has_exponent)) return std::nullopt;
  if (clean[0] == '.') clean.insert(clean.begin(), '0');
  double value = 0;
  const auto format = hex ? std::chars_format::hex : std::chars_format::general;
  const auto [end, error] = std::from_chars(clean.data(), clean.data() + clean.size(), value, format);
  if (error == std::errc::result_out_of_range) {
    // An underflow is fine and rounds to zero or a subnormal; an overflow is a failure. from_chars does not
    // distinguish them.
    value = std::strtod(((hex ? "0x" : "") + clean).c_str(), nullptr);
    if (std::isinf(value)) return std::nullopt;
  } else if (error != std::errc() || end != clean.data() + clean.size() || std::isinf(value)) {
    return std::nullopt;
  }
  return negative ? -value : value;
}

std::optional<bool> parse_bool(std::string_view text) {
  if (text == "1" || text == "t" || text == "T" || text == "true" || text == "TRUE" || text == "True") return true;
  if (text == "0" || text == "f" || text == "F" || text == "false" || text == "FALSE" || text == "False") return false;
  return std::nullopt;
}

std::string shown(std::string_view text) {
  std::string out(text.substr(0, 40));
  for (char& c : out)
    if (static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) > 0x7e) c = '?';
  return text.size() > 40 ? out + "..." : out;
}

std::string go_quote(std::string_view text) {
  static constexpr char kHex[] = "0123456789abcdef";
  std::string out = "\"";
  auto hex = [&](char32_t value, int width) {
    for (int shift = 4 * (width - 1); shift >= 0; shift -= 4) out += kHex[value >> shift & 15];
  };
  while (!text.empty()) {
    const Rune rune = decode(text);
    const auto byte = static_cast<unsigned char>(text[0]);
    if (!rune.valid) {
      out += "\\x";
      hex(byte, 2);
    } else if (rune.value == '"' || rune.value == '\\') {
      out += '\\';
      out += static_cast<char>(rune.value);
    } else if (is_printable(rune.value)) {
      out += text.substr(0, static_cast<std::size_t>(rune.length));
    } else {
      switch (rune.value) {
        case '\a':
          out += "\\a";
          break;
        case '\b':
          out += "\\b";
          break;
        case '\f':
          out += "\\f";
          break;
        case '\n':
          out += "\\n";
          break;
        case '\r':
          out += "\\r";
          break;
        case '\t':
          out += "\\t";
          break;
        case '\v':
          out += "\\v";
          break;
        default:
          if (rune.value < ' ' || rune.value == 0x7F) {
            out += "\\x";
            hex(rune.value, 2);
          } else if (rune.value < 0x10000) {
            out += "\\u";
            hex(rune.value, 4);
          } else {
            out += "\\U";
            hex(rune.value, 8);
          }
      }
    }
    text.remove_prefix(static_cast<std::size_t>(rune.length));
  }
  return out + '"';
}

std::string_view trim_space(std::string_view text) {
  while (!text.empty()) {
    const Rune rune = decode(text);
    if (!rune.valid || !is_space(rune.value)) break;
    text.remove_prefix(static_cast<std::size_t>(rune.length));
  }
  while (!text.empty()) {
    std::size_t start = text.size() - 1;
    while (start > 0 && text.size() - start < 4 && (static_cast<unsigned char>(text[start]) & 0xC0) == 0x80) --start;
    const Rune rune = decode(text.substr(start));
    if (!rune.valid || start + static_cast<std::size_t>(rune.length) != text.size() || !is_space(rune.value)) break;
    text.remove_suffix(static_cast<std::size_t>(rune.length));
  }
  return text;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> out;
  for (;;) {
    const std::size_t at = text.find(separator);
    out.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return out;
    text.remove_prefix(at + 1);
  }
}

std::string join(const std::vector<std::string>& parts, std::string_view separator) {
  std::string out;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i) out += separator;
    out += parts[i];
  }
  return out;
}

void append_sized(std::string& out, std::string_view text) {
  char digits[20];
  const auto end = std::to_chars(std::begin(digits), std::end(digits), text.size()).ptr;
  out.append(digits, end) += ':';
  out += text;
}

bool glob_match(std::string_view pattern, std::string_view text) {
  if (pattern.empty()) return text.empty();
  if (pattern == "*") return true;
  const auto pieces = split(pattern, '*');
  if (pieces.size() == 1) return pattern == text;
  if (!text.starts_with(pieces.front())) return false;
  text.remove_prefix(pieces.front().size());
  for (std::size_t i = 1; i + 1 < pieces.size(); ++i) {
    const std::size_t at = text.find(pieces[i]);
    if (at == std::string_view::npos) return false;
    text.remove_prefix(at + pieces[i].size());
  }
  return text.ends_with(pieces.back());
}

}  // namespace berth::base
