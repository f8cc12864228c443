#include "base/blake2b.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace berth::base {
namespace {

constexpr std::size_t kBlock = 128, kDigest = 32;
constexpr std::array<std::uint64_t, 8> kInitial = {0x6a09e667f3bcc908, 0xbb67ae8584caa73b, 0x3c6ef372fe94f82b,
                                                   0xa54ff53a5f1d36f1, 0x510e527fade682d1, 0x9b05688c2b3e6c1f,
                                                   0x1f83d9abfb41bd6b, 0x5be0cd19137e2179};
constexpr std::uint8_t kSigma[10][16] = {
    {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}, {14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3},
    {11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4}, {7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8},
    {9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13}, {2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9},
    {12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11}, {13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10},
    {6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5}, {10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0}};

using State = std::array<std::uint64_t, 8>;

void compress(State& state, const std::uint8_t* block, std::uint64_t taken, bool last) {
  std::uint64_t words[16], v[16];
  std::memcpy(words, block, kBlock);  // little-endian, like the machine
  std::copy(state.begin(), state.end(), v);
  std::copy(kInitial.begin(), kInitial.end(), v + 8);
  v[12] ^= taken;
  if (last) v[14] = ~v[14];
  const auto mix = [&](int a, int b, int c, int d, std::uint64_t x, std::uint64_t y) {
    v[a] += v[b] + x, v[d] = std::rotr(v[d] ^ v[a], 32);
    v[c] += v[d], v[b] = std::rotr(v[b] ^ v[c], 24);
    v[a] += v[b] + y, v[d] = std::rotr(v[d] ^ v[a], 16);
    v[c] += v[d], v[b] = std::rotr(v[b] ^ v[c], 63);
  };
  for (int round = 0; round < 12; ++round) {
    const std::uint8_t* s = kSigma[round % 10];
    for (int i = 0; i < 4; ++i) mix(i, i + 4, i + 8, i + 12, words[s[2 * i]], words[s[2 * i + 1]]);
    for (int i = 0; i < 4; ++i)
      mix(i, (i + 1) % 4 + 4, (i + 2) % 4 + 8, (i + 3) % 4 + 12, words[s[8 + 2 * i]], words[s[9 + 2 * i]]);
  }
  for (std::size_t i = 0; i < state.size(); ++i) state[i] ^= v[i] ^ v[i + 8];
}

}  // namespace

std::array<std::uint8_t, 32> blake2b_256(std::string_view data) {
  static_assert(std::endian::native == std::endian::little);
  State state = kInitial;
  state[0] ^= 0x01010000 ^ kDigest;
  std::uint8_t block[kBlock];
  std::size_t at = 0;
  do {
    const std::size_t count = std::min(kBlock, data.size() - at);
    std::memset(block, 0, kBlock);
    std::memcpy(block, data.data() + at, count);
    at += count;
    compress(state, block, at, at == data.size());
  } while (at < data.size());
  std::array<std::uint8_t, 32> out;
  std::memcpy(out.data(), state.data(), out.size());
  return out;
}

}  // namespace berth::base
