// Rewrites the keys of a map, reusing its memory.
#pragma once

#include <algorithm>
#include <map>
#include <utility>

namespace berth::sched {

/// Gives `map` the keys key_of(item). Existing entries are renamed, to reuse their memory.
template <class Map, class Items, class KeyOf>
void set_keys(Map& map, const Items& items, KeyOf key_of) {
  const auto is_other = [&](const auto& entry) {
    return std::none_of(items.begin(), items.end(), [&](const auto& item) { return key_of(item) == entry.first; });
  };
  for (const auto& item : items) {
    if (map.find(key_of(item)) != map.end()) continue;
    const auto other = std::find_if(map.begin(), map.end(), is_other);
    if (other == map.end()) {
      map.try_emplace(key_of(item));
      continue;
    }
    auto entry = map.extract(other);
    entry.key() = key_of(item);
    map.insert(std::move(entry));
  }
  std::erase_if(map, is_other);
}

}  // namespace berth::sched
