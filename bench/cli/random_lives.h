// Random simulations ("lives") of small clusters over many seeds, on all cores: `berth conform --seed N --lives N`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/options.h"
#include "sched/source/sources.h"

namespace berth::cli {

struct RandomLives {
  std::uint64_t first = 1, count = 1;                      ///< seeds
  int steps = 12, threads = 0;                             ///< 0: one thread per core
  std::string kind;                                        ///< "server", "cluster"; "": both
  std::optional<std::vector<int>> only_steps, only_nodes;  ///< of one seed and one kind
  model::Options decisions;
  sched::EnabledSources sources;
};

/// Simulates each seed (conform/life/life.h), and prints totals. A single simulation is printed event by
/// event. Stops at the first that breaks an invariant, and prints the smallest part of it that does. Returns the exit
/// code: 3 if one broke an invariant, 2 for a part that does not exist, 4 if interrupted.
[[nodiscard]] int run_lives(const RandomLives& lives);

}  // namespace berth::cli
