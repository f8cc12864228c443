#include "lifecycle/timers.h"

#include <algorithm>

namespace berth::lifecycle {

void Timers::up(std::size_t place) {
  const Timer timer = heap_[place];
  while (place > 0) {
    const std::size_t parent = (place - 1) / kChildren;
    if (!(timer < heap_[parent])) break;
    put(place, heap_[parent]);
    place = parent;
  }
  put(place, timer);
}

void Timers::down(std::size_t place) {
  const Timer timer = heap_[place];
  for (;;) {
    const std::size_t first = kChildren * place + 1;
    if (first >= heap_.size()) break;
    std::size_t child = first;
    for (std::size_t other = first + 1; other < std::min(first + kChildren, heap_.size()); ++other)
      if (heap_[other] < heap_[child]) child = other;
    if (!(heap_[child] < timer)) break;
    put(place, heap_[child]);
    place = child;
  }
  put(place, timer);
}

void Timers::set(std::uint32_t row, std::int64_t at) {
  if (row >= place_.size()) place_.resize(row + 1, kNone);
  if (place_[row] == kNone) {
    heap_.push_back({at, row});
    up(heap_.size() - 1);
    return;
  }
  const std::size_t place = place_[row];
  const bool later = at > heap_[place].at;
  heap_[place].at = at;
  later ? down(place) : up(place);
}

void Timers::clear(std::uint32_t row) {
  if (!has(row)) return;
  const std::size_t place = place_[row];
  const Timer last = heap_.back();
  heap_.pop_back();
  place_[row] = kNone;
  if (place == heap_.size()) return;
  put(place, last);
  up(place);
  down(place_[last.row]);
}

void Timers::clear_all() {
  for (const Timer& timer : heap_) place_[timer.row] = kNone;
  heap_.clear();
}

std::optional<std::uint32_t> Timers::take_due(std::int64_t now) {
  if (next() > now || heap_.empty()) return std::nullopt;
  const std::uint32_t row = heap_.front().row;
  clear(row);
  return row;
}

}  // namespace berth::lifecycle
