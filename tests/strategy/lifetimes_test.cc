// Predicted ends against a recomputation from all tasks, and the strategies that read them against slow rules.
#include "berth/lifetimes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <set>

#include "builders.h"

namespace berth::strategy {
namespace {

using namespace testing;  // builders.h
constexpr std::int64_t kNever = Lifetimes::kNever;

struct Running {
  Lifetimes::Slot slot = 0;
  Row row = 0;
  ClassId task = 0;
  DeviceMask devices = 0;
  std::int64_t start = 0, predicted = 0, end = 0;  ///< ns; end: the true one
};

/// The prediction at `now`: twice as long for every time that it was outlived.
std::int64_t predicted_run(const Running& task, std::int64_t now) {
  std::int64_t run = task.predicted;
  while (run != kNever && task.start + run <= now) run *= 2;
  return run;
}
std::int64_t predicted_end(const Running& task, std::int64_t now) {
  const std::int64_t run = predicted_run(task, now);
  return run == kNever ? kNever : task.start + run;
}

/// Tasks that start and end on a fleet, with predictions that are wrong by a factor of up to 16.
struct Course {
  explicit Course(std::uint64_t seed, std::size_t nodes) : random(seed), fleet(random_fleet(seed, nodes, 8)) {
    fleet.predict_run_times();
  }
  /// Time passes, tasks end, and tasks of a class arrive.
  ClassId arrive() {
    now += static_cast<std::int64_t>(random() % 40) * kMinute;
    for (auto task = running.begin(); task != running.end();)
      if (task->second.end <= now) {
        fleet.remove(task->second.row, task->second.task, task->second.devices);
        fleet.lifetimes()->remove(task->second.slot);
        task = running.erase(task);
      } else {
        ++task;
      }
    run = static_cast<std::int64_t>(std::exp2(static_cast<double>(random() % 14))) * kMinute + 1;
    const std::int64_t off = run * 4 / static_cast<std::int64_t>(std::exp2(static_cast<double>(random() % 5)));
    predicted = random() % 20 == 0 ? kNever : off;
    const auto id = static_cast<ClassId>(random() % fleet.class_count());
    fleet.arrive(id, now, predicted);
    return id;
  }
  void place(Row row, ClassId id, DeviceMask devices) {
    fleet.place(row, id, devices);
    running[++number] = {fleet.lifetimes()->place(row), row, id, devices, now, predicted, now + run};
  }

