#include "base/blake2b.h"

#include <blake2.h>

namespace berth::base {

std::array<std::uint8_t, 32> blake2b_256(std::string_view data) {
  std::array<std::uint8_t, 32> out;
  blake2b(out.data(), data.data(), nullptr, out.size(), data.size(), 0);  // fails only on sizes that are out of range
  return out;
}

}  // namespace berth::base
