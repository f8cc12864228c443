// A simulation without some of its nodes and events. Each step that is left begins with the same draws as in the whole
// simulation, so that it mostly stays what it was. A search for the smallest part that still breaks an invariant.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "conform/life/life.h"
#include "conform/life/life_draw.h"

namespace berth::conform {

/// The draws with which the steps of a simulation begin.
class StepDraws {
 public:
  /// For a whole simulation: `begin()` takes note of the draws.
  StepDraws() = default;
  /// For a part of the simulation that `whole` took notes of.
  static StepDraws again(const StepDraws& whole) {
    StepDraws out = whole;
    out.again_ = true;
    return out;
  }
  /// A step begins, in ascending order of `step`. False: the whole simulation ended before it.
  [[nodiscard]] bool begin(int step, Draw& draw) {
    if (!again_) return draws_.push_back(draw), true;
    if (static_cast<std::size_t>(step) >= draws_.size()) return false;
    draw = draws_[static_cast<std::size_t>(step)];
    return true;
  }

 private:
  std::vector<Draw> draws_;  // per step
  bool again_ = false;
};

/// Runs the simulation `make(options, draws)`. Of a part, the whole simulation runs first, for the draws of its steps.
template <class Make>
[[nodiscard]] auto run_or_part(const LifeOptions& options, const Make& make) {
  if (!options.only_steps && !options.only_nodes) return make(options, StepDraws()).run();
  LifeOptions all = options;
  all.only_steps.reset(), all.only_nodes.reset();
  auto whole = make(all, StepDraws());
  static_cast<void>(whole.run());
  return make(options, StepDraws::again(whole.step_draws())).run();
}

/// Steps to take: LifeOptions::only_steps, or all.
[[nodiscard]] std::vector<int> steps_of(const LifeOptions& options);
/// Removes the nodes that are not in LifeOptions::only_nodes.
void leave_out_nodes(const LifeOptions& options, std::vector<model::Node>& nodes);

/// One of the two kinds of simulations.
using LifeKind = std::function<LifeReport(const LifeOptions&)>;

struct SmallestLife {
  LifeOptions options;  ///< `only_nodes` and `only_steps` are set
  LifeReport report;
  std::size_t tried = 0;  ///< parts
};

/// The smallest part found of a simulation that breaks an invariant (`whole`, of `options`). It breaks one too, but
/// perhaps another one. Leaves out halves, then quarters, and so on, first of the steps, then of the nodes, until
/// nothing more can be left out or many parts have been tried.
[[nodiscard]] SmallestLife smallest_life(const LifeKind& run, const LifeOptions& options, const LifeReport& whole);

/// Number of steps and nodes, the options of `berth conform` that run it again (with --kind `kind`),
/// its events and problems: lines.
[[nodiscard]] std::string to_text(const SmallestLife& smallest, std::string_view kind, const LifeReport& whole);

}  // namespace berth::conform
