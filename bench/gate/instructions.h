// Instructions executed, counted by valgrind: a number that hardly depends on the machine's mood.
#pragma once

#include "gate/measure.h"

namespace berth::gate {

/// Runs a case once under valgrind (about fifty times slower) on the AVX2 path, as valgrind knows no AVX-512. Errors:
/// valgrind is not installed (kUsage), the program failed under it.
[[nodiscard]] Outcome<double> count_instructions(const Command& command, const Case& what,
                                                 const MeasureOptions& options);

}  // namespace berth::gate
