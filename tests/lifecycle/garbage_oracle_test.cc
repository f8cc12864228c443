// Garbage collection of random states compared with a full scan that follows the rules of section 14 of part 07 over
// all stored API objects. Memory does not grow in a simulation that is fifty times as long.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "lifecycle/small_cluster.h"
#include "model/job.h"
#include "support/cluster_objects.h"

namespace berth::lifecycle {
namespace {

constexpr std::int64_t kAnHour = 3600 * kS, kScanAt = 100 * kAnHour;

using Ids = std::set<std::string>;

struct Oracle {
  const model::ClusterState& state;
  std::int64_t cutoff;

  const model::Job* job(const std::string& id) const {
    for (const auto& job : state.jobs)
      if (job->id == id) return job.get();
    return nullptr;
  }
  static bool ended(const model::Allocation& a) {
    return a.desired_status == "stop" || a.desired_status == "evict" || a.client_status == "complete" ||
           a.client_status == "failed" || a.client_status == "lost";
  }
  bool goes(const model::Allocation& a, const model::Job* of) const {  // R-CTRL-1409
    if (!ended(a) || a.modify_time > cutoff || a.client_status == "running") return false;
    if (!of || of->stop || of->status == "dead" || a.desired_status == "stop" || a.client_status != "failed")
      return true;
    const model::TaskGroup* group = of->group(a.task_group);
    if (!group || !group->reschedule_policy || !group->reschedule_policy->enabled()) return true;
    if (!a.next_allocation.empty()) return true;
    if (group->reschedule_policy->unlimited || !a.reschedule_tracker || !a.reschedule_tracker->events) return false;
    return !a.reschedule_tracker->events->empty() &&
           kScanAt - a.reschedule_tracker->events->back().reschedule_time > group->reschedule_policy->interval;
  }
  /// True if the evaluation is collected; appends its collected allocations to `allocs` (R-CTRL-1407, 1408).
  bool goes(const model::Evaluation& e, bool with_job, Ids& allocs) const {
    const bool over = e.status == "complete" || e.status == "failed" || e.status == "canceled";
    if (!over || e.modify_time > cutoff) return false;
    const model::Job* of = job(e.job_id);
    const bool present = e.type == "batch" && of && !(of->status == "dead" && (of->stop || with_job));
    bool all = true;
    for (const model::Allocation& a : state.allocs) {
      if (a.eval_id != e.id) continue;
      const bool old =
          present ? ended(a) && a.create_index < of->job_modify_index && a.modify_time < cutoff : goes(a, of);
      if (old) allocs.insert(a.id);
      all &= old;
    }
    return all;
  }
};

/// The whole state, with the evaluation and the time of each allocation.
model::ClusterState everything(SmallCluster& cluster) {
  model::ClusterState state = cluster.log().state();
  for (model::Allocation& alloc : state.allocs) alloc = *cluster.log().alloc(alloc.id);
  return state;
}

/// IDs of everything that is stored.
Ids stored(const model::ClusterState& state) {
  Ids out;
  for (const auto& a : state.allocs) out.insert(a.id);
  for (const auto& e : state.evals) out.insert(e.id);
  for (const auto& d : state.deployments) out.insert(d.id);
  for (const auto& j : state.jobs) out.insert(j->id);
  return out;
}

Ids expected(const model::ClusterState& state, GcKind kind, std::int64_t age) {
  const Oracle oracle{state, kScanAt - age};
  Ids gone;
  if (kind == GcKind::evals)
    for (const model::Evaluation& e : state.evals)
      if (oracle.goes(e, false, gone)) gone.insert(e.id);
  if (kind == GcKind::jobs)
    for (const auto& job : state.jobs) {  // R-CTRL-1410
      const bool short_lived = job->type == "batch" || job->type == "sysbatch";
      if (job->status != "dead" || !(job->stop || short_lived) || job->submit_time > oracle.cutoff) continue;
      Ids of_job;
      bool all = true;
      for (const model::Evaluation& e : state.evals)
        if (e.job_id == job->id) {
          all = all && oracle.goes(e, true, of_job);
          of_job.insert(e.id);
        }
      if (!all) continue;
      gone.insert(of_job.begin(), of_job.end());
      gone.insert(job->id);
      for (const auto& a : state.allocs)  // R-CTRL-742
        if (a.job_id == job->id) gone.insert(a.id);
      for (const auto& d : state.deployments)
        if (d.job_id == job->id) gone.insert(d.id);
    }
  if (kind == GcKind::deployments)
    for (const model::Deployment& d : state.deployments) {  // R-CTRL-1412
      if (d.status == "running" || d.modify_time > oracle.cutoff) continue;
      if (std::none_of(state.allocs.begin(), state.allocs.end(),
                       [&](const auto& a) { return a.deployment_id == d.id && !Oracle::ended(a); }))
        gone.insert(d.id);
    }
  Ids left;
  const Ids before = stored(state);
  std::set_difference(before.begin(), before.end(), gone.begin(), gone.end(), std::inserter(left, left.end()));
  return left;
}

/// Jobs in every stage, with allocations as objects and as plain rows.
void fill(SmallCluster& cluster, std::mt19937_64& random) {
  const auto one_of = [&](std::initializer_list<const char*> texts) { return texts.begin()[random() % texts.size()]; };
  const auto time = [&] { return kScanAt - static_cast<std::int64_t>(random() % 5) * kAnHour / 2; };
  cluster.add_nodes(3);
  std::uint64_t n = 0;
  for (int j = 0; j < 12; ++j) {
    const std::string id = "j" + std::to_string(j);
    model::Job& job = cluster.add_job(id, one_of({"service", "batch"}), 2);
    job.status = one_of({"running", "dead"}), job.stop = random() % 3 == 0;
    job.submit_time = time(), job.job_modify_index = 40 + random() % 40;
    if (random() % 2) {
      auto& policy = job.task_groups[0].reschedule_policy.emplace();
      policy.unlimited = random() % 2, policy.attempts = 1, policy.interval = kAnHour;
    }
    for (int d = 0; d < 2; ++d) {
      model::Deployment& deployment = cluster.state.deployments.emplace_back();
      deployment.id = deployment_id(++n), deployment.namespace_ = "default", deployment.job_id = id;
      deployment.status = one_of({"running", "successful", "failed"}), deployment.modify_time = time();
      deployment.create_index = deployment.modify_index = n;
    }
    for (int e = 0; e < 3; ++e) {
      model::Evaluation& eval = cluster.state.evals.emplace_back();
      eval.id = eval_id(++n), eval.namespace_ = "default", eval.job_id = id, eval.type = job.type;
      eval.status = one_of({"complete", "complete", "failed", "blocked", "canceled", "pending"});
      eval.modify_time = time(), eval.create_index = eval.modify_index = n;
      const std::string eval_text = eval.id;
      for (std::uint64_t a = random() % 4; a-- > 0;) {
        ++n;
        model::Allocation& alloc = cluster.add_alloc(n, static_cast<std::size_t>(j), 1 + n % 3);
        alloc.eval_id = eval_text, alloc.modify_time = time() - static_cast<std::int64_t>(random() % 2);
        alloc.desired_status = one_of({"run", "stop", "evict"});
        alloc.client_status = one_of({"running", "complete", "failed", "lost", "unknown"});
        if (random() % 3 == 0) alloc.deployment_id = cluster.state.deployments[2UL * j + random() % 2].id;
        if (random() % 5 == 0) alloc.next_allocation = alloc_id(1);
        if (random() % 3 == 0)
          alloc.reschedule_tracker.emplace().events.emplace().emplace_back().reschedule_time =
              kScanAt - static_cast<std::int64_t>(random() % 3) * kAnHour;
      }
    }
  }
}

/// More allocations, as the applier writes them.
void add_plain(SmallCluster& cluster, std::mt19937_64& random) {
  tables::StateStore& store = cluster.store();
  tables::Commit commit = store.begin_commit(90);
  const tables::Snapshot& state = commit.current();
  for (std::uint64_t n = 1; n <= 40; ++n) {
    tables::PlainAlloc alloc;
    const auto& eval = cluster.state.evals[random() % cluster.state.evals.size()];
    alloc.id = base::Uuid{0x77ULL << 48 | n, n};
    alloc.node = cluster.row(1 + n % 3);
    alloc.job = state.jobs.keys[store.find_job_key("default", eval.job_id)].current;
    alloc.client = random() % 2 ? tables::Client::complete : tables::Client::failed;
    alloc.eval = store.find_eval(eval.id);
    alloc.modify_time = kScanAt - static_cast<std::int64_t>(random() % 5) * kAnHour / 2;
    commit.insert_plain(alloc);
  }
}

TEST(GarbageOracle, EveryKindOfCollectionFollowsTheRules) {  // R-CTRL-1406 to 1412
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    std::mt19937_64 random(seed);
    SmallCluster cluster;
    fill(cluster, random);
    cluster.start();
    add_plain(cluster, random);
    for (const GcKind kind : {GcKind::deployments, GcKind::evals, GcKind::jobs, GcKind::evals}) {
      SCOPED_TRACE(::testing::Message() << "seed " << seed << ", kind " << static_cast<int>(kind));
      const std::int64_t age = static_cast<std::int64_t>(random() % 4) * kAnHour / 2;
      const Ids left = expected(everything(cluster), kind, age);
      cluster.watchers().garbage().run(kind, {age, age}, kScanAt, cluster.out);
      ASSERT_EQ(stored(cluster.log().state()), left);
      ASSERT_EQ(cluster.store().check_history(), std::vector<std::string>());
    }
  }
}

TEST(GarbageOracle, RowsOfRemovedJobsAreReused) {
  SmallCluster cluster;
  cluster.add_nodes(2);
  cluster.start();
  lifecycle::Outbox out;
  fsm::Requests requests(cluster.log(), [n = std::uint64_t{0}]() mutable { return eval_id(++n); });
  constexpr std::uint64_t kAtOnce = 10, kJobs = 50 * kAtOnce;
  for (std::uint64_t n = 1; n <= kJobs; ++n) {
    const std::int64_t now = kScanAt + static_cast<std::int64_t>(n) * kAnHour;
    auto job = testing::make_job({.id = "job-" + std::to_string(n), .type = "batch"});
    job->submit_time = now;
    const fsm::Answer answer = requests.register_job({.job = job}, now);
    ASSERT_EQ(answer.error, "");
    model::Evaluation eval = *cluster.log().eval(answer.eval_id);
    {
      tables::Commit commit = cluster.store().begin_commit(cluster.log().next_index());
      cluster.log().seen(commit.index());
      for (std::uint64_t i = 0; i < 5; ++i) {
        tables::PlainAlloc alloc;
        alloc.id = base::Uuid{2ULL << 48 | (10 * n + i), 10 * n + i};
        alloc.node = cluster.row(1 + i % 2);
        alloc.job = commit.current().jobs.keys[cluster.store().find_job_key("default", job->id)].current;
        alloc.eval = cluster.store().find_eval(answer.eval_id), alloc.modify_time = now;
        commit.insert_plain(alloc);
      }
    }
    std::vector<model::Allocation> reports(5);
    for (std::uint64_t i = 0; i < 5; ++i) {
      reports[i].id = base::to_text(base::Uuid{2ULL << 48 | (10 * n + i), 10 * n + i});
      reports[i].node_id = node_id(1 + i % 2), reports[i].client_status = "complete";
    }
    ASSERT_EQ(requests.update_allocs(reports, now, now).error, "");
    eval.status = "complete", eval.modify_time = now;
    fsm::Hooks hooks;
    ASSERT_EQ(cluster.log().apply(cluster.log().next_index(), {eval}, hooks), "");
    if (n > kAtOnce) cluster.watchers().garbage().run(GcKind::jobs, {kAtOnce * kAnHour, kAtOnce * kAnHour}, now, out);
    cluster.watchers().pass_on_changes(now);
    out.clear();
  }
  const tables::Snapshot& now = cluster.store().current();
  EXPECT_LE(now.allocs.size(), 3 * 5 * kAtOnce);
  EXPECT_LE(now.evals.size(), 3 * kAtOnce);
  EXPECT_LE(now.jobs.versions.size(), 3 * kAtOnce);
  EXPECT_LE(now.jobs.keys.size(), 3 * kAtOnce);
  EXPECT_EQ(cluster.store().check_history(), std::vector<std::string>());
}

}  // namespace
}  // namespace berth::lifecycle
