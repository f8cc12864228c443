// Common to all programs: signals, closed standard streams, running out of memory or threads.
#pragma once

#include <exception>

namespace berth::cli {

/// To be called first in main().
void begin_program();
/// Prints one line and ends the program, without allocating memory.
[[noreturn]] void out_of_memory();
/// Reports an exception caught in main(). Returns the exit code.
int failed(const std::exception& error);

}  // namespace berth::cli
