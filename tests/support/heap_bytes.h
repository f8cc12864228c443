// Bytes on the heap of a test program, current and peak. It defines operator new: one file of a program includes it.
#pragma once

#include <malloc.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <new>

namespace berth::testing {

inline std::atomic<std::int64_t> heap_bytes{0}, heap_bytes_most{0};

inline void* count_heap(void* memory) {
  if (!memory) return memory;
  const auto size = static_cast<std::int64_t>(malloc_usable_size(memory));
  const std::int64_t now = heap_bytes.fetch_add(size, std::memory_order_relaxed) + size;
  if (now > heap_bytes_most.load(std::memory_order_relaxed)) heap_bytes_most.store(now, std::memory_order_relaxed);
  return memory;
}
inline void uncount_heap(void* memory) {
  if (memory) heap_bytes.fetch_sub(static_cast<std::int64_t>(malloc_usable_size(memory)), std::memory_order_relaxed);
  std::free(memory);
}

/// Peak of the bytes on the heap during `work`, above the bytes before it.
template <class Work>
std::int64_t heap_used_by(Work work) {
  const std::int64_t before = heap_bytes.load(std::memory_order_relaxed);
  heap_bytes_most.store(before, std::memory_order_relaxed);
  work();
  return heap_bytes_most.load(std::memory_order_relaxed) - before;
}

}  // namespace berth::testing

// Not inlined, because the compiler would report malloc() and operator delete as a mismatch.
[[gnu::noinline]] void* operator new(std::size_t size) {
  if (void* memory = berth::testing::count_heap(std::malloc(size))) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  return berth::testing::count_heap(std::malloc(size));
}
[[gnu::noinline]] void* operator new(std::size_t size, std::align_val_t align) {
  const auto a = static_cast<std::size_t>(align);
  if (void* memory = berth::testing::count_heap(std::aligned_alloc(a, (size + a - 1) / a * a))) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { berth::testing::uncount_heap(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { berth::testing::uncount_heap(memory); }
[[gnu::noinline]] void operator delete(void* memory, const std::nothrow_t&) noexcept {
  berth::testing::uncount_heap(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::align_val_t) noexcept {
  berth::testing::uncount_heap(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  berth::testing::uncount_heap(memory);
}
