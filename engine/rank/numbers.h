// exp and 10^y of the reference platform, operation by operation (R-RANK-105, 106; R-MODEL-455, 456).
//
// They are not the C library's functions: about 45 % of the results differ in the last bits, which changes ties. Every
// entry point gives the same bits on every machine and instruction set. Fused multiply-adds are part of the definition:
// hardware ones if the processor has them (checked once, at program start), otherwise the C library's exact fma.
//
// Cost: bench/micro/numbers_bench.cc; with AVX-512 an array takes about a tenth of the scalar time per value.
#pragma once

#include <span>

namespace berth::rank {

/// e^x by R-RANK-106, for all x.
[[nodiscard]] double exact_exp(double x) noexcept;

/// 10^y by R-RANK-105, for all y.
[[nodiscard]] double exact_pow10(double y) noexcept;

/// out[i] = exact_exp(x[i]); equal sizes; `out` may be `x`.
void exact_exp(std::span<const double> x, std::span<double> out) noexcept;

/// out[i] = exact_pow10(y[i]); equal sizes; `out` may be `y`. Arguments in [-1, 1] go at vector speed.
void exact_pow10(std::span<const double> y, std::span<double> out) noexcept;

namespace detail {
/// True if the scalar forms, those of score_fit.h included, use fused multiply-add instructions. Set at program start;
/// tests clear it to check that the other path gives the same bits.
extern bool hardware_fma;
}  // namespace detail

}  // namespace berth::rank
