// Prefetches a cache line ahead of its use.
//
// GCC treats a function that only prefetches as free of side effects, and drops calls that it has not inlined by
// then. So no such function may call __builtin_prefetch alone: the empty asm statement next to it counts as a side
// effect and costs no instruction.
#pragma once

#include <cstddef>

namespace berth::base {

inline void prefetch(const void* at) {
  __builtin_prefetch(at);
  asm volatile("");
}

inline void prefetch_to_write(const void* at) {
  __builtin_prefetch(at, 1);
  asm volatile("");
}

/// All lines of an object.
template <class T>
void prefetch_all(const T& object) {
  for (std::size_t at = 0; at < sizeof(T); at += 64) prefetch(reinterpret_cast<const char*>(&object) + at);
}

}  // namespace berth::base
