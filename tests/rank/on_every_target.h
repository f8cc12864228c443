// Runs a test body once per instruction set that this build contains and this machine has.
#pragma once

#include <gtest/gtest.h>
#include <hwy/targets.h>

#include <bit>
#include <cmath>
#include <cstdint>

namespace berth::rank {

/// The bits of a double, with one pattern for every NaN.
inline std::uint64_t bits_of(double v) { return std::isnan(v) ? 0x7ff8000000000001u : std::bit_cast<std::uint64_t>(v); }

template <class Body>
void on_every_target(const Body& body) {
  for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
    hwy::SetSupportedTargetsForTest(target);
    SCOPED_TRACE(hwy::TargetName(target));
    body();
  }
  hwy::SetSupportedTargetsForTest(0);
}

}  // namespace berth::rank
