// Task events that a simulated cluster's clients report (R-API-355), and restarts and signals by an operator
// (R-API-705).
#include "living/small_world.h"
#include "model/job.h"

namespace berth::living {
namespace {

Config journal_config() {
  Config config = small_config();
  config.journal = true;
  return config;
}

json::Array events_of(SmallWorld& w, AllocRow alloc) {
  const auto states = w.alloc(alloc).task_states;
  return states.empty() ? json::Array() : states.begin()->second->events.items();
}

/// Events of its only task, as "Received, Task Setup, ...".
std::string told(SmallWorld& w, AllocRow alloc) {
  std::string text;
  for (const json::Value& event : events_of(w, alloc)) text += (text.empty() ? "" : ", ") + event["Type"].as_string();
  return text;
}

json::Value detail(SmallWorld& w, AllocRow alloc, std::size_t number, const char* name) {
  const json::Array events = events_of(w, alloc);
  return number < events.size() ? events[number]["Details"][name] : json::Value("no such event");
}

TEST(TaskJournal, ListsTaskEventsFromTheFirstReport) {
  SmallWorld w(1, journal_config());
  w.run(small_job("web", "service", 1));
  w.run_for(0.05);
  EXPECT_EQ(told(w, w.allocs("web").at(0)), "") << "nothing has been reported yet";
  w.run_for(5);
  const AllocRow alloc = w.allocs("web").at(0);
  EXPECT_EQ(told(w, alloc), "Received, Task Setup, Started");
  EXPECT_EQ(detail(w, alloc, 1, "message").as_string(), "Building Task Directory");
  w.apply(JobDeregister{"default", "web"});
  w.run_for(5);
  EXPECT_EQ(told(w, alloc), "Received, Task Setup, Started, Killing, Terminated, Killed");
  EXPECT_EQ(detail(w, alloc, 3, "kill_timeout").as_string(), "5s");
}

TEST(TaskJournal, FailuresHaveReasons) {  // R-CTRL-1522
  SmallWorld w(1, journal_config());
  client::Outcome outcome{.run_ns = kSecond, .exit_code = 3};
  outcome.exit_signal = 9, outcome.exit_message = "killed by test";
  w.apply(TaskOutcome{.name_space = "default", .job_id = "work", .outcome = outcome});
  w.run(small_job("work", "batch", 1,
                  R"("ReschedulePolicy":{"Attempts":0,"Unlimited":false},"RestartPolicy":{"Attempts":1,"Interval":)"
                  R"(3600000000000,"Delay":1000000000,"Mode":"fail"})"));
  w.run_for(10);
  const AllocRow alloc = w.allocs("work").at(0);
  EXPECT_EQ(told(w, alloc),
            "Received, Task Setup, Started, Terminated, Restarting, Started, Terminated, Not Restarting");
  EXPECT_EQ(detail(w, alloc, 3, "exit_code").as_string(), "3");
  EXPECT_EQ(detail(w, alloc, 3, "signal").as_string(), "9");
  EXPECT_EQ(detail(w, alloc, 3, "exit_message").as_string(), "killed by test");
  EXPECT_EQ(detail(w, alloc, 4, "restart_reason").as_string(), "Restart within policy");
  EXPECT_GE(std::stoll(detail(w, alloc, 4, "start_delay").as_string()), kSecond);
  EXPECT_EQ(detail(w, alloc, 7, "restart_reason").as_string(),
            "Exceeded allowed attempts 1 in interval 1h0m0s and mode is \"fail\"");
}

TEST(TaskJournal, AnOperatorRestartsRunningTasks) {  // R-API-705
  SmallWorld w(1, journal_config());
  w.run(small_job("web", "service", 1));
  w.run_for(5);
  const AllocRow alloc = w.allocs("web").at(0);
  const auto refusal = [&](const Event& event) { return w.cluster.apply(event).error; };
  EXPECT_EQ(refusal(AllocRestart{w.alloc_id(alloc), "zzz"}), "Could not find task runner for task: zzz");
  EXPECT_EQ(refusal(AllocSignal{w.alloc_id(alloc), "zzz", "SIGHUP"}), "Could not find task runner for task: zzz");
  w.apply(AllocRestart{w.alloc_id(alloc), "t"});
  w.apply(AllocSignal{w.alloc_id(alloc), "", "SIGUSR1"});
  w.run_for(5);
  EXPECT_EQ(told(w, alloc),
            "Received, Task Setup, Started, Restart Signaled, Terminated, Restarting, Started, Signaling");
  EXPECT_EQ(w.alloc(alloc).task_states.at("t")->restarts, 1U);
  EXPECT_EQ(w.alloc(alloc).client_status, "running");
  w.apply(AllocRestart{w.alloc_id(alloc)});
  w.apply(AllocRestart{w.alloc_id(alloc), "", true});
  w.run_for(5);
  EXPECT_EQ(w.alloc(alloc).task_states.at("t")->restarts, 3U);
  EXPECT_EQ(events_of(w, alloc).size(), client::TaskJournal::kEventsMax);
  w.apply(JobDeregister{"default", "web"});
  w.run_for(5);
  EXPECT_EQ(refusal(AllocRestart{w.alloc_id(alloc)}), "restart of an alloc that should not run");
  EXPECT_EQ(refusal(AllocSignal{w.alloc_id(alloc), "", "SIGHUP"}),
            "1 error occurred:\n\t* Failed to signal task: t, err: Task not running\n\n");
}

TEST(TaskJournal, IsRemovedWithItsAllocation) {
  SmallWorld w(1, journal_config());
  w.run(small_job("web", "service", 1));
  w.run_for(5);
  const AllocRow alloc = w.allocs("web").at(0);
  EXPECT_TRUE(w.state().allocs.logs[alloc]);
  w.apply(JobDeregister{"default", "web", true});
  EXPECT_FALSE(w.state().allocs.logs[alloc]);
  w.run(small_job("other", "service", 1));
  w.run_for(5);
  EXPECT_EQ(told(w, w.allocs("other").at(0)), "Received, Task Setup, Started");
}

TEST(TaskJournal, IsKeptOnlyOnRequest) {
  SmallWorld w(1);
  w.run(small_job("web", "service", 1));
  w.run_for(5);
  EXPECT_EQ(told(w, w.allocs("web").at(0)), "Started") << "the newest event that a rule reads";
  EXPECT_EQ(w.state().allocs.logs.size(), 0U);
}

TEST(TaskJournal, ContinuesInALoadedState) {
  SmallWorld w(1, journal_config());
  w.apply(TaskOutcome{.name_space = "default", .job_id = "work", .outcome = {.run_ns = 100 * kSecond}});
  w.run(small_job("web", "service", 2));
  w.run(small_job("work", "batch", 1));
  w.run_for(40);
  const AllocRow before = w.allocs("web").at(0);
  const std::string web = w.alloc_id(before), events = json::to_text(json::Value(events_of(w, before)));
  const base::Time started = w.alloc(before).task_states.at("t")->started_at;
  const std::int64_t ends = w.alloc(w.allocs("work").at(0)).task_states.at("t")->started_at.ns + 100 * kSecond;

  Config config = journal_config();
  config.resume = true, config.start_ns = w.cluster.now();
  Cluster other(config);
  other.load(w.cluster.server().log().state());
  other.apply(TaskOutcome{.name_space = "default", .job_id = "work", .outcome = {.run_ns = 100 * kSecond}});
  other.run_until(config.start_ns + 30 * kSecond);
  const auto alloc = other.server().log().alloc(web);
  ASSERT_TRUE(alloc);
  EXPECT_EQ(alloc->client_status, "running");
  EXPECT_EQ(alloc->task_states.at("t")->started_at, started);
  EXPECT_EQ(json::to_text(alloc->task_states.at("t")->events), events);
  EXPECT_EQ(other.server().log().allocs_of("default", "web").size(), 2U) << "nothing was placed anew";
  EXPECT_EQ(other.counts().reports, 0U) << "the server has what the clients would say (R-CTRL-1531)";
  other.run_until(ends + 5 * kSecond);
  EXPECT_EQ(other.counts().reports, 1U);
  const auto work = other.server().log().allocs_of("default", "work");
  ASSERT_EQ(work.size(), 1U);
  EXPECT_EQ(work[0].client_status, "complete");
  EXPECT_EQ(work[0].task_states.at("t")->finished_at.ns, ends);
  EXPECT_EQ(other.problems(), std::vector<std::string>());
}

}  // namespace
}  // namespace berth::living
