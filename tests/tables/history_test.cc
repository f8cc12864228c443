// Rows of removed objects are reused and never mistaken for the old ones: jobs are added and removed fifty times in
// tables that hold a few, with snapshots, holds and listeners of changes.
#include <gtest/gtest.h>

#include <deque>
#include <random>
#include <set>

#include "model/job.h"
#include "support/cluster_objects.h"
#include "support/sanitized.h"
#include "tables/check.h"
#include "tables/commit.h"
#include "tables/export.h"

namespace berth::tables {
namespace {

std::shared_ptr<model::Job> churned_job(const std::string& id, std::uint64_t version) {
  static const auto kForm = testing::make_job();
  auto job = testing::make_job({.id = id, .version = version});
  job->task_groups = kForm->task_groups;  // most jobs are equal and share their compiled form
  if (version == 1) job->task_groups[0].count = 2;
  if (version == 2) job->priority = 60;
  return job;
}

/// A store with two nodes, and jobs that are added with a deployment, an evaluation and its allocations.
class Churn {
 public:
  explicit Churn(std::uint64_t seed) : random_(seed) {
    store.keep_history();
    store.set_changes(&changes);
    for (std::uint64_t n = 1; n <= 2; ++n)
      store.begin_commit(1).upsert_node(testing::make_node({.id = base::to_text({n, 9})}));
  }
  struct Life {
    JobKeyRow key = kNoRow;
    std::vector<std::shared_ptr<const model::Job>> versions;
    base::Uuid eval, deployment;
    std::vector<base::Uuid> allocs;
  };

  void come() {
    Life life;
    Commit commit = store.begin_commit(++index);
    const std::string id = "job-" + std::to_string(++jobs_);
    VersionRow version = kNoRow;
    for (std::uint64_t v = 0; v < 1 + random_() % 3; ++v) {
      life.versions.push_back(churned_job(id, v));
      version = commit.upsert_job(life.versions.back(), true);
    }
    life.key = store.current().jobs.versions[version]->key;
    model::Evaluation eval;
    eval.id = base::to_text(life.eval = next_id()), eval.namespace_ = "default", eval.job_id = id;
    eval.status = "complete", eval.type = "service";
    commit.upsert_eval(eval);
    model::Deployment deployment;
    deployment.id = base::to_text(life.deployment = next_id()), deployment.status = "running";
    deployment.namespace_ = "default", deployment.job_id = id;
    commit.upsert_deployment(deployment);
    AllocRow previous = kNoRow;
    for (std::uint64_t i = 0; i < 5; ++i) {
      PlainAlloc alloc;
      alloc.id = next_id(), alloc.node = NodeRow(random_() % 2), alloc.job = version;
      alloc.name_index = static_cast<std::uint32_t>(i);
      alloc.eval = store.find_eval(life.eval);
      alloc.links.previous = previous;
      alloc.links.deployment = store.find_deployment(life.deployment);
      previous = commit.insert_plain(alloc);
      life.allocs.push_back(alloc.id);
    }
    lives.push_back(std::move(life));
  }
  /// Changes a status, adds a version that allocations move to, or gives a row an API object.
  void change() {
    const Life& life = lives[random_() % lives.size()];
    const AllocRow row = store.find_alloc(life.allocs[random_() % life.allocs.size()]);
    if (row == kNoRow) return;
    Commit commit = store.begin_commit(++index);
    switch (random_() % 4) {
      case 0:
        return commit.set_client_status(row, random_() % 2 ? Client::complete : Client::running);
      case 1:
        return commit.set_desired_status(row, random_() % 2 ? Desired::stop : Desired::run);
      case 2:
        return commit.update_in_place(row, store.current().jobs.keys[life.key].current, nullptr);
      default: {
        auto object = std::make_shared<model::Allocation>(commit.to_alloc(row));
        object->client_status = "running";
        return commit.replace_alloc(row, std::move(object));
      }
    }
  }
  /// Removes some objects of the oldest job, in any order, or all of them.
  void go(bool all) {
    if (lives.empty()) return;
    Life& life = lives.front();
    Commit commit = store.begin_commit(++index);
    for (const base::Uuid id : life.allocs)
      if (const AllocRow row = store.find_alloc(id); row != kNoRow && (all || random_() % 3 == 0))
        commit.remove_alloc(row);
    if (const auto row = store.find_eval(life.eval); row != kNoRow && (all || random_() % 3 == 0))
      commit.remove_eval(row);
    if (const auto row = store.find_deployment(life.deployment); row != kNoRow && (all || random_() % 3 == 0))
      commit.remove_deployment(row);
    if (!all) return;
    for (const auto& version : life.versions) commit.forget_version(*version);
    commit.purge_job(life.key);
    gone_.push_back(life.key);
    lives.pop_front();
    std::erase_if(gone_, [&](JobKeyRow key) { return commit.release_key(key); });
  }

