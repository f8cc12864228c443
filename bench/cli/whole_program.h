// What holds for a whole program, whatever it was asked: signals, closed standard streams, no memory and no threads
// left.
#pragma once

#include <exception>

namespace berth::cli {

/// The first thing that main() does.
void begin_program();
/// Tells what main() caught; the exit code.
int failed(const std::exception& error);

}  // namespace berth::cli
