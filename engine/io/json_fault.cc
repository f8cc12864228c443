#include "io/json_fault.h"

#include <algorithm>
#include <array>
#include <vector>

#include "base/text.h"

namespace berth::io {
namespace {

constexpr std::size_t kDepthMax = 1024;

/// Parses a document from left to right without recursion and stops at the first fault.
class FaultFinder {
 public:
  explicit FaultFinder(std::string_view text) : text_(text) {}

  std::optional<JsonFault> find() {
    enum class Next : std::uint8_t { value, value_or_end, key, key_or_end, after };
    Next next = Next::value;
    skip_space();
    if (at_end()) fail("the text is empty");
    while (!fault_) {
      skip_space();
      if (next == Next::after) {
        if (open_.empty()) break;
        next = open_.back() == '{' ? Next::key : Next::value;
        if (take(',')) continue;
        if (!take(open_.back() == '{' ? '}' : ']')) expected(open_.back() == '{' ? "',' or '}'" : "',' or ']'");
        open_.pop_back();
        next = Next::after;
      } else if (next == Next::key || next == Next::key_or_end) {
        if (next == Next::key_or_end && take('}')) {
          open_.pop_back();
          next = Next::after;
          continue;
        }
        if (peek() != '"') expected("a key in double quotes");
        string();
        skip_space();
        if (!take(':')) expected("':'");
        next = Next::value;
      } else if (next == Next::value_or_end && take(']')) {
        open_.pop_back();
        next = Next::after;
      } else {
        next = value() ? (open_.back() == '{' ? Next::key_or_end : Next::value_or_end) : Next::after;
      }
    }
    if (!fault_ && (skip_space(), !at_end())) {
      fail("something follows the end of the document");
      fault_->another_follows = true;
    }
    return fault_;
  }