  StateStore store;
  Changes changes;
  std::deque<Life> lives;
  std::uint64_t index = 1;

 private:
  base::Uuid next_id() { return {++ids_ * 0x9e3779b97f4a7c15ULL | 1, 7}; }
  std::mt19937_64 random_;
  std::uint64_t jobs_ = 0, ids_ = 0;
  std::vector<JobKeyRow> gone_;
};

TEST(History, RowsOfRemovedObjectsAreReused) {
  constexpr std::size_t kAtOnce = 20, kLives = 50 * kAtOnce;
  Churn churn(1);
  for (std::size_t i = 0; i < kLives; ++i) {
    churn.come();
    for (int n = 0; n < 5; ++n) churn.change();
    churn.go(false);
    if (churn.lives.size() > kAtOnce) churn.go(true);
    churn.changes.clear();
    if (i % 2 == 0) churn.store.destroy_removed();
    if (i % 100 == 0) {
      ASSERT_EQ(churn.store.check_history(), std::vector<std::string>());
      ASSERT_EQ(check_tables(churn.store), std::vector<std::string>());
    }
  }
  const Snapshot& now = churn.store.current();
  EXPECT_LE(now.allocs.size(), 2 * 5 * kAtOnce);
  EXPECT_LE(now.evals.size(), 2 * kAtOnce);
  EXPECT_LE(now.deployments.size(), 2 * kAtOnce);
  EXPECT_LE(now.jobs.versions.size(), 2 * 3 * kAtOnce);
  EXPECT_LE(now.jobs.keys.size(), 2 * kAtOnce);
  EXPECT_LE(now.allocs.shapes.size(), 2 * 2 * 3 * kAtOnce);
  EXPECT_LE(now.symbols->size(), 2 * kAtOnce + 100) << "the IDs of jobs, and names that stay";
}

/// A job whose datacenters, constraints, affinity, spread and drivers only `number` has.
std::shared_ptr<model::Job> distinct_job(const std::string& id, std::uint64_t number) {
  auto job = testing::make_job({.id = id});
  const std::string own = std::to_string(number);
  job->datacenters = {"dc1", "x" + own};
  model::Constraint constraint;
  constraint.ltarget = "${meta.m" + own + "}", constraint.operand = "!=", constraint.rtarget = own;
  job->constraints.push_back(constraint);
  constraint.ltarget = "${attr.kernel.name}";
  job->task_groups[0].constraints.push_back(constraint);
  constraint.ltarget = "${meta.d" + own + "}", constraint.operand = "distinct_property", constraint.rtarget = "2";
  job->task_groups[0].constraints.push_back(constraint);
  model::Affinity affinity;
  affinity.ltarget = "${node.unique.name}", affinity.operand = "=", affinity.rtarget = own, affinity.weight = 50;
  job->affinities.push_back(affinity);
  model::Spread spread;
  spread.attribute = "${attr.s" + own + "}", spread.weight = 50;
  job->spreads.push_back(spread);
  return job;
}

TEST(History, WhatVersionsShareEndsWithTheLastOne) {
  StateStore store;
  store.keep_history();
  store.begin_commit(1).upsert_node(testing::make_node({.id = base::to_text({1, 9})}));
  const std::size_t columns = store.current().nodes.fixed->columns.size();
  std::mt19937_64 random(7);
  std::deque<std::shared_ptr<model::Job>> stored;
  std::uint64_t index = 1;
  constexpr std::size_t kAtOnce = 10;
  for (std::uint64_t i = 0; i < 3000; ++i) {
    // Every third job has what one before it has, which may be gone or stay longer.
    stored.push_back(distinct_job("job-" + std::to_string(i), i % 3 == 0 ? i - i % 30 : i));
    store.begin_commit(++index).upsert_job(stored.back(), true);
    if (stored.size() > kAtOnce) {
      const auto which = stored.begin() + static_cast<std::ptrdiff_t>(random() % stored.size());
      Commit commit = store.begin_commit(++index);
      const JobKeyRow key = store.find_job_key("default", (*which)->id);
      commit.forget_version(**which);
      commit.purge_job(key);
      stored.erase(which);
    }
    if (i % 3 != 0) store.destroy_removed();
    if (i % 300 != 0) continue;
    ASSERT_EQ(store.check_history(), std::vector<std::string>());
    ASSERT_EQ(check_tables(store), std::vector<std::string>());
  }
  const Snapshot& now = store.current();
  EXPECT_LE(now.base_sets.size(), 2 * kAtOnce);
  EXPECT_LE(now.constraints.size(), 2 * 4 * kAtOnce);
  EXPECT_LE(now.nodes.fixed->columns.size(), columns + 2 * 3 * kAtOnce);
  EXPECT_GE(now.nodes.fixed->columns.size(), columns + 3 * kAtOnce);
}

TEST(History, DescriptionsOfRemovedNodesAreReleased) {
  Churn churn(1);
  const VersionRow version = churn.store.begin_commit(++churn.index).upsert_job(churned_job("j", 0), true);
  constexpr std::uint64_t kNodes = 500;
  const auto id = [](std::uint64_t n) { return base::Uuid{n, 11}; };
  const auto descriptions = [&] {
    std::set<const NodeSpec*> out;
    for (NodeRow row = 0; row < churn.store.current().nodes.size(); ++row)
      out.insert(churn.store.current().nodes.fixed->spec[row].get());
    return out.size();
  };
  const std::size_t before = descriptions();
  for (std::uint64_t n = 1; n <= kNodes; ++n) {
    const NodeRow row =
        churn.store.begin_commit(++churn.index).upsert_node(testing::make_node({.id = base::to_text(id(n))}));
    PlainAlloc alloc;
    alloc.id = {n, 12}, alloc.node = row, alloc.job = version;
    const AllocRow placed = churn.store.begin_commit(++churn.index).insert_plain(alloc);
    const bool alloc_first = n % 2 == 0;
    if (alloc_first) churn.store.begin_commit(++churn.index).remove_alloc(placed);
    churn.store.begin_commit(++churn.index).remove_node(row);
    EXPECT_EQ(churn.store.current().nodes.spec(row).node.id, base::to_text(id(n))) << "watchers may still read it";
    if (!alloc_first) churn.store.begin_commit(++churn.index).remove_alloc(placed);
    churn.changes.clear();
  }
  for (int i = 0; i < 2; ++i) churn.store.begin_commit(++churn.index).upsert_job(churned_job("j", 1), true);
  EXPECT_LE(descriptions(), before + 2) << "one for each computed class, and one for all that are gone";
  ASSERT_EQ(check_tables(churn.store), std::vector<std::string>());
  const NodeRow gone = churn.store.find_node(id(3));
  EXPECT_EQ(node_id(churn.store.current(), gone), base::to_text(id(3)));
  // One that comes back is described again, by its old row.
  churn.store.begin_commit(++churn.index).upsert_node(testing::make_node({.id = base::to_text(id(3))}));
  EXPECT_EQ(churn.store.find_node(id(3)), gone);
  EXPECT_EQ(churn.store.current().nodes.spec(gone).node.id, base::to_text(id(3)));
  ASSERT_EQ(check_tables(churn.store), std::vector<std::string>());
}

TEST(History, OnlyTheFirstAndTheNewestObjectOfAVersionAreKept) {  // every status change makes a new object
  Churn churn(1);
  churn.come();
  const Churn::Life& life = churn.lives.front();
  const VersionRow row = churn.store.current().jobs.keys[life.key].current;
  std::vector<std::weak_ptr<const model::Job>> before;
  auto held = std::make_shared<const model::Job>(*life.versions.back());
  churn.store.begin_commit(++churn.index).alias_job(held, row);
  for (int i = 0; i < 5; ++i) {
    const auto next = std::make_shared<const model::Job>(*life.versions.back());
    EXPECT_TRUE(next->task_groups.shares(life.versions.back()->task_groups));
    churn.store.begin_commit(++churn.index).alias_job(next, row);
    EXPECT_EQ(churn.store.current().jobs.objects[life.key], next);
    before.push_back(next);
  }
  // The object before the newest is released with the next one.
  for (std::size_t i = 0; i + 2 < before.size(); ++i) EXPECT_TRUE(before[i].expired()) << i;
  EXPECT_FALSE(before.back().expired());
  // The version is still found by an object that a caller holds, and by its first object.
  churn.store.begin_commit(++churn.index).alias_version(std::make_shared<const model::Job>(*held), *held);
  EXPECT_NE(churn.store.current().jobs.objects[life.key], before.back().lock());
  EXPECT_EQ(churn.store.current().jobs.versions[row]->spec, life.versions.back());
  EXPECT_EQ(churn.store.begin_commit(++churn.index).upsert_job(life.versions.back(), true), row);
}

/// A snapshot's view of its allocations, to be compared later.
std::vector<std::string> shown(const Snapshot& state) {
  std::vector<std::string> out;
  for (AllocRow row = 0; row < state.allocs.size(); ++row) {
    if (!state.allocs.exists(row)) continue;
    const auto& version = *state.jobs.versions[state.allocs.job[row]];
    const std::string& job = state.text(state.jobs.keys[state.allocs.job_key[row]].job_id);
    out.push_back(base::to_text(state.allocs.id[row]) + " " + job + " " + version.spec->id + " " +
                  std::to_string(version.version) + " " + to_text(state.allocs.client[row]) + " " +
                  std::to_string(state.allocs.shape_of(row).cpu_mhz));
  }
  return out;
}

TEST(History, SnapshotsDoNotChange) {
  for (std::uint64_t seed = 1; seed <= berth::testing::rounds(20, 4); ++seed) {
    SCOPED_TRACE(seed);
    Churn churn(seed);
    std::mt19937_64 random(seed);
    std::deque<std::pair<SnapshotRef, std::vector<std::string>>> held;
    std::vector<std::pair<AllocRow, base::Uuid>> known;  // under a hold
    RowHold hold;
    for (int i = 0; i < 300; ++i) {
      churn.come();
      churn.change();
      if (random() % 2) churn.go(false);
      if (churn.lives.size() > 8) churn.go(true);
      if (random() % 3 == 0) churn.changes.clear();
      if (random() % 2) churn.store.destroy_removed();
      if (random() % 8 == 0) {
        const SnapshotRef snapshot = churn.store.snapshot();
        held.emplace_back(snapshot, shown(snapshot));
      }
      if (random() % 10 == 0) {  // a stored row still has its allocation, or none, but never another one
        hold = churn.store.hold_rows();
        known.clear();
        const AllocTable& allocs = churn.store.current().allocs;
        for (AllocRow row = 0; row < allocs.size(); ++row)
          if (allocs.exists(row)) known.emplace_back(row, allocs.id[row]);
      }
      for (const auto& [row, id] : known)
        ASSERT_TRUE(!churn.store.current().allocs.exists(row) || churn.store.current().allocs.id[row] == id);
      for (const auto& [snapshot, before] : held) ASSERT_EQ(shown(snapshot), before);
      while (held.size() > 4) held.pop_front();
      ASSERT_EQ(churn.store.check_history(), std::vector<std::string>());
    }
  }
}

TEST(History, RowsAreReusedOnlyAfterListenersAreNotified) {
  Churn churn(1);
  churn.come();
  const AllocRow row = churn.store.find_alloc(churn.lives.front().allocs.front());
  churn.go(true);
  for (int i = 0; i < 10; ++i) churn.come();
  EXPECT_FALSE(churn.store.current().allocs.exists(row));
  churn.changes.clear();
  for (int i = 0; i < 10; ++i) churn.come();
  EXPECT_TRUE(churn.store.current().allocs.exists(row));
}

TEST(History, VersionsAreRemovedAtOnceUnlessTheyAreInUse) {
  for (const bool held : {false, true}) {
    SCOPED_TRACE(held);
    Churn churn(1);
    churn.come();
    const VersionRow row = churn.store.current().jobs.keys[churn.lives.front().key].current;
    RowHold hold;
    if (held) hold = churn.store.hold_rows();
    churn.go(true);
    churn.store.destroy_removed();
    EXPECT_NE(churn.store.current().jobs.versions[row], nullptr) << "nobody was told";
    churn.changes.clear();
    churn.store.destroy_removed();
    EXPECT_EQ(churn.store.current().jobs.versions[row] == nullptr, !held);
    EXPECT_EQ(churn.store.check_history(), std::vector<std::string>());
  }
}

TEST(History, ARowIsKeptWhileAnotherRefersToIt) {
  Churn churn(1);
  churn.come();
  const auto allocs = churn.lives.front().allocs;
  const AllocRow first = churn.store.find_alloc(allocs[0]), second = churn.store.find_alloc(allocs[1]);
  churn.store.begin_commit(++churn.index).remove_alloc(first);
  churn.changes.clear();
  for (int i = 0; i < 10; ++i) churn.come();
  EXPECT_EQ(to_alloc(churn.store.current(), second).previous_allocation, base::to_text(allocs[0]));
  churn.store.begin_commit(++churn.index).remove_alloc(second);
  churn.changes.clear();
  for (int i = 0; i < 10; ++i) churn.come();
  EXPECT_TRUE(churn.store.current().allocs.exists(first));
}

}  // namespace
}  // namespace berth::tables
