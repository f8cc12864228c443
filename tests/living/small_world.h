// A simulated cluster of a few nodes for tests: each holds ten allocations of 100 MHz; jobs are written as in a job
// file's JSON; the clock counts seconds from the beginning.
#pragma once

#include <functional>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "io/json_parse.h"
#include "living/living.h"
#include "model/job.h"
#include "model/registration/register_job.h"
#include "server/lane.h"
#include "support/cluster_objects.h"

namespace berth::living {

using base::kSecond;
using tables::AllocRow;
using tables::NodeRow;

inline std::string node_id(std::uint64_t number) { return base::to_text(base::Uuid{number << 32 | 1, number}); }

inline model::Node small_node(std::uint64_t number, std::int64_t cpu = 1000) {
  model::Node node =
      testing::make_node({.id = node_id(number),
                          .name = "n" + std::to_string(number),
                          .attributes = {{"kernel.name", "linux"}, {"nomad.version", "2.0.5"}, {"driver.exec", "1"}},
                          .mhz = cpu,
                          .memory_mb = 10'000,
                          .host_network = true});
  node.secret_id = base::to_text(base::Uuid{number, 99});
  node.node_resources->networks[0].ip = "10.0.0.1";
  node.drivers["exec"] = model::DriverInfo{.detected = true, .healthy = true};
  node.status = node.scheduling_eligibility = "";  // set by the registration
  return node;
}

/// A job in registered form; `group` and `job` are further fields of its only group and of the job: `"A":1,"B":2`.
inline std::shared_ptr<model::Job> small_job(const std::string& id, const std::string& type, int count,
                                             const std::string& group = "", const std::string& job = "",
                                             int cpu = 100) {
  const std::string text = fmt::format(
      R"({{"ID":"{}","Name":"{}","Type":"{}","Datacenters":["dc1"],{}{}"TaskGroups":[{{"Name":"g","Count":{},{}{})"
      R"("EphemeralDisk":{{"SizeMB":150}},"Tasks":[{{"Name":"t","Driver":"exec","Config":{{"command":"x"}},"Resources":{{"CPU":{},"MemoryMB":100}}}}]}}]}})",
      id, id, type, job, job.empty() ? "" : ",", count, group, group.empty() ? "" : ",", cpu);
  auto parsed = io::parse_json(text);
  EXPECT_TRUE(parsed) << text;
  auto done = model::register_job(*parsed);
  EXPECT_TRUE(done && done->job) << text << (done ? done->error : "");
  return done && done->job ? done->job : std::make_shared<model::Job>();
}

inline Config small_config(std::uint64_t seed = 1) {
  Config config;
  config.seed = seed;
  config.server.broker.evals = config.server.broker.jobs = 4096;
  config.check = true;
  return config;
}

class SmallWorld : public Listener {
 public:
  explicit SmallWorld(std::uint64_t nodes = 0, Config config = small_config()) : cluster(std::move(config), this) {
    for (std::uint64_t n = 1; n <= nodes; ++n) join(n);
    if (nodes > 0) run_for(15);  // until the first heartbeats
  }
  fsm::Answer apply(const Event& event) {
    fsm::Answer answer = cluster.apply(event);
    EXPECT_EQ(answer.error, "");
    return answer;
  }
  void join(std::uint64_t n, std::int64_t cpu = 1000) { apply(NodeRegister{small_node(n, cpu)}); }
  void run(const std::shared_ptr<model::Job>& job) { apply(JobRegister{job}); }
  void run_for(double seconds) {
    cluster.run_until(cluster.now() + static_cast<std::int64_t>(seconds * 1e9));
    EXPECT_EQ(cluster.problems(), std::vector<std::string>());
  }
  [[nodiscard]] double seconds() const { return static_cast<double>(cluster.now() - start) / 1e9; }

  [[nodiscard]] const tables::Snapshot& state() const { return cluster.state(); }
  [[nodiscard]] NodeRow node(std::uint64_t n) { return cluster.server().store().find_node(node_id(n)); }
  [[nodiscard]] std::string node_status(std::uint64_t n) { return tables::to_text(state().nodes.status(node(n))); }
  /// The job's allocations, oldest first.
  [[nodiscard]] std::vector<AllocRow> allocs(const std::string& job) {
    std::vector<AllocRow> rows;
    const tables::JobKeyRow key = cluster.server().store().find_job_key("default", job);
    if (key == tables::kNoRow) return rows;
    for (AllocRow row = state().jobs.keys[key].alloc_head; row != tables::kNoRow; row = state().allocs.next_of_job[row])
      rows.push_back(row);
    std::reverse(rows.begin(), rows.end());
    return rows;
  }
  /// "run running@1 stop complete@2": desired, client status and node of each, oldest first.
  [[nodiscard]] std::string show(const std::string& job) {
    std::string text;
    for (const AllocRow row : allocs(job)) {
      std::uint64_t n = 1;
      while (node(n) != state().allocs.node[row]) ++n;
      text += fmt::format("{}{} {}@{}", text.empty() ? "" : ", ", tables::to_text(state().allocs.desired[row]),
                          tables::to_text(state().allocs.client[row]), n);
    }
    return text;
  }
  /// Number of allocations that should run and do run.
  [[nodiscard]] std::size_t running(const std::string& job) {
    std::size_t count = 0;
    for (const AllocRow row : allocs(job))
      count +=
          state().allocs.desired[row] == tables::Desired::run && state().allocs.client[row] == tables::Client::running;
    return count;
  }
  [[nodiscard]] model::Allocation alloc(AllocRow row) {
    return *cluster.server().log().alloc(base::to_text(state().allocs.id[row]));
  }
  [[nodiscard]] std::string alloc_id(AllocRow row) { return base::to_text(state().allocs.id[row]); }
  /// Triggers of the evaluations of the job that were decided, in order.
  [[nodiscard]] std::string triggers(const std::string& job) const {
    const auto found = evaluated.find(job);
    return found == evaluated.end() ? "" : found->second;
  }

  std::function<void(server::Lane&)> on_decided;  ///< a plan is made but not committed yet
  void decided(server::Lane& lane) override {
    if (on_decided) on_decided(lane);
  }
  void entry_written(const WrittenEntry& entry) override { entries.push_back(entry.kind); }
  void evaluation_decided(const DecidedEval& eval) override {
    const tables::JobKey& key = state().jobs.keys[eval.lane.record->job];
    std::string& text = evaluated[state().text(key.job_id)];
    if (!text.empty()) text += ' ';
    text += eval.trigger;
  }
  void deployment_ended(const model::Deployment& deployment) override {
    deployments.push_back(deployment.job_id + " " + deployment.status + ": " + deployment.status_description);
  }
  void drain_ended(const DrainEnd& end) override {
    drains.push_back(fmt::format("{} after {:.0f} s", end.completed ? "complete" : "canceled",
                                 static_cast<double>(cluster.now() - end.began_at) / 1e9));
  }

  std::vector<const char*> entries;
  std::map<std::string, std::string> evaluated;
  std::vector<std::string> deployments, drains;
  Cluster cluster;
  std::int64_t start = cluster.now();
};

}  // namespace berth::living
