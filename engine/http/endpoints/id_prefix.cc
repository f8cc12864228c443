#include "http/endpoints/id_prefix.h"

#include <algorithm>
#include <cstdio>

namespace berth::http {

namespace {

int digit_of(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

/// Go's text for a byte that is no hexadecimal digit: its number and, if printable, the character.
std::string byte_name(char c) {
  const auto byte = static_cast<unsigned char>(c);
  char text[16];
  std::snprintf(text, sizeof text, "U+%04X", byte);
  std::string out = text;
  if ((byte >= 0x20 && byte < 0x7F) || byte >= 0xA1) {
    out += " '";
    if (byte < 0x80) {
      out += c;
    } else {  // a code point of two bytes
      out += static_cast<char>(0xC0 | byte >> 6);
      out += static_cast<char>(0x80 | (byte & 0x3F));
    }
    out += '\'';
  }
  return out;
}

}  // namespace

tl::expected<IdPrefix, std::string> IdPrefix::parse(std::string_view text) {
  if (text.size() > 36)
    return tl::unexpected("index error: Invalid UUID length. UUID have 36 characters; got " +
                          std::to_string(text.size()));
  const auto hyphens = std::count(text.begin(), text.end(), '-');
  if (hyphens > 4)
    return tl::unexpected("index error: UUID should have maximum of 4 \"-\"; got " + std::to_string(hyphens));
  if ((text.size() - static_cast<std::size_t>(hyphens)) % 2 != 0)
    return tl::unexpected(std::string("index error: Input (without hyphens) must be even length"));
  IdPrefix out;
  unsigned digits = 0;
  for (const char c : text) {
    if (c == '-') continue;
    const int digit = digit_of(c);
    if (digit < 0) return tl::unexpected("index error: Invalid UUID: encoding/hex: invalid byte: " + byte_name(c));
    if (digits == 32) {  // longer than any ID: matches none
      out.high_mask_ = out.low_mask_ = 0, out.high_ = out.low_ = 1;
      return out;
    }
    const unsigned shift = 60 - 4 * (digits % 16);
    (digits < 16 ? out.high_ : out.low_) |= static_cast<std::uint64_t>(digit) << shift;
    (digits < 16 ? out.high_mask_ : out.low_mask_) |= std::uint64_t{15} << shift;
    ++digits;
  }
  return out;
}

}  // namespace berth::http
