// The work on a job file before it is scheduled is linear in the length of its lists: registration, the difference to a
// stored version, the decisions on it, and its JSON.
#include <gtest/gtest.h>

#include <algorithm>

#include "model/codec/codec.h"
#include "model/job.h"
#include "model/registration/register_job.h"
#include "model/update/job_diff.h"
#include "model/update/spec_changed.h"
#include "model/update/tasks_updated.h"
#include "support/growth.h"
#include "support/long_lists.h"
#include "support/sanitized.h"

namespace berth::model {
namespace {

std::shared_ptr<Job> read_file_of_job(const json::Value& document) {
  RegistrationRequest request;
  request.path = "job";
  auto done = register_job(document, request);
  if (!done) ADD_FAILURE() << done.error().line();
  if (done && !done->job) ADD_FAILURE() << done->error.substr(0, 500);
  return done && done->job ? std::make_shared<Job>(*done->job) : std::make_shared<Job>();
}

/// Every list and map in reverse order: all entries exist, none at its old place.
void turn_around(json::Value& value) {
  if (value.is_array()) {
    for (json::Value& item : value.items()) turn_around(item);
    std::reverse(value.items().begin(), value.items().end());
  } else if (value.is_object()) {
    for (json::Member& member : value.members()) turn_around(member.value);
    std::reverse(value.members().begin(), value.members().end());
  }
}

/// The measurement itself: a loop per item and one per pair of items.
TEST(GrowthOf, FindsAPlantedQuadraticCost) {
  volatile std::uint64_t steps = 0;
  const auto run = [&](std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) steps = steps + 1;
  };
  constexpr std::size_t kItems = 1000;
  EXPECT_LT(testing::growth_of([&](std::size_t items) { run(kItems * items); }, kItems), testing::kLinearAtMost);
  EXPECT_GE(testing::growth_of([&](std::size_t items) { run(items * items); }, kItems), testing::kLinearAtMost);
}

class Growth : public ::testing::TestWithParam<std::size_t> {};

TEST_P(Growth, JobListsCostLinearTime) {
  const auto& [name, make] = testing::job_lists()[GetParam()];
  const std::size_t size = testing::kSanitized ? 10 : 300;
  json::Value document, turned;
  std::shared_ptr<Job> job, before;
  std::size_t of = 0;
  const auto prepare = [&](std::size_t count) {
    if (of == count) return;
    document = make(count), turned = document;
    turn_around(turned);
    job = read_file_of_job(document), before = read_file_of_job(turned);
    for (TaskGroup& group : before->task_groups)
      for (Task& task : group.tasks) task.user = "other";
    of = count;
  };
  const auto growth = [&](auto work) {
    prepare(size);
    const double small_ns = testing::least_cpu_ns(work);
    prepare(testing::kGrowth * size);
    return testing::growth_from(small_ns, work);
  };
  using testing::kLinearAtMost;
  EXPECT_LT(growth([&] { EXPECT_FALSE(read_file_of_job(document)->id.empty()); }), kLinearAtMost)
      << name << ": registration";
  EXPECT_LT(growth([&] { EXPECT_TRUE(job_diff(nullptr, job.get())); }), kLinearAtMost)
      << name << ": difference to none";
  EXPECT_LT(growth([&] { EXPECT_TRUE(job_diff(before.get(), job.get())); }), kLinearAtMost) << name << ": difference";
  EXPECT_LT(growth([&] { EXPECT_TRUE(spec_changed(*before, *job)); }), kLinearAtMost) << name << ": spec_changed()";
  EXPECT_LT(growth([&] {
              for (const char* group : {"g", "g0"})
                if (job->group(group)) static_cast<void>(tasks_updated(*before, *job, group, {}));
            }),
            kLinearAtMost)
      << name << ": tasks_updated()";
  EXPECT_LT(growth([&] { EXPECT_TRUE(to_json(*job).is_object()); }), kLinearAtMost) << name << ": JSON";
}

INSTANTIATE_TEST_SUITE_P(Lists, Growth, ::testing::Range(std::size_t{0}, testing::job_lists().size()),
                         [](const auto& test) {
                           std::string name = testing::job_lists()[test.param].first;
                           std::replace(name.begin(), name.end(), ' ', '_');
                           return name;
                         });

}  // namespace
}  // namespace berth::model
