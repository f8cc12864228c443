// Shared by the micro benchmarks: how a kernel that gives a wrong answer makes the program fail.
#pragma once

#include <benchmark/benchmark.h>

namespace berth::micro {

/// Number of benchmarks whose answer was wrong; the exit code of berth_micro.
inline int wrong_answers = 0;

/// States that a kernel's answer is wrong; the benchmark is not timed.
inline void wrong_answer(benchmark::State& state, const char* what) {
  ++wrong_answers;
  state.SkipWithError(what);
}

}  // namespace berth::micro
