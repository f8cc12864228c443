// The binary heap in an array, operation by operation as R-CTRL-310 fixes it: equal elements leave it in an order that
// depends on every swap, and recorded decisions depend on that order.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace berth::broker::heap {

/// Moves element i up while it is less than its parent.
template <class T, class Less>
void sift_up(std::vector<T>& items, std::size_t j, const Less& less) {
  while (j > 0) {
    const std::size_t parent = (j - 1) / 2;
    if (!less(items[j], items[parent])) break;
    std::swap(items[parent], items[j]);
    j = parent;
  }
}

/// Moves element i down within the first n; false when it stayed.
template <class T, class Less>
bool sift_down(std::vector<T>& items, std::size_t i, std::size_t n, const Less& less) {
  const std::size_t start = i;
  for (std::size_t j = 2 * i + 1; j < n; j = 2 * i + 1) {
    if (j + 1 < n && less(items[j + 1], items[j])) ++j;
    if (!less(items[j], items[i])) break;
    std::swap(items[i], items[j]);
    i = j;
  }
  return i > start;
}

template <class T, class Less>
void push(std::vector<T>& items, T item, const Less& less) {
  items.push_back(std::move(item));
  sift_up(items, items.size() - 1, less);
}

/// Takes the root; `items` is not empty.
template <class T, class Less>
T pop(std::vector<T>& items, const Less& less) {
  const std::size_t n = items.size() - 1;
  std::swap(items[0], items[n]);
  sift_down(items, 0, n, less);
  T out = std::move(items.back());
  items.pop_back();
  return out;
}

/// Removes element k.
template <class T, class Less>
void remove(std::vector<T>& items, std::size_t k, const Less& less) {
  const std::size_t n = items.size() - 1;
  if (n != k) {
    std::swap(items[k], items[n]);
    if (!sift_down(items, k, n, less)) sift_up(items, k, less);
  }
  items.pop_back();
}

}  // namespace berth::broker::heap