  static constexpr std::int64_t kMinute = 60'000'000'000;
  std::mt19937_64 random;
  Fleet fleet;
  std::map<std::uint64_t, Running> running;
  std::uint64_t number = 0;
  std::int64_t now = 0, run = 0, predicted = 0;
};

TEST(Lifetimes, EqualThoseRecomputedFromAllTasks) {
  std::size_t outlived = 0;
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    Course course(seed, 12);
    for (int step = 0; step < 1500; ++step) {
      const ClassId id = course.arrive();
      std::vector<std::int64_t> exits(course.fleet.size(), 0);
      std::vector<std::uint64_t> oldest(course.fleet.size(), UINT64_MAX);
      for (const auto& [number, task] : course.running) {
        exits[task.row] = std::max(exits[task.row], predicted_end(task, course.now));
        oldest[task.row] = std::min(oldest[task.row], number);
        outlived += predicted_run(task, course.now) != task.predicted;
      }
      const Lifetimes& lifetimes = *course.fleet.lifetimes();
      for (Row row = 0; row < course.fleet.size(); ++row) {
        ASSERT_EQ(lifetimes.exits_ns()[row], exits[row]) << "seed " << seed << " step " << step << " row " << row;
        const Lifetimes::Task* const first = lifetimes.oldest(row);
        ASSERT_EQ(first ? first->number : UINT64_MAX, oldest[row]);
        const double in = course.fleet.node(row).exit_s;
        if (exits[row] == kNever)
          ASSERT_EQ(in, std::numeric_limits<double>::infinity());
        else
          ASSERT_EQ(in, exits[row] == 0 ? 0 : static_cast<double>(exits[row] - course.now) / 1e9);
      }
      const auto row = static_cast<Row>(course.random() % course.fleet.size());
      if (course.fleet.feasible(row, course.fleet.task_class(id)))
        course.place(row, id, choose_devices(course.fleet.node(row), course.fleet.task_class(id), DeviceRule::best));
    }
  }
  EXPECT_GT(outlived, 1000U);
}

std::unique_ptr<Ranker> ranker_of(const std::string& text, const Fleet& fleet) {
  const auto spec = registry().parse(text);
  EXPECT_TRUE(spec) << spec.error().line();
  auto ranker = registry().make(*spec, context_of(fleet));
  EXPECT_TRUE(ranker) << ranker.error().line();
  return std::move(*ranker);
}

/// Cost of NILAS with steps of 15 minutes.
std::uint64_t outlasts(const Course& course, Row row) {
  std::int64_t exit = course.now;
  for (const auto& [number, task] : course.running)
    if (task.row == row) exit = std::max(exit, predicted_end(task, course.now));
  if (exit == kNever) return 0;
  if (course.predicted == kNever) return 99;
  const double steps = static_cast<double>(course.now + course.predicted - exit) / (15.0 * Course::kMinute);
  return steps <= 0 ? 0 : steps < 1 ? 1 : 2 + static_cast<std::uint64_t>(std::floor(std::log2(steps)));
}

/// Runs a strategy over a course, each decision held to `cost`, then best-fit.
template <class Cost>
void expect_least_cost(const std::string& strategy, std::uint64_t seed, Cost cost) {
  Course course(seed, 20);
  const auto ranker = ranker_of(strategy, course.fleet), inner = ranker_of("best-fit", course.fleet);
  std::size_t decisions = 0;
  for (int step = 0; step < 1200; ++step) {
    const ClassId id = course.arrive();
    std::optional<Row> best;
    std::pair<double, double> least;
    const std::span<const double> scores = inner->scores(course.fleet, id);
    for (Row row = 0; row < course.fleet.size(); ++row) {
      const std::pair<double, double> here{cost(course, row), -scores[row]};
      if (scores[row] != kNoScore && (!best || here < least)) best = row, least = here;
    }
    const auto choice = ranker->choose(course.fleet, id);
    ASSERT_EQ(choice.has_value(), best.has_value());
    if (!choice) continue;
    ASSERT_EQ(choice->row, *best) << strategy << " seed " << seed << " step " << step;
    course.place(choice->row, id, choice->devices);
    ++decisions;
  }
  EXPECT_GT(decisions, 300U);
}

TEST(Nilas, TakesTheLeastCost) {
  for (std::uint64_t seed = 1; seed <= 4; ++seed)
    expect_least_cost("nilas", seed,
                      [](const Course& course, Row row) { return static_cast<double>(outlasts(course, row)); });
}

/// LAVA's nodes as the paper has them, with sets of tasks. Every node is examined at every decision.
struct SlowLava {
  struct Host {
    bool in_use = false, recycling = false;
    int lifetime = 0;
    double deadline_h = 0;
    std::set<std::uint64_t> residual;
  };
  static int class_of(std::int64_t run_ns) {
    const double hours = static_cast<double>(run_ns) / (60.0 * Course::kMinute);
    return run_ns == kNever || hours >= 100 ? 3 : hours >= 10 ? 2 : hours >= 1 ? 1 : 0;
  }
  static double hours_of(int lifetime) { return lifetime == 3 ? 1e300 : std::pow(10, lifetime); }
  void update(const Course& course) {
    hosts.resize(course.fleet.size());
    const double now_h = static_cast<double>(course.now) / (60.0 * Course::kMinute);
    for (Row row = 0; row < hosts.size(); ++row) {
      std::set<std::uint64_t> tasks;
      for (const auto& [number, task] : course.running)
        if (task.row == row) tasks.insert(number);
      Host& host = hosts[row];
      if (tasks.empty()) {
        host = {};
        continue;
      }
      const Running& first = course.running.at(*tasks.begin());
      if (!host.in_use) {
        host.in_use = true, host.lifetime = class_of(predicted_run(first, course.now));
        host.deadline_h = static_cast<double>(first.start) / (60.0 * Course::kMinute) + hours_of(host.lifetime);
      }
      while (host.deadline_h <= now_h) host.deadline_h += hours_of(++host.lifetime), ++promoted;
      double fullest = 0;
      const NodeState& node = course.fleet.node(row).state;
      for (const Dimension d : {kCpu, kMemory, kGpu})
        if (node.capacity[d] > 0)
          fullest = std::max(fullest, double(node.capacity[d] - node.free[d]) / node.capacity[d]);
      const bool some_left = std::any_of(host.residual.begin(), host.residual.end(),
                                         [&](std::uint64_t number) { return tasks.contains(number); });
      if (!host.recycling && fullest >= 0.5) {
        host.recycling = true, host.residual = tasks;
      } else if (host.recycling && !some_left) {
        host.lifetime = std::max(0, host.lifetime - 1), host.residual = tasks, ++demoted;
        host.deadline_h = now_h + hours_of(host.lifetime);
      }
    }
  }
  [[nodiscard]] double group(int task, Row row) const {
    const Host& host = hosts[row];
    if (!host.in_use) return 5;
    if (host.recycling && host.lifetime > task) return host.lifetime - task - 1;
    return !host.recycling && host.lifetime == task ? 3 : 4;
  }
  std::vector<Host> hosts;
  std::size_t promoted = 0, demoted = 0;
};

TEST(Lava, FollowsTheStatesOfNodes) {
  std::size_t promoted = 0, demoted = 0;
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    SlowLava slow;
    expect_least_cost("lava:full=0.5", seed, [&](const Course& course, Row row) {
      if (row == 0) slow.update(course);
      return 100 * slow.group(SlowLava::class_of(course.predicted), row) + static_cast<double>(outlasts(course, row));
    });
    promoted += slow.promoted, demoted += slow.demoted;
  }
  EXPECT_GT(promoted, 50U);
  EXPECT_GT(demoted, 50U);
}

