// A grid of independent runs on all cores.
#pragma once

#include <cstddef>
#include <functional>

#include "berth/result.h"

namespace berth::compare {

/// Calls `one(i)` for i in [0, total), in no particular order, on `threads` threads (0 = all cores; more than cores are
/// allowed). Stops early on Ctrl-C and at the first error, which it returns; else the number of runs that were done.
/// Progress is shown on standard error unless `quiet`.
[[nodiscard]] Result<std::size_t> run_all(std::size_t total, std::size_t threads, const char* what, bool quiet,
                                          const std::function<Result<void>(std::size_t)>& one);

}  // namespace berth::compare
