#include "base/printable.h"

namespace berth::base {

std::string printable(std::string_view text, bool lines) {
  static constexpr char kHex[] = "0123456789abcdef";
  const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(text[at]); };
  // Number of bytes to escape from `at` on: C0 and DEL; C1 (U+0080 to 9F); U+202A to 202E, U+2066 to 2069.
  const auto harmful = [&](std::size_t at) -> std::size_t {
    if (byte(at) < 0x20) return lines && (text[at] == '\n' || text[at] == '\t') ? 0 : 1;
    if (byte(at) == 0x7F) return 1;
    if (at + 1 < text.size() && byte(at) == 0xC2 && byte(at + 1) >= 0x80 && byte(at + 1) < 0xA0) return 2;
    if (at + 2 >= text.size() || byte(at) != 0xE2) return 0;
    const bool turns = (byte(at + 1) == 0x80 && byte(at + 2) >= 0xAA && byte(at + 2) <= 0xAE) ||
                       (byte(at + 1) == 0x81 && byte(at + 2) >= 0xA6 && byte(at + 2) <= 0xA9);
    return turns ? 3 : 0;
  };
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t count = harmful(at);
    if (count == 0) {
      out += text[at++];
      continue;
    }
    for (const std::size_t end = at + count; at < end; ++at)
      out.append("\\x").append(1, kHex[byte(at) >> 4]).append(1, kHex[byte(at) & 15]);
  }
  return out;
}

}  // namespace berth::base
