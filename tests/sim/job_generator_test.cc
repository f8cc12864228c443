#include "sim/job_generator.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "model/job.h"
#include "sim/arrivals.h"

namespace berth::sim {
namespace {

JobsSpec mix(std::int64_t count) {
  JobKindSpec web, batch;
  web.name = "web", web.weight = 1, web.templates = 20, web.count = Quantity::uniform(2, 9);
  web.priority = Quantity::uniform(40, 80), web.cpu_mhz = Quantity::uniform(100, 900), web.ports = 1;
  web.constraints.push_back({.attribute = "${attr.kernel.name}", .operand = "=", .values = {"linux"}, .percent = 50});
  web.affinities.push_back({.attribute = "${meta.rack}", .operand = "=", .values = {"r1", "r2"}, .weight = 30});
  web.spreads.push_back({.attribute = "${node.datacenter}", .targets = {{"dc1", 70}}});
  web.distinct_hosts = true;
  batch.name = "batch", batch.type = "batch", batch.weight = 3, batch.run_time_s = Quantity::uniform(1, 100);
  batch.fail_percent = 10, batch.devices.push_back({.name = "nvidia/gpu", .count = 2});
  JobsSpec spec;
  spec.count = count;
  spec.kinds = {web, batch};
  return spec;
}

TEST(JobGenerator, EqualSeedsGiveEqualJobs) {
  const JobStream a = generate_jobs(mix(300), 5), b = generate_jobs(mix(300), 5), c = generate_jobs(mix(300), 6);
  int differing = 0;
  for (std::size_t i = 0; i < 300; ++i) {
    EXPECT_EQ(*a.job(a.arrivals[i]), *b.job(b.arrivals[i]));
    EXPECT_EQ(a.arrivals[i].run_time_ns, b.arrivals[i].run_time_ns);
    differing += !(*a.job(a.arrivals[i]) == *c.job(c.arrivals[i]));
  }
  EXPECT_GT(differing, 100);
}

TEST(JobGenerator, DrawsWithinTheRangesOfTheKinds) {
  const JobStream stream = generate_jobs(mix(20'000), 1);
  EXPECT_EQ(stream.templates.size(), 36U);
  std::map<std::string, int> types;
  std::set<std::string> ids;
  int failing = 0, constrained = 0;
  for (const JobArrival& arrival : stream.arrivals) {
    const model::Job& form = *stream.templates[arrival.template_index];
    ++types[form.type];
    failing += arrival.fails;
    EXPECT_EQ(form.type == "batch", arrival.run_time_ns != kNeverEnds);
  }
  EXPECT_NEAR(types["batch"], 15'000, 306);
  EXPECT_NEAR(failing, 1'500, 200);
  for (const auto& form : stream.templates) {
    const model::TaskGroup& group = form->task_groups.front();
    if (form->type == "service") {
      EXPECT_GE(group.count, 2);
      EXPECT_LE(group.count, 9);
      EXPECT_GE(form->priority, 40);
      EXPECT_LE(form->priority, 80);
      ASSERT_EQ(form->affinities.size(), 1U);
      EXPECT_TRUE(form->affinities[0].rtarget == "r1" || form->affinities[0].rtarget == "r2");
      EXPECT_EQ(form->constraints.back().operand, "distinct_hosts");
      constrained += form->constraints.size() == 2;
      EXPECT_EQ(group.networks.at(0).dynamic_ports.size(), 1U);
    } else {
      EXPECT_EQ(group.tasks.front().resources->devices.at(0).count, 2U);
    }
  }
  EXPECT_GT(constrained, 3);
  EXPECT_LT(constrained, 17);
  const auto job = stream.job(stream.arrivals[17]);
  EXPECT_TRUE(job->id.ends_with("-17"));
  EXPECT_EQ(job->name, job->id);
}

TEST(JobGenerator, AnExactNumberOfJobsIsAddedToTheCount) {
  JobsSpec spec = mix(300);
  spec.kinds[1].weight = 0, spec.kinds[1].jobs = 40, spec.kinds[1].from_s = 2.5;
  JobStream stream = generate_jobs(spec, 1);
  ASSERT_EQ(stream.arrivals.size(), 340U);
  std::set<std::uint32_t> numbers;
  std::vector<std::size_t> of_kind(2);
  for (const JobArrival& arrival : stream.arrivals)
    numbers.insert(arrival.number), ++of_kind[stream.kind_of[arrival.template_index]];
  EXPECT_EQ(numbers.size(), 340U);
  EXPECT_EQ(of_kind, (std::vector<std::size_t>{300, 40}));
  for (const Process process : {Process::backlog, Process::fixed}) {
    set_due_times(stream, {.process = process, .rate_per_s = 1000}, 1);
    for (const JobArrival& arrival : stream.arrivals) {
      const std::int64_t own = process == Process::fixed ? arrival.number * std::int64_t{1'000'000} : 0;
      EXPECT_EQ(arrival.due_ns - own, stream.kind_of[arrival.template_index] == 1 ? 2'500'000'000 : 0);
    }
  }
}

TEST(JobGenerator, GeneratesPortsCoresAndVolumes) {
  JobsSpec spec = mix(1);
  JobKindSpec& web = spec.kinds[0];
  web.static_port = Quantity::choices({80, 443}, {1, 1});
  web.cores = 2, web.tasks = 2, web.host_volumes = {"data"};
  for (const auto& form : generate_jobs(spec, 3).templates) {
    if (form->type != "service") continue;
    const model::TaskGroup& group = form->task_groups.front();
    const auto& ports = group.networks.at(0).reserved_ports;
    ASSERT_EQ(ports.size(), 1U);
    EXPECT_TRUE(ports[0].value == 80 || ports[0].value == 443);
    EXPECT_EQ(group.tasks[0].resources->cores, 2);
    EXPECT_EQ(group.tasks[0].resources->cpu, 0);
    EXPECT_EQ(group.tasks[1].resources->cores, 0);
    EXPECT_GT(group.tasks[1].resources->cpu, 0);
    EXPECT_EQ(group.volumes.at("data")->source, "data");
  }
}

TEST(JobGenerator, SomeArrivalsAreNewVersionsOfJobsOfTheirKind) {
  JobsSpec spec = mix(4000);
  const JobStream without = generate_jobs(spec, 1);
  spec.kinds[0].update_percent = 40;
  const JobStream stream = generate_jobs(spec, 1);
  std::map<std::string, std::uint64_t> versions;
  int of_web = 0, new_versions = 0;
  for (std::size_t i = 0; i < stream.arrivals.size(); ++i) {
    const auto job = stream.job(stream.arrivals[i]);
    const bool web = job->type == "service";
    of_web += web;
    const auto [known, is_new] = versions.try_emplace(job->id, job->version);
    EXPECT_EQ(job->version, is_new ? 0 : known->second + 1) << "one after the other";
    known->second = job->version;
    EXPECT_EQ(is_new, stream.arrivals[i].version == 0);
    if (is_new) {
      EXPECT_EQ(*job, *without.job(without.arrivals[i])) << "the others are as they were";
      continue;
    }
    ++new_versions;
    EXPECT_TRUE(web);
    EXPECT_EQ(job->job_modify_index, job->version);
    const auto first = stream.job(stream.arrivals[stream.arrivals[i].renews]);
    EXPECT_EQ(first->id, job->id);
    EXPECT_GT(job->task_groups[0].tasks[0].resources->memory_mb, first->task_groups[0].tasks[0].resources->memory_mb);
  }
  EXPECT_NEAR(new_versions, 0.4 * of_web, 60);
}

TEST(Arrivals, FollowFixedPoissonAndTraceProcesses) {
  JobStream stream = generate_jobs(mix(10'000), 1);
  set_due_times(stream, {.process = Process::fixed, .rate_per_s = 1000}, 1);
  EXPECT_EQ(stream.arrivals[0].due_ns, 0);
  EXPECT_EQ(stream.arrivals[2500].due_ns, 2'500'000'000);
  set_due_times(stream, {.process = Process::poisson, .rate_per_s = 1000}, 1);
  // 10,000 exponential gaps of 1 ms: 10 s, standard deviation 0.1 s.
  EXPECT_NEAR(static_cast<double>(stream.arrivals.back().due_ns), 10e9, 0.5e9);
  std::int64_t longest = 0;
  for (std::size_t i = 1; i < stream.arrivals.size(); ++i) {
    ASSERT_GE(stream.arrivals[i].due_ns, stream.arrivals[i - 1].due_ns);
    longest = std::max(longest, stream.arrivals[i].due_ns - stream.arrivals[i - 1].due_ns);
  }
  EXPECT_GT(longest, 5'000'000);  // a fixed rate has no gap of 5 means, 10,000 exponential gaps have 67
  set_due_times(stream, {.process = Process::backlog}, 1);
  EXPECT_EQ(stream.arrivals.back().due_ns, 0);

  stream.arrivals.resize(3);
  stream.arrivals[0].due_ns = 50'000'000'000, stream.arrivals[1].due_ns = 20'000'000'000;
  stream.arrivals[2].due_ns = 20'000'000'000, stream.arrivals[2].run_time_ns = 7'000'000'000;
  set_due_times(stream, {.process = Process::trace, .speed = 10}, 1);
  EXPECT_EQ(stream.arrivals[0].number, 1U);
  EXPECT_EQ(stream.arrivals[1].number, 2U);
  EXPECT_EQ(stream.arrivals[1].run_time_ns, 700'000'000);
  EXPECT_EQ(stream.arrivals[2].due_ns, 3'000'000'000);
}

TEST(RunClock, SkipsOrWaitsForIdleTime) {
  RunClock skipping(Clock::skip);
  skipping.idle_until(3'600'000'000'000, 1);
  EXPECT_GE(skipping.now_ns(), 3'600'000'000'000);
  EXPECT_LT(skipping.elapsed_ns(), 60'000'000'000);
  const std::int64_t before = skipping.skipped_ns();
  skipping.idle_until(5, 1);  // in the past: nothing to skip
  EXPECT_EQ(skipping.skipped_ns(), before);
  RunClock waiting(Clock::wait);
  while (waiting.now_ns() < 3'000'000) waiting.idle_until(3'000'000, 1'000'000);
  EXPECT_EQ(waiting.skipped_ns(), 0);
  EXPECT_GE(waiting.elapsed_ns(), 3'000'000);
}

TEST(Quantity, DrawsHaveTheirMean) {
  base::Random random(4, "quantity");
  for (const auto& [quantity, mean] : {std::pair{Quantity(7), 7.0},
                                       {Quantity::uniform(10, 20), 15},
                                       {Quantity::choices({1, 10, 100}, {5, 0, 5}), 50.5},
                                       {Quantity::quantiles({0, 0.5, 1}, {0, 100, 1000}), 300},
                                       {Quantity::uniform(-5, 5), 0}}) {
    double sum = 0;
    for (int i = 0; i < 100'000; ++i) {
      const std::int64_t value = quantity.draw(random);
      ASSERT_GE(value, quantity.min());
      ASSERT_LE(value, quantity.max());
      sum += static_cast<double>(value);
    }
    EXPECT_NEAR(sum / 100'000, mean, 5.0);
  }
}

}  // namespace
}  // namespace berth::sim