 private:
  [[nodiscard]] bool at_end() const { return at_ == text_.size(); }
  [[nodiscard]] char peek() const { return at_end() ? '\0' : text_[at_]; }
  bool take(char c) {
    if (at_end() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void skip_space() {
    while (!at_end() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n' || text_[at_] == '\r')) ++at_;
  }
  void fail(std::string problem) {
    if (!fault_) fault_ = JsonFault{at_, std::move(problem)};
  }
  void expected(const char* what) {
    fail(at_end() ? std::string("the text ends where ") + what + " is expected"
                  : std::string("expected ") + what + ", found '" + base::shown(text_.substr(at_, 1)) + "'");
  }

  /// True if a list or an object was opened.
  bool value() {
    const char c = peek();
    if (c == '{' || c == '[') {
      if (open_.size() == kDepthMax - 1) fail("more than 1,024 levels are nested");
      ++at_;
      open_.push_back(c);
      return true;
    }
    if (c == '"')
      string();
    else if (c == '-' || (c >= '0' && c <= '9'))
      number();
    else if (!word("true") && !word("false") && !word("null"))
      expected("a value");
    return false;
  }

  bool word(std::string_view what) {
    if (!text_.substr(at_).starts_with(what)) return false;
    at_ += what.size();
    ends_value();
    return true;
  }
  /// Only space, a comma, a colon or a bracket may follow a number or a word.
  void ends_value() {
    static constexpr std::string_view kAfter = " \t\n\r,:[]{}";
    if (!at_end() && kAfter.find(text_[at_]) == std::string_view::npos) expected("',' or a bracket");
  }

  std::size_t digits() {
    const std::size_t begin = at_;
    while (!at_end() && text_[at_] >= '0' && text_[at_] <= '9') ++at_;
    return at_ - begin;
  }
  void number() {
    const std::size_t begin = at_;
    bool whole = true;
    take('-');
    if (peek() == '0' && at_ + 1 < text_.size() && text_[at_ + 1] >= '0' && text_[at_ + 1] <= '9')
      return fail("a number begins with 0");
    if (digits() == 0) return expected("a digit");
    if (take('.')) {
      whole = false;
      if (digits() == 0) return expected("a digit");
    }
    if (take('e') || take('E')) {
      whole = false;
      if (!take('+')) take('-');
      if (digits() == 0) return expected("a digit");
    }
    const std::string_view said = text_.substr(begin, at_ - begin);
    const bool fits =
        whole ? base::parse_int64(said) || base::parse_uint64(said) : base::parse_double(said).has_value();
    ends_value();
    if (!fits && !fault_) at_ = begin, fail("the number " + base::shown(said) + " has more than 64 bits");
  }

  std::optional<unsigned> hex4() {
    unsigned out = 0;
    for (int i = 0; i < 4; ++i, ++at_) {
      const char c = peek();
      const bool digit = c >= '0' && c <= '9', lower = c >= 'a' && c <= 'f', upper = c >= 'A' && c <= 'F';
      if (!digit && !lower && !upper) return std::nullopt;
      out = out * 16 + static_cast<unsigned>(digit ? c - '0' : lower ? c - 'a' + 10 : c - 'A' + 10);
    }
    return out;
  }
  void escape() {
    static constexpr std::string_view kSimple = "\"\\/bfnrt";
    const std::size_t begin = at_ - 1;
    const auto wrong = [&](const char* problem) { at_ = begin, fail(problem); };
    if (at_end()) return;
    const char c = text_[at_++];
    if (kSimple.find(c) != std::string_view::npos) return;
    if (c != 'u') return wrong("an escape that JSON does not have");
    const auto first = hex4();
    if (!first) return wrong("\\u without four hexadecimal digits");
    if (*first < 0xD800 || *first > 0xDFFF) return;
    if (*first > 0xDBFF) return wrong("half of a pair of surrogates");
    if (!take('\\') || !take('u')) return wrong("half of a pair of surrogates");
    const auto second = hex4();
    if (!second || *second < 0xDC00 || *second > 0xDFFF) return wrong("half of a pair of surrogates");
  }
  /// Length in bytes of the UTF-8 character at `at_`; 0 if it is invalid.
  [[nodiscard]] std::size_t utf8() const {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text_[at_ + i]); };
    const unsigned char first = byte(0);
    const std::size_t length = first < 0x80   ? 1
                               : first < 0xC2 ? 0
                               : first < 0xE0 ? 2
                               : first < 0xF0 ? 3
                               : first < 0xF5 ? 4
                                              : 0;
    if (length == 0 || at_ + length > text_.size()) return 0;
    for (std::size_t i = 1; i < length; ++i)
      if ((byte(i) & 0xC0) != 0x80) return 0;
    if ((first == 0xE0 && byte(1) < 0xA0) || (first == 0xED && byte(1) > 0x9F) || (first == 0xF0 && byte(1) < 0x90) ||
        (first == 0xF4 && byte(1) > 0x8F))
      return 0;
    return length;
  }
  void string() {
    if (fault_) return;
    const std::size_t begin = at_++;
    while (!fault_) {
      if (at_end()) {
        at_ = begin;
        return fail("a string is not closed");
      }
      const auto c = static_cast<unsigned char>(text_[at_]);
      if (c == '"') {
        ++at_;
        return;
      }
      if (c < 0x20) return fail("a control character in a string; a line feed is written \\n");
      if (c == '\\') {
        ++at_;
        escape();
        continue;
      }
      const std::size_t length = utf8();
      if (length == 0) return fail("a byte that is not UTF-8");
      at_ += length;
    }
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::vector<char> open_;  // '{' and '[', outermost first
  std::optional<JsonFault> fault_;
};

}  // namespace

std::optional<JsonFault> find_json_fault(std::string_view text) { return FaultFinder(text).find(); }

TextPlace place_at(std::string_view text, std::size_t offset) {
  const std::string_view before = text.substr(0, std::min(offset, text.size()));
  TextPlace out;
  out.line += static_cast<std::size_t>(std::count(before.begin(), before.end(), '\n'));
  const std::size_t line_feed = before.rfind('\n');
  const std::string_view line = before.substr(line_feed == std::string_view::npos ? 0 : line_feed + 1);
  out.column += static_cast<std::size_t>(
      std::count_if(line.begin(), line.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
  return out;
}

namespace {

bool equal_ignoring_case(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [&](char x, char y) { return lower(x) == lower(y); });
}

/// Steps over the parts of a text that is valid JSON.
class Walker {
 public:
  Walker(std::string_view text, std::size_t at) : text_(text), at_(at) {}

  void skip_space() {
    while (at_ < text_.size() && std::string_view(" \t\r\n,:").find(text_[at_]) != std::string_view::npos) ++at_;
  }
  /// The string at this place, with its escapes.
  std::string_view string() {
    const std::size_t begin = ++at_;
    while (at_ < text_.size() && text_[at_] != '"') at_ += text_[at_] == '\\' ? 2 : 1;
    const std::size_t end = std::min(at_, text_.size());
    at_ = std::min(end + 1, text_.size());
    return text_.substr(begin, end - begin);
  }
  void value() {
    std::size_t depth = 0;
    do {
      skip_space();
      if (at_ >= text_.size()) return;
      const char c = text_[at_];
      if (c == '"') {
        string();
      } else if (c == '{' || c == '[') {
        ++depth, ++at_;
      } else if (c == '}' || c == ']') {
        --depth, ++at_;
      } else {
        while (at_ < text_.size() && std::string_view(" \t\r\n,:]}").find(text_[at_]) == std::string_view::npos) ++at_;
      }
    } while (depth > 0);
  }
  /// The member of this name, or the item of this index, of the value here.
  std::optional<std::size_t> child(std::string_view name) {
    skip_space();
    if (at_ >= text_.size() || (text_[at_] != '{' && text_[at_] != '[')) return std::nullopt;
    const bool object = text_[at_++] == '{';
    std::optional<std::size_t> exact, similar;
    for (std::size_t i = 0;; ++i) {
      skip_space();
      if (at_ >= text_.size() || text_[at_] == '}' || text_[at_] == ']') return exact ? exact : similar;
      const std::string index = std::to_string(i);
      const std::string_view key = object ? string() : std::string_view(index);
      skip_space();
      if (key == name)
        exact = at_;
      else if (equal_ignoring_case(key, name))
        similar = at_;
      value();
    }
  }

 private:
  std::string_view text_;
  std::size_t at_;
};

}  // namespace

std::optional<std::size_t> find_pointer(std::string_view text, std::string_view pointer) {
  std::size_t at = std::min(text.find_first_not_of(" \t\r\n"), text.size());
  while (pointer.starts_with('/')) {
    pointer.remove_prefix(1);
    const std::size_t end = std::min(pointer.find('/'), pointer.size());
    std::string name(pointer.substr(0, end));
    for (const auto& [escaped, c] : {std::pair{"~1", "/"}, std::pair{"~0", "~"}})
      for (std::size_t i = name.find(escaped); i != std::string::npos; i = name.find(escaped, i + 1))
        name.replace(i, 2, c);
    const auto inside = Walker(text, at).child(name);
    if (!inside) return std::nullopt;
    at = *inside;
    pointer.remove_prefix(end);
  }
  return at;
}

InputError with_line(InputError error, std::string_view text, std::size_t begin) {
  if (!error.place.starts_with('/')) return error;
  const std::string_view document = text.substr(begin);
  std::string_view pointer = error.place;
  // A missing value has no place. Use that of its nearest enclosing value.
  auto at = find_pointer(document, pointer);
  while (!at && !pointer.empty()) {
    pointer = pointer.substr(0, pointer.rfind('/'));
    at = find_pointer(document, pointer);
  }
  if (pointer.empty() && error.place.find('/', 1) != std::string::npos) return error;  // no pointer into this text
  const TextPlace place = place_at(text, begin + at.value_or(0));
  error.place = std::to_string(place.line) + ":" + std::to_string(place.column) + ": " + error.place;
  return error;
}

bool looks_like_hcl(std::string_view text) {
  const auto skip = [&](auto keeps) {
    while (!text.empty() && keeps(text.front())) text.remove_prefix(1);
  };
  const auto is_space = [](char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; };
  for (;;) {
    skip(is_space);
    const bool block = text.starts_with("/*");
    if (!block && !text.starts_with("#") && !text.starts_with("//")) break;
    const std::size_t end = text.find(block ? "*/" : "\n");
    if (end == std::string_view::npos) return false;
    text.remove_prefix(end + (block ? 2 : 1));
  }
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  if (text.empty() || !is_letter(text.front())) return false;
  skip([&](char c) { return is_letter(c) || c == '-' || (c >= '0' && c <= '9'); });
  const auto is_blank = [](char c) { return c == ' ' || c == '\t'; };
  for (skip(is_blank); text.starts_with('"'); skip(is_blank)) {
    const std::size_t end = text.find_first_of("\"\n", 1);
    if (end == std::string_view::npos || text[end] != '"') return false;
    text.remove_prefix(end + 1);
  }
  return text.starts_with('{');
}

}  // namespace berth::io
