// Counts the program's allocations: calls of operator new and their bytes, of all threads. Files of the program that
// include nothing of this pay nothing but an increment of a thread's own counter per allocation.
#pragma once

#include "run/allocation_count.h"

namespace berth::cli {

/// So far. Exact for threads that have ended or stand still.
[[nodiscard]] run::AllocationCount count_allocations();

}  // namespace berth::cli
