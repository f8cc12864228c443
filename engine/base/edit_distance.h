// Edit distance between names, for "did you mean".
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace berth::base {

/// Number of letters to insert, delete, replace or swap with the next one to turn one text into the other, ignoring
/// case (Damerau-Levenshtein). O(|a| |b|): truncate user input first.
[[nodiscard]] std::size_t edit_distance(std::string_view a, std::string_view b);

/// Returns the name that a user probably meant by `text`: the closest one, at most 2 letters and a third of `text`
/// away; the first one on a tie. nullptr if no name is that close. Compares only the first 64 letters of `text`.
[[nodiscard]] const std::string* nearest_name(std::string_view text, const std::vector<std::string>& names);
/// "did you mean 'NAME'? ", to be followed by a pointer to the list of names; "" if no name is close.
[[nodiscard]] std::string did_you_mean(std::string_view text, const std::vector<std::string>& names);

}  // namespace berth::base
