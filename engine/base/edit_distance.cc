#include "base/edit_distance.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/text.h"

namespace berth::base {

std::size_t edit_distance(std::string_view a, std::string_view b) {
  // Rows of the distance table between prefixes of `a` and `b`: two before the current row, one before, the current
  // one.
  std::vector<std::size_t> second(b.size() + 1), before(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::swap(second, before), std::swap(before, row);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const char x = ascii_lower(a[i - 1]), y = ascii_lower(b[j - 1]);
      row[j] = std::min({before[j] + 1, row[j - 1] + 1, before[j - 1] + (x == y ? 0 : 1)});
      if (i > 1 && j > 1 && x == ascii_lower(b[j - 2]) && ascii_lower(a[i - 2]) == y)
        row[j] = std::min(row[j], second[j - 2] + 1);
    }
  }
  return row[b.size()];
}

const std::string* nearest_name(std::string_view text, const std::vector<std::string>& names) {
  text = text.substr(0, 64);
  std::size_t least = std::min<std::size_t>(2, (text.size() + 2) / 3) + 1;
  const std::string* nearest = nullptr;
  for (const std::string& name : names) {
    const std::size_t longer = std::max(name.size(), text.size()), shorter = std::min(name.size(), text.size());
    if (longer - shorter >= least) continue;
    if (const std::size_t distance = edit_distance(text, name); distance < least) least = distance, nearest = &name;
  }
  return nearest;
}

std::string did_you_mean(std::string_view text, const std::vector<std::string>& names) {
  const std::string* nearest = nearest_name(text, names);
  return nearest ? "did you mean '" + *nearest + "'? " : "";
}

}  // namespace berth::base
