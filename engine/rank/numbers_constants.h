// The constants of R-RANK-105 and 106, for the scalar and the vector forms alike.
#pragma once

#include <bit>
#include <cstdint>

namespace berth::rank::constants {

inline constexpr double bits(std::uint64_t b) { return std::bit_cast<double>(b); }

inline constexpr double kLn10 = bits(0x40026bb1bbb55516);    // 2.302585092994046
inline constexpr double kSqrt10 = bits(0x40094c583ada5b53);  // 10^0.5 by rule, not by exp
inline constexpr double kInvSqrt10 = bits(0x3fd43d136248490f);
inline constexpr double kLog2E = bits(0x3ff71547652b82fe);
inline constexpr double kLn2High = bits(0x3fe62e42fefa3000);
inline constexpr double kLn2Low = bits(0x3d53de6af278ece6);
inline constexpr double kFirst = bits(0x3efa01a01a01a01a);  // 1/8!... the polynomial's leading coefficient
inline constexpr double kTaylor[] = {bits(0x3f2a01a01a01a01a),
                                     bits(0x3f56c16c16c16c17),
                                     bits(0x3f81111111111111),
                                     bits(0x3fa5555555555555),
                                     bits(0x3fc5555555555555),
                                     0.5,
                                     1.0};
// Adding and subtracting 1.5 * 2^52 rounds |x| < 2^51 to the nearest integer, ties to even, and leaves that integer in
// the low bits of the sum.
inline constexpr double kRound = 0x1.8p52;

}  // namespace berth::rank::constants
