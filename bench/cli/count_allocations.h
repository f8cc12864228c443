// Counts the program's heap allocations: calls of operator new and their bytes, of all threads. Cost: an increment of a
// thread-local counter per allocation.
#pragma once

#include "run/allocation_count.h"

namespace berth::cli {

/// Counts so far. Exact for threads that have ended or are blocked.
[[nodiscard]] run::AllocationCount count_allocations();

/// Gives memory that this thread has freed back to the system. Else mimalloc keeps much of what an import needed.
void give_back_freed_memory();

}  // namespace berth::cli
