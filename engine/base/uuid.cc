#include "base/uuid.h"

namespace berth::base {

void write_text(Uuid id, std::string& out) {
  static constexpr char kHex[] = "0123456789abcdef";
  out.resize(36);
  char* at = out.data();
  for (int nibble = 0; nibble < 32; ++nibble) {
    if (nibble == 8 || nibble == 12 || nibble == 16 || nibble == 20) *at++ = '-';
    const std::uint64_t half = nibble < 16 ? id.hi : id.lo;
    *at++ = kHex[half >> (60 - 4 * (nibble % 16)) & 15];
  }
}

std::string to_text(Uuid id) {
  std::string out;
  write_text(id, out);
  return out;
}

std::optional<Uuid> parse_uuid(std::string_view text) {
  if (text.size() != 36) return std::nullopt;
  std::uint64_t half[2] = {0, 0};
  int nibble = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (i == 8 || i == 13 || i == 18 || i == 23) {
      if (text[i] != '-') return std::nullopt;
      continue;
    }
    const char c = text[i];
    unsigned value;
    if (c >= '0' && c <= '9')
      value = static_cast<unsigned>(c - '0');
    else if (c >= 'a' && c <= 'f')
      value = static_cast<unsigned>(c - 'a') + 10;
    else if (c >= 'A' && c <= 'F')
      value = static_cast<unsigned>(c - 'A') + 10;
    else
      return std::nullopt;
    half[nibble / 16] = half[nibble / 16] << 4 | value;
    ++nibble;
  }
  return Uuid{half[0], half[1]};
}

}  // namespace berth::base
