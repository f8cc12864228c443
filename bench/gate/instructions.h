// Counts executed instructions, which hardly depend on the machine's load. They do depend on the build, its libraries
// and the counting program, so counts are comparable only if all of these agree.
#pragma once

#include "gate/measure.h"

namespace berth::gate {

struct InstructionCount {
  double count = 0;    ///< of the whole process, including start and report
  std::string method;  ///< "valgrind 3.19.0, ISA path AVX2, glibc 2.36"
};

/// Runs a case once under valgrind (about fifty times slower), or under `perf stat` if valgrind is not installed and
/// the machine counts instructions. Both on the AVX2 path, because valgrind does not support AVX-512. Errors: neither
/// can count (kUsage), the program failed.
[[nodiscard]] Outcome<InstructionCount> count_instructions(const Command& command, const Case& what,
                                                           const MeasureOptions& options);

}  // namespace berth::gate
