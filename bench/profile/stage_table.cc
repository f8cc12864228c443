#include "profile/stage_table.h"

#include <fmt/format.h>

#include <algorithm>

#include "sched/scratch.h"
#include "tables/alloc_table.h"

namespace berth::profile {

using base::Stage;

namespace {

std::size_t index_of(Stage stage) { return static_cast<std::size_t>(stage); }

/// The columns of one allocation.
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
      // A node is decided about when it is first met; later Selects read its score again.
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

}  // namespace

const char* stage_words(Stage stage) {
  switch (stage) {
    case Stage::idle:
      return "nothing to do";
    case Stage::wait:
      return "for the applier, or for a decision made ahead";
    case Stage::harness:
      return "the run's own books";
    case Stage::dequeue:
      return "broker: take and ack";
    case Stage::snapshot:
      return "take and let go";
    case Stage::compile:
      return "a job at registration";
    case Stage::reconcile:
      return "wanted against present";
    case Stage::order:
      return "candidates, visiting order";
    case Stage::place:
      return "filter, rank and plan together";
    case Stage::filter:
      return "checks of nodes";
    case Stage::rank:
      return "fit and scores";
    case Stage::preempt:
      return "second passes: whom to evict";
    case Stage::plan:
      return "allocations and metrics";
    case Stage::check:
      return "applier: does it still fit";
    case Stage::commit:
      return "applier: into the tables";
  }
  return "";
}

StageTable stage_table(const Recorder& recorder, std::uint64_t jobs, std::uint64_t nodes, const Roofline* roofline) {
  const Recorder::Sums& sums = recorder.sums();
  // One evaluation alone: its own stages, not those of all that were replayed before it.
  std::array<double, base::kStages> ns = recorder.options().only ? sums.stage_ns : recorder.totals();
  StageTable out;
  out.wait_ns = ns[index_of(Stage::wait)], out.idle_ns = ns[index_of(Stage::idle)];
  out.harness_ns = ns[index_of(Stage::harness)];

  // Placing as a whole is exact; how it divides is known of the detailed evaluations.
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
    switch (stage) {
      case Stage::dequeue:
        row.count = sums.evaluations, row.unit = "evaluation";
        break;
      case Stage::snapshot:
        row.count = sums.attempts, row.unit = "attempt";
        break;
      case Stage::compile:
        row.count = jobs, row.unit = "job";
        break;
      case Stage::order:
        row.count = sums.candidates, row.unit = "candidate";
        break;
      case Stage::place:
        row.count = sums.evaluated, row.unit = "node met";
        break;
      case Stage::filter:
        row.count = sums.reached, row.unit = "node reached";
        break;
      case Stage::rank:
        row.count = passed_of(sums), row.unit = "node passed";
        break;
      case Stage::plan:
        row.count = sums.placed + sums.refused + sums.failed, row.unit = "placement";
        break;
      case Stage::check:
        row.count = sums.placed + sums.refused, row.unit = "placement";
        break;
      case Stage::commit:
        row.count = sums.placed + sums.evicted, row.unit = "placement";
        break;
      default:
        row.count = row.evaluations, row.unit = "evaluation";
        break;
    }
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
