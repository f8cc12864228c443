// A few nodes, jobs and allocations with their log and watchers, on a clock in seconds from 0.
#pragma once

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "lifecycle/watchers.h"
#include "model/job.h"
#include "support/cluster_objects.h"

namespace berth::lifecycle {

inline constexpr std::int64_t kS = 1'000'000'000;

inline std::string test_id(std::uint64_t kind, std::uint64_t number) {
  return base::to_text(base::Uuid{kind << 48 | number, number});
}
inline std::string node_id(std::uint64_t n) { return test_id(1, n); }
inline std::string alloc_id(std::uint64_t n) { return test_id(2, n); }
inline std::string deployment_id(std::uint64_t n) { return test_id(3, n); }
inline std::string eval_id(std::uint64_t n) { return test_id(4, n); }

class SmallCluster {
 public:
  model::ClusterState state;

  explicit SmallCluster(const model::Quirks& quirks = {}) : log_(store_, quirks) { state.index = 100; }
  void add_nodes(std::uint64_t count) {
    for (std::uint64_t n = 1; n <= count; ++n) {
      model::Node& node =
          state.nodes.emplace_back(testing::make_node({.id = node_id(n), .name = "n" + std::to_string(n)}));
      node.create_index = node.modify_index = n;
    }
  }
  model::Job& add_job(const std::string& id, const std::string& type, std::int64_t count) {
    auto job = testing::make_job({.id = id, .type = type, .groups = {{.name = "web", .count = count}}});
    job->status = "running", job->create_index = job->modify_index = job->job_modify_index = 50;
    model::TaskGroup& group = job->task_groups[0];
    if (type == "service") group.migrate.emplace().max_parallel = 1;
    jobs_.push_back(job);
    return *job;
  }
  model::Allocation& add_alloc(std::uint64_t n, std::size_t job, std::uint64_t node) {
    model::Allocation& alloc = state.allocs.emplace_back(
        testing::make_alloc({.id = alloc_id(n), .job = jobs_[job], .node_id = node_id(node), .index = n}));
    alloc.create_index = alloc.modify_index = alloc.alloc_modify_index = 60;
    return alloc;
  }
  /// A job "app" of two allocations on node 1, in a running deployment that has to progress by second 60. It has no
  /// reschedule policy.
  model::DeploymentState& add_deployment() {
    add_nodes(1);
    add_job("app", "service", 2).version = 3;
    for (std::uint64_t n = 1; n <= 2; ++n) add_alloc(n, 0, 1).deployment_id = deployment_id(1);
    model::Deployment& deployment = state.deployments.emplace_back();
    deployment.id = deployment_id(1), deployment.namespace_ = "default", deployment.job_id = "app";
    deployment.job_version = 3, deployment.status = "running", deployment.eval_priority = 70;
    deployment.create_index = deployment.modify_index = 60;
    model::DeploymentState& group = deployment.task_groups["web"].emplace();
    group.desired_total = 2, group.placed_allocs = 2, group.progress_deadline = 60 * kS;
    group.require_progress_by = base::Time{60 * kS};
    return group;
  }
  [[nodiscard]] model::Job& job(std::size_t n) { return *jobs_[n]; }
  /// To be called after the last addition.
  void start() {
    for (const auto& job : jobs_) state.jobs.push_back(job), state.job_versions.push_back(job);
    store_.load(state);
    log_.load(state);
    for (const auto& job : jobs_) log_.set_summary("default", job->id, {});
    watchers_.become_leader(0, out);
    out.clear();
  }
  fsm::StateLog& log() { return log_; }
  tables::StateStore& store() { return store_; }
  Watchers& watchers() { return watchers_; }
  tables::NodeRow row(std::uint64_t n) const { return store_.find_node(node_id(n)); }
  /// Does everything due up to and including `to_s`.
  void run_until(double to_s) {
    const auto to = static_cast<std::int64_t>(to_s * 1e9);
    while (watchers_.next_deadline() <= to) {
      now_ = std::max(now_, watchers_.next_deadline());
      watchers_.advance(now_, out);
    }
    now_ = to;
  }
  std::int64_t now() const { return now_; }
  void drain(std::uint64_t node, std::int64_t deadline) {
    fsm::DrainNode request;
    request.node_id = node_id(node), request.deadline = deadline;
    expect_no(watchers_.nodes().requests().drain(request, now_).error);
  }
  void report(std::uint64_t alloc, std::uint64_t node, const std::string& status, std::optional<bool> healthy = {}) {
    model::Allocation update;
    update.id = alloc_id(alloc), update.node_id = node_id(node), update.client_status = status;
    if (healthy) {
      update.deployment_status.emplace().healthy = healthy;
      update.deployment_status->timestamp = base::Time{now_};
    }
    fsm::Requests requests(log_, [this] { return eval_id(++drawn_); });
    expect_no(requests.update_allocs({update}, now_, now_).error);
  }
  /// Commits a plan that stops allocation `old` and places `placed` on `node` instead.
  void replace(std::uint64_t old, std::uint64_t placed, std::uint64_t node) {
    const std::uint64_t index = log_.next_index();
    log_.seen(index);
    model::Allocation stopped = *log_.alloc(alloc_id(old)), added = stopped;
    stopped.desired_status = "stop", stopped.modify_index = index;
    added.id = alloc_id(placed), added.node_id = node_id(node), added.client_status = "pending";
    added.deployment_status.reset(), added.desired_transition = {};
    added.create_index = added.modify_index = index;
    tables::Commit commit = store_.begin_commit(index);
    commit.replace_alloc(store_.find_alloc(alloc_id(old)), std::make_shared<const model::Allocation>(stopped));
    commit.insert_alloc(added);
    commit.set_table_index(false, index);
  }
  /// "at kind" of every entry that the watchers wrote, in seconds.
  std::vector<std::string> written() const {
    std::vector<std::string> texts;
    for (const Outbox::Entry& entry : out.entries) {
      const std::int64_t ms = entry.at / 1'000'000;
      texts.push_back(std::to_string(ms) + " " + entry.kind + (entry.error.empty() ? "" : ": " + entry.error));
    }
    return texts;
  }

  Outbox out;

 private:
  static void expect_no(const std::string& error) { EXPECT_EQ(error, ""); }

  std::vector<std::shared_ptr<model::Job>> jobs_;
  tables::StateStore store_;
  fsm::StateLog log_;
  std::uint64_t drawn_ = 0;
  std::int64_t now_ = 0;
  Watchers watchers_{log_, [this] { return eval_id(++drawn_); }};
};

}  // namespace berth::lifecycle
