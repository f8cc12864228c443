#include "http/go_json.h"

#include <vector>

#include "base/text.h"

namespace berth::http {

namespace {

constexpr std::size_t kDepthMost = 10'000;

/// A byte as quoted in Go's messages: as the rune of that number, in single quotes.
std::string quoted(char byte) {
  if (byte == '\'') return "'\\''";
  if (byte == '"') return "'\"'";
  const auto code = static_cast<unsigned char>(byte);
  std::string rune;
  if (code < 0x80)
    rune = byte;
  else
    rune = {static_cast<char>(0xC0 | code >> 6), static_cast<char>(0x80 | (code & 0x3F))};
  const std::string text = base::go_quote(rune);
  return "'" + text.substr(1, text.size() - 2) + "'";
}

/// Reads one value; sets `problem` on failure.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  std::optional<std::string> scan() {
    skip_space();
    if (at_ == text_.size()) return "EOF";
    std::vector<char> open;  // '{' and '['
    bool wants_value = true;
    for (;;) {
      skip_space();
      if (at_ == text_.size()) return "unexpected EOF";
      if (wants_value) {
        const char c = text_[at_];
        if (c == '{' || c == '[') {
          if (open.size() == kDepthMost) return "exceeded max depth";
          open.push_back(c);
          ++at_;
          skip_space();
          if (at_ == text_.size()) return "unexpected EOF";
          if (text_[at_] == (c == '{' ? '}' : ']')) {
            ++at_, open.pop_back();
          } else {
            if (c == '{' && !key()) return problem_;
            continue;
          }
        } else if (!scalar()) {
          return problem_;
        }
      }
      if (open.empty()) return std::nullopt;
      skip_space();
      if (at_ == text_.size()) return "unexpected EOF";
      const bool object = open.back() == '{';
      const char c = text_[at_];
      if (c == (object ? '}' : ']')) {
        ++at_, open.pop_back();
        wants_value = false;
        continue;
      }
      if (c != ',') return wrong(object ? "after object key:value pair" : "after array element");
      ++at_;
      if (object) {
        skip_space();
        if (!key()) return problem_;
      }
      wants_value = true;
    }
  }

 private:
  void skip_space() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\r' || text_[at_] == '\n'))
      ++at_;
  }
  std::string wrong(std::string_view where) const {
    return "invalid character " + quoted(text_[at_]) + " " + std::string(where);
  }
  bool fail(std::string_view where) {
    problem_ = at_ == text_.size() ? "unexpected EOF" : wrong(where);
    return false;
  }
  bool key() {
    if (at_ == text_.size() || text_[at_] != '"') return fail("looking for beginning of object key string");
    if (!string()) return false;
    skip_space();
    if (at_ == text_.size() || text_[at_] != ':') return fail("after object key");
    ++at_;
    return true;
  }
  bool string() {
    for (++at_; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (c == '"') return ++at_, true;
      if (static_cast<unsigned char>(c) < 0x20) return fail("in string literal");
      if (c != '\\') continue;
      ++at_;
      if (at_ == text_.size()) return fail("");
      if (text_[at_] == 'u') {
        for (int digit = 0; digit < 4; ++digit) {
          ++at_;
          if (at_ == text_.size() || !is_hexadecimal(text_[at_])) return fail("in \\u hexadecimal character escape");
        }
      } else if (std::string_view("bfnrt\\/\"").find(text_[at_]) == std::string_view::npos) {
        return fail("in string escape code");
      }
    }
    return fail("");
  }
  static bool is_digit(char c) { return c >= '0' && c <= '9'; }
  static bool is_hexadecimal(char c) { return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }
  bool has_digit() const { return at_ < text_.size() && is_digit(text_[at_]); }
  void digits() {
    while (has_digit()) ++at_;
  }
  bool number() {
    if (text_[at_] == '-') ++at_;
    if (!has_digit()) return fail("in numeric literal");
    if (text_[at_] == '0')
      ++at_;
    else
      digits();
    if (at_ < text_.size() && text_[at_] == '.') {
      ++at_;
      if (!has_digit()) return fail("after decimal point in numeric literal");
      digits();
    }
    if (at_ < text_.size() && (text_[at_] == 'e' || text_[at_] == 'E')) {
      ++at_;
      if (at_ < text_.size() && (text_[at_] == '+' || text_[at_] == '-')) ++at_;
      if (!has_digit()) return fail("in exponent of numeric literal");
      digits();
    }
    return true;
  }
  bool literal(std::string_view name) {
    for (std::size_t i = 1; i < name.size(); ++i) {
      ++at_;
      if (at_ == text_.size() || text_[at_] != name[i])
        return fail("in literal " + std::string(name) + " (expecting " + quoted(name[i]) + ")");
    }
    ++at_;
    return true;
  }
  bool scalar() {
    const char c = text_[at_];
    if (c == '"') return string();
    if (c == '-' || is_digit(c)) return number();
    if (c == 't') return literal("true");
    if (c == 'f') return literal("false");
    if (c == 'n') return literal("null");
    return fail("looking for beginning of value");
  }

  const std::string_view text_;
  std::size_t at_ = 0;
  std::string problem_;
};

}  // namespace

std::optional<std::string> go_json_problem(std::string_view text) { return Scanner(text).scan(); }

}  // namespace berth::http
