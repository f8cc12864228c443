// Entries and requests on nodes (R-CTRL-901 to 964, 1001 to 1006, R-STORE-211, 216).
#include <gtest/gtest.h>

#include "base/json.h"
#include "fsm/node_requests.h"
#include "fsm/request_world.h"

namespace berth::fsm {
namespace {

const std::string kFirstNode = request_id(1, 1), kSecondNode = request_id(1, 2), kNoNode = request_id(1, 3);
constexpr std::int64_t kSeconds = kRequestNow / base::kSecond;

/// Two ready nodes; `shape` modifies the job and the state for the test.
class NodeWorld : public RequestWorld {
 public:
  template <class Shape>
  explicit NodeWorld(Shape shape)
      : RequestWorld([&](model::Job& job, model::ClusterState& state) {
          state.nodes.clear();
          for (const std::string& id : {kFirstNode, kSecondNode})
            state.nodes.push_back(testing::make_node({.id = id, .name = "n-" + id.substr(35)}));
          shape(job, state);
        }) {}
  NodeWorld() : NodeWorld(kAsItIs) {}

  NodeRequests& nodes() { return nodes_; }
  model::Node node(const std::string& id = kFirstNode) const { return *log().node(id); }
  /// Messages of the node's events, oldest first.
  std::vector<std::string> events(const std::string& id = kFirstNode) const {
    std::vector<std::string> out;
    const model::Node stored = node(id);
    for (const json::Value& event : stored.events.items()) out.push_back(event["Message"].as_string());
    return out;
  }
  template <class Entry>
  std::string apply(const Entry& entry) {
    hooks.clear();
    return log().apply(log().next_index(), entry, hooks);
  }
  Hooks hooks;

