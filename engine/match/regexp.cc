#include "match/regexp.h"

#include <re2/re2.h>

#include <algorithm>
#include <optional>

namespace berth::match {
namespace {

bool is_name_byte(char c) {
  return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_';
}

/// Length of the well-formed UTF-8 sequence `text` begins with, or 0.
std::size_t utf8_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const auto tail = [&](std::size_t i) { return i < text.size() && (byte(i) & 0xC0) == 0x80; };
  const unsigned char b0 = byte(0);
  if (b0 < 0x80) return 1;
  if (b0 >= 0xC2 && b0 <= 0xDF) return tail(1) ? 2 : 0;
  if (b0 >= 0xE0 && b0 <= 0xEF) {
    if (!tail(1) || !tail(2)) return 0;
    if (b0 == 0xE0 && byte(1) < 0xA0) return 0;  // overlong
    if (b0 == 0xED && byte(1) > 0x9F) return 0;  // surrogate
    return 3;
  }
  if (b0 >= 0xF0 && b0 <= 0xF4) {
    if (!tail(1) || !tail(2) || !tail(3)) return 0;
    if (b0 == 0xF0 && byte(1) < 0x90) return 0;
    if (b0 == 0xF4 && byte(1) > 0x8F) return 0;
    return 4;
  }
  return 0;
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

std::string with_replacement_characters(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    if (length == 0)
      out += "\xEF\xBF\xBD";
    else
      out += text.substr(0, length);
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return out;
}

/// Rewrites Go's `(?<name>` to `(?P<name>`, which every RE2 version supports; refuses `\C` and group names that Go
/// refuses. Skips brackets, escapes and `\Q...\E`, where an opening parenthesis is literal. Not translated: property
/// names that Go supports since 1.25 and RE2 does not (`\p{Letter}`, `\p{greek}`).
std::optional<std::string> to_re2(std::string_view go) {
  std::string out;
  bool in_class = false;
  for (std::size_t i = 0; i < go.size();) {
    const char c = go[i];
    if (c == '\\' && i + 1 < go.size()) {
      if (go[i + 1] == 'C') return std::nullopt;
      if (go[i + 1] == 'Q' && !in_class) {
        const std::size_t end = go.find("\\E", i + 2);
        const std::size_t stop = end == std::string_view::npos ? go.size() : end + 2;
        out += go.substr(i, stop - i);
        i = stop;
        continue;
      }
      out += go.substr(i, 2);
      i += 2;
      continue;
    }
    if (in_class) {
      if (go.substr(i).starts_with("[:")) {  // a class name: its bracket does not close the outer one
        const std::size_t end = go.find(":]", i + 2);
        if (end != std::string_view::npos) {
          out += go.substr(i, end + 2 - i);
          i = end + 2;
          continue;
        }
      }
      in_class = c != ']';
    } else if (c == '[') {
      in_class = true;
      out += c;
      ++i;
      if (i < go.size() && go[i] == '^') out += go[i++];
      if (i < go.size() && go[i] == ']') out += go[i++];  // literal in first place
      continue;
    } else if (go.substr(i).starts_with("(?<") || go.substr(i).starts_with("(?P<")) {
      const std::size_t name_begin = i + (go[i + 2] == 'P' ? 4 : 3);
      std::size_t name_end = name_begin;
      while (name_end < go.size() && is_name_byte(go[name_end])) ++name_end;
      if (name_end == name_begin || name_end == go.size() || go[name_end] != '>') return std::nullopt;
      out += "(?P<";
      i = name_begin;
      continue;
    }
    out += c;
    ++i;
  }
  return out;
}

}  // namespace

Regexp::Regexp(std::unique_ptr<re2::RE2> compiled) : compiled_(std::move(compiled)) {}
Regexp::~Regexp() = default;

std::shared_ptr<const Regexp> Regexp::compile(std::string_view expression) {
  const auto translated = to_re2(expression);
  if (!translated) return nullptr;
  RE2::Options options;
  options.set_log_errors(false);
  auto compiled = std::make_unique<RE2>(*translated, options);
  if (!compiled->ok()) return nullptr;
  return std::shared_ptr<const Regexp>(new Regexp(std::move(compiled)));
}

bool Regexp::matches(std::string_view text) const {
  if (is_utf8(text)) return RE2::PartialMatch(re2::StringPiece(text.data(), text.size()), *compiled_);
  return RE2::PartialMatch(with_replacement_characters(text), *compiled_);
}

}  // namespace berth::match
