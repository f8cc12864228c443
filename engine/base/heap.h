// Array binary heap with the exact steps of R-CTRL-310: among equal elements, the steps decide which one leaves
// first.
//
// `less(a, b)` means that a leaves before b; it need not be a strict order (R-CTRL-311, 312). The functions work on
// any random access container with push_back and pop_back, so callers can read the array itself (R-CTRL-314).
#pragma once

#include <cstddef>
#include <utility>

namespace berth::base {

/// Moves element j towards the root while it is less than its parent.
template <class Array, class Less>
void heap_up(Array& heap, std::size_t j, Less less) {
  while (j > 0) {
    const std::size_t i = (j - 1) / 2;
    if (!less(heap[j], heap[i])) return;
    std::swap(heap[i], heap[j]);
    j = i;
  }
}

/// Moves element i towards the leaves within the first n elements; returns true if it moved.
template <class Array, class Less>
bool heap_down(Array& heap, std::size_t i, std::size_t n, Less less) {
  const std::size_t start = i;
  while (true) {
    std::size_t j = 2 * i + 1;
    if (j >= n) break;
    if (j + 1 < n && less(heap[j + 1], heap[j])) ++j;
    if (!less(heap[j], heap[i])) break;
    std::swap(heap[i], heap[j]);
    i = j;
  }
  return i > start;
}

template <class Array, class Value, class Less>
void heap_push(Array& heap, Value value, Less less) {
  heap.push_back(std::move(value));
  heap_up(heap, heap.size() - 1, less);
}

/// Removes and returns the root of a heap that is not empty.
template <class Array, class Less>
auto heap_pop(Array& heap, Less less) {
  const std::size_t n = heap.size() - 1;
  std::swap(heap[0], heap[n]);
  heap_down(heap, 0, n, less);
  auto out = std::move(heap.back());
  heap.pop_back();
  return out;
}

/// Removes element k.
template <class Array, class Less>
void heap_remove(Array& heap, std::size_t k, Less less) {
  const std::size_t n = heap.size() - 1;
  if (n != k) {
    std::swap(heap[k], heap[n]);
    if (!heap_down(heap, k, n, less)) heap_up(heap, k, less);
  }
  heap.pop_back();
}

}  // namespace berth::base
