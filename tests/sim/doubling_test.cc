// Doubling any list of a workload doubles the work: the list is read, planned and generated once.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include <fmt/format.h>

#include "sim/arrivals.h"
#include "sim/cluster_generator.h"
#include "sim/job_generator.h"
#include "sim/life_plan.h"
#include "support/sanitized.h"
#include "support/work_count.h"

namespace berth::sim {
namespace {

/// A workload to which the lists are added.
struct Lists {
  std::string top, nodes = "nodes = 200", cluster, shape, shapes, jobs, kind, kinds, life;
};

std::string text_of(const Lists& lists) {
  return fmt::format(R"(name = "long"
{}
[life]
duration_s = 100000
[cluster]
{}
racks = 100
{}
[[cluster.shapes]]
name = "std"
{}
{}
[jobs]
count = 100
{}
[[jobs.mix]]
name = "bulk"
type = "batch"
run_time_s = 5
{}
[[jobs.mix]]
name = "web"
named = true
count = 50
{}
{}
)",
                     lists.top, lists.nodes, lists.cluster, lists.shape, lists.shapes, lists.jobs, lists.kind,
                     lists.kinds, lists.life);
}

void read_and_plan(const std::string& text) {
  auto workload = parse_workload(text, "w.toml");
  ASSERT_TRUE(workload) << workload.error().line();
  const GeneratedCluster cluster = generate_cluster(workload->cluster, workload->seed);
  JobStream jobs = generate_jobs(workload->jobs, workload->seed);
  set_due_times(jobs, workload->arrivals, workload->seed);
  add_life_arrivals(jobs, *workload);
  const auto plan = plan_life(*workload, cluster, jobs);
  ASSERT_TRUE(plan) << plan.error().line();
}

std::string repeat(std::size_t n, const std::function<std::string(std::size_t)>& part) {
  std::string out;
  for (std::size_t i = 0; i < n; ++i) out += part(i);
  return out;
}

struct LongList {
  const char* name;
  std::size_t count;  ///< entries of the shorter one
  Lists (*lists)(std::size_t n);
};
class LongLists : public ::testing::TestWithParam<LongList> {};

TEST_P(LongLists, CostLinearTime) {
  if (testing::kSanitized) GTEST_SKIP() << "it would measure the sanitizer";
  const LongList& list = GetParam();
  const std::string once = text_of(list.lists(list.count)), twice = text_of(list.lists(2 * list.count));
  read_and_plan(once);                                     // one-time work
  double ratio = 4;                                        // 2: linear, 4: quadratic
  for (int tries = 0; tries < 4 && ratio >= 3; ++tries) {  // other load of the machine affects only one of the two
    const double shorter = testing::work_of([&] { read_and_plan(once); });
    ratio = std::min(ratio, testing::work_of([&] { read_and_plan(twice); }) / shorter);
  }
  EXPECT_LT(ratio, 3);
}

INSTANTIATE_TEST_SUITE_P(
    Workload, LongLists,
    ::testing::Values(
        LongList{"Labels", 4000,
                 [](std::size_t n) {
                   return Lists{.top = "labels = [\"full\"" + repeat(n, [](auto i) { return fmt::format(", \"l{}\"", i); }) +
                                       "]\n" + repeat(n, [](auto i) { return fmt::format("label.l{}.seed = 2\n", i); })};
                 }},
        LongList{"Strategies", 4000,
                 [](std::size_t n) {
                   return Lists{.top = repeat(n, [](auto i) { return fmt::format("strategies.s{} = {{ cosine = 1.0 }}\n", i); })};
                 }},
        LongList{"Datacenters", 20'000,
                 [](std::size_t n) {
                   return Lists{.cluster = "datacenters = [" + repeat(n, [](auto i) { return fmt::format("\"d{}\",", i); }) + "]"};
                 }},
        LongList{"Attributes", 10'000,
                 [](std::size_t n) {
                   return Lists{.shape = repeat(n, [](auto i) { return fmt::format("attributes.a{} = [\"x\", \"y\"]\n", i); })};
                 }},
        LongList{"AttributeValues", 20'000,
                 [](std::size_t n) {
                   return Lists{.shape = "meta.a = [" + repeat(n, [](auto i) { return fmt::format("\"v{}\",", i); }) + "]"};
                 }},
        LongList{"Drivers", 10'000,
                 [](std::size_t n) {
                   return Lists{.shape = "drivers = [" + repeat(n, [](auto i) { return fmt::format("\"d{}\",", i); }) + "]"};
                 }},
        LongList{"Volumes", 10'000,
                 [](std::size_t n) {
                   return Lists{.shape = "host_volumes = [" + repeat(n, [](auto i) { return fmt::format("\"v{}\",", i); }) + "]"};
                 }},
        LongList{"Devices", 4000,
                 [](std::size_t n) {
                   return Lists{.shape = "devices = [" + repeat(n, [](auto i) { return fmt::format("{{ name = \"v/t/n{}\" }},", i); }) + "]"};
                 }},
        LongList{"Shapes", 3000,
                 [](std::size_t n) {
                   return Lists{.shapes = repeat(n, [](auto i) {
                                  return fmt::format("[[cluster.shapes]]\nname = \"s{}\"\npool = \"p{}\"\ncores = 1\n", i, i);
                                })};
                 }},
        LongList{"Kinds", 2000,
                 [](std::size_t n) {
                   return Lists{.kinds = repeat(n, [](auto i) {
                                  return fmt::format("[[jobs.mix]]\nname = \"k{}\"\ntemplates = 1\n", i);
                                })};
                 }},
        LongList{"NamedKinds", 2000,
                 [](std::size_t n) {
                   return Lists{.kinds = repeat(n, [](auto i) {
                                  return fmt::format("[[jobs.mix]]\nname = \"k{}\"\nnamed = true\n", i);
                                })};
                 }},
        LongList{"Constraints", 4000,
                 [](std::size_t n) {
                   return Lists{.kind = "templates = 1\nconstraints = [" +
                                        repeat(n, [](auto i) { return fmt::format("{{ attribute = \"a{}\", value = \"x\" }},", i); }) + "]"};
                 }},
        LongList{"Affinities", 4000,
                 [](std::size_t n) {
                   return Lists{.kind = "templates = 1\naffinities = [" +
                                        repeat(n, [](auto i) { return fmt::format("{{ attribute = \"a{}\", value = \"x\" }},", i); }) + "]"};
                 }},
        LongList{"RuleValues", 20'000,
                 [](std::size_t n) {
                   return Lists{.kind = "constraints = [{ attribute = \"a\", value = [" +
                                        repeat(n, [](auto i) { return fmt::format("\"v{}\",", i); }) + "] }]"};
                 }},
        LongList{"Spreads", 3000,
                 [](std::size_t n) {
                   return Lists{.kind = "templates = 1\nspreads = [" +
                                        repeat(n, [](auto i) { return fmt::format("{{ attribute = \"a{}\" }},", i); }) + "]"};
                 }},
        LongList{"Targets", 10'000,
                 [](std::size_t n) {
                   return Lists{.kind = "templates = 1\nspreads = [{ attribute = \"a\", targets = {" +
                                        repeat(n, [](auto i) { return fmt::format("{}v{} = 0", i == 0 ? "" : ", ", i); }) + "} }]"};
                 }},
        LongList{"DeviceRequests", 3000,
                 [](std::size_t n) {
                   return Lists{.kind = "templates = 1\ndevices = [" +
                                        repeat(n, [](auto i) { return fmt::format("{{ name = \"n{}\" }},", i); }) + "]"};
                 }},
        LongList{"Quantity", 20'000,
                 [](std::size_t n) {
                   return Lists{.kind = "cpu_mhz = { values = [" + repeat(n, [](auto i) { return fmt::format("{},", i + 1); }) +
                                        "] }\nmemory_mb = { quantiles = [" +
                                        repeat(n, [&](auto i) {
                                          return fmt::format("[{}, {}],", static_cast<double>(i) / static_cast<double>(n), i + 10);
                                        }) +
                                        fmt::format("[1.0, {}]] }}", n + 10)};
                 }},
        LongList{"Rate", 10'000,
                 [](std::size_t n) {
                   return Lists{.kinds = "[[jobs.mix]]\nname = \"wave\"\nrate = [" +
                                         repeat(n, [](auto i) { return fmt::format("[{}, 0.001],", i); }) + "]\n"};
                 }},
        LongList{"Times", 10'000,
                 [](std::size_t n) {
                   return Lists{.life = "[[events]]\ndo = \"gc\"\nat_s = [" + repeat(n, [](auto i) { return fmt::format("{},", i); }) + "]\n"};
                 }},
        LongList{"Events", 3000,
                 [](std::size_t n) {
                   return Lists{.life = repeat(n, [](auto i) {
                                  return fmt::format("[[events]]\ndo = \"evaluate\"\njob = \"web\"\nat_s = {}\n", 10 + i);
                                })};
                 }},
        LongList{"SettingsAtOneTime", 3000,
                 [](std::size_t n) {
                   return Lists{.life = repeat(n, [](auto) {
                                  return "[[events]]\ndo = \"configure\"\npreempt_batch = true\nat_s = 5\n";
                                })};
                 }},
        LongList{"Faults", 3000,
                 [](std::size_t n) {
                   return Lists{.life = repeat(n, [](auto i) {
                                  return fmt::format("[[faults]]\ndo = \"flapping\"\nsome = 1\nat_s = {}\nfor_s = 10\ndown_s = 1\nup_s = 4\n", 15 * i);
                                })};
                 }},
        LongList{"Curve", 10'000,
                 [](std::size_t n) {
                   return Lists{.life = "[[faults]]\ndo = \"scale-curve\"\njob = \"web\"\nat_s = 1\ncurve = [" +
                                        repeat(n, [](auto i) { return fmt::format("[{}, 1.0],", i); }) + "]\n"};
                 }},
        LongList{"NodesOfAnEvent", 50'000,
                 [](std::size_t n) {
                   Lists lists{.life = "[[events]]\ndo = \"eligibility\"\neligible = true\nat_s = 1\nnodes = [" +
                                       repeat(n, [](auto i) { return fmt::format("\"node-{}\",", i); }) + "]\n"};
                   lists.nodes = "nodes = 100000";
                   return lists;
                 }},
        LongList{"Tasks", 3000,
                 [](std::size_t n) {
                   return Lists{.life = repeat(n, [](auto i) {
                                  return fmt::format("[[tasks]]\njob = \"web\"\nindex = 1\nrun = {}\nrun_s = 2\n", i);
                                })};
                 }}),
    [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace berth::sim
