#include "profile/stage_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "sched/scratch.h"
#include "tables/alloc_table.h"

namespace berth::profile {

using base::Stage;

namespace {

std::size_t index_of(Stage stage) { return static_cast<std::size_t>(stage); }

/// Bytes of an allocation's columns.
constexpr double kAllocBytes = sizeof(base::Uuid) + sizeof(tables::NodeRow) + sizeof(tables::VersionRow) +
                               sizeof(tables::JobKeyRow) + sizeof(tables::Symbol) + sizeof(std::uint32_t) +
                               sizeof(tables::Desired) + sizeof(tables::Client) + sizeof(tables::ShapeId) +
                               3 * sizeof(tables::AllocRow) + sizeof(tables::AllocLinks) + 2 * sizeof(std::uint64_t) +
                               sizeof(std::shared_ptr<const model::Allocation>);

std::uint64_t passed_of(const Recorder::Sums& sums) { return sums.evaluated - std::min(sums.evaluated, sums.filtered); }

std::optional<UnitCost> cost_of(Stage stage, const Recorder::Sums& sums) {
  using Candidate = sched::ReadyNodes::Candidate;
  UnitCost c;
  switch (stage) {
    case Stage::order:
      c.bytes = 8, c.lines = 4.0 / 64, c.line_space = 4;
      c.from = "4 B of the order written, 4 B exchanged with a random one read and written";
      return c;
    case Stage::filter:
      c.bytes = 4 + 4 + 1 + 1 + 12, c.lines = 1, c.line_space = sizeof(Candidate);
      c.from = fmt::format(
          "per node met for the first time: 4 B of the order and a candidate ({} B, one line) read, {} B of columns "
          "written",
          sizeof(Candidate), 4 + 1 + 1 + 12);
      return c;
    case Stage::rank: {
      // A node is checked at its first visit; later Selects read its cached score.
      const double first =
          passed_of(sums) == 0 ? 0 : static_cast<double>(sums.reached_passed) / static_cast<double>(passed_of(sums));
      c.bytes = 16 + first * (4 + 4 + 8 + 8 + 40), c.lines = first, c.line_space = sizeof(tables::NodeUse);
      c.from = fmt::format(
          "16 B of its score read; when first met ({:.1f} % of these) row, capacity and use (one line of {} B) read "
          "and 56 B "
          "of scores written",
          100 * first, sizeof(tables::NodeUse));
      return c;
    }
    case Stage::plan:
      c.bytes =
          sizeof(sched::PlannedAlloc) + 5 * (sizeof(sched::ScoredNode) + sizeof(double)) + sizeof(sched::NodeOverlay);
      c.from = fmt::format(
          "a planned allocation ({} B), five scored nodes ({} B each and 8 B a value), the node's overlay ({} B)",
          sizeof(sched::PlannedAlloc), sizeof(sched::ScoredNode), sizeof(sched::NodeOverlay));
      return c;
    case Stage::check:
      c.bytes = sizeof(sched::PlannedAlloc), c.lines = 2;
      c.line_space = sizeof(tables::NodeUse) + sizeof(tables::NodeCapacity);
      c.from = "a planned allocation, use and capacity of its node (two lines)";
      return c;
    case Stage::commit:
      c.bytes = kAllocBytes, c.lines = 2, c.line_space = sizeof(tables::NodeUse) + 3 * sizeof(float);
      c.from = fmt::format("the columns of an allocation ({:.0f} B), use of its node and three columns of what is free",
                           kAllocBytes);
      return c;
    default:
      return std::nullopt;
  }
}

/// Number and name of the units that a stage processed. `evaluations`: those in which it took any time.
std::pair<std::uint64_t, const char*> units_of(Stage stage, const Recorder::Sums& sums, std::uint64_t jobs,
                                               std::uint64_t evaluations) {
  switch (stage) {
    case Stage::dequeue:
      return {sums.evaluations, "evaluation"};
    case Stage::snapshot:
      return {sums.attempts, "attempt"};
    case Stage::compile:
      return {jobs, "job"};
    case Stage::order:
      return {sums.candidates, "candidate"};
    case Stage::place:
      return {sums.evaluated, "node met"};
    case Stage::filter:
      return {sums.reached, "node reached"};
    case Stage::rank:
      return {passed_of(sums), "node passed"};
    case Stage::plan:
      return {sums.placed + sums.refused + sums.failed, "placement"};
    case Stage::check:
      return {sums.placed + sums.refused, "placement"};
    case Stage::commit:
      return {sums.placed + sums.evicted, "placement"};
    default:
      return {evaluations, "evaluation"};
  }
}

}  // namespace

const char* stage_words(Stage stage) {
  static constexpr const char* kWords[base::kStages] = {"nothing to do",
                                                        "for the applier, or for a decision made ahead",
                                                        "benchmark bookkeeping",
                                                        "broker: take and ack",
                                                        "take and let go",
                                                        "a job at registration",
                                                        "wanted against present",
                                                        "candidates, visiting order",
                                                        "filter, rank and plan together",
                                                        "checks of nodes",
                                                        "fit and scores",
                                                        "second passes: which allocations to evict",
                                                        "allocations and metrics",
                                                        "applier: does it still fit",
                                                        "applier: into the tables"};
  return kWords[index_of(stage)];
}

StageTable stage_table(const Recorder& recorder, std::uint64_t jobs, std::uint64_t nodes, const Roofline* roofline) {
  const Recorder::Sums& sums = recorder.sums();
  // For a single evaluation only its own stages, not those of earlier ones.
  std::array<double, base::kStages> ns = recorder.options().only ? sums.stage_ns : recorder.totals();
  StageTable out;
  out.wait_ns = ns[index_of(Stage::wait)], out.idle_ns = ns[index_of(Stage::idle)];
  out.harness_ns = ns[index_of(Stage::harness)];

  // The total of placing is exact; its parts are estimated from the detailed evaluations.
  constexpr Stage kInside[] = {Stage::filter, Stage::rank, Stage::plan};
  double whole = ns[index_of(Stage::place)], known = 0;
  double coarse = sums.stage_ns[index_of(Stage::place)] - sums.detailed_ns[index_of(Stage::place)];
  for (const Stage stage : kInside) {
    whole += ns[index_of(stage)], known += sums.detailed_ns[index_of(stage)];
    coarse += sums.stage_ns[index_of(stage)] - sums.detailed_ns[index_of(stage)];
  }
  const bool divided = known > 0;
  if (divided) {
    ns[index_of(Stage::place)] = 0;
    for (const Stage stage : kInside) ns[index_of(stage)] = whole * sums.detailed_ns[index_of(stage)] / known;
  }
  const std::uint64_t coarse_evaluated = sums.evaluated - sums.detailed_evaluated;
  if (divided && coarse_evaluated > 0 && sums.detailed_evaluated > 0 && coarse > 0)
    out.detail_ratio =
        known / static_cast<double>(sums.detailed_evaluated) / (coarse / static_cast<double>(coarse_evaluated));

  for (std::size_t s = index_of(Stage::dequeue); s < base::kStages; ++s) {
    const auto stage = static_cast<Stage>(s);
    if (ns[s] <= 0) continue;
    StageRow row;
    row.stage = stage;
    row.ns = ns[s];
    out.engine_ns += ns[s];
    row.estimated = divided && sums.detailed < sums.evaluations && inside_place(stage);
    row.latency = &recorder.latency(stage);
    row.evaluations = row.latency->count();
    row.cost = cost_of(stage, sums);
    std::tie(row.count, row.unit) = units_of(stage, sums, jobs, row.evaluations);
    if (row.cost && roofline) {
      const double space = row.cost->line_space * static_cast<double>(nodes);
      row.roofline_ns = row.cost->bytes / roofline->gb_per_s(space) + row.cost->lines * roofline->line_ns(space);
    }
    out.rows.push_back(std::move(row));
  }
  for (StageRow& row : out.rows) row.share = row.ns / out.engine_ns;
  return out;
}

}  // namespace berth::profile