 private:
  std::uint64_t drawn_ = 0;
  NodeRequests nodes_{log(), [this] { return request_id(7, ++drawn_); }};
};

void add_volume(model::ClusterState& state, const char* name, const std::string& node, const char* state_now) {
  model::HostVolume& volume = state.host_volumes.emplace_back();
  volume.id = request_id(8, state.host_volumes.size()), volume.namespace_ = "default", volume.name = name;
  volume.node_id = node, volume.state = state_now, volume.node_pool = "default";
  volume.create_index = volume.modify_index = 50;
}

TEST(Nodes, TheirVolumesFollowWhatTheyReport) {  // R-STORE-211
  struct Case {
    bool reported;
    const char *status, *before, *after;
  };
  for (const Case& one : {Case{true, "ready", "pending", "ready"}, Case{true, "ready", "unavailable", "ready"},
                          Case{true, "ready", "ready", "ready"}, Case{false, "ready", "ready", "unavailable"},
                          Case{false, "ready", "pending", "pending"}, Case{true, "down", "ready", "unavailable"},
                          Case{true, "down", "unavailable", "unavailable"}, Case{false, "down", "pending", "pending"},
                          Case{true, "disconnected", "ready", "ready"}}) {
    SCOPED_TRACE(std::string(one.reported ? "reported, " : "missing, ") + one.status + ", " + one.before);
    NodeWorld world([&](model::Job&, model::ClusterState& state) {
      if (one.reported) state.nodes[0].host_volumes["data"].emplace().name = "data";
      add_volume(state, "data", kFirstNode, one.before);
      add_volume(state, "data", kSecondNode, "ready");  // of a node that reports nothing in this entry
    });
    const std::uint64_t index = world.log().next_index();
    ASSERT_EQ(world.apply(NodeStatusEntry{kFirstNode, one.status, kSeconds, {}}), "");
    const auto& volumes = world.store().current().cold->host_volumes;
    ASSERT_EQ(volumes.size(), 2u);
    for (const model::HostVolume& volume : volumes) {
      const bool changed = volume.node_id == kFirstNode && std::string(one.before) != one.after;
      EXPECT_EQ(volume.state, volume.node_id == kFirstNode ? one.after : "ready");
      EXPECT_EQ(volume.modify_index, changed ? index : 50u);
    }
  }
}

TEST(Nodes, DeregistrationDeletesTheirVolumes) {  // R-STORE-216, R-CTRL-963
  NodeWorld world([](model::Job&, model::ClusterState& state) {
    for (const std::string& node : {kFirstNode, kSecondNode}) add_volume(state, "data", node, "ready");
  });
  EXPECT_EQ(world.apply(NodeDeregisterEntry{{kSecondNode, kNoNode}}), "node not found");
  EXPECT_TRUE(world.log().node(kSecondNode)) << "an entry that fails changes nothing";
  EXPECT_EQ(world.apply(NodeDeregisterEntry{{kSecondNode}}), "");
  EXPECT_FALSE(world.log().node(kSecondNode));
  const auto& volumes = world.store().current().cold->host_volumes;
  ASSERT_EQ(volumes.size(), 1u);
  EXPECT_EQ(volumes[0].node_id, kFirstNode);
  EXPECT_EQ(world.apply(NodeDeregisterEntry{{kSecondNode}}), "node not found") << "its row is free";
}

TEST(NodeRequests, ANodeWhoseVolumeIsInUseIsKept) {  // R-STORE-216
  const auto refusal = [](const char* source, const char* client, bool machine_gone = false) {
    NodeWorld world([&](model::Job& job, model::ClusterState& state) {
      add_volume(state, "data", kFirstNode, "ready");
      model::VolumeRequest& request = job.task_groups[0].volumes["data"].emplace();
      request.name = "data", request.type = "host", request.source = source;
      model::Allocation& alloc = state.allocs.emplace_back();
      alloc.id = request_id(2, 1), alloc.namespace_ = "default", alloc.job_id = "j", alloc.task_group = "web";
      alloc.name = "j.web[0]", alloc.node_id = kFirstNode;
      alloc.desired_status = "run", alloc.client_status = client;
    });
    const std::string error = world.nodes().deregister({kSecondNode, kFirstNode}, kRequestNow, machine_gone).error;
    EXPECT_EQ(world.log().node(kFirstNode).has_value(), !error.empty());
    EXPECT_EQ(world.log().node(kSecondNode).has_value(), !error.empty()) << "all nodes of a request or none";
    EXPECT_EQ(world.store().current().cold->host_volumes.empty(), error.empty());
    return error;
  };
  EXPECT_EQ(refusal("data", "running"),
            "volume " + request_id(8, 1) + " in use by allocations: [" + request_id(2, 1) + "]");
  EXPECT_EQ(refusal("data", "running", true), "") << "the volume is gone too";
  EXPECT_EQ(refusal("data", "complete"), "");
  EXPECT_EQ(refusal("other", "running"), "");
}

TEST(Nodes, ARegistrationKeepsWhatTheServerDecided) {  // R-CTRL-903, 904, 907
  NodeWorld world;
  ASSERT_EQ(world.apply(NodeEligibilityEntry{kFirstNode, false, kSeconds, {}}), "");
  ASSERT_EQ(world.apply(NodeStatusEntry{kFirstNode, "down", kSeconds, {}}), "");
  const std::uint64_t missed = world.node().last_missed_heartbeat_index;
  EXPECT_EQ(missed, world.log().next_index() - 1);
  model::Node again = world.node();
  again.scheduling_eligibility = "eligible", again.status = "ready", again.last_missed_heartbeat_index = 0;
  again.node_pool = "gpu", again.status_updated_at = kSeconds + 5;
  const std::uint64_t index = world.log().next_index();
  ASSERT_EQ(world.apply(NodeRegisterEntry{again}), "");
  EXPECT_EQ(world.node().scheduling_eligibility, "ineligible");
  EXPECT_EQ(world.node().last_missed_heartbeat_index, missed);
  EXPECT_EQ(world.node().modify_index, index);
  EXPECT_EQ(world.events(), std::vector<std::string>{"Node re-registered"});
  EXPECT_EQ(world.node().events.items().back()["CreateIndex"].as_uint(), index);
  const auto& pools = world.store().current().cold->node_pools;
  EXPECT_TRUE(std::any_of(pools.begin(), pools.end(), [](const auto& pool) { return pool.name == "gpu"; }));
  EXPECT_EQ(world.log().table_index(Table::node_pools), index);
  ASSERT_EQ(world.hooks.size(), 1u);
  EXPECT_EQ(world.hooks[0].kind, HookKind::unblock);  // R-CTRL-822
  ASSERT_EQ(world.apply(NodeRegisterEntry{world.node()}), "");
  EXPECT_EQ(world.events().size(), 1u) << "it was not down";
  EXPECT_EQ(world.log().table_index(Table::node_pools), index) << "the pool exists";
  model::Node in_all = world.node();
  in_all.node_pool = "all";
  ASSERT_EQ(world.apply(NodeRegisterEntry{in_all}), "");
  EXPECT_EQ(world.log().table_index(Table::node_pools), index) << "a pool of this name is not created";
}

TEST(Nodes, EntriesOnUnknownNodesFail) {
  NodeWorld world;
  EXPECT_EQ(world.apply(NodeStatusEntry{kNoNode, "ready", kSeconds, {}}), "node not found");
  EXPECT_EQ(world.apply(NodeEligibilityEntry{kNoNode, true, kSeconds, {}}), "node not found");
  NodeDrainEntry drain;
  drain.updates.emplace_back().node_id = kFirstNode, drain.updates[0].strategy.emplace();
  drain.updates.emplace_back().node_id = kNoNode;
  EXPECT_EQ(world.apply(drain), "node not found");
  EXPECT_FALSE(world.node().drain_strategy) << "an entry that fails changes nothing";
  EXPECT_EQ(world.log().next_index(), 104u) << "but it uses up its index";
}

TEST(Nodes, EligibilityWaitsForTheEndOfADrain) {  // R-CTRL-960, 1003 to 1006, 824, 825
  NodeWorld world;
  const auto drain = [&](bool clear, bool eligible) {
    DrainNode request;
    request.node_id = kFirstNode, request.clear = clear, request.mark_eligible = eligible;
    return world.nodes().drain(request, kRequestNow).error;
  };
  ASSERT_EQ(drain(false, false), "");
  EXPECT_EQ(world.node().scheduling_eligibility, "ineligible");
  constexpr const char* kDraining = "can not set node's scheduling eligibility to eligible while it is draining";
  EXPECT_EQ(world.apply(NodeEligibilityEntry{kFirstNode, true, kSeconds, {}}), kDraining);
  EXPECT_EQ(world.nodes().set_eligibility(kFirstNode, "eligible", kRequestNow).error, kDraining);
  EXPECT_EQ(world.nodes().set_eligibility(kFirstNode, "maybe", kRequestNow).error,
            "invalid scheduling eligibility maybe");
  EXPECT_EQ(world.nodes().set_eligibility(kNoNode, "eligible", kRequestNow).error, "node not found");
  EXPECT_TRUE(world.nodes().set_eligibility(kFirstNode, "ineligible", kRequestNow).entries.empty())
      << "it is so already";
  ASSERT_EQ(drain(true, false), "");
  EXPECT_EQ(world.node().scheduling_eligibility, "ineligible");
  EXPECT_EQ(world.node().last_drain["Status"].as_string(), "canceled");
  const NodeAnswer answer = world.nodes().set_eligibility(kFirstNode, "eligible", kRequestNow);
  ASSERT_EQ(answer.error, "");
  ASSERT_EQ(answer.hooks.size(), 2u);
  EXPECT_EQ(answer.hooks[0].kind, HookKind::unblock);
  EXPECT_EQ(answer.hooks[1].kind, HookKind::unblock_node);
  EXPECT_EQ(world.events(), (std::vector<std::string>{"Node drain strategy set", "Node drain disabled",
                                                      "Node marked as eligible for scheduling"}));
  EXPECT_EQ(world.apply(NodeEligibilityEntry{kFirstNode, true, kSeconds + 1, {}}), "");
  EXPECT_TRUE(world.hooks.empty()) << "it was eligible before";
  EXPECT_EQ(world.events().size(), 3u) << "the entry has no event";
  EXPECT_EQ(world.node().status_updated_at, kSeconds + 1);
  ASSERT_EQ(drain(false, false), "");
  ASSERT_EQ(drain(true, true), "");
  EXPECT_EQ(world.node().scheduling_eligibility, "eligible");
  DrainNode unknown;
  unknown.node_id = kNoNode;
  EXPECT_EQ(world.nodes().drain(unknown, kRequestNow).error, "node not found");
}

TEST(Nodes, OnlyTheStartOfADrainRecordsEmptyMeta) {  // R-API-311
  NodeWorld world;
  const auto meta_after = [&](bool clear, const json::Value& meta) {
    DrainNode request;
    request.node_id = kFirstNode, request.clear = clear, request.meta = meta;
    EXPECT_EQ(world.nodes().drain(request, kRequestNow).error, "");
    return json::to_text(world.node().last_drain["Meta"]);
  };
  const json::Value empty = json::Value::object();
  json::Value given = empty, other = empty;
  given.set("by", "me"), other.set("by", "you");
  EXPECT_EQ(meta_after(false, given), R"({"by":"me"})");
  EXPECT_EQ(meta_after(false, empty), R"({"by":"me"})");
  EXPECT_EQ(meta_after(false, other), R"({"by":"you"})");
  EXPECT_EQ(meta_after(true, empty), R"({"by":"you"})");
  EXPECT_EQ(meta_after(false, empty), "{}") << "another drain starts";
  EXPECT_EQ(meta_after(true, json::Value()), "{}");
}

TEST(Nodes, ADrainFromAnExportGetsItsRecordWhenItEnds) {  // R-CTRL-1005
  NodeWorld world([](model::Job&, model::ClusterState& state) {
    state.nodes[0].drain_strategy.emplace().started_at = base::Time{kRequestNow - 5};
    state.nodes[0].scheduling_eligibility = "ineligible";
  });
  DrainNode request;
  request.node_id = kFirstNode, request.deadline = 60 * base::kSecond, request.meta.set("who", "me");
  ASSERT_EQ(world.nodes().drain(request, kRequestNow).error, "");
  EXPECT_EQ(world.node().drain_strategy->started_at.ns, kRequestNow - 5) << "it was draining (R-CTRL-1002)";
  EXPECT_EQ(world.node().drain_strategy->force_deadline.ns, kRequestNow + request.deadline);
  EXPECT_EQ(world.node().last_drain["Status"].as_string(), "draining");
  EXPECT_EQ(world.node().last_drain["Meta"]["who"].as_string(), "me");
  EXPECT_TRUE(world.node().last_drain["StartedAt"].is_null()) << "its start was not recorded here";
  NodeDrainEntry end;
  end.updated_at = kRequestNow;
  end.updates.emplace_back().node_id = kFirstNode, end.updates[0].complete = true;
  ASSERT_EQ(world.apply(end), "");
  EXPECT_EQ(world.node().last_drain["Status"].as_string(), "complete");
  EXPECT_FALSE(world.node().drain_strategy);
  ASSERT_EQ(world.apply(end), "");
  EXPECT_EQ(world.node().last_drain["Status"].as_string(), "complete") << "it was not draining any more";
}

TEST(NodeRequests, ReadyNodesWaitForTheirPool) {  // R-CTRL-923
  NodeWorld world([](model::Job&, model::ClusterState& state) {
    state.nodes[0].status = "initializing", state.nodes[0].node_pool = "gpu";
    state.nodes[1].status = "initializing", state.nodes[1].node_pool = "all";
  });
  const auto heartbeat = [&](const std::string& id = kFirstNode) {
    const NodeAnswer answer = world.nodes().update_status(id, "ready", kRequestNow);
    EXPECT_EQ(answer.error, "");
    return answer.entries.size();
  };
  EXPECT_EQ(heartbeat(), 1u);
  EXPECT_EQ(world.node().status, "initializing");
  constexpr const char* kWaits = "Node registered but waiting for node pool to be created";
  ASSERT_EQ(world.events(), std::vector<std::string>{kWaits});
  EXPECT_EQ(world.node().events.items()[0]["Details"]["node_pool"].as_string(), "gpu");
  EXPECT_EQ(heartbeat(), 0u) << "the event is added once";
  model::NodePool pool;
  pool.name = "gpu";
  ASSERT_EQ(world.apply(NodePoolUpsertEntry{{pool}}), "");
  EXPECT_EQ(heartbeat(), 1u);
  EXPECT_EQ(world.node().status, "ready");
  EXPECT_EQ(world.events().size(), 1u);
  heartbeat(kSecondNode);
  EXPECT_EQ(world.node(kSecondNode).status, "ready") << "`all` always exists";
}

TEST(NodeRequests, StatusesFollowTheStateMachine) {  // R-CTRL-922, 924, 925, 927, 928, 930
  NodeWorld world([](model::Job&, model::ClusterState& state) {
    auto job = testing::make_job({.groups = {{.name = "web"}}});
    state.allocs.push_back(testing::make_alloc({.id = request_id(2, 1), .job = job, .node_id = kFirstNode}));
  });
  const auto set = [&](const char* status, const std::string& id = kFirstNode) {
    return world.nodes().update_status(id, status, kRequestNow);
  };
  EXPECT_EQ(set("resting").error, "invalid status for node");
  EXPECT_EQ(set("ready", kNoNode).error, "node not found");
  EXPECT_EQ(world.nodes().heartbeat_missed(kNoNode, kRequestNow).error, "node not found");
  EXPECT_TRUE(set("ready").entries.empty());
  const NodeAnswer down = set("down");
  EXPECT_FALSE(down.resets_timer);
  EXPECT_EQ(down.eval_ids.size(), 1u);
  EXPECT_TRUE(world.events().empty());
  const NodeAnswer again = set("down");
  EXPECT_EQ(again.node_modify_index, 0u) << "nothing changed";
  EXPECT_EQ(again.eval_ids.size(), 1u) << "but `down` is evaluated each time (R-CTRL-929)";
  EXPECT_TRUE(set("ready").resets_timer);
  EXPECT_EQ(world.node().status, "ready");
  EXPECT_EQ(world.events(), std::vector<std::string>{"Node reregistered by heartbeat"});
  EXPECT_EQ(set("disconnected").eval_ids.size(), 1u);
  const std::uint64_t missed = world.node().last_missed_heartbeat_index;
  EXPECT_EQ(set("ready").eval_ids.size(), 1u);
  EXPECT_EQ(world.node().status, "initializing");
  EXPECT_EQ(set("ready").node_modify_index, 0u) << "its client has not reported since the missed heartbeat";
  model::Allocation report;
  report.id = request_id(2, 1), report.node_id = kFirstNode, report.client_status = "running";
  ASSERT_EQ(world.requests().update_allocs({report}, kRequestNow, kRequestNow).error, "");
  EXPECT_GT(world.node().last_alloc_update_index, missed);
  set("ready");
  EXPECT_EQ(world.node().status, "ready");
  EXPECT_EQ(world.node().last_missed_heartbeat_index, 0u) << "R-CTRL-926";
}

TEST(NodeRequests, RegistrationsAreCheckedAndCompleted) {  // R-CTRL-901, 902, 908, 909
  NodeWorld world([](model::Job& job, model::ClusterState& state) {
    state.nodes[0].secret_id = "s";
    state.nodes[0].node_resources->devices.emplace_back().name = "t4";
    auto copy = std::make_shared<model::Job>(job);
    state.allocs.push_back(testing::make_alloc({.id = request_id(2, 1), .job = copy, .node_id = kFirstNode}));
  });
  model::Node node = testing::make_node({.id = kNoNode});
  node.status = "odd";
  EXPECT_EQ(world.nodes().register_node(node, kRequestNow).error, "invalid status for node");
  node.status = node.scheduling_eligibility = node.node_pool = "";
  const NodeAnswer fresh = world.nodes().register_node(node, kRequestNow);
  ASSERT_EQ(fresh.error, "");
  EXPECT_TRUE(fresh.resets_timer);
  EXPECT_TRUE(fresh.eval_ids.empty()) << "it is initializing";
  EXPECT_EQ(world.node(kNoNode).status, "initializing");
  EXPECT_EQ(world.node(kNoNode).scheduling_eligibility, "eligible");
  EXPECT_EQ(world.node(kNoNode).node_pool, "default");
  EXPECT_EQ(world.node(kNoNode).status_updated_at, kSeconds);
  EXPECT_FALSE(world.node(kNoNode).computed_class.empty());

  const model::Node stored = world.node();
  model::Node other = stored;
  other.secret_id = "wrong";
  EXPECT_EQ(world.nodes().register_node(other, kRequestNow).error,
            "node secret ID does not match. Not registering node.");
  const auto evals_of = [&](auto change, bool restarted = false) {
    model::Node changed = stored;
    change(changed);
    const NodeAnswer answer = world.nodes().register_node(changed, kRequestNow, restarted);
    EXPECT_EQ(answer.error, "");
    EXPECT_EQ(world.nodes().register_node(stored, kRequestNow).error, "");
    return answer.eval_ids.size();
  };
  const auto nothing = [](model::Node&) {};
  EXPECT_EQ(evals_of(nothing), 0u);
  EXPECT_EQ(evals_of(nothing, true), 0u) << "it has no drivers to detect again";
  EXPECT_EQ(evals_of([](model::Node& n) { n.drivers["docker"].emplace(); }, true), 1u);
  EXPECT_EQ(evals_of([](model::Node& n) { n.node_resources->memory.memory_mb = 1; }), 0u);
  EXPECT_EQ(evals_of([](model::Node& n) { n.datacenter = "dc2"; }), 1u);
  EXPECT_EQ(evals_of([](model::Node& n) { n.name = "other"; }), 1u);
  EXPECT_EQ(evals_of([](model::Node& n) { n.node_class = "big"; }), 1u);
  EXPECT_EQ(evals_of([](model::Node& n) { n.attributes["a"] = "b"; }), 1u);
  EXPECT_EQ(evals_of([](model::Node& n) { n.meta["a"] = "b"; }), 1u);
  EXPECT_EQ(evals_of([](model::Node& n) { n.drivers["exec"].emplace(); }), 1u);
  EXPECT_EQ(evals_of([](model::Node& n) { n.host_volumes["v"].emplace(); }), 1u);
  EXPECT_EQ(evals_of([](model::Node& n) { n.node_resources->devices[0].name = "a100"; }), 1u);
  EXPECT_EQ(evals_of([](model::Node& n) { n.node_resources.reset(); }), 1u) << "its devices are gone";
}

TEST(NodeRequests, SystemJobsAreEvaluatedWhereTheyMayRun) {  // R-CTRL-950 to 955
  struct Case {
    const char *pool, *datacenter;
    bool stopped, evaluated;
  };
  for (const Case& one :
       {Case{"default", "dc1", false, true}, Case{"all", "dc1", false, true}, Case{"gpu", "dc1", false, false},
        Case{"default", "dc2", false, false}, Case{"default", "dc1", true, false}}) {
    SCOPED_TRACE(std::string(one.pool) + " " + one.datacenter + (one.stopped ? " stopped" : ""));
    NodeWorld world([&](model::Job& job, model::ClusterState&) {
      job.type = "system", job.node_pool = one.pool, job.datacenters = {one.datacenter}, job.stop = one.stopped;
    });
    const NodeAnswer answer = world.nodes().evaluate(kFirstNode, kRequestNow);
    ASSERT_EQ(answer.error, "");
    ASSERT_EQ(answer.eval_ids.size(), one.evaluated ? 1u : 0u);
    if (!one.evaluated) continue;
    const auto eval = world.log().eval(answer.eval_ids[0]);
    EXPECT_EQ(eval->job_id, "j");
    EXPECT_EQ(eval->triggered_by, "node-update");
    EXPECT_EQ(eval->node_id, kFirstNode);
  }
}

TEST(NodeRequests, AllocationsCauseEvaluationsByTheTypeOfTheirJob) {  // R-CTRL-951
  struct Case {
    const char *type, *desired, *client;
    bool evaluated;
  };
  for (const Case& one : {Case{"service", "run", "running", true}, Case{"service", "stop", "running", true},
                          Case{"service", "run", "failed", true}, Case{"service", "stop", "complete", false},
                          Case{"batch", "run", "running", true}, Case{"batch", "stop", "running", true},
                          Case{"batch", "run", "complete", false}, Case{"sysbatch", "run", "running", false}}) {
    SCOPED_TRACE(std::string(one.type) + " " + one.desired + " " + one.client);
    NodeWorld world([&](model::Job& job, model::ClusterState& state) {
      job.type = one.type;
      for (std::uint64_t number = 1; number <= 2; ++number)  // two allocations, one evaluation
        state.allocs.push_back(testing::make_alloc({.id = request_id(2, number),
                                                    .job = std::make_shared<model::Job>(job),
                                                    .node_id = kFirstNode,
                                                    .index = number,
                                                    .client = one.client}));
      for (model::Allocation& alloc : state.allocs) alloc.desired_status = one.desired;
    });
    EXPECT_EQ(world.nodes().evaluate(kFirstNode, kRequestNow).eval_ids.size(), one.evaluated ? 1u : 0u);
  }
}

TEST(NodeRequests, LostNodesDisconnectWhileAnAllocationMayReturn) {  // R-CTRL-918, 919
  struct Case {
    const char *status, *desired, *client, *group;
    std::int64_t lost_after, unknown_since;  ///< s; the second: before now
    const char* expected;
  };
  for (const Case& one :
       {Case{"ready", "run", "running", "web", 60, 0, "disconnected"},
        Case{"ready", "run", "running", "web", 0, 0, "down"}, Case{"ready", "run", "running", "none", 60, 0, "down"},
        Case{"ready", "stop", "running", "web", 60, 0, "down"},
        Case{"ready", "run", "complete", "web", 60, 0, "disconnected"},
        Case{"initializing", "run", "running", "web", 60, 0, "down"},
        Case{"disconnected", "run", "unknown", "web", 60, 59, "disconnected"},
        Case{"disconnected", "run", "unknown", "web", 60, 61, "down"}}) {
    SCOPED_TRACE(std::string(one.status) + " " + one.desired + " " + one.client + " " + one.group);
    NodeWorld world([&](model::Job& job, model::ClusterState& state) {
      state.nodes[0].status = one.status;
      if (one.lost_after) job.task_groups[0].disconnect.emplace().lost_after = one.lost_after * base::kSecond;
      model::Allocation& alloc =
          state.allocs.emplace_back(testing::make_alloc({.id = request_id(2, 1),
                                                         .job = std::make_shared<model::Job>(job),
                                                         .node_id = kFirstNode,
                                                         .client = one.client}));
      alloc.desired_status = one.desired, alloc.task_group = one.group;
      alloc.name = std::string("j.") + one.group + "[0]";
      if (one.unknown_since)
        alloc.alloc_states.push_back({0, "unknown", base::Time{kRequestNow - one.unknown_since * base::kSecond}});
    });
    const NodeAnswer answer = world.nodes().heartbeat_missed(kFirstNode, kRequestNow);
    EXPECT_EQ(answer.error, "");
    EXPECT_EQ(world.node().status, one.expected);
    EXPECT_EQ(world.events(), std::vector<std::string>{"Node heartbeat missed"});
  }
}

TEST(Nodes, AViewShowsThemAsTheyWere) {
  NodeWorld world;
  ASSERT_EQ(world.apply(NodeStatusEntry{kFirstNode, "down", kSeconds, {}}), "");
  const NodeView view = world.log().node_view();
  const model::Node before = world.node(), untouched = world.node(kSecondNode);
  const tables::NodeRow row = world.log().store().find_node(kFirstNode),
                        other = world.log().store().find_node(kSecondNode);
  EXPECT_EQ(world.log().node_modify_index(row), before.modify_index);
  EXPECT_EQ(world.log().node_modify_index(other), untouched.modify_index);
  EXPECT_EQ(world.log().status_updated_at(row), kSeconds);
  EXPECT_EQ(world.log().status_updated_at(other), untouched.status_updated_at);
  ASSERT_EQ(world.apply(NodeStatusEntry{kFirstNode, "ready", kSeconds + 9, {}}), "");
  ASSERT_EQ(world.apply(NodeStatusEntry{kSecondNode, "down", kSeconds + 9, {}}), "");
  EXPECT_EQ(view.node(row), before);
  EXPECT_EQ(view.node(other), untouched);
  EXPECT_EQ(view.modify_index(row), before.modify_index);
  EXPECT_EQ(view.modify_index(other), untouched.modify_index);
  EXPECT_EQ(world.log().node_modify_index(row), before.modify_index + 1);
}

}  // namespace
}  // namespace berth::fsm
