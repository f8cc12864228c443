#include "compare/parallel.h"

#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_arena.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <optional>

#include "run/interrupt.h"
#include "run/progress.h"

namespace berth::compare {

Result<std::size_t> run_all(std::size_t total, std::size_t threads, const char* what, bool quiet,
                            const std::function<Result<void>(std::size_t)>& one) {
  std::mutex mutex;  // guards error and progress
  std::optional<InputError> error;
  std::atomic<bool> failed{false};
  std::atomic<std::size_t> done{0};
  run::Progress progress(what, total, quiet);
  using tbb::global_control;
  const global_control limit(
      global_control::max_allowed_parallelism,
      std::max<std::size_t>(threads, global_control::active_value(global_control::max_allowed_parallelism)));
  tbb::task_arena arena(threads == 0 ? tbb::task_arena::automatic : static_cast<int>(threads));
  arena.execute([&] {
    tbb::parallel_for(
        std::size_t{0}, total,
        [&](std::size_t i) {
          if (run::interrupted() || failed) return;
          const auto result = one(i);
          const std::size_t count = result ? ++done : done.load();
          const std::lock_guard lock(mutex);
          if (!result && !error) error = result.error(), failed = true;
          progress.update(count, true);
        },
        tbb::simple_partitioner());
  });
  run::stopped();
  progress.finish();
  if (error) return tl::unexpected(*error);
  return done.load();
}

}  // namespace berth::compare
