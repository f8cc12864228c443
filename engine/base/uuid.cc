#include "base/uuid.h"

#include <array>
#include <cstring>

namespace berth::base {

namespace {

/// The two digits of every byte.
constexpr auto kDigits = [] {
  constexpr char kHex[] = "0123456789abcdef";
  std::array<std::array<char, 2>, 256> out{};
  for (unsigned byte = 0; byte < 256; ++byte) out[byte] = {kHex[byte >> 4], kHex[byte & 15]};
  return out;
}();

}  // namespace

void write_text(Uuid id, std::string& out) {
  out.resize(36);
  char* at = out.data();
  const auto bytes = [&](std::uint64_t half, int from, int to) {  // bits, from the left
    for (int bit = from; bit < to; bit += 8, at += 2) std::memcpy(at, kDigits[half >> (56 - bit) & 255].data(), 2);
  };
  bytes(id.hi, 0, 32), *at++ = '-';
  bytes(id.hi, 32, 48), *at++ = '-';
  bytes(id.hi, 48, 64), *at++ = '-';
  bytes(id.lo, 0, 16), *at++ = '-';
  bytes(id.lo, 16, 64);
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
