#include "base/edit_distance.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace berth::base {

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t above = row[j];
      row[j] = std::min({above + 1, row[j - 1] + 1, diagonal + (a[i - 1] == b[j - 1] ? 0 : 1)});
      diagonal = above;
    }
  }
  return row[b.size()];
}

const std::string* nearest_name(std::string_view text, const std::vector<std::string>& names) {
  text = text.substr(0, 64);
  std::size_t least = std::min<std::size_t>(2, (text.size() + 2) / 3) + 1;
  const std::string* nearest = nullptr;
  for (const std::string& name : names)
    if (const std::size_t distance = edit_distance(text, name); distance < least) least = distance, nearest = &name;
  return nearest;
}

std::string did_you_mean(std::string_view text, const std::vector<std::string>& names) {
  const std::string* nearest = nearest_name(text, names);
  return nearest ? "did you mean '" + *nearest + "'? " : "";
}

}  // namespace berth::base
