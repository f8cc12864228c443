// A user's own strategy among berth's: by name with a parameter, in a weighted sum, and timed against a built-in one;
// and a user's own preemption rule.
#include <berth/cluster.h>

#include <algorithm>
#include <chrono>
#include <cstdio>

#include "own_strategy.h"

namespace {

using namespace berth::strategy;

int fail(const std::string& what) {
  std::fprintf(stderr, "strategies: %s\n", what.c_str());
  return 1;
}

/// Rows in visiting order: a GPU node, a half-empty and an empty plain one.
Fleet small_fleet() {
  const std::vector<Fleet::NodeSpec> nodes = {
      {{8000, 16384, 0, 0}, 1, 4}, {{8000, 16384, 0, 0}, 0, 0}, {{8000, 16384, 0, 0}, 0, 0}};
  Fleet fleet(nodes);
  TaskClass half;
  half.ask = {4000, 8192, 0, 0};
  fleet.place(1, fleet.add_class(half), 0);
  return fleet;
}

/// Seconds for filling a large fleet.
double seconds_of(Ranker& ranker, std::vector<Row>& rows) {
  const std::vector<Fleet::NodeSpec> nodes(2000, {{64000, 262144, 0, 0}, 0, 0});
  Fleet fleet(nodes);
  TaskClass task;
  task.ask = {1000, 3000, 0, 0};
  const ClassId id = fleet.add_class(task);
  rows.clear(), rows.reserve(200'000);
  const auto begin = std::chrono::steady_clock::now();
  while (const auto choice = ranker.choose(fleet, id)) {
    rows.push_back(choice->row);
    fleet.place(choice->row, id, choice->devices);
  }
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

/// Victims for 5 of cpu on a full node of 10 with tasks of 3, 4 and 3, priorities 10, 20 and 30, started in this order.
/// The own rule takes the latest two. Kubernetes keeps the highest priority; the lowest sum gives the same victims.
int check_preemption() {
  add_youngest_first(preemption_registry());
  const std::vector<Evictable> candidates = {{.amounts = {3, 0, 0, 0}, .priority = 10, .start_ns = 1},
                                             {.amounts = {4, 0, 0, 0}, .priority = 20, .start_ns = 2},
                                             {.amounts = {3, 0, 0, 0}, .priority = 30, .start_ns = 3}};
  Shortage shortage;
  shortage.ask = {5, 0, 0, 0}, shortage.capacity = {10, 0, 0, 0}, shortage.candidates = candidates;
  shortage.now_ns = 10;
  struct Case {
    const char* text;
    Victims victims;
  };
  for (const Case& c : {Case{"youngest-first", {1, 2}}, Case{"kubernetes", {0, 1}}, Case{"exact-fewest", {0, 1}},
                        Case{"exact-fewest:node=least-run-time", {0, 1}}}) {
    const auto spec = preemption_registry().parse(c.text);
    if (!spec) return fail(spec.error().line());
    const auto evictor = preemption_registry().make(*spec);
    if (!evictor) return fail(evictor.error().line());
    std::optional<Eviction> answer;
    bool unproven = false;
    (*evictor)->find({&shortage, 1}, {&answer, 1}, &unproven);
    if (!answer || answer->victims != c.victims || unproven) return fail(std::string(c.text) + " evicts others");
  }
  const auto unknown = preemption_registry().parse("youngest-frist");
  if (unknown || unknown.error().remedy.find("did you mean 'youngest-first'") == std::string::npos)
    return fail("a wrong rule is not answered with the nearest");
  return 0;
}

}  // namespace

int main() {
  if (const int failed = check_preemption(); failed != 0) return failed;
  add_keep_gpus(registry());
  add_own_least_max(registry());
  const auto unknown = registry().parse("keep-gpu");
  if (unknown || unknown.error().remedy.find("did you mean 'keep-gpus'") == std::string::npos)
    return fail("a wrong name is not answered with the nearest");
  if (registry().parse("keep-gpus:weight=-1")) return fail("a weight out of range passed");

  Context context;
  context.capacity_max = {64000, 262144, 0, 4000};
  struct Case {
    const char* text;
    int gpus;
    Row row;
  };
  // Memory left after 2,048 MiB: 14/16 on the empty nodes, 6/16 on the half-empty one. Four free GPUs cost 4 * weight.
  // The sum: 1 * own - 8 * best-fit; best-fit is minus the mean share left of cpu, memory and GPU (0.75, 0.875, 1 on
  // the GPU node), so -8 of it turns the order of the plain nodes: 8 * (0.75 + 0.875) / 3 - 0.875 against 8 * (0.25 +
  // 0.375) / 3 - 0.375; the GPU node has 7 - 4.875.
  for (const Case& c : {Case{"keep-gpus", 0, 1}, Case{"keep-gpus", 1, 0}, Case{"keep-gpus:weight=0", 0, 1},
                        Case{"sum:keep-gpus=1:best-fit=-8", 0, 2}, Case{"sum:keep-gpus=1", 0, 1}}) {
    Fleet fleet = small_fleet();
    TaskClass task;
    task.ask = {2000, 2048, 0, 0}, task.gpus = c.gpus, task.gpu_milli = c.gpus * 1000;
    const ClassId id = fleet.add_class(task);
    const auto spec = registry().parse(c.text);
    if (!spec) return fail(spec.error().line());
    auto ranker = registry().make(*spec, context);
    if (!ranker) return fail(ranker.error().line());
    const auto choice = (*ranker)->choose(fleet, id);
    if (!choice || choice->row != c.row) return fail(std::string(c.text) + " chose another node");
  }

  // In place of Nomad's fit score, in a Cluster.
  berth::Cluster cluster;
  if (const auto done = cluster.score_by("keep-gpus:weight=2"); !done) return fail(done.error().line());
  if (cluster.score_by("keep-gpus:weight=-1")) return fail("a weight out of range passed");

  // The same formula, once berth's and once one's own: the same choices, in about the same time. Taken in turns, the
  // fastest of five each: other work on the machine is not what is compared.
  std::vector<Row> own, builtin;
  double own_s = 1e9, builtin_s = 1e9;
  for (int round = 0; round < 5; ++round) {
    own_s = std::min(own_s, seconds_of(**registry().make({"own-least-max", {}}, context), own));
    builtin_s = std::min(builtin_s, seconds_of(**registry().make({"least-max", {}}, context), builtin));
  }
  std::printf("%zu placements; own / built-in time: %.2f\n", own.size(), own_s / builtin_s);
  return own == builtin && own.size() == 2000 * 64 ? 0 : fail("the same formula did not choose the same nodes");
}
