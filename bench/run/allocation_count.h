// Heap allocations of the program.
#pragma once

#include <cstdint>

namespace berth::run {

/// Calls of operator new by all threads.
struct AllocationCount {
  std::uint64_t count = 0, bytes = 0;
};

}  // namespace berth::run
