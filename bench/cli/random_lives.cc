#include "cli/random_lives.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <string>

#include "cli/commands.h"
#include "cli/common.h"
#include "compare/parallel.h"
#include "conform/life/cluster_life.h"
#include "conform/life/life_part.h"
#include "run/interrupt.h"

namespace berth::cli {

namespace {

constexpr double kDay = 24.0 * 3600 * 1e9;  // ns

/// An error if a number is not below `count`.
Result<void> check_part(const char* option, const std::optional<std::vector<int>>& numbers, std::uint64_t count,
                        const char* what) {
  if (!numbers) return {};
  for (const int number : *numbers)
    if (static_cast<std::uint64_t>(number) >= count)
      return tl::unexpected(InputError{option, "", fmt::format("number {}, but there are {} {}", number, count, what),
                                       "numbers count from 0"});
  if (!std::is_sorted(numbers->begin(), numbers->end()) ||
      std::adjacent_find(numbers->begin(), numbers->end()) != numbers->end())
    return tl::unexpected(InputError{option, "", "the numbers do not ascend", "name each once, the lowest first"});
  return {};
}

/// Totals of the simulations of one kind. Threads may add reports at the same time.
class Lives {
 public:
  /// `about`: the kind as part of a sentence.
  Lives(const char* kind, const char* about, conform::LifeKind run)
      : kind_(kind), about_(about), run_(std::move(run)) {}

  /// Simulates and counts. The report is printed if `prints` or if an invariant is broken. The first that breaks one
  /// sets `broken`, and its smallest part is printed too. Error: there is no such part.
  Result<void> add(const conform::LifeOptions& options, const std::string& name, bool prints,
                   std::atomic<bool>& broken) {
    const conform::LifeReport life = run_(options);
    if (auto fine = check_part("--only-nodes", options.only_nodes, life.nodes, "nodes"); !fine) return fine;
    const bool held = life.problems.empty();
    std::string text;
    if (!held || prints) text = fmt::format("{}, {}\n", name, about_);
    if (prints)
      for (const std::string& event : life.events) text += fmt::format("    {}\n", event);
    for (const std::string& problem : life.problems) text += fmt::format("  broken: {}\n", problem);
    {
      const std::lock_guard lock(mutex_);
      count(life);
      cli::print("{}", text);
    }
    const bool first = !held && !broken.exchange(true), whole = !options.only_steps && !options.only_nodes;
    if (first && whole) cli::print("{}", to_text(conform::smallest_life(run_, options, life), kind_, life));
    return {};
  }
  void print() const {
    cli::print(
        "{}: {:.1f} simulated days, {} evaluations, {} plans ({} partly refused): {} allocations, {} updates, {} "
        "stops, {} preemptions, {} deployments, {} jobs at rest, {} evaluations made again on freshly loaded tables\n"
        "{} clusters kept every invariant{}, {} broke one\n",
        about_, static_cast<double>(sum_.simulated_ns) / kDay, sum_.evaluations, sum_.plans, sum_.refused_plans,
        sum_.allocations, sum_.updates, sum_.stops, sum_.preemptions, sum_.deployments, sum_.at_rest, sum_.twice, held_,
        cut_ == 0 ? "" : fmt::format(" ({} ended after {} evaluations)", cut_, conform::LifeOptions{}.max_evaluations),
        broken_);
  }
  [[nodiscard]] const char* kind() const { return kind_; }
  [[nodiscard]] std::uint64_t ran() const { return held_ + broken_; }

 private:
  void count(const conform::LifeReport& life) {
    sum_.evaluations += life.evaluations, sum_.plans += life.plans, sum_.refused_plans += life.refused_plans;
    sum_.allocations += life.allocations, sum_.updates += life.updates, sum_.stops += life.stops;
    sum_.preemptions += life.preemptions, sum_.deployments += life.deployments, sum_.at_rest += life.at_rest;
    sum_.twice += life.twice, sum_.simulated_ns += life.simulated_ns;
    cut_ += life.cut;
    ++(life.problems.empty() ? held_ : broken_);
  }

  const char *kind_, *about_;
  conform::LifeKind run_;
  std::mutex mutex_;  // guards the counts and the output
  conform::LifeReport sum_;
  std::uint64_t held_ = 0, broken_ = 0, cut_ = 0;
};

/// ", option NAME=VALUE" for each option that differs from its default.
std::string told_options(const model::Options& decisions) {
  std::string out;
  for (const auto& [name, value] : model::changed_options(decisions)) out += fmt::format(", option {}={}", name, value);
  return out;
}

}  // namespace

int run_lives(const RandomLives& lives) {
  if (auto fine = check_part("--only-steps", lives.only_steps, static_cast<std::uint64_t>(lives.steps), "steps"); !fine)
    return report_error(fine.error(), 2);
  Lives servers("server", "on the bare server", conform::run_life);
  Lives clusters("cluster", "of a whole cluster",
                 [](const conform::LifeOptions& options) { return conform::run_cluster_life(options); });
  std::vector<Lives*> kinds;
  for (Lives* kind : {&servers, &clusters})
    if (lives.kind.empty() || lives.kind == kind->kind()) kinds.push_back(kind);
  std::atomic<bool> broken{false};
  const run::InterruptGuard guard;  // an interrupted night still has totals
  run::take_time_to_stop();         // one simulation, or one part of it
  const auto one = [&](std::size_t number) -> Result<void> {
    if (broken) return {};
    const conform::LifeOptions options{.seed = lives.first + number,
                                       .steps = lives.steps,
                                       .only_steps = lives.only_steps,
                                       .only_nodes = lives.only_nodes,
                                       .decisions = lives.decisions,
                                       .sources = lives.sources};
    const std::string name =
        fmt::format("seed {}, steps {}{}", options.seed, lives.steps, told_options(lives.decisions));
    for (Lives* kind : kinds)
      if (auto fine = kind->add(options, name, lives.count == 1, broken); !fine) return fine;
    return {};
  };
  const auto done = compare::run_all(lives.count, static_cast<std::size_t>(lives.threads), "lives", false, one);
  if (!done) return report_error(done.error(), 2);
  for (const Lives* kind : kinds) kind->print();
  print("seeds from {}, steps {}{}\n", lives.first, lives.steps, told_options(lives.decisions));
  if (broken) return 3;
  if (!run::interrupted()) return 0;
  fmt::print(stderr, "berth: interrupted; the totals are those of {} of {} clusters\n", kinds.back()->ran(),
             lives.count);
  return run::kInterrupted;
}

}  // namespace berth::cli
