// Lists of ready nodes: an updated list compared with a new one, and the list that snapshots share.
#include "tables/ready_nodes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

#include "model/job.h"
#include "tables/commit.h"

namespace berth::tables {
namespace {

using Random = std::mt19937_64;

std::size_t pick(Random& random, std::size_t count) { return static_cast<std::size_t>(random() % count); }

model::Node node_of(Random& random, std::uint64_t number) {
  model::Node out;
  out.id = base::to_text(base::Uuid{number * 0x9e3779b97f4a7c15ULL, number});
  out.datacenter = "dc" + std::to_string(pick(random, 4));
  out.node_pool = pick(random, 3) == 0 ? "gpu" : "default";
  out.node_class = "class-" + std::to_string(pick(random, 3));
  out.computed_class = "v1:" + out.datacenter + out.node_pool + out.node_class;
  out.status = pick(random, 5) == 0 ? "down" : "ready";
  out.scheduling_eligibility = "eligible";
  out.node_resources.emplace().memory.memory_mb = static_cast<std::int64_t>(1024 * (1 + pick(random, 3)));
  return out;
}

/// The list as text, without the numbers of capacities and the representative node of a class (R-FEAS-102 to 108).
std::string words(const NodeTable& nodes, const ReadyNodes& list) {
  std::string out;
  for (const ReadyNodes::Candidate& c : list.candidates)
    out += std::to_string(c.row) + " " + std::to_string(c.computed_class) + " " + std::to_string(c.node_class) + " " +
           std::to_string(list.capacities[c.capacity].memory_mb) + "\n";
  for (NodeRow row = 0; row < nodes.size() + 70; ++row)
    if (list.has(row)) out += "m" + std::to_string(row);
  for (const ReadyNodes::Available& a : list.available())
    out += " a" + std::to_string(a.datacenter) + ":" + std::to_string(a.count);
  std::map<std::uint32_t, bool> stands;
  for (const ReadyNodes::Candidate& c : list.of_class)
    stands[c.computed_class] = std::find(list.candidates.begin(), list.candidates.end(), c) != list.candidates.end();
  for (const auto& [code, is_one] : stands) out += " c" + std::to_string(code) + (is_one ? "+" : "-");
  return out + (stands.size() == list.of_class.size() ? "" : " twice");
}

TEST(ReadyNodes, AnUpdatedListEqualsANewOne) {  // R-FEAS-102 to 108
  const BaseSetKey keys[] = {{{"*"}, "default"}, {{"dc1", "dc3"}, "all"}, {{"dc2"}, "gpu"}, {{"dc7"}, "none"}};
  std::size_t members = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    Random random(seed);
    StateStore store;
    ReadyNodes follows[std::size(keys)];
    std::uint64_t known = 0;
    for (int round = 0; round < 60; ++round) {
      const std::size_t changes = pick(random, 8) == 0 ? pick(random, 200) : pick(random, 4);
      for (std::size_t i = 0; i < changes; ++i) {
        if (known == 0 || pick(random, 3) == 0) {
          store.begin_commit().upsert_node(node_of(random, pick(random, 3) == 0 ? 1 + pick(random, ++known) : ++known));
          continue;
        }
        const auto row = static_cast<NodeRow>(pick(random, store.current().nodes.size()));
        if (!store.current().nodes.exists(row)) continue;
        if (pick(random, 6) == 0)
          store.begin_commit().remove_node(row);
        else
          store.set_node_state(row, pick(random, 2) ? NodeStatus::ready : NodeStatus::down, pick(random, 4) != 0,
                               pick(random, 5) == 0);
      }
      if (pick(random, 30) == 0) store.sort_nodes();
      const NodeTable& nodes = store.current().nodes;
      for (std::size_t k = 0; k < std::size(keys); ++k) {
        if (pick(random, 3) == 0) continue;  // this list falls behind
        ReadyNodes anew;
        anew.follow(nodes, store.symbols(), keys[k]);
        follows[k].follow(nodes, store.symbols(), keys[k]);
        ASSERT_TRUE(follows[k].is_of(nodes));
        ASSERT_EQ(words(nodes, follows[k]), words(nodes, anew))
            << "seed " << seed << " round " << round << " key " << k;
        members += anew.size();
      }
    }
  }
  EXPECT_GT(members, 10000U);
}

TEST(ReadyNodes, SnapshotsHaveTheListThatAJobRequests) {
  Random random(1);
  model::ClusterState state;
  for (std::uint64_t i = 1; i <= 100; ++i) state.nodes.push_back(node_of(random, i));
  StateStore store;
  store.load(state);
  model::Job job;
  job.id = "one", job.type = "service", job.datacenters = {"dc1"}, job.node_pool = "all";
  store.upsert_job(std::make_shared<const model::Job>(job), true);
  const SnapshotRef snapshot = store.snapshot();
  ASSERT_EQ(snapshot->base_sets.size(), 1U);
  const BaseSet& set = *snapshot->base_sets[0];
  ASSERT_TRUE(set.ready && set.ready->is_of(snapshot->nodes));
  ReadyNodes anew;
  anew.follow(snapshot->nodes, store.symbols(), set.key);
  EXPECT_EQ(words(snapshot->nodes, *set.ready), words(snapshot->nodes, anew));
  EXPECT_GT(anew.size(), 0U);
  store.set_node_state(anew.candidates[0].row, NodeStatus::down, true, false);
  EXPECT_FALSE(set.ready->is_of(store.current().nodes));  // remains the list of that state
}

}  // namespace
}  // namespace berth::tables
