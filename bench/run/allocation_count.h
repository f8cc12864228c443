// What the program has taken from the heap.
#pragma once

#include <cstdint>

namespace berth::run {

/// Calls of C++'s operator new, of all threads.
struct AllocationCount {
  std::uint64_t count = 0, bytes = 0;
};

}  // namespace berth::run
