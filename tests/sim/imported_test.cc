// An imported cluster as the input of a run: what is estimated from it, and what is copied.
#include "sim/imported.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>

#include "model/job.h"
#include "sim/cluster_path.h"
#include "sim/datasets.h"
#include "sim/inputs.h"
#include "sim/load_store.h"
#include "support/cluster_objects.h"
#include "support/scratch_folder.h"

namespace berth::sim {
namespace {

// A real cluster of 8 nodes with services, batch jobs, dispatches and a periodic job.
const std::string kCluster = BERTH_SOURCE_DIR "/tests/dryrun/recorded/stage-02.snap";
constexpr std::int64_t kSecond = 1'000'000'000;

model::Job job(const std::string& id, const std::string& type, std::int64_t submitted_s) {
  model::Job out = *testing::make_job({.id = id, .type = type});
  out.status = "running", out.submit_time = submitted_s * kSecond;
  return out;
}

class SmallCluster {
 public:
  void add(model::Job job) { state.jobs.push_back(std::make_shared<const model::Job>(std::move(job))); }
  /// An allocation of the last job; `from_s` to `to_s` are the times of its task, `to_s` < 0: it runs.
  void add_alloc(const std::string& id, std::int64_t from_s, std::int64_t to_s, const char* status) {
    model::Allocation alloc = testing::make_alloc({.id = id, .job = state.jobs.back(), .client = status});
    alloc.create_time = from_s * kSecond, alloc.modify_time = std::max(from_s, to_s) * kSecond;
    model::TaskState task;
    task.started_at.ns = from_s * kSecond;
    if (to_s >= 0) task.finished_at.ns = to_s * kSecond;
    alloc.task_states["t"] = task;
    state.allocs.push_back(std::move(alloc));
  }
  Result<JobStream> estimate(Workload workload = {}) {
    cluster.imported = std::make_shared<const model::ClusterState>(state);
    workload.jobs.source = workload.cluster.source = Source::imported;
    workload.departures = true;
    return estimated_jobs(cluster, workload, "c.json", notes);
  }
  model::ClusterState state;
  GeneratedCluster cluster;
  std::vector<std::string> notes;
};

Workload trace(std::int64_t count) {
  Workload out;
  out.arrivals.process = Process::trace;
  out.jobs.count = count;
  return out;
}

TEST(ImportedJobs, ArriveAtTheRateOfTheirRegistrations) {
  SmallCluster small;
  small.add(job("web", "service", 1'000));
  model::Job again = job("web", "service", 1'500);
  again.version = 1;
  small.state.job_versions = {small.state.jobs[0], std::make_shared<const model::Job>(again)};
  small.add(job("api", "service", 2'000));  // the window: 1,000 s, with 3 registrations
  const auto jobs = small.estimate(trace(30'000));
  ASSERT_TRUE(jobs) << jobs.error().line();
  ASSERT_EQ(jobs->arrivals.size(), 30'000u);
  // Mean gap 1000 s / 3; 30,000 gaps have a standard error of 0.6 %.
  EXPECT_NEAR(static_cast<double>(jobs->arrivals.back().due_ns) / 1e9 / 30'000, 1000.0 / 3, 10);
  const auto webs = std::count_if(jobs->arrivals.begin(), jobs->arrivals.end(), [&](const JobArrival& arrival) {
    return jobs->templates[arrival.template_index]->id == "web";
  });
  EXPECT_NEAR(static_cast<double>(webs) / 30'000, 2.0 / 3, 0.015);
  for (const JobArrival& arrival : jobs->arrivals) EXPECT_EQ(arrival.run_time_ns, kNeverEnds);
}

TEST(ImportedJobs, LaunchesOfOneJobAreOneTemplateAndTakeItsRunTimes) {
  SmallCluster small;
  model::Job parent = job("nightly", "batch", 10);
  parent.periodic.emplace();
  small.add(parent);
  for (const int at : {1'000, 2'000}) {
    model::Job launch = job("nightly/periodic-" + std::to_string(at), "batch", at);
    launch.parent_id = std::string("nightly"), launch.status = "dead";
    small.add(launch);
    small.add_alloc("a", at + 1, at + 31, "complete");
  }
  small.add(job("fragile", "batch", 1'500));
  small.add_alloc("b", 1'500, 1'505, "failed");
  const auto jobs = small.estimate(trace(200));
  ASSERT_TRUE(jobs) << jobs.error().line();
  ASSERT_EQ(jobs->templates.size(), 2u);  // the parent itself never runs
  EXPECT_EQ(jobs->templates[1]->id, "nightly");
  EXPECT_TRUE(jobs->templates[1]->parent_id.empty());
  EXPECT_EQ(jobs->templates[1]->submit_time, 0);
  for (const JobArrival& arrival : jobs->arrivals) {
    EXPECT_EQ(arrival.run_time_ns, (arrival.template_index == 1 ? 30 : 5) * kSecond);
    EXPECT_EQ(arrival.fails, arrival.template_index == 0);
  }
}

TEST(ImportedJobs, OldBatchJobsThatStillRunDoNotStretchTheWindow) {
  SmallCluster small;
  small.add(job("old", "batch", 1));  // ended jobs of that time were removed long ago
  model::Job ended = job("ended", "batch", 9'000);
  ended.status = "dead";
  small.add(ended);
  small.add_alloc("a", 9'001, 10'000, "complete");
  const auto jobs = small.estimate(trace(0));
  ASSERT_TRUE(jobs) << jobs.error().line();
  EXPECT_EQ(jobs->arrivals.size(), 1u);
  EXPECT_EQ(small.notes.front(), "batch jobs: 1 registrations of 2 within 17 min");
}

TEST(ImportedJobs, AllocationsThatRunEndAfterARunTimeLongerThanTheirs) {
  SmallCluster small;
  small.add(job("solve", "batch", 100));
  small.add_alloc("00000000-0000-4000-8000-000000000001", 100, 110, "complete");
  small.add_alloc("00000000-0000-4000-8000-000000000002", 100, 1'100, "complete");
  // Runs for 200 s already: not 10 s, but 1,000 s.
  small.add_alloc("00000000-0000-4000-8000-000000000003", 900, -1, "running");
  small.add(job("web", "service", 200));
  small.add_alloc("00000000-0000-4000-8000-000000000004", 900, -1, "running");  // never ends
  ASSERT_TRUE(small.estimate(trace(0)));
  ASSERT_EQ(small.cluster.ends.size(), 1u);
  EXPECT_EQ(base::to_text(small.cluster.ends[0].alloc), "00000000-0000-4000-8000-000000000003");
  EXPECT_EQ(small.cluster.ends[0].due_ns, 800 * kSecond);
}

TEST(ImportedJobs, IdsOfCopiesAreNew) {
  SmallCluster small;
  small.add(job("web", "service", 100));
  small.add(job("web-0", "service", 200));
  small.add(job("web-copy-7", "service", 300));
  const auto jobs = small.estimate(trace(50));
  ASSERT_TRUE(jobs);
  std::set<std::string> ids;
  for (const auto& known : small.state.jobs) ids.insert(known->id);
  for (const JobArrival& arrival : jobs->arrivals) EXPECT_TRUE(ids.insert(jobs->job(arrival)->id).second);
}

TEST(ImportedJobs, ARateNeedsATimeWindow) {
  SmallCluster small;
  small.add(job("web", "service", 100));
  const auto refused = small.estimate(trace(0));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().problem, "registered all its jobs at one moment, which gives no rate");
  Workload rated;  // a given rate needs none
  rated.arrivals.process = Process::poisson;
  EXPECT_TRUE(small.estimate(rated));
  SmallCluster empty;
  EXPECT_FALSE(empty.estimate(trace(0)));
}

TEST(ImportedCluster, StartsInTheImportedState) {
  const auto workload = read_workload(kCluster);
  ASSERT_TRUE(workload) << workload.error().line();
  EXPECT_EQ(workload->name, "stage-02");
  const auto inputs = make_inputs(*workload);
  ASSERT_TRUE(inputs) << inputs.error().line();
  EXPECT_EQ(inputs->data_files, std::vector<std::string>{kCluster});
  tables::StateStore store;
  load_store(store, inputs->cluster);
  const tables::Snapshot& state = store.current();
  EXPECT_EQ(state.nodes.size(), 8u);
  EXPECT_EQ(state.allocs.size(), 66u);
  for (std::size_t i = 0; i < 8; ++i) EXPECT_EQ(store.find_node(inputs->cluster.nodes[i].id), i);
  EXPECT_EQ(inputs->cluster.load.size(), 48u);  // the allocations that hold resources
  EXPECT_FALSE(inputs->estimates.empty());
  EXPECT_GT(inputs->jobs.arrivals.size(), 0u);
  const auto again = make_inputs(*workload);
  ASSERT_TRUE(again);
  for (std::size_t i = 0; i < inputs->jobs.arrivals.size(); ++i) {
    EXPECT_EQ(inputs->jobs.arrivals[i].due_ns, again->jobs.arrivals[i].due_ns);
    EXPECT_EQ(inputs->jobs.arrivals[i].run_time_ns, again->jobs.arrivals[i].run_time_ns);
  }
}

TEST(ImportedCluster, IsTheSameFromEverySource) {
  const testing::ScratchFolder scratch;
  const std::filesystem::path folder = scratch.path() / "berth imported";
  std::filesystem::create_directories(folder);
  const std::filesystem::path answers = BERTH_SOURCE_DIR "/tests/dryrun/recorded/stage-02.json.gz";
  std::filesystem::copy_file(answers, folder / "a.json.gz", std::filesystem::copy_options::overwrite_existing);
  std::vector<Inputs> all;
  for (const std::string& path : {kCluster, answers.string(), folder.string()}) {
    const auto workload = read_workload(path);
    ASSERT_TRUE(workload) << workload.error().line();
    auto inputs = make_inputs(*workload);
    ASSERT_TRUE(inputs) << inputs.error().line();
    all.push_back(std::move(*inputs));
  }
  EXPECT_EQ(all[2].data_files, std::vector<std::string>{(folder / "a.json.gz").string()});
  for (std::size_t source : {1, 2}) {
    const JobStream &a = all[0].jobs, &b = all[source].jobs;
    ASSERT_EQ(a.arrivals.size(), b.arrivals.size());
    for (std::size_t i = 0; i < a.arrivals.size(); ++i) {
      EXPECT_EQ(a.arrivals[i].due_ns, b.arrivals[i].due_ns);
      EXPECT_EQ(a.arrivals[i].run_time_ns, b.arrivals[i].run_time_ns);
      EXPECT_EQ(a.job(a.arrivals[i])->id, b.job(b.arrivals[i])->id);
    }
    EXPECT_EQ(all[0].cluster.ends.size(), all[source].cluster.ends.size());
  }
}

TEST(ImportedCluster, KeepsItsConfigurationUnlessTheWorkloadGivesOne) {
  const auto own = read_workload(kCluster);
  const auto given = read_workload(kCluster, "full", {{"algorithm", "binpack"}, {"preemption.batch", "false"}});
  ASSERT_TRUE(own && given);
  GeneratedCluster cluster;
  auto state = std::make_shared<model::ClusterState>();
  state->scheduler_config.emplace();
  state->scheduler_config->scheduler_algorithm = "spread";
  state->scheduler_config->preemption_config.system_scheduler_enabled = false;
  state->scheduler_config->preemption_config.batch_scheduler_enabled = true;
  cluster.imported = state;
  Workload adopts = *own, keeps = *given;
  adopt_configuration(adopts, cluster), adopt_configuration(keeps, cluster);
  EXPECT_EQ(adopts.algorithm, Algorithm::spread);
  EXPECT_TRUE(adopts.preemption.batch);
  EXPECT_FALSE(adopts.preemption.system);
  EXPECT_EQ(keeps.algorithm, Algorithm::binpack);
  EXPECT_FALSE(keeps.preemption.batch);
  EXPECT_TRUE(keeps.preemption.system);
}

TEST(ClusterPath, DistinguishesClustersFromWorkloads) {
  const testing::ScratchFolder scratch;
  const std::filesystem::path folder = scratch.path() / "berth cluster_path";
  std::filesystem::create_directories(folder);
  const auto is_cluster = [&](const std::string& name, const std::string& text) {
    const std::string path = (folder / name).string();
    std::ofstream(path, std::ios::binary) << text;
    return workload_of_cluster(path).has_value();
  };
  EXPECT_TRUE(is_cluster("c.json", " {\"Nodes\": []}"));
  EXPECT_TRUE(is_cluster("list", "\n[ {\"ID\": 1}]"));
  EXPECT_TRUE(is_cluster("packed", "\x1f\x8b\x08"));
  EXPECT_TRUE(is_cluster("archive", std::string(257, 'n') + "ustar"));
  EXPECT_FALSE(is_cluster("w.toml", "{"));
  EXPECT_FALSE(is_cluster("w", "name = \"w\""));
  EXPECT_FALSE(is_cluster("table", "[cluster]\n"));
  EXPECT_FALSE(is_cluster("tables", "[[jobs.mix]]\n"));
  EXPECT_FALSE(is_cluster("empty", ""));
  EXPECT_FALSE(workload_of_cluster((folder / "missing").string()));
  EXPECT_FALSE(workload_of_cluster("-"));
  EXPECT_FALSE(workload_of_cluster("/proc"));  // a folder without any file of a cluster
  const auto text = workload_of_cluster(folder.string() + "/");
  ASSERT_TRUE(text);
  EXPECT_NE(text->find("name = \"berth-cluster_path\""), std::string::npos);
}

TEST(ImportWorkload, NamesConflictingKeys) {
  const auto problem = [](const std::string& text) {
    const auto workload = parse_workload("name = \"w\"\n" + text, "w.toml");
    return workload ? std::string() : workload.error().problem;
  };
  EXPECT_EQ(problem("[cluster]\ngenerator = \"import\"\n[jobs]\ngenerator = \"import\"\n"), "[cluster] has no 'file'");
  EXPECT_EQ(problem("[cluster]\ngenerator = \"files\"\nfile = \"n.json\"\n[jobs]\ngenerator = \"import\"\n"),
            "jobs of generator = \"import\" are those of an imported cluster");
  EXPECT_EQ(problem("[cluster]\ngenerator = \"import\"\nfile = \"c.snap\"\n[jobs]\ngenerator = \"import\"\n"
                    "[life]\nduration_s = 10\n"),
            "an imported cluster has no [life] here");
}

}  // namespace
}  // namespace berth::sim
