#include "hcl/unicode.h"

#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <cstdlib>

namespace berth::hcl {
namespace {

constexpr char32_t kReplacement = 0xFFFD;

bool is_ascii(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

/// Length of the valid UTF-8 sequence at `at`, with its code point; 0: the bytes are invalid.
std::size_t sequence_at(std::string_view text, std::size_t at, char32_t& code_point) {
  utf8proc_int32_t c = 0;
  const auto length = utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(text.data()) + at,
                                       static_cast<utf8proc_ssize_t>(text.size() - at), &c);
  if (length <= 0) return 0;
  code_point = static_cast<char32_t>(c);
  return static_cast<std::size_t>(length);
}

bool is_letter(utf8proc_category_t category) {
  switch (category) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
    case UTF8PROC_CATEGORY_NL:
      return true;
    default:
      return false;
  }
}

// ID_Start as derived by Unicode: letters and letter numbers, Other_ID_Start, without the one letter of Pattern_Syntax.
bool is_id_start(char32_t c) {
  constexpr std::array<char32_t, 6> kOther = {0x1885, 0x1886, 0x2118, 0x212E, 0x309B, 0x309C};
  if (c == 0x2E2F) return false;
  return is_letter(utf8proc_category(static_cast<utf8proc_int32_t>(c))) ||
         std::find(kOther.begin(), kOther.end(), c) != kOther.end();
}

// ID_Continue: ID_Start, marks, decimal digits, connectors and Other_ID_Continue.
bool is_id_continue(char32_t c) {
  if (is_id_start(c)) return true;
  switch (utf8proc_category(static_cast<utf8proc_int32_t>(c))) {
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_MC:
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_PC:
      return true;
    default:
      return c == 0xB7 || c == 0x387 || (c >= 0x1369 && c <= 0x1371) || c == 0x19DA;
  }
}

}  // namespace

bool is_utf8(std::string_view text) {
  if (is_ascii(text)) return true;
  char32_t c = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = sequence_at(text, at, c);
    if (length == 0) return false;
    at += length;
  }
  return true;
}

std::string nfc(std::string_view text) {
  if (is_ascii(text)) return std::string(text);
  if (!is_utf8(text)) {
    std::string valid;
    for (std::size_t at = 0; at < text.size();) append_utf8(valid, next_code_point(text, at));
    return nfc(valid);
  }
  utf8proc_uint8_t* composed = nullptr;
  const auto length =
      utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(text.data()), static_cast<utf8proc_ssize_t>(text.size()),
                   &composed, static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE));
  if (length < 0) return std::string(text);  // out of memory; valid UTF-8 cannot fail otherwise
  std::string result(reinterpret_cast<const char*>(composed), static_cast<std::size_t>(length));
  std::free(composed);
  return result;
}

std::size_t grapheme_end(std::string_view text, std::size_t begin) {
  const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(text[at]); };
  if (byte(begin) < 0x80 && (begin + 1 == text.size() || byte(begin + 1) < 0x80)) {
    return begin + (text[begin] == '\r' && begin + 1 < text.size() && text[begin + 1] == '\n' ? 2 : 1);
  }
  std::size_t at = begin;
  char32_t before = next_code_point(text, at);
  utf8proc_int32_t state = 0;
  while (at < text.size()) {
    std::size_t after = at;
    const char32_t c = next_code_point(text, after);
    if (utf8proc_grapheme_break_stateful(static_cast<utf8proc_int32_t>(before), static_cast<utf8proc_int32_t>(c),
                                         &state)) {
      break;
    }
    before = c;
    at = after;
  }
  return at;
}

std::size_t grapheme_count(std::string_view text) {
  std::size_t count = 0;
  for (std::size_t at = 0; at < text.size(); at = grapheme_end(text, at)) ++count;
  return count;
}

char32_t next_code_point(std::string_view text, std::size_t& at) {
  const auto first = static_cast<unsigned char>(text[at]);
  if (first < 0x80) {
    ++at;
    return first;
  }
  char32_t c = 0;
  const std::size_t length = sequence_at(text, at, c);
  at += std::max<std::size_t>(length, 1);
  return length == 0 ? kReplacement : c;
}

void append_utf8(std::string& out, char32_t code_point) {
  std::array<utf8proc_uint8_t, 4> bytes{};
  const auto length = utf8proc_encode_char(static_cast<utf8proc_int32_t>(code_point), bytes.data());
  if (length <= 0) return append_utf8(out, kReplacement);
  out.append(reinterpret_cast<const char*>(bytes.data()), static_cast<std::size_t>(length));
}

bool is_identifier_start(char32_t c) {
  if (c < 0x80) return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  return is_id_start(c);
}

bool is_identifier_continue(char32_t c) {
  if (c < 0x80) return is_identifier_start(c) || (c >= '0' && c <= '9') || c == '-';
  return is_id_continue(c);
}

bool is_space(char32_t c) {
  if (c < 0x80) return c == ' ' || (c >= '\t' && c <= '\r');
  return c == 0x85 || c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 ||
         c == 0x202F || c == 0x205F || c == 0x3000;
}

}  // namespace berth::hcl
