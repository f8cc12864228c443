// How far apart two names are, for "did you mean".
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace berth::base {

/// Letters to insert, delete, replace or exchange with the next one to make one of the other, whatever their case
/// (Damerau and Levenshtein). O(|a| |b|): cut what users write.
[[nodiscard]] std::size_t edit_distance(std::string_view a, std::string_view b);

/// The name that a user probably meant by `text`: the closest one, at most 2 letters and a third of `text` away; the
/// first one on a tie. nullptr: none is that close. Only the first 64 letters of `text` are compared.
[[nodiscard]] const std::string* nearest_name(std::string_view text, const std::vector<std::string>& names);
/// "did you mean 'NAME'? ", to be followed by where the names are listed; "" where no name is close.
[[nodiscard]] std::string did_you_mean(std::string_view text, const std::vector<std::string>& names);

}  // namespace berth::base