TEST(Lava, PrefersRecyclingThenOpenThenOtherThenEmptyNodes) {
  constexpr std::int64_t kHour = 60 * Course::kMinute;
  Fleet fleet = fleet_of(std::vector<testing::NodeCase>(4, {1000, 1000}));
  const ClassId most = fleet.add_class(task_of(950)), some = fleet.add_class(task_of(100)),
                little = fleet.add_class(task_of(10));
  fleet.predict_run_times();
  const auto lava = ranker_of("lava", fleet);
  const auto decide = [&](std::int64_t hours, ClassId id) {
    fleet.arrive(id, 0, hours * kHour - 1);
    return lava->choose(fleet, id)->row;
  };
  const auto start = [&](Row row, std::int64_t hours, ClassId id) {
    EXPECT_EQ(decide(hours, id), row);
    fleet.place(row, id, 0), fleet.lifetimes()->place(row);
  };
  start(0, 100, most);                // all are empty: the first one. It is full, so it is recycling
  start(1, 100, some);                // opens another, for lack of room
  EXPECT_EQ(decide(90, little), 1U);  // of the class up to 100 hours: the open node
  EXPECT_EQ(decide(9, little), 0U);   // a shorter class fills the gaps of the recycling node
  EXPECT_EQ(decide(1, little), 0U);
  EXPECT_EQ(decide(900, little), 0U);  // suits none: any node in use, the fullest one
  EXPECT_EQ(decide(9, some), 1U);      // no room on the recycling node
  EXPECT_EQ(decide(9, most), 2U);      // an empty one only if it must be
}

TEST(RunTimes, AreRefusedWhereTheyAreNotPredicted) {
  Context context = context_of(fleet_of({{1000}}));
  context.run_times = false;
  for (const char* text : {"nilas", "lava", "expr:node_exit-run_time"}) {
    const auto spec = registry().parse(text);
    ASSERT_TRUE(spec) << text;
    const auto made = registry().make(*spec, context);
    ASSERT_FALSE(made) << text;
    EXPECT_NE(made.error().line().find("not predicted here"), std::string::npos) << made.error().line();
    context.run_times = true;
    EXPECT_TRUE(registry().make(*spec, context)) << text;
    EXPECT_FALSE(registry().make_fit(*spec, context)) << text;
    context.run_times = false;
  }
}

}  // namespace
}  // namespace berth::strategy
