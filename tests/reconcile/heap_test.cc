// The number of heap allocations of the reconciler does not grow with the job: it uses columns and bit sets, no object
// per allocation.
#include <gtest/gtest.h>

#include "model/job.h"
#include "model/names.h"
#include "reconcile/cluster.h"
#include "support/cluster_objects.h"
#include "support/heap_count.h"

namespace berth::reconcile {
namespace {

struct SameUpdate : UpdateJudge, IdSource {
  UpdateKind kind = UpdateKind::ignore;
  void judge(std::span<const std::uint32_t>, std::span<UpdateKind> kinds) override {
    std::fill(kinds.begin(), kinds.end(), kind);
  }
  std::string next_eval_id() override { return "e"; }
  std::string next_deployment_id() override { return "d"; }
};

struct HeapCase {
  const char* name;
  UpdateKind kind;
  std::size_t down_of = 0;         ///< every n-th allocation is on a node that is down; 0: none
  std::uint64_t most_allocations;  ///< of one run in the steady state, for any number of allocations
};

/// Heap allocations of the second run over a job of `count` allocations. `entries`: size of its result.
std::uint64_t heap_of_a_run(const HeapCase& c, std::size_t count, std::size_t& entries) {
  auto job = testing::make_job({.id = "job", .groups = {{.name = "web", .count = static_cast<std::int64_t>(count)}}});
  model::TaskGroup& group = job->task_groups[0];
  group.update.emplace().max_parallel = static_cast<std::int64_t>(count / 10);
  std::vector<model::Allocation> allocs(count);
  std::vector<AllocFacts> facts;
  for (std::size_t i = 0; i < count; ++i) {
    const model::Allocation& alloc = allocs[i] = testing::make_alloc({.id = std::to_string(i), .job = job, .index = i});
    const bool down = c.down_of > 0 && i % c.down_of == 0;
    facts.push_back(read_facts(alloc, 0, down ? NodeTaint::down : NodeTaint::none, ""));
  }
  const std::vector<std::string> group_names = {"web"};
  const std::vector<std::uint32_t> slots = slots_of(facts);
  SameUpdate updates;
  updates.kind = c.kind;
  ClusterReconciler reconciler;
  const ClusterInput input{.job = job.get(),
                           .job_id = "job",
                           .allocs = facts,
                           .slots = slots,
                           .group_names = group_names,
                           .eval_id = "eval",
                           .now = 1000};
  (void)reconciler.run(input, updates, updates);
  const std::uint64_t before = berth::testing::heap_allocations;
  const ClusterResult result = reconciler.run(input, updates, updates);
  const std::uint64_t taken = berth::testing::heap_allocations - before;
  entries = result.place.size() + result.stop.size() + result.inplace_update.size() + result.destructive_update.size();
  return taken;
}

class ReconcilerHeap : public ::testing::TestWithParam<HeapCase> {};

TEST_P(ReconcilerHeap, DoesNotGrowWithTheJob) {
  std::size_t few_entries = 0, many_entries = 0;
  const std::uint64_t few = heap_of_a_run(GetParam(), 1'000, few_entries);
  const std::uint64_t many = heap_of_a_run(GetParam(), 100'000, many_entries);
  EXPECT_EQ(many_entries, 100 * few_entries);
  std::printf("%llu heap allocations for 1,000 allocations, %llu for 100,000\n", static_cast<unsigned long long>(few),
              static_cast<unsigned long long>(many));
  EXPECT_LE(many, GetParam().most_allocations);
}

INSTANTIATE_TEST_SUITE_P(Cases, ReconcilerHeap,
                         ::testing::Values(HeapCase{"NoChange", UpdateKind::ignore, 0, 10},
                                           HeapCase{"AllInPlace", UpdateKind::inplace, 0, 100},
                                           HeapCase{"Rolling", UpdateKind::destructive, 0, 100},
                                           HeapCase{"NodeFailure", UpdateKind::ignore, 100, 100}),
                         [](const auto& each) { return std::string(each.param.name); });

}  // namespace
}  // namespace berth::reconcile
