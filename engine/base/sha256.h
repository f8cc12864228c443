// SHA-256 (FIPS 180-4) of data that arrives in pieces: digests of recorded decisions that others can recompute.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace berth::base {

class Sha256 {
 public:
  void add(std::string_view data);
  /// The digest as 64 hex digits. Ends the object's life as an accumulator.
  [[nodiscard]] std::string hex();

 private:
  void block(const unsigned char* data);

  std::array<std::uint32_t, 8> state_{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                      0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<unsigned char, 64> pending_{};
  std::size_t pending_bytes_ = 0;
  std::uint64_t bytes_ = 0;
};

}  // namespace berth::base
