// The state store: random commits compared with the tables' invariants and a slow reference, recorded states loaded and
// exported again, memory per row.
#include <gtest/gtest.h>

#include <csignal>
#include <map>
#include <random>

#include "io/cluster_json.h"
#include "io/files.h"
#include "io/json_parse.h"
#include "model/codec/codec.h"
#include "model/job.h"
#include "support/cluster_objects.h"
#include "support/sanitized.h"
#include "support/shared_data.h"
#include "tables/check.h"
#include "tables/commit.h"
#include "tables/export.h"

namespace berth::tables {
namespace {

base::Uuid uuid(std::uint64_t kind, std::uint64_t number) { return {kind << 32, number * 0x9e3779b97f4a7c15ULL + 1}; }

model::Node node_of(std::uint64_t number) {
  return testing::make_node({.id = base::to_text(uuid(1, number)),
                             .name = "node-" + std::to_string(number),
                             .datacenter = "dc" + std::to_string(number % 3),
                             .attributes = {{"arch", number % 2 ? "x86" : "arm"}},
                             .mhz = 0});
}

std::shared_ptr<model::Job> job_of(const std::string& id, std::int64_t cpu_mhz = 100) {
  return testing::make_job({.id = id, .type = "batch", .datacenter = "*", .groups = {{.mhz = cpu_mhz}}});
}

void expect_sound(const Snapshot& state) {
  for (const std::string& problem : check_tables(state)) ADD_FAILURE() << problem;
}
void expect_sound(const StateStore& store) {
  for (const std::string& problem : check_tables(store)) ADD_FAILURE() << problem;
}

TEST(Compile, MoreCoresThanFitIn32BitsStayMany) {  // R-RANK-641: an imported job may request them
  for (const auto& [given, kept] : {std::pair<std::int64_t, std::uint64_t>{std::int64_t{1} << 32, 0xffff'ffff},
                                    {INT64_MAX, 0xffff'ffff},
                                    {7, 7},
                                    {-1, 0}}) {
    StateStore store;
    auto job = job_of("j");
    job->task_groups[0].tasks[0].resources->cores = given;
    const VersionRow row = store.begin_commit().upsert_job(job, true);
    EXPECT_EQ(store.current().jobs.versions[row]->groups[0].cores, kept) << given;
  }
}

TEST(StateStore, RandomCommitsKeepTheInvariants) {
  for (std::uint32_t seed = 1; seed <= 10; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    StateStore store;
    struct Alloc {
      NodeRow node;
      JobKeyRow key;
      std::int64_t cpu_mhz;
      Client client = Client::pending;
      Desired desired = Desired::run;
    };
    std::vector<Alloc> oracle;  // by alloc row
    std::vector<VersionRow> jobs;
    std::vector<SnapshotRef> held;
    for (std::uint64_t i = 0; i < 5; ++i) store.begin_commit().upsert_node(node_of(i));
    for (int step = 1; step <= 300; ++step) {
      for (std::uint32_t changes = random() % 4 + 1; changes > 0; --changes) {
        Commit commit = store.begin_commit(static_cast<std::uint64_t>(step));
        const auto nodes = static_cast<std::uint32_t>(commit.current().nodes.size());
        switch (random() % 8) {
          case 0:
            commit.upsert_node(node_of(random() % 40));
            break;
          case 1:
            jobs.push_back(commit.upsert_job(job_of(std::string("job-") += static_cast<char>('a' + random() % 10),
                                                    static_cast<std::int64_t>(random() % 500)),
                                             true));
            break;
          case 2:
            if (const NodeRow row(random() % nodes); commit.current().nodes.exists(row))
              commit.set_node_state(row, NodeStatus::down, false, random() % 2);
            break;
          case 3:
            if (random() % 4 == 0) commit.remove_node(NodeRow(random() % nodes));
            break;
          case 4:
            if (!oracle.empty()) {
              const auto row = static_cast<AllocRow>(random() % oracle.size());
              oracle[row].client = static_cast<Client>(random() % 6);  // any order: ended ones may return
              commit.set_client_status(row, oracle[row].client);
            }
            break;
          case 5:
            if (!jobs.empty() && random() % 4 == 0) {
              const JobKeyRow key = commit.current().jobs.versions[jobs[random() % jobs.size()]]->key;
              std::uint32_t stops = 0, ends = 0;
              for (Alloc& a : oracle) {
                if (a.key != key) continue;
                if (!server_terminal(a.desired) && !client_terminal(a.client)) a.desired = Desired::stop, ++stops;
                if (!client_terminal(a.client)) a.client = Client::complete, ++ends;
              }
              EXPECT_EQ(commit.stop_job(key), stops);
              EXPECT_EQ(commit.end_job(key), ends);
            }
            break;
          default:
            if (!jobs.empty()) {
              const VersionRow job = jobs[random() % jobs.size()];
              PlainAlloc alloc;
              alloc.id = uuid(2, oracle.size());
              alloc.node = NodeRow(random() % nodes);
              alloc.job = job;
              const CompiledJob& compiled = *commit.current().jobs.versions[job];
              oracle.push_back({alloc.node, compiled.key, compiled.groups[0].cpu_mhz});
              EXPECT_EQ(commit.insert_plain(alloc), oracle.size() - 1);
            }
        }
      }
      if (random() % 3 == 0 && !held.empty()) held.erase(held.begin() + static_cast<long>(random() % held.size()));
      if (random() % 2) held.push_back(store.snapshot());
      const Snapshot& state = store.current();
      expect_sound(store);
      std::map<NodeRow, std::int64_t> cpu;
      for (AllocRow row = 0; row < oracle.size(); ++row) {
        ASSERT_EQ(state.allocs.client[row], oracle[row].client);
        ASSERT_EQ(state.allocs.desired[row], oracle[row].desired);
        if (!client_terminal(oracle[row].client)) cpu[oracle[row].node] += oracle[row].cpu_mhz;
      }
      for (NodeRow row = 0; row < state.nodes.size(); ++row) ASSERT_EQ(state.nodes.use[row].cpu_mhz, cpu[row]);
      ASSERT_FALSE(HasFailure());
    }
    for (AllocRow row = 0; row < oracle.size(); ++row) EXPECT_EQ(store.find_alloc(uuid(2, row)), row);
    for (const SnapshotRef& snapshot : held) expect_sound(*snapshot);  // snapshots stay valid
  }
}

TEST(StateStore, AnEmptyCommitLeavesTheIndexAlone) {
  StateStore store;
  store.set_index(5);
  { const Commit commit = store.begin_commit(9); }
  EXPECT_EQ(store.index(), 5u);
  store.begin_commit(9).job_key("default", "a");
  EXPECT_EQ(store.index(), 9u);
  store.begin_commit(7).job_key("default", "b");  // an older index does not lower the latest
  EXPECT_EQ(store.index(), 9u);
}

TEST(StateStore, EndedAllocationsLeaveTheLiveChain) {
  StateStore store;
  const NodeRow node = store.begin_commit().upsert_node(node_of(1));
  const VersionRow job = store.upsert_job(job_of("a"), true);
  for (std::uint64_t i = 0; i < 3; ++i)
    store.insert_plain({.id = uuid(2, i), .node = node, .job = job, .shape = nullptr, .cold = nullptr}, 1);
  store.set_client_status(1, Client::failed, 2);
  const Snapshot& state = store.current();
  EXPECT_EQ(state.nodes.use[node].alloc_head, 2u);
  EXPECT_EQ(state.allocs.next_on_node[2], 0u);
  EXPECT_EQ(state.nodes.use[node].ended_head, 1u);
  store.set_client_status(1, Client::running, 3);  // a client may return
  EXPECT_EQ(store.current().nodes.use[node].alloc_head, 1u);
  EXPECT_EQ(store.current().nodes.use[node].ended_head, kNoRow);
  expect_sound(store);
}

TEST(StateStoreDeathTest, AnAllocationIsNotRemovedTwice) {  // in release builds, too
  StateStore store;
  const NodeRow node = store.begin_commit().upsert_node(node_of(1));
  const VersionRow job = store.upsert_job(job_of("a"), true);
  store.insert_plain({.id = uuid(2, 1), .node = node, .job = job, .shape = nullptr, .cold = nullptr}, 1);
  store.begin_commit().remove_alloc(0);
  EXPECT_EXIT(store.begin_commit().remove_alloc(0), ::testing::KilledBySignal(SIGABRT),
              "commit\\.cc:[0-9]+: berth is wrong: row < a\\.size\\(\\) && a\\.exists\\(row\\) does not hold");
}

TEST(StateStoreDeathTest, LinksOfRowsWithObjectsAbort) {  // two places would name its predecessor
  StateStore store;
  store.upsert_job(job_of("a"), true);
  model::Allocation alloc;
  alloc.id = base::to_text(uuid(2, 1)), alloc.namespace_ = "default", alloc.job_id = "a", alloc.task_group = "g";
  const AllocRow row = store.begin_commit(1).insert_alloc(alloc);
  EXPECT_EXIT(store.begin_commit(2).set_links(row, {}), ::testing::KilledBySignal(SIGABRT), "allocs\\.cold\\[row\\]");
}

TEST(StateStoreDeathTest, WritesToRemovedEvaluationsAbort) {
  StateStore store;
  model::Evaluation eval;
  eval.id = base::to_text(uuid(3, 1)), eval.namespace_ = "default", eval.job_id = "a", eval.status = "pending";
  store.begin_commit(1).upsert_eval(eval);
  store.begin_commit(2).remove_eval(0);
  EXPECT_EXIT(store.begin_commit(3).set_eval_modified(0, std::nullopt), ::testing::KilledBySignal(SIGABRT),
              "e\\.exists\\(row\\)");
}

TEST(StateStore, NodesThatDifferFromTheirClassAreMarked) {  // verdicts by class depend on it (kinds.h)
  StateStore store;
  const auto node = [&](std::uint64_t number, bool healthy) {
    model::Node out = node_of(number);
    out.computed_class = "v1:1", out.attributes.clear();
    auto& driver = out.drivers["exec"].emplace();
    driver.detected = true, driver.healthy = healthy;
    return store.begin_commit().upsert_node(out);
  };
  const NodeTable& nodes = store.current().nodes;
  const auto at = [&] { return std::pair(nodes.class_kinds_exact, nodes.kinds_left); };
  const NodeRow a = node(1, true);
  node(1, true);  // as before
  EXPECT_EQ(at(), std::pair(true, std::uint64_t{0}));
  const NodeRow b = node(2, false);
  node(3, true);
  EXPECT_EQ(at(), std::pair(false, std::uint64_t{0}));
  store.begin_commit().remove_node(a);
  EXPECT_FALSE(nodes.class_kinds_exact);
  node(3, false);
  EXPECT_EQ(at(), std::pair(true, std::uint64_t{1}));  // only unhealthy nodes are left
  node(1, true);
  store.begin_commit().remove_node(b);
  EXPECT_FALSE(nodes.class_kinds_exact);
  store.begin_commit().remove_node(store.find_node(uuid(1, 3)));
  // Only healthy nodes are left: cached verdicts of the class are invalid.
  EXPECT_EQ(at(), std::pair(true, std::uint64_t{2}));
}

TEST(StateStore, GroupsWithEqualRequestsShareOne) {  // job_table.h: results of nodes are cached by ask
  StateStore store;
  const auto group_of = [&](const model::Job& job) {
    const VersionRow row = store.upsert_job(std::make_shared<const model::Job>(job), true);
    return store.current().jobs.versions[row]->groups[0];
  };
  const auto number_of = [&](const model::Job& job) { return group_of(job).ask->number; };
  const std::uint64_t plain = number_of(*job_of("a"));
  model::Job same = *job_of("b"), other = *job_of("c", 200), ports = *job_of("d"), more = *job_of("e");
  same.priority = 70;
  same.task_groups[0].count = 3;
  same.task_groups[0].tasks[0].name = "other";
  EXPECT_EQ(number_of(same), plain);
  EXPECT_NE(number_of(other), plain);
  for (model::Job* job : {&ports, &more}) {
    model::NetworkResource& network = job->task_groups[0].networks.emplace_back();
    network.mode = "host";
    network.reserved_ports.emplace_back() = {.label = "http", .value = 80};
  }
  more.task_groups[0].networks[0].reserved_ports[0].value = 81;
  EXPECT_NE(number_of(ports), plain);
  EXPECT_NE(number_of(more), number_of(ports));  // amounts and checks are the same
  more.task_groups[0].constraints.emplace_back() = {"${node.unique.id}", "x", "="};
  EXPECT_EQ(group_of(more).ask, nullptr);  // no number of checks shows which nodes pass
}

constexpr std::size_t kColumnsOfNodes = 512;  // of state_nodes.cc

/// A node with `count` attributes of its own kind: the last ones have no column until a job names them.
model::Node node_with_attributes(std::uint64_t number, std::size_t count, const std::string& value) {
  model::Node node = node_of(number);
  for (std::size_t i = 0; i < count; ++i) node.attributes["z" + std::to_string(100'000 + i)] = value;
  return node;
}

std::string value_on(const StateStore& store, ConstraintId id, NodeRow row) {
  const ColumnId column = store.current().constraints[id]->left;
  const std::string* value = column == kNoColumn ? nullptr : store.current().value_text(column, row);
  return value ? *value : "";
}

TEST(StateStore, AKeyWithoutAColumnGetsOneWhenAJobNamesIt) {  // kColumnsOfNodes
  StateStore store;
  const std::size_t count = 2 * kColumnsOfNodes;
  const NodeRow a = store.begin_commit().upsert_node(node_with_attributes(1, count, "a"));
  const NodeRow b = store.begin_commit().upsert_node(node_with_attributes(2, 0, ""));
  const NodeRow c = store.begin_commit().upsert_node(node_with_attributes(3, count, "c"));
  EXPECT_EQ(store.current().nodes.fixed->columns.size(), kColumnsOfNodes);
  const std::string last = "z" + std::to_string(100'000 + count - 1);
  const auto job = job_of("j");
  job->constraints = {{"${attr." + last + "}", "a", "="}, {"${attr.z100000}", "a", "="}, {"${attr.none}", "a", "="}};
  const VersionRow version = store.begin_commit().upsert_job(job, true);
  const std::vector<ConstraintId> ids = store.current().jobs.versions[version]->constraints;
  ASSERT_EQ(ids.size(), 3U);
  for (const std::size_t i : {0, 1}) {
    EXPECT_EQ(value_on(store, ids[i], a), "a");
    EXPECT_EQ(value_on(store, ids[i], b), "");
    EXPECT_EQ(value_on(store, ids[i], c), "c");
  }
  EXPECT_EQ(value_on(store, ids[2], a), "");
  const NodeRow d = store.begin_commit().upsert_node(node_with_attributes(4, count, "d"));
  EXPECT_EQ(value_on(store, ids[0], d), "d");
  store.begin_commit().upsert_node(node_with_attributes(1, 10, "new"));  // registers again, without the last
  EXPECT_EQ(value_on(store, ids[0], a), "");
  EXPECT_EQ(value_on(store, ids[1], a), "new");
  expect_sound(store.current());
}

TEST(StateStore, NodesOfAClassThatDifferInAKeyWithoutAColumnAreMarked) {  // R-FEAS-402
  for (const bool differs : {false, true}) {
    StateStore store;
    for (std::uint64_t number : {2, 4}) {
      model::Node node = node_with_attributes(number, 2 * kColumnsOfNodes, "x");
      node.computed_class = "v1:1", node.datacenter = "dc1";
      node.attributes["zz"] = differs ? std::to_string(number) : "same";
      node.attributes["unique.zz"] = std::to_string(number);
      store.begin_commit().upsert_node(node);
    }
    EXPECT_EQ(store.current().nodes.classes_exact, !differs);
  }
}

TEST(StateStore, MemoryOfANodesAttributesIsLinear) {  // 21 KB each before
  for (const std::size_t count : {1'000, 20'000}) {
    StateStore store;
    store.begin_commit().upsert_node(node_with_attributes(1, count, "x"));
    EXPECT_LT(store.bytes(), (kColumnsOfNodes + 100) * 8'192) << count;
  }
}

TEST(StateStore, OnlyUuidsAreStoredAndFound) {  // R-MODEL-590
  const char *nil = "00000000-0000-0000-0000-000000000000", *id = "ab000000-0000-4000-8000-000000000001",
             *shouted = "AB000000-0000-4000-8000-000000000001";
  model::ClusterState state;
  for (const char* text : {nil, id, "x", "", "x"}) {
    model::Node node = node_of(1);
    node.id = text;
    state.nodes.push_back(node);
    model::Allocation alloc;
    alloc.id = text, alloc.node_id = "x", alloc.job_id = "j";
    state.allocs.push_back(alloc);
    model::Evaluation eval;
    eval.id = text, eval.job_id = "j";
    state.evals.push_back(eval);
    model::Deployment deployment;
    deployment.id = text, deployment.job_id = "j";
    state.deployments.push_back(deployment);
  }
  StateStore store;
  store.load(state);
  expect_sound(store);
  EXPECT_EQ(store.current().nodes.size(), 2u);
  EXPECT_EQ(store.current().allocs.size(), 2u);
  EXPECT_EQ(store.current().evals.size(), 1u);  // nil is the ID of no evaluation and no deployment
  EXPECT_EQ(store.current().deployments.size(), 1u);
  for (AllocRow row = 0; row < 2; ++row) EXPECT_EQ(store.current().allocs.node[row], kNoRow);  // not the nil node's
  for (const char* text : {"x", "", "ab000000"}) {
    EXPECT_EQ(store.find_node(text), kNoRow);
    EXPECT_EQ(store.find_alloc(text), kNoRow);
    EXPECT_EQ(store.find_eval(text), kNoRow);
    EXPECT_EQ(store.find_deployment(text), kNoRow);
  }
  for (const char* text : {id, shouted}) {
    EXPECT_EQ(store.find_node(text), 1u);
    EXPECT_EQ(store.find_alloc(text), 1u);
    EXPECT_EQ(store.find_eval(text), 0u);
    EXPECT_EQ(store.find_deployment(text), 0u);
  }
  EXPECT_NE(store.find_node(nil), kNoRow);
  EXPECT_EQ(store.find_eval(nil), kNoRow);
  model::Node odd = node_of(1);
  odd.id = "x";
  EXPECT_EQ(store.begin_commit().upsert_node(odd), kNoRow);
  EXPECT_EQ(store.begin_commit().insert_alloc(state.allocs[2]), kNoRow);
}

TEST(CheckTables, FindsPlantedErrors) {
  StateStore store;
  const NodeRow node = store.begin_commit().upsert_node(node_of(1));
  const VersionRow job = store.upsert_job(job_of("a"), true);
  for (std::uint64_t i = 0; i < 2; ++i)
    store.insert_plain({.id = uuid(2, i), .node = node, .job = job, .shape = nullptr, .cold = nullptr}, 1);
  const auto broken = [&](auto change) {
    Snapshot copy = store.current();
    change(copy);
    return !check_tables(copy).empty();
  };
  EXPECT_FALSE(broken([](Snapshot&) {}));
  EXPECT_TRUE(broken([&](Snapshot& s) { s.nodes.use.edit(node).cpu_mhz += 1; }));
  EXPECT_TRUE(broken([&](Snapshot& s) { s.nodes.use.edit(node).port_allocs += 1; }));
  EXPECT_TRUE(
      broken([&](Snapshot& s) { s.nodes.free.edit(node / FreeBlock::kRows).disk[node % FreeBlock::kRows] += 1; }));
  EXPECT_TRUE(broken([&](Snapshot& s) { s.nodes.use.edit(node).most_priority = -1; }));
  EXPECT_TRUE(broken([&](Snapshot& s) { s.nodes.use.edit(node).alloc_head = kNoRow; }));
  EXPECT_TRUE(broken([&](Snapshot& s) { s.allocs.next_on_node.edit(0) = 1; }));  // a cycle
  EXPECT_TRUE(broken([&](Snapshot& s) { s.allocs.client.edit(0) = Client::lost; }));
  EXPECT_TRUE(broken([&](Snapshot& s) { s.allocs.next_of_job.edit(0) = 1; }));
  EXPECT_TRUE(broken([&](Snapshot& s) { s.allocs.shape.edit(0) = 99; }));
  EXPECT_TRUE(broken([&](Snapshot& s) { s.jobs.keys.edit(0).next_same_id = 7; }));
  EXPECT_TRUE(broken([&](Snapshot& s) { s.jobs.keys.edit(0).current = 7; }));
}

/// The state with sorted lists (by ID and version), because the tables do not keep their order.
json::Value comparable(model::ClusterState state) {
  const auto key = [](const auto& job) { return std::tie(job->namespace_, job->id, job->version, job->create_index); };
  for (auto* list : {&state.jobs, &state.job_versions})
    std::sort(list->begin(), list->end(), [&](const auto& a, const auto& b) { return key(a) < key(b); });
  json::Array out;
  const auto append = [&](const auto& list) {
    for (const auto& item : list) out.push_back(model::to_json(item, model::WriteMode::sparse));
  };
  out.push_back(json::Value(static_cast<std::int64_t>(state.index)));
  if (state.scheduler_config) out.push_back(model::to_json(*state.scheduler_config, model::WriteMode::sparse));
  append(state.nodes), append(state.node_pools), append(state.namespaces), append(state.allocs), append(state.evals);
  append(state.deployments), append(state.host_volumes), append(state.host_volume_claims), append(state.csi_volumes);
  append(state.csi_plugins);
  for (const auto* list : {&state.jobs, &state.job_versions})
    for (const auto& job : *list) out.push_back(model::to_json(*job, model::WriteMode::sparse));
  return json::Value(std::move(out));
}

class RecordedStates : public ::testing::TestWithParam<const char*> {};

TEST_P(RecordedStates, RoundTrip) {
  const std::string path = (testing::golden_dir() / "evals" / GetParam()).string();
  int states = 0;
  const auto done = io::read_lines(path, [&](std::string_view line, std::size_t number) {
    if (number % 97 != 1) return true;
    const auto vector = io::parse_json(line, path);
    EXPECT_TRUE(vector);
    const auto jobs = io::read_job_table((*vector)["jobs"], path, "jobs");
    if (!jobs || !(*vector)["state"].is_object()) return true;  // the line that describes the file
    const auto state = io::read_vector_state((*vector)["state"], *jobs, path, "state");
    EXPECT_TRUE(state);
    StateStore store;
    store.load(*state);
    expect_sound(store);
    EXPECT_EQ(json::to_text(comparable(to_cluster(store.current()))), json::to_text(comparable(*state)))
        << path << " line " << number;
    return ++states < 8 && !::testing::Test::HasFailure();
  });
  ASSERT_TRUE(done);
  EXPECT_GE(states, 3);
}
INSTANTIATE_TEST_SUITE_P(Evaluations, RecordedStates,
                         ::testing::Values("place/feas.jsonl.gz", "place/preempt.jsonl.gz", "place/system.jsonl.gz",
                                           "life/life-00.jsonl.gz", "life/life-05.jsonl.gz"));

TEST(StateExport, MaterialisesNodesAndPlainAllocations) {
  StateStore store;
  model::Node shape = node_of(1);
  const auto spec = StateStore::make_spec(shape, true);
  for (std::uint64_t i = 0; i < 3; ++i) {
    const std::string name = std::string("n").append(std::to_string(i)),
                      rack = std::string("r").append(std::to_string(i));
    store.add_variant(spec, {.id = uuid(3, i),
                             .name = name,
                             .datacenter = "dc9",
                             .attributes = {},
                             .meta = {{"rack", rack}},
                             .computed_class = {}});
  }
  store.sort_nodes();
  const VersionRow job = store.upsert_job(job_of("a", 250), true);
  store.insert_plain({.id = uuid(2, 1), .node = 2, .job = job, .name_index = 4, .shape = nullptr, .cold = nullptr}, 8);
  store.set_node_state(1, NodeStatus::down, false, true, 9);
  const model::ClusterState state = to_cluster(store.current());
  ASSERT_EQ(state.nodes.size(), 3u);
  EXPECT_EQ(state.nodes[2].id, base::to_text(uuid(3, 2)));
  EXPECT_EQ(state.nodes[2].name, "n2");
  EXPECT_EQ(state.nodes[2].datacenter, "dc9");
  EXPECT_EQ(state.nodes[2].meta.at("rack"), "r2");
  EXPECT_EQ(state.nodes[2].attributes.at("arch"), "x86");
  EXPECT_NE(state.nodes[1].computed_class, state.nodes[2].computed_class);  // racks are part of the class
  EXPECT_EQ(state.nodes[1].status, "down");
  EXPECT_EQ(state.nodes[1].scheduling_eligibility, "ineligible");
  EXPECT_TRUE(state.nodes[1].drain_strategy);
  ASSERT_EQ(state.allocs.size(), 1u);
  EXPECT_EQ(state.allocs[0].name, "a.g[4]");
  EXPECT_EQ(state.allocs[0].node_name, "n2");
  EXPECT_EQ(state.allocs[0].create_index, 8u);
  ASSERT_TRUE(state.allocs[0].allocated_resources);
  EXPECT_EQ(state.allocs[0].allocated_resources->tasks.at("t").cpu.cpu_shares, 250);
  expect_sound(store);
}

TEST(StateMemory, AMillionNodesAndTenMillionAllocationsFitInFourGiB) {
  constexpr std::uint64_t kNodes = berth::testing::rounds(100'000), kAllocs = 10 * kNodes;
  StateStore store;
  const auto spec = StateStore::make_spec(node_of(1), true);
  for (std::uint64_t i = 0; i < kNodes; ++i) {
    const std::string name = std::string("node-").append(std::to_string(i)),
                      rack = std::string("r").append(std::to_string(i % 500));
    store.add_variant(spec, {.id = uuid(3, i),
                             .name = name,
                             .datacenter = {},
                             .attributes = {},
                             .meta = {{"rack", rack}},
                             .computed_class = {}});
  }
  store.sort_nodes();
  const std::size_t node_bytes = store.bytes();
  const VersionRow job = store.upsert_job(job_of("a"), true);
  {
    Commit commit = store.begin_commit(1);
    PlainAlloc alloc;
    alloc.job = job;
    for (std::uint64_t i = 0; i < kAllocs; ++i) {
      alloc.id = uuid(2, i);
      alloc.node = static_cast<NodeRow>(i % kNodes);
      alloc.name_index = static_cast<std::uint32_t>(i);
      commit.insert_plain(alloc);
    }
  }
  EXPECT_EQ(store.find_alloc(uuid(2, kAllocs - 1)), kAllocs - 1);  // the index by ID counts as well
  const double per_node = static_cast<double>(node_bytes) / kNodes;
  const double per_alloc = static_cast<double>(store.bytes() - node_bytes) / kAllocs;
  RecordProperty("bytes_per_node", static_cast<int>(per_node));
  RecordProperty("bytes_per_alloc", static_cast<int>(per_alloc));
  std::printf("%.0f bytes per node, %.0f per allocation\n", per_node, per_alloc);
  EXPECT_LT(per_node * 1e6 + per_alloc * 1e7, 4.0 * (1u << 30));
  EXPECT_GT(per_alloc, 80);  // otherwise bytes() omits columns
}

TEST(CompiledJob, VersionsWithSharedGroupsShareTheirCompiledForm) {
  StateStore store;
  const auto compiled = [&](std::shared_ptr<model::Job> job, const std::string& id) {
    job->id = job->name = id;
    return store.current().jobs.versions[store.upsert_job(job, true)];
  };
  const auto form = std::make_shared<model::Job>(*job_of("form"));
  model::TaskGroup& group = form->task_groups.emplace_back();
  group.name = "h", group.constraints = {{"${attr.arch}", "x86", "="}}, group.count = 3;
  group.tasks.emplace_back().driver = "exec";
  const auto first = compiled(form, "first");
  const auto like_form = [&] { return std::make_shared<model::Job>(*first->spec); };

  const auto second = compiled(like_form(), "second");
  EXPECT_EQ(second->group_list, first->group_list);
  EXPECT_EQ(second->key, store.job_key("default", "second"));

  const auto own = like_form();
  own->task_groups[0].count = 1;  // as before, in a separate list
  const auto third = compiled(own, "third");
  ASSERT_NE(third->group_list, first->group_list);
  ASSERT_EQ(third->groups.size(), second->groups.size());
  for (std::size_t g = 0; g < third->groups.size(); ++g) {
    const CompiledGroup &a = second->groups[g], &b = third->groups[g];
    EXPECT_EQ(a.name, b.name);
    EXPECT_EQ(a.count, b.count);
    EXPECT_EQ(a.constraints, b.constraints);
    EXPECT_EQ(a.ask, b.ask);
    EXPECT_EQ(a.drivers, b.drivers);
    EXPECT_EQ(a.cpu_mhz, b.cpu_mhz);
    EXPECT_EQ(a.memory_mb, b.memory_mb);
    EXPECT_EQ(*a.shape->resources, *b.shape->resources);
    EXPECT_EQ(b.spec, &third->spec->task_groups[g]);
  }

  // Compiled groups depend on these fields of the job.
  const std::pair<const char*, void (*)(model::Job&)> kinds[] = {
      {"constraint",
       [](model::Job& job) {
         job.constraints = {{"${attr.arch}", "arm", "="}};
       }},
      {"affinity",
       [](model::Job& job) {
         job.affinities = {{"${attr.arch}", "arm", "=", 10}};
       }},
      {"spread",
       [](model::Job& job) {
         job.spreads = {{"${node.datacenter}", 10, {}}};
       }},
      {"priority", [](model::Job& job) { job.priority = 60; }},
      {"type", [](model::Job& job) { job.type = "service"; }},
      {"datacenters", [](model::Job& job) { job.datacenters = {"dc1"}; }},
      {"pool", [](model::Job& job) { job.node_pool = "other"; }},
  };
  for (const auto& [name, change] : kinds) {
    SCOPED_TRACE(name);
    const auto job = like_form();
    change(*job);
    EXPECT_TRUE(job->task_groups.shares(first->spec->task_groups));
    EXPECT_NE(compiled(job, name)->group_list, compiled(like_form(), std::string(name) + "-plain")->group_list);
  }
  expect_sound(store);
}

TEST(CompiledJob, EscapesClassesByTasksAndCsiVolumes) {  // R-FEAS-405, 406
  const auto escapes = [](auto change) {
    auto job = job_of("job");
    change(*job);
    StateStore store;
    const CompiledJob& compiled = *store.current().jobs.versions[store.upsert_job(job, true)];
    return std::pair(compiled.escapes, compiled.groups[0].escapes);
  };
  const model::Constraint unique{"${attr.unique.x}", "", "is_set"};
  EXPECT_EQ(escapes([](model::Job&) {}), (std::pair{false, false}));
  EXPECT_EQ(escapes([&](model::Job& job) { job.constraints.push_back(unique); }), (std::pair{true, false}));
  EXPECT_EQ(escapes([&](model::Job& job) { job.task_groups[0].constraints.push_back(unique); }),
            (std::pair{false, true}));
  EXPECT_EQ(escapes([&](model::Job& job) { job.task_groups[0].tasks[0].constraints.push_back(unique); }),
            (std::pair{false, true}));
  for (const char* type : {"host", "csi"})
    EXPECT_EQ(escapes([&](model::Job& job) { job.task_groups[0].volumes["data"].emplace().type = type; }),
              (std::pair{false, std::string(type) == "csi"}));
}

}  // namespace
}  // namespace berth::tables
