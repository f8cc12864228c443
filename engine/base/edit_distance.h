// How far apart two names are, for "did you mean".
#pragma once

#include <cstddef>
#include <string_view>

namespace berth::base {

/// Letters to insert, delete or replace to make one of the other (Levenshtein). O(|a| |b|): cut what users write.
[[nodiscard]] std::size_t edit_distance(std::string_view a, std::string_view b);

}  // namespace berth::base
