// Behaviour of tasks that their drivers' configurations describe.
#include "client/drivers.h"

#include <gtest/gtest.h>

#include "base/json.h"
#include "model/job.h"
#include "support/cluster_objects.h"

namespace berth::client {
namespace {

using base::kSecond;

model::Job job_of(const char* driver, json::Value config) {
  model::Job job = *testing::make_job({.id = "web", .groups = {{.name = "app", .task = "main"}}});
  model::Task& task = job.task_groups[0].tasks[0];
  task.driver = driver, task.config = std::move(config);
  return job;
}

json::Value config(std::initializer_list<std::pair<const char*, json::Value>> members) {
  json::Value out = json::Value::object();
  for (const auto& [key, value] : members) out.set(key, value);
  return out;
}

Outcome outcome(const model::Job& job, JobType type = JobType::service, std::uint32_t index = 0) {
  TaskStart start;
  start.type = type, start.name_index = index;
  return driver_outcome(job, start, {});
}

TEST(Drivers, MockDriverDoesWhatItsConfigurationSays) {
  const model::Job job = job_of("mock_driver", config({{"run_for", "1m30s"},
                                                       {"exit_code", 3},
                                                       {"exit_signal", 9},
                                                       {"exit_err_msg", "killed by test"},
                                                       {"kill_after", "1s"},
                                                       {"start_block_for", "250ms"}}));
  const Outcome out = outcome(job);
  EXPECT_EQ(out.run_ns, 90 * kSecond);
  EXPECT_EQ(out.exit_code, 3);
  EXPECT_EQ(out.exit_signal, 9);
  EXPECT_EQ(out.exit_message, "killed by test");
  EXPECT_EQ(out.kill_ns, kSecond);
  EXPECT_EQ(out.recovered_kill_ns, 3 * kSecond);
  EXPECT_EQ(out.start_delay_ns, kSecond / 4);
  EXPECT_EQ(out.start_error, StartError::none);
}

TEST(Drivers, MockDriverWithoutARunTimeEndsAtOnce) {
  EXPECT_EQ(outcome(job_of("mock_driver", config({}))).run_ns, 0);
  EXPECT_EQ(outcome(job_of("mock_driver", {})).run_ns, 0);
  EXPECT_EQ(outcome(job_of("mock_driver", config({{"run_for", "-1s"}}))).run_ns, 0);
  EXPECT_EQ(outcome(job_of("mock_driver", config({{"run_for", std::int64_t{5}}}))).run_ns, 5);
}

TEST(Drivers, MockDriverFailsToStart) {
  const model::Job fatal = job_of("mock_driver", config({{"start_error", "no such image"}}));
  EXPECT_EQ(outcome(fatal).start_error, StartError::fatal);
  EXPECT_EQ(outcome(fatal).start_message, "no such image");
  for (const json::Value& yes : {json::Value(true), json::Value("true")})
    EXPECT_EQ(
        outcome(job_of("mock_driver", config({{"start_error", "x"}, {"start_error_recoverable", yes}}))).start_error,
        StartError::recoverable);
}

TEST(Drivers, NumbersMayBeTexts) {
  EXPECT_EQ(outcome(job_of("mock_driver", config({{"exit_code", "7"}}))).exit_code, 7);
  for (const char* bad : {"x", "-1", "7x", "99999999999999999999"})
    EXPECT_EQ(outcome(job_of("mock_driver", config({{"exit_code", bad}}))).exit_code, 0) << bad;
}

TEST(Drivers, AnUnknownKeyKeepsTheTaskFromStarting) {
  const model::Job job = job_of("mock_driver", config({{"run_for", "1s"}, {"zzz", "1"}}));
  EXPECT_EQ(outcome(job).start_error, StartError::refused);
  EXPECT_EQ(outcome(job).start_message, "zzz");
}

TEST(Drivers, OtherDriversRunForEverOrForTheTimeInTheMeta) {
  model::Job job = job_of("docker", config({{"run_for", "1s"}}));
  EXPECT_EQ(outcome(job).run_ns, kEndless);
  job.meta["berth_run_time"] = "10s";
  EXPECT_EQ(outcome(job).run_ns, 10 * kSecond);
  job.task_groups[0].meta["berth_run_time"] = "20s";
  EXPECT_EQ(outcome(job).run_ns, 20 * kSecond);
  job.task_groups[0].tasks[0].meta["berth_run_time"] = "30s";
  EXPECT_EQ(outcome(job, JobType::batch).run_ns, 30 * kSecond);
}

TEST(Drivers, BatchTasksEndAfterARandomTimeOfTheirOwn) {
  const model::Job job = job_of("exec", {});
  double sum = 0;
  for (std::uint32_t i = 0; i < 2000; ++i) {
    const Outcome out = outcome(job, JobType::batch, i);
    ASSERT_GE(out.run_ns, 0);
    ASSERT_EQ(out.run_ns, outcome(job, JobType::batch, i).run_ns);
    sum += static_cast<double>(out.run_ns);
  }
  EXPECT_NEAR(sum / 2000, 60e9, 6e9);
}

}  // namespace
}  // namespace berth::client
