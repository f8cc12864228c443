#include "conform/life/life_ways.h"

#include <fmt/format.h>

#include <algorithm>

#include "sched/check_memory.h"
#include "sched/scheduler.h"
#include "server/lane.h"
#include "server/shadow.h"

namespace berth::conform {

using tables::Snapshot;

namespace {

/// Evaluations between two comparisons of the scheduler's caches with a fresh fill.
constexpr std::uint64_t kMemoryEvery = 5;

bool is_generic(const model::Evaluation& eval) { return eval.type == "service" || eval.type == "batch"; }

}  // namespace

LifeWays::LifeWays(std::uint64_t seed, server::Server& server, Problem problem)
    : seed_(seed),
      server_(server),
      problem_(std::move(problem)),
      draw_(seed, "ways"),
      exhaustive_(server.lane().scratch) {
  general_scratch_.options = server.lane().scratch.options;
  server.lane().scheduler.generic.set_sources(server.config().sources);
  exhaustive_.set_sources(server.config().sources);
  exhaustive_.set_exhaustive(true);
  general_.set_sources(sched::EnabledSources::none());
}

void LifeWays::check(const Snapshot& snapshot, const sched::EvalFacts& facts, const model::Evaluation& eval) {
  ++checked_;
  if (is_generic(eval)) {
    if (draw_.chance(15)) check_exhaustive(snapshot, facts, eval);
    if (checked_ % 3 == 0) check_general(snapshot, facts, eval, checked_ % 2 == 0);
  }
  if (checked_ % kMemoryEvery == 0)
    for (const std::string& stale : sched::check_worker_memory(snapshot, server_.lane().scratch))
      problem_(fmt::format("{}: stale: {}", eval.job_id, stale));
  const std::uint64_t rows = snapshot.allocs.size() + snapshot.evals.size() + 8 * snapshot.nodes.size();
  if (rows <= kSmall || draw_.below(rows) < kSmall) check_twice(snapshot, facts, eval);
}

void LifeWays::compare(const model::Evaluation& eval, std::string_view one_way, const std::string& one,
                       std::string_view other_way, const std::string& other) {
  if (one == other) return;
  problem_(server::difference(eval, one_way, one, other_way, other));
}

void LifeWays::check_twice(const Snapshot& snapshot, const sched::EvalFacts& facts, const model::Evaluation& eval) {
  ++twice_;
  const bool refuses = draw_.chance(20);
  const auto words = [&](const Snapshot& state, const sched::EvalFacts& of, sched::Scratch& scratch,
                         sched::GenericScheduler& generic, sched::SystemScheduler& system) {
    server::Words writer(scratch, eval, facts.now_ns, refuses);
    sched::EvalResult result;
    sched::IdStream ids(seed_);
    if (is_generic(eval))
      generic.process(state, of, rank::OrderProvider::nomad, ids, writer, result);
    else
      system.process(state, of, ids, writer, result);
    return writer.finish(result);
  };
  const std::string lived =
      words(snapshot, facts, server_.lane().scratch, server_.lane().scheduler.generic, server_.lane().scheduler.system);

  model::ClusterState exported = server_.log().state();
  exported.index = snapshot.index;
  tables::StateStore store;
  store.load(exported);
  sched::EvalFacts again = facts;
  again.job = store.job_key(eval.namespace_, eval.job_id);
  const auto with_new_scheduler = [&](const Snapshot& state, const sched::EvalFacts& of) {
    sched::Scratch scratch;
    scratch.options = server_.lane().scratch.options;
    sched::GenericScheduler generic(scratch);
    sched::SystemScheduler system(scratch);
    return words(state, of, scratch, generic, system);
  };
  const tables::SnapshotRef loaded = store.snapshot();
  const std::string on_loaded = with_new_scheduler(*loaded, again);
  if (lived == on_loaded) return;
  // Finds out whose caches differ: the scheduler's or the tables'.
  const std::string on_updated = with_new_scheduler(snapshot, facts);
  if (on_updated != on_loaded) compare(eval, "the updated tables", on_updated, "freshly loaded tables", on_loaded);
  if (lived != on_updated) compare(eval, "a scheduler that lived", lived, "a new one", on_updated);
}

void LifeWays::check_general(const Snapshot& snapshot, const sched::EvalFacts& facts, const model::Evaluation& eval,
                             bool exhaustive) {
  general_.set_exhaustive(exhaustive);
  const auto words = [&](sched::GenericScheduler& scheduler, const sched::Scratch& scratch) {
    server::Words writer(scratch, eval, facts.now_ns);
    sched::EvalResult result;
    sched::IdStream ids(seed_);
    scheduler.process(snapshot, facts, rank::OrderProvider::nomad, ids, writer, result);
    return writer.finish(result);
  };
  const std::string fast = words(exhaustive ? exhaustive_ : server_.lane().scheduler.generic, server_.lane().scratch);
  compare(eval, exhaustive ? "exhaustive, the fast ways" : "the fast ways", fast, "the general one",
          words(general_, general_scratch_));
}

/// Checks that the first placement in exhaustive mode scores at least as high as the sampled one, on the same state.
void LifeWays::check_exhaustive(const Snapshot& snapshot, const sched::EvalFacts& facts,
                                const model::Evaluation& eval) {
  sched::NoPlanner planner;
  sched::EvalResult sampled, best;
  const auto first_of = [&](sched::GenericScheduler& scheduler, sched::EvalResult& result) {
    sched::IdStream ids(1);
    scheduler.process(snapshot, facts, rank::OrderProvider::nomad, ids, planner, result);
  };
  first_of(server_.lane().scheduler.generic, sampled);
  first_of(exhaustive_, best);
  const auto evicts = [](const sched::EvalResult& result) {
    return std::any_of(result.plan.stops.begin(), result.plan.stops.end(), [](const auto& s) { return s.evict; });
  };
  if (sampled.plan.allocs.empty() || evicts(sampled) || evicts(best)) return;
  if (best.plan.allocs.empty()) {
    problem_("the exhaustive mode finds no node where the sampled one does");
    return;
  }
  const plan::PlannedAlloc &a = sampled.plan.allocs.front(), &b = best.plan.allocs.front();
  if (a.group == b.group && a.name_index == b.name_index && b.score < a.score)
    problem_(fmt::format("{}: exhaustive scores {}, sampled {}", eval.job_id, b.score, a.score));
}

}  // namespace berth::conform
