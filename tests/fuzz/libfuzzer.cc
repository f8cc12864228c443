// Runs the target that the environment variable BERTH_FUZZ_TARGET names on the inputs of libFuzzer. Besides crashes and
// failed checks, too much time is a finding: more than a fixed amount of processor time and a fixed rate per byte,
// twice in a row. run.sh limits memory.
#include <malloc.h>
#include <time.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "fuzz/harness.h"

namespace berth::fuzz {
namespace {

constexpr double kBaseSeconds = 0.5, kSecondsPerByte = 50e-6;  // under sanitizers

const FuzzTarget& chosen() {
  const char* name = std::getenv("BERTH_FUZZ_TARGET");
  for (const FuzzTarget& target : fuzz_targets())
    if (name && std::string_view(name) == target.name) return target;
  std::fprintf(stderr, "set BERTH_FUZZ_TARGET to a target of this program:");
  for (const FuzzTarget& target : fuzz_targets()) std::fprintf(stderr, " %s", target.name);
  std::fprintf(stderr, "\n");
  std::exit(2);
}

double seconds(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

bool is_slow(std::string_view input, clockid_t clock) {
  static const FuzzTarget& target = chosen();
  const double begin = seconds(clock);
  target.run(input);
  const double took = seconds(clock) - begin;
  if (took <= kBaseSeconds + kSecondsPerByte * static_cast<double>(input.size())) return false;
  std::fprintf(stderr, "slow: %.2f s for %zu bytes\n", took, input.size());
  return true;
}

}  // namespace
}  // namespace berth::fuzz

/// Freed memory stays with the process: no pages are returned and cleared again for each input.
extern "C" int LLVMFuzzerInitialize(int*, char***) {
  constexpr int kBytes = 32 << 20;  // the most that glibc takes
  mallopt(M_MMAP_THRESHOLD, kBytes);
  mallopt(M_TRIM_THRESHOLD, kBytes);
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  using berth::fuzz::is_slow;
  // The first run takes the real time, which needs no system call.
  if (is_slow(input, CLOCK_MONOTONIC) && is_slow(input, CLOCK_PROCESS_CPUTIME_ID) &&
      is_slow(input, CLOCK_PROCESS_CPUTIME_ID))
    std::abort();
  return 0;
}
