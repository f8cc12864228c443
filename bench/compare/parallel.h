// Runs independent runs on all cores.
#pragma once

#include <cstddef>
#include <functional>

#include "berth/result.h"

namespace berth::compare {

/// Calls `one(i)` for i in [0, total), in any order, on `threads` threads (0 = all cores; may exceed the cores). Stops
/// early on Ctrl-C and at the first error. Returns that error, else the number of completed runs. Shows progress on
/// standard error unless `quiet`.
[[nodiscard]] Result<std::size_t> run_all(std::size_t total, std::size_t threads, const char* what, bool quiet,
                                          const std::function<Result<void>(std::size_t)>& one);

}  // namespace berth::compare
