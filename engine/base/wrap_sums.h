// In-place versions of wrap.h: sums that wrap, as the reference's integers do (R-MODEL-3).
#pragma once

#include "base/wrap.h"

namespace berth::base {

/// `sum` += `more`.
constexpr void wrap_add_to(std::int64_t& sum, std::int64_t more) { sum = wrap_add(sum, more); }
/// `sum` -= `less`.
constexpr void wrap_sub_from(std::int64_t& sum, std::int64_t less) { sum = wrap_sub(sum, less); }

}  // namespace berth::base
