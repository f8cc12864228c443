// Clients under seeded random events: no report is lost, time does not go back, memory is freed when tasks end, and the
// steady state does not allocate.
#include "client/world.h"
#include "model/job.h"
#include "support/heap_count.h"

namespace berth::client {
namespace {

using base::kSecond;
using testing::TestJob;
using testing::World;

constexpr tables::NodeRow kNodes = 12;

struct RandomWorld : World {
  base::Random draw;
  SeededModel tasks;
  std::vector<TestJob> jobs;
  tables::AllocRow next_alloc = 1;
  explicit RandomWorld(std::uint64_t seed) : World(seed), draw(seed, "events") {
    otherwise.run_ns = 30 * kSecond;
    for (const char* type : {"service", "batch", "system", "sysbatch"}) {
      TestJob& job = jobs.emplace_back(type);
      job.group().restart_policy = model::RestartPolicy{2, 60 * kSecond, 5 * kSecond, "fail"};
      job.task("main").shutdown_delay = static_cast<std::int64_t>(draw.below(3)) * kSecond;
      if (draw.below(2) == 0) job.task("pre", "prestart");
      if (draw.below(2) == 0) job.task("side", "prestart", true);
      if (draw.below(2) == 0) job.task("stop", "poststop");
      if (draw.below(2) == 0) {
        job.group().disconnect.emplace();
        job.group().disconnect->stop_on_client_after = static_cast<std::int64_t>(5 + draw.below(40)) * kSecond;
      }
    }
  }
  /// Random behaviour of tasks, drawn by allocation, task and run.
  void decide(tables::AllocRow alloc, std::uint64_t seed) {
    for (std::uint32_t task = 0; task < 4; ++task)
      for (std::uint32_t number = 0; number < 4; ++number) {
        base::Random one(seed ^ alloc, "task" + std::to_string(task) + "." + std::to_string(number));
        Outcome& o = run(alloc, task, number);
        o.start_delay_ns = static_cast<std::int64_t>(one.below(2'000'000'000));
        o.kill_ns = static_cast<std::int64_t>(one.below(8'000'000'000));
        // Only main tasks may be endless: nothing but max_run_duration ends a poststop task.
        if (task > 0 || one.below(2) == 0) o.run_ns = static_cast<std::int64_t>(one.below(60'000'000'000));
        o.exit_code = static_cast<std::int32_t>(one.below(2));
        o.start_error = static_cast<StartError>(one.below(8) == 0 ? 1 + one.below(2) : 0);
        o.recovered = one.below(2) == 0;
        o.checks = static_cast<CheckOutcome>(one.below(3));
      }
    const std::uint64_t luck = base::mix64(seed ^ alloc) % 20;
    if (luck < 3) failures[alloc] = static_cast<AllocFailure>(1 + luck);
  }
  void random_event(std::uint64_t seed) {
    const auto node = static_cast<tables::NodeRow>(draw.below(kNodes));
    const auto some_alloc = [&] {
      auto it = allocs.begin();
      std::advance(it, static_cast<std::ptrdiff_t>(draw.below(allocs.size())));
      return it->first;
    };
    switch (draw.below(10)) {
      case 0:
      case 1:
      case 2: {
        const tables::AllocRow alloc = next_alloc++;
        decide(alloc, seed);
        if (!allocs.empty() && draw.below(2) == 0) upstream[alloc] = {{some_alloc(), tables::Client::pending, false}};
        const auto job = static_cast<std::uint32_t>(draw.below(jobs.size()));
        place(alloc, node, jobs[job], tables::VersionRow(job));
        break;
      }
      case 3:
      case 4:
        if (!allocs.empty()) stop(some_alloc());
        break;
      case 5:
        clients.set_reachable(node, draw.below(2) == 0, now);
        break;
      case 6:
        if (!allocs.empty())
          change(some_alloc(), [&](ServerAlloc& s) {
            if (!s.terminal()) s.client = tables::Client::unknown;
          });
        break;
      case 7:
        clients.restart(node, now, static_cast<std::int64_t>(draw.below(20'000'000'000)));
        break;
      case 8:
        takes_reports = draw.below(3) != 0;
        break;
      default:
        answers_heartbeats = draw.below(3) != 0;
    }
  }
};

TEST(ClientProperties, NoReportIsLostAndNoStateIsLeft) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomWorld world(seed);
    for (tables::NodeRow node = 0; node < kNodes; ++node) world.clients.start(node, world.now);
    for (int step = 0; step < 300; ++step) {
      world.random_event(seed);
      ASSERT_NO_FATAL_FAILURE(world.run_for(static_cast<std::int64_t>(world.draw.below(6'000'000'000))));
    }
    // The faults end: all is stopped, and every last report arrives.
    world.takes_reports = world.answers_heartbeats = true;
    for (tables::NodeRow node = 0; node < kNodes; ++node) world.clients.set_reachable(node, true, world.now);
    for (const auto& [alloc, entry] : world.allocs) world.stop(alloc);
    ASSERT_NO_FATAL_FAILURE(world.run_for(300 * kSecond));
    std::map<tables::AllocRow, std::int64_t> ends;
    for (const testing::Seen& s : world.seen) {
      for (const TaskStatus& task : s.tasks) {
        EXPECT_LE(task.started_at, s.at);
        EXPECT_LE(task.finished_at, s.at);
        EXPECT_TRUE(task.state != TaskState::dead || task.finished_at != kNoTime);
      }
    }
    const Clients::Counts counts = world.clients.counts();
    EXPECT_EQ(counts.allocs, 0u);
    EXPECT_EQ(counts.tasks, 0u);
    EXPECT_EQ(counts.watched, 0u);
    EXPECT_EQ(counts.waits, 0u);
    EXPECT_EQ(counts.groups, 0u);
    EXPECT_EQ(counts.timers, kNodes);  // one heartbeat each
    for (const auto& [alloc, entry] : world.allocs) {
      const testing::Seen* last = world.last(alloc);
      if (last == nullptr) continue;  // stopped before its client received it
      // Removed by a restarted client while it waited for another, and stopped before it was listed again.
      if (!world.upstream[alloc].empty() && last->report.status.status == tables::Client::pending &&
          last->tasks[0].started_at == kNoTime)
        continue;
      EXPECT_TRUE(tables::client_terminal(last->report.status.status)) << "allocation " << alloc;
      for (const TaskStatus& task : last->tasks) EXPECT_EQ(task.state, TaskState::dead) << "allocation " << alloc;
    }
  }
}

TEST(ClientProperties, ARunRepeatsFromItsSeed) {
  const auto digest = [](std::uint64_t seed) {
    RandomWorld world(seed);
    for (tables::NodeRow node = 0; node < kNodes; ++node) world.clients.start(node, world.now);
    for (int step = 0; step < 100; ++step) {
      world.random_event(seed);
      world.run_for(3 * kSecond);
    }
    std::uint64_t out = 0;
    for (const testing::Seen& s : world.seen)
      out = base::mix64(out ^ s.report.alloc ^ static_cast<std::uint64_t>(s.at));
    for (const auto& beat : world.beats) out = base::mix64(out ^ static_cast<std::uint64_t>(beat.first));
    return out;
  };
  EXPECT_EQ(digest(5), digest(5));
  EXPECT_NE(digest(5), digest(6));
}

/// Drives clients without storing their messages.
struct Quiet {
  SeededModel tasks{.seed = 3, .batch_run_ns = 20 * kSecond, .failure_probability = 0.1};
  Clients clients{{.timing = {}, .groups = {}, .tasks = tasks.model(), .seed = 1}};
  Outbox out;
  ServerAllocs answer;
  std::vector<ServerAlloc> placed;  // by node: the only allocation
  std::uint64_t beats = 0, reports = 0;
  void run_until(std::int64_t time) {
    while (clients.next_deadline() <= time) {
      const std::int64_t now = clients.next_deadline();
      out.clear();
      clients.advance(now, out);
      for (const NodeRow node : out.registrations) clients.registered(node, Answer::ok, now);
      for (const NodeRow node : out.heartbeats)
        clients.heartbeat_answered(node, Answer::ok, 20 * kSecond, now), ++beats;
      for (const Outbox::Pull& pull : out.pulls) {
        answer.clear();
        if (pull.node < placed.size()) answer.allocs.push_back(placed[pull.node]);
        clients.deliver(pull.node, answer, now);
      }
      reports += out.reports.size();
      for (const Outbox::Request& request : out.requests) clients.report_answered(request.node, true, now);
    }
  }
};

TEST(SteadyState, HeartbeatsTakeNothingFromTheHeap) {
  Quiet quiet;
  constexpr NodeRow kMany = 2000;
  const std::int64_t start = 1000 * kSecond;
  for (NodeRow node = 0; node < kMany; ++node) quiet.clients.start(node, start);
  quiet.run_until(start + 60 * kSecond);
  const std::uint64_t before = testing::heap_allocations, beats = quiet.beats;
  quiet.run_until(start + 660 * kSecond);
  EXPECT_EQ(testing::heap_allocations - before, 0u);
  EXPECT_EQ(quiet.beats - beats, 30u * kMany);
  EXPECT_EQ(quiet.clients.counts().timers, kMany);
}

TEST(SteadyState, AllocationsComeAndGoInTheSameMemory) {
  Quiet quiet;
  TestJob job("batch");
  job.task("a"), job.task("b", "prestart");
  job.group().restart_policy = model::RestartPolicy{1, 3600 * kSecond, kSecond, "fail"};
  constexpr NodeRow kMany = 200;
  std::int64_t now = 1000 * kSecond;
  for (NodeRow node = 0; node < kMany; ++node) quiet.clients.start(node, now);
  tables::AllocRow next = 0;
  quiet.placed.resize(kMany);
  const auto wave = [&] {
    for (NodeRow node = 0; node < kMany; ++node) {
      ServerAlloc& s = quiet.placed[node];
      s = ServerAlloc();
      s.alloc = next++, s.spec = &job.stored, s.alloc_modify_index = next, s.create_time = now;
      quiet.clients.allocs_changed(node, now);
    }
    now += 600 * kSecond;
    quiet.run_until(now);
    EXPECT_EQ(quiet.clients.counts().allocs, 0u);
  };
  for (int i = 0; i < 3; ++i) wave();
  const std::uint64_t before = testing::heap_allocations, reports = quiet.reports;
  for (int i = 0; i < 10; ++i) wave();
  EXPECT_GT(quiet.reports - reports, 10u * kMany);
  // A group's numbers are read again after its last allocation ended: a few small lists, not one per allocation.
  EXPECT_LE(testing::heap_allocations - before, 40u);
}

}  // namespace
}  // namespace berth::client
