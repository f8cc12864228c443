// berth_micro [--benchmark_filter=REGEX] [--benchmark_min_time=SECONDS]: times the kernels of the engine one by one.
#include <hwy/targets.h>

#include "micro/micro.h"

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::AddCustomContext("vector_target", hwy::TargetName(hwy::SupportedTargets() & -hwy::SupportedTargets()));
#ifndef NDEBUG
  benchmark::AddCustomContext("warning", "assertions are on: these are not the numbers to quote");
#endif
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return berth::micro::wrong_answers == 0 ? 0 : 1;
}
