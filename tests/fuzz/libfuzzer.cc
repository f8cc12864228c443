// Runs the target that the environment variable BERTH_FUZZ_TARGET names on the inputs of libFuzzer. Besides crashes and
// failed checks, too much time is a finding: more than a fixed amount of processor time and a fixed rate per byte,
// twice in a row. run.sh limits memory.
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

double processor_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

bool is_slow(std::string_view input) {
  static const FuzzTarget& target = chosen();
  const double begin = processor_seconds();
  target.run(input);
  const double took = processor_seconds() - begin;
  if (took <= kBaseSeconds + kSecondsPerByte * static_cast<double>(input.size())) return false;
  std::fprintf(stderr, "slow: %.2f s for %zu bytes\n", took, input.size());
  return true;
}

}  // namespace
}  // namespace berth::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  if (berth::fuzz::is_slow(input) && berth::fuzz::is_slow(input)) std::abort();
  return 0;
}
