// Shared by the micro benchmarks: the sizes, and failing the program if a kernel's answer is wrong.
#pragma once

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

namespace berth::micro {

/// Number of benchmarks with wrong answers; the exit code of berth_micro.
inline int wrong_answers = 0;

/// Reports a kernel's wrong answer; the benchmark is not timed.
inline void wrong_answer(benchmark::State& state, const char* what) {
  ++wrong_answers;
  state.SkipWithError(what);
}

/// 100, 1,000, ... up to `most`, or to the environment variable BERTH_MICRO_MOST if that is less: tests set it.
inline std::vector<std::int64_t> sizes(std::int64_t most = 1'000'000) {
  const char* text = std::getenv("BERTH_MICRO_MOST");
  const std::int64_t asked = text ? std::strtoll(text, nullptr, 10) : most;
  std::vector<std::int64_t> out(1, 100);
  while (out.back() * 10 <= std::min(most, asked)) out.push_back(out.back() * 10);
  return out;
}

/// "node-17"; with += because GCC 12 gives a false warning for + with a short text.
inline std::string numbered(const char* prefix, std::uint64_t number) {
  std::string out(prefix);
  out += std::to_string(number);
  return out;
}

}  // namespace berth::micro
