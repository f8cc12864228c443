// What a plan writes: each kind of entry as rows, and as API objects where plans come as such (R-CTRL-616 to 631, 701
// to 714, 727 to 729).
#include <gtest/gtest.h>

#include "base/json.h"
#include "model/job.h"
#include "model/plan_predicates.h"
#include "plan/apply.h"
#include "support/cluster_objects.h"
#include "tables/check.h"
#include "tables/export.h"

namespace berth::plan {
namespace {

using tables::AllocRow;
using tables::Client;
using tables::Description;
using Kind = PlannedUpdate::Kind;

constexpr std::int64_t kTime = 2'000'000 * base::kSecond;

std::string id(std::uint64_t kind, std::uint64_t number) { return base::to_text(base::Uuid{kind, number}); }
base::Uuid uuid_of(std::uint64_t kind, std::uint64_t number) { return {kind, number}; }

/// Three nodes and the job "j" with the groups "web" and "db"; `shape` modifies the state for the test.
class Plans {
 public:
  template <class Shape>
  explicit Plans(Shape shape, const model::Quirks& quirks = {}) : log_(store, quirks), applier(store, quirks) {
    model::ClusterState state;
    state.index = 100;
    for (std::uint64_t number = 1; number <= 3; ++number)
      state.nodes.push_back(testing::make_node({.id = id(1, number), .name = "n" + std::to_string(number)}));
    job = testing::make_job({.groups = {{.name = "web"}, {.name = "db"}}});
    job->create_index = job->modify_index = 90;
    shape(*this, state);
    state.jobs.push_back(job), state.job_versions.push_back(job);
    for (model::Allocation& alloc : state.allocs) alloc.job = job;
    store.load(state);
    log_.load(state);
    applier.keep_records(log_);
    rows.job = current();
  }
  Plans() : Plans([](Plans&, model::ClusterState&) {}) {}

  model::Allocation& add(model::ClusterState& state, const char* client = "running", const char* group = "web") {
    const std::uint64_t number = state.allocs.size() + 1;
    model::Allocation& alloc = state.allocs.emplace_back(testing::make_alloc(
        {.id = id(2, number), .job = job, .node_id = id(1, 1), .index = number, .client = client, .group = group}));
    alloc.create_index = alloc.modify_index = alloc.alloc_modify_index = 95;
    return alloc;
  }
  tables::VersionRow current() { return store.current().jobs.keys[store.find_job_key("default", "j")].current; }
  AllocRow row(std::uint64_t number) { return store.find_alloc(uuid_of(2, number)); }
  model::Allocation stored(std::uint64_t number) { return tables::to_alloc(store.current(), row(number)); }
  PlannedAlloc& place(std::uint64_t number, tables::NodeRow node, std::uint32_t group = 0) {
    PlannedAlloc& alloc = rows.allocs.emplace_back();
    alloc.id = uuid_of(2, number), alloc.node = node, alloc.group = group, alloc.first_on_node = true;
    alloc.held = store.current().jobs.versions[rows.job]->groups[group].shape.get();
    return alloc;
  }
  std::uint32_t give(model::Allocation alloc) {
    rows.given.push_back(std::make_shared<const model::Allocation>(std::move(alloc)));
    return static_cast<std::uint32_t>(rows.given.size() - 1);
  }
  ApplyResult apply() {
    ApplyResult result;
    facts.index = log_.next_index(), facts.now_ns = kTime;
    applier.apply(rows, facts, result);
    for (const std::string& problem : tables::check_tables(store)) ADD_FAILURE() << problem;
    rows.clear();
    rows.job = current();
    return result;
  }
  fsm::StateLog& log() { return log_; }

  std::shared_ptr<model::Job> job;
  tables::StateStore store;
  PlanRows rows;
  CommitFacts facts;

 private:
  fsm::StateLog log_;

 public:
  Applier applier;
};

std::string states_of(const model::Allocation& alloc) {
  std::string out;
  for (const model::AllocState& entry : alloc.alloc_states) out += entry.value + " ";
  return out;
}

// ---------------------------------------------------------------- stops

TEST(PlanWrites, StopsAsNomadWritesThem) {  // R-CTRL-702, 703, 713
  struct Case {
    const char* what;
    bool has_states;
    PlannedStop stop;
    const char *description, *client, *states;
    bool followup;
  };
  const std::vector<Case> cases = {
      {"plain",
       false,
       {.description = Description::not_needed},
       "alloc not needed due to job update",
       "running",
       "",
       false},
      {"lost",
       false,
       {.description = Description::lost, .client = Client::lost},
       "alloc is lost since its node is down",
       "lost",
       "",
       false},
      {"unknown", false, {.client = Client::unknown}, "", "unknown", "", false},
      {"a status that is ignored", false, {.client = Client::complete}, "", "running", "", false},
      {"with a follow-up", false, {.client = Client::lost, .followup = 0}, "", "lost", "", true},
      {"states are erased", true, {.client = Client::lost}, "", "lost", "", false},
      {"replaced", false, {.replaced = true, .description = Description::rescheduled}, "", "running", "", false},
      {"replaced, with its description",
       false,
       {.replaced = true, .keeps_description = true, .description = Description::rescheduled},
       "alloc was rescheduled because it failed",
       "running",
       "",
       false},
      {"replaced, with states", true, {.replaced = true, .client = Client::lost}, "", "running", "", false},
  };
  for (const Case& one : cases) {
    SCOPED_TRACE(one.what);
    Plans plans([&](Plans& p, model::ClusterState& state) {
      model::Allocation& alloc = p.add(state);
      if (one.has_states) alloc.alloc_states.push_back({0, "unknown", base::Time{5}});
    });
    PlannedStop stop = one.stop;
    stop.alloc = plans.row(1);
    plans.rows.followups = {uuid_of(4, 7)};
    plans.rows.stops.push_back(stop);
    const ApplyResult result = plans.apply();
    EXPECT_EQ(result.stopped, 1u);
    const model::Allocation after = plans.stored(1);
    EXPECT_EQ(after.desired_status, "stop");
    EXPECT_EQ(after.desired_description, one.description);
    EXPECT_EQ(after.client_status, one.client);
    EXPECT_EQ(states_of(after), one.states);
    EXPECT_EQ(after.followup_eval_id, one.followup ? id(4, 7) : "");
    EXPECT_EQ(after.modify_time, kTime);
    EXPECT_EQ(after.modify_index, result.index);
    EXPECT_EQ(after.alloc_modify_index, result.index);
    EXPECT_FALSE(after.reschedule_tracker) << "a stop's tracker is not applied";
  }
}

TEST(PlanWrites, StopsWithoutQuirksKeepStatesAndTrackers) {
  struct Case {
    const char* what;
    PlannedStop stop;
    const char *states, *note;
  };
  for (const Case& one :
       {Case{"plain", {}, "unknown ", ""}, Case{"lost", {.client = Client::lost}, "unknown lost ", ""},
        Case{"came back", {.came_back = true}, "unknown running ", ""},
        Case{"came back and lost", {.came_back = true, .client = Client::lost}, "unknown running lost ", ""},
        Case{"replaced", {.replaced = true}, "unknown ", "ok"}})
    for (const bool as_row : {false, true}) {
      SCOPED_TRACE(std::string(one.what) + (as_row ? ", a row before" : ", an object before"));
      Plans plans(
          [&](Plans& p, model::ClusterState& state) {
            model::Allocation& alloc = p.add(state);
            if (!as_row) alloc.alloc_states.push_back({0, "unknown", base::Time{5}});
          },
          model::Quirks::none());
      PlannedStop stop = one.stop;
      stop.alloc = plans.row(1);
      plans.rows.stops.push_back(stop);
      EXPECT_EQ(plans.apply().stopped, 1u);
      const model::Allocation after = plans.stored(1);
      EXPECT_EQ(states_of(after), std::string(one.states).substr(as_row ? 8 : 0));
      EXPECT_EQ(after.reschedule_tracker ? after.reschedule_tracker->last_reschedule : "", one.note);
      EXPECT_EQ(after.client_status, stop.client ? "lost" : "running");
    }
}

TEST(PlanWrites, GivenStops) {  // R-CTRL-702, 713
  for (const model::Quirks& quirks : {model::Quirks(), model::Quirks::none()})
    for (const char* client : {"", "lost", "unknown", "complete"}) {
      SCOPED_TRACE(client);
      const bool keeps = !quirks.stop_erases_states;
      Plans plans(
          [&](Plans& p, model::ClusterState& state) {
            model::Allocation& alloc = p.add(state);
            for (const char* value : {"unknown", "running"}) alloc.alloc_states.push_back({0, value, base::Time{5}});
            alloc.followup_eval_id = id(4, 1);
          },
          quirks);
      model::Allocation given = plans.stored(1);
      given.client_status = client, given.desired_description = "enough";
      given.alloc_states.resize(1);
      given.followup_eval_id = *client ? id(4, 2) : "";
      given.reschedule_tracker.emplace().last_reschedule = "ok";
      plans.rows.stops.push_back({.alloc = plans.row(1), .given = plans.give(given)});
      EXPECT_EQ(plans.apply().stopped, 1u);
      const model::Allocation after = plans.stored(1);
      EXPECT_EQ(after.desired_status, "stop");
      EXPECT_EQ(after.desired_description, "enough");
      const bool takes = std::string_view(client) == "lost" || std::string_view(client) == "unknown";
      EXPECT_EQ(after.client_status, takes ? client : "running");
      EXPECT_EQ(states_of(after), keeps ? "unknown running " : "unknown ")
          << "an older list does not replace a newer one";
      EXPECT_EQ(after.followup_eval_id, *client ? id(4, 2) : id(4, 1));
      EXPECT_EQ(after.reschedule_tracker.has_value(), !quirks.reschedule_loses_description);
    }
}

// ---------------------------------------------------------------- updates

TEST(PlanWrites, UpdatesByTheirKind) {  // R-CTRL-703, 710, 713
  struct Case {
    const char* what;
    PlannedUpdate update;
    const char *before, *after, *states;
    const char* note = "";
    bool followup = false, takes_job = true;
  };
  const std::vector<Case> cases = {
      {"in place", {}, "running", "running", ""},
      {"in place, back", {.came_back = true}, "unknown", "unknown", "unknown "},
      {"in place, with a follow-up", {.followup = 0}, "running", "running", "", "", true},
      {"unknown", {.kind = Kind::unknown}, "running", "unknown", "unknown ", "", false, false},
      {"unknown, with a follow-up",
       {.kind = Kind::unknown, .followup = 0},
       "running",
       "unknown",
       "unknown ",
       "",
       true,
       false},
      {"reconnects", {.kind = Kind::reconnects}, "running", "running", "running "},
      {"annotated", {.kind = Kind::annotated, .followup = 0}, "failed", "failed", "", "", true, false},
      {"annotated, live", {.kind = Kind::annotated, .note = PlannedUpdate::Note::ok}, "running", "running", "", "ok"},
      {"not placed",
       {.kind = Kind::not_placed, .note = PlannedUpdate::Note::no_placement},
       "failed",
       "failed",
       "",
       "no placement"},
  };
  for (const Case& one : cases) {
    SCOPED_TRACE(one.what);
    Plans plans([&](Plans& p, model::ClusterState& state) { p.add(state, one.before); });
    fsm::Hooks hooks;
    auto newer = std::make_shared<model::Job>(*plans.job);
    newer->priority = 70;
    ASSERT_EQ(plans.log().apply(101, fsm::JobRegisterEntry{.job = newer}, hooks), "");
    plans.rows.job = plans.current();
    plans.rows.followups = {uuid_of(4, 7)};
    PlannedUpdate update = one.update;
    update.alloc = plans.row(1);
    plans.rows.updates.push_back(update);
    const ApplyResult result = plans.apply();
    EXPECT_EQ(result.committed, 1u);
    const model::Allocation after = plans.stored(1);
    EXPECT_EQ(after.desired_status, "run");
    EXPECT_EQ(after.client_status, one.after);
    EXPECT_EQ(after.client_description, one.update.kind == Kind::unknown ? model::kUnknownNode : "");
    EXPECT_EQ(states_of(after), one.states);
    EXPECT_EQ(after.followup_eval_id, one.followup ? id(4, 7) : "");
    EXPECT_EQ(after.reschedule_tracker ? after.reschedule_tracker->last_reschedule : "", one.note);
    EXPECT_EQ(after.job->version, one.takes_job ? 1u : 0u);
    EXPECT_EQ(after.create_index, 95u);
    EXPECT_EQ(after.modify_index, result.index);
    EXPECT_EQ(after.modify_time, kTime);
  }
}

TEST(PlanWrites, AnUpdateKeepsAGroupThatTheCurrentVersionLacks) {  // R-CTRL-710
  Plans plans([](Plans& p, model::ClusterState& state) { p.add(state, "running", "db"); });
  const tables::VersionRow planned = plans.current();
  fsm::Hooks hooks;
  auto newer = std::make_shared<model::Job>(*plans.job);
  newer->task_groups.resize(1);
  ASSERT_EQ(plans.log().apply(101, fsm::JobRegisterEntry{.job = newer}, hooks), "");
  plans.rows.job = planned;
  plans.rows.updates.push_back({.alloc = plans.row(1)});
  EXPECT_EQ(plans.apply().committed, 1u);
  EXPECT_EQ(plans.stored(1).task_group, "db");
  EXPECT_EQ(plans.stored(1).job->version, 1u);
  EXPECT_EQ(plans.stored(1).name, "j.db[1]");
}

TEST(PlanWrites, MetricsReplaceThoseOfAnUpdateOrAreKept) {  // R-SCHED-118
  for (const bool as_object : {false, true}) {
    Plans plans([&](Plans& p, model::ClusterState& state) {
      for (int i = 0; i < 2; ++i) {
        model::Allocation& alloc = p.add(state);
        if (as_object) alloc.alloc_states.push_back({0, "running", base::Time{5}});
        alloc.metrics.emplace().nodes_evaluated = 1;
      }
    });
    const std::function<std::shared_ptr<const model::AllocMetric>(const SelectMetrics&)> text =
        [](const SelectMetrics& metrics) {
          auto out = std::make_shared<model::AllocMetric>();
          out->nodes_evaluated = metrics.evaluated;
          return out;
        };
    PlannedUpdate update;
    update.alloc = plans.row(1), update.metrics.emplace().evaluated = 7;
    for (const bool stores : {false, true}) {
      plans.facts.metrics = stores ? &text : nullptr;
      plans.rows.updates = {update, {.alloc = plans.row(2)}};
      plans.place(9 + stores, 1).metrics.evaluated = 5;
      EXPECT_EQ(plans.apply().committed, 3u);
      EXPECT_EQ(plans.stored(1).metrics->nodes_evaluated, stores ? 7 : 1);
      EXPECT_EQ(plans.stored(2).metrics->nodes_evaluated, 1);
      EXPECT_EQ(plans.stored(9 + stores).metrics.has_value() && plans.stored(9 + stores).metrics->nodes_evaluated == 5,
                stores);
    }
  }
}

TEST(PlanWrites, TheLastEntryForAnAllocationWins) {  // R-CTRL-704, 713
  struct Case {
    const char* what;
    std::optional<Client> stop_client;
    bool replaced, dropped;
    const char *desired, *client;
  };
  for (const Case& one :
       {Case{"stopped", {}, false, false, "stop", "unknown"}, Case{"lost", Client::lost, false, false, "stop", "lost"},
        Case{"replaced", Client::lost, true, false, "stop", "unknown"},
        Case{"withdrawn", Client::lost, false, true, "run", "unknown"}})
    for (const bool given : {false, true}) {
      SCOPED_TRACE(std::string(one.what) + (given ? ", given" : ""));
      Plans plans([](Plans& p, model::ClusterState& state) {
        p.add(state), p.add(state);
        state.nodes[0].status = "disconnected";
      });
      PlannedUpdate update{.alloc = plans.row(1), .kind = Kind::unknown};
      if (given) {
        model::Allocation object = plans.stored(1);
        object.client_status = "unknown", object.client_description = model::kUnknownNode;
        update.kind = Kind::given, update.given = plans.give(object);
      }
      plans.rows.updates.push_back(update);
      plans.rows.updates.push_back({.alloc = plans.row(2), .dropped = true});
      plans.rows.stops.push_back(
          {.alloc = plans.row(1), .replaced = one.replaced, .dropped = one.dropped, .client = one.stop_client});
      EXPECT_EQ(plans.apply().committed, 1u);
      EXPECT_EQ(plans.stored(1).desired_status, one.desired);
      EXPECT_EQ(plans.stored(1).client_status, one.client);
      EXPECT_EQ(plans.stored(2).client_status, "running") << "a withdrawn entry is not written";
    }
}

// ---------------------------------------------------------------- placements

TEST(PlanWrites, PlacementsUseTheCurrentVersion) {  // R-CTRL-503, 710
  struct Case {
    const char* what;
    bool keeps_group, names_version;
    const char* name;
    std::uint64_t version;
  };
  for (const Case& one :
       {Case{"same groups", true, false, "j.db[4]", 1}, Case{"no such group", false, false, "j.db[4]", 1},
        Case{"its own version", false, true, "j.db[4]", 0}}) {
    SCOPED_TRACE(one.what);
    Plans plans;
    const tables::VersionRow planned = plans.current();
    fsm::Hooks hooks;
    auto newer = std::make_shared<model::Job>(*plans.job);
    newer->priority = 70;
    if (!one.keeps_group) newer->task_groups.resize(1);
    ASSERT_EQ(plans.log().apply(101, fsm::JobRegisterEntry{.job = newer}, hooks), "");
    plans.rows.job = planned;
    PlannedAlloc& alloc = plans.place(1, 1, 1);
    alloc.name_index = 4;
    if (one.names_version) alloc.job = planned;
    EXPECT_EQ(plans.apply().committed, 1u);
    EXPECT_EQ(plans.stored(1).name, one.name);
    EXPECT_EQ(plans.stored(1).task_group, "db");
    EXPECT_EQ(plans.stored(1).job->version, one.version);
    EXPECT_EQ(plans.stored(1).modify_time, kTime);
  }
}

TEST(PlanWrites, ReplacementsKeepNamesAndAreLinked) {  // R-CTRL-714, R-SEED-18
  for (const bool odd : {false, true}) {
    Plans plans([&](Plans& p, model::ClusterState& state) {
      p.add(state, "failed");
      if (odd) state.allocs[0].name = "old-name";
      p.add(state, "failed", "db");
    });
    PlannedAlloc& same = plans.place(11, 1);
    same.previous = plans.row(1), same.keeps_name = true, same.name_index = 9, same.task_states = 0;
    plans.rows.task_states.emplace_back()["t"].emplace().state = "pending";
    PlannedAlloc& other = plans.place(12, 2);  // of another group than its predecessor
    other.previous = plans.row(2), other.keeps_name = true;
    const ApplyResult result = plans.apply();
    EXPECT_EQ(result.committed, 2u);
    EXPECT_EQ(plans.stored(11).name, odd ? "old-name" : "j.web[1]");
    EXPECT_EQ(plans.stored(11).task_states.at("t")->state, "pending");
    EXPECT_EQ(plans.stored(12).name, "j.db[2]");
    for (const std::uint64_t number : {1, 2}) {
      EXPECT_EQ(plans.stored(number).next_allocation, id(2, 10 + number));
      EXPECT_EQ(plans.stored(10 + number).previous_allocation, id(2, number));
      EXPECT_EQ(plans.stored(number).modify_index, result.index);
      EXPECT_EQ(plans.stored(number).alloc_modify_index, 95u);
    }
  }
}

TEST(PlanWrites, GivenPlacements) {  // R-CTRL-625, 711, 714
  Plans plans([](Plans& p, model::ClusterState& state) {
    p.add(state, "failed");
    model::Deployment& deployment = state.deployments.emplace_back();
    deployment.id = id(3, 1), deployment.namespace_ = "default", deployment.job_id = "j", deployment.status = "running";
    deployment.task_groups["web"].emplace();
  });
  model::Allocation given = testing::make_alloc(
      {.id = id(2, 11), .job = plans.job, .node_id = id(1, 2), .client = "pending", .group = "web"});
  given.previous_allocation = id(2, 1), given.deployment_id = id(3, 1);
  given.deployment_status.emplace().canary = true;
  const auto submit = [&] {
    plans.rows.allocs.push_back({.id = uuid_of(2, 11), .node = 1, .given = plans.give(given), .first_on_node = true});
    return plans.apply();
  };
  given.job = nullptr;
  EXPECT_EQ(submit().error, "attempting to upsert allocation \"" + id(2, 11) + "\" without a job");
  EXPECT_EQ(plans.row(11), tables::kNoRow);
  given.job = plans.job;
  given.allocated_resources.reset();
  const ApplyResult result = submit();
  EXPECT_EQ(result.error, "");
  EXPECT_EQ(plans.stored(11).create_time, kTime);
  EXPECT_EQ(plans.stored(11).create_index, result.index);
  EXPECT_EQ(plans.stored(11).deployment_status->modify_index, result.index);
  EXPECT_EQ(plans.stored(1).next_allocation, id(2, 11));
  const auto deployment = plans.log().deployment(id(3, 1));
  EXPECT_EQ(deployment->task_groups.at("web")->placed_allocs, 1);
  EXPECT_EQ(deployment->task_groups.at("web")->placed_canaries, std::vector<std::string>{id(2, 11)});
}

// ---------------------------------------------------------------- deployments

model::Deployment& add_deployment(model::ClusterState& state, std::uint64_t number, const char* status = "running") {
  model::Deployment& deployment = state.deployments.emplace_back();
  deployment.id = id(3, number), deployment.namespace_ = "default", deployment.job_id = "j";
  deployment.status = status, deployment.create_index = deployment.modify_index = 90;
  deployment.task_groups["web"].emplace().progress_deadline = 60;
  deployment.task_groups["db"].emplace();
  return deployment;
}

TEST(PlanWrites, PlacementsCountInTheirDeployment) {  // R-CTRL-705, 727 to 729
  Plans plans([](Plans& p, model::ClusterState& state) {
    p.add(state), p.add(state).deployment_id = id(3, 1);
    add_deployment(state, 1).task_groups["web"]->placed_canaries = {id(2, 12)};
    state.deployments[0].task_groups.erase("db");
  });
  plans.rows.deployment_ids = {uuid_of(3, 1)};
  plans.place(11, 2).canary = true;
  plans.place(12, 1).canary = true;  // listed already
  plans.place(13, 0).canary = true;
  PlannedAlloc& unlisted = plans.place(14, 0, 1);  // of a group that the deployment lacks
  unlisted.first_on_node = false, plans.rows.allocs[2].next_on_node = 3;
  for (const std::uint64_t number : {1, 2})
    plans.rows.updates.push_back({.alloc = plans.row(number), .to_deployment = true});
  const ApplyResult result = plans.apply();
  EXPECT_EQ(result.committed, 6u);
  const auto deployment = plans.log().deployment(id(3, 1));
  EXPECT_EQ(deployment->task_groups.at("web")->placed_allocs, 4) << "one update was in it already";
  EXPECT_EQ(deployment->task_groups.at("web")->placed_canaries,
            (std::vector<std::string>{id(2, 12), id(2, 13), id(2, 11)}))
      << "by ascending node";
  EXPECT_EQ(deployment->task_groups.at("web")->require_progress_by.ns, kTime + 60);
  EXPECT_FALSE(deployment->task_groups.contains("db"));
  EXPECT_EQ(deployment->modify_time, kTime);
  EXPECT_EQ(deployment->modify_index, result.index);
  EXPECT_EQ(plans.stored(1).deployment_id, id(3, 1));
  EXPECT_TRUE(plans.stored(11).deployment_status->canary);
}

TEST(PlanWrites, ADeploymentLosesCanariesThatWereRejected) {  // R-CTRL-619, 706
  Plans plans([](Plans& p, model::ClusterState& state) {
    p.add(state);                     // its update is accepted
    p.add(state).node_id = id(1, 3);  // its node is rejected
    state.nodes[2].scheduling_eligibility = "ineligible";
    add_deployment(state, 1).task_groups["web"]->placed_allocs = 5;
    state.deployments[0].task_groups["third"];
  });
  auto planned = std::make_shared<model::Deployment>(*plans.log().deployment(id(3, 1)));
  planned->task_groups["web"]->placed_canaries = {id(2, 11), id(2, 12), id(2, 1), id(2, 2), id(2, 99)};
  planned->task_groups["web"]->placed_allocs = 0;
  planned->task_groups["db"].reset();
  planned->task_groups.erase("third");
  plans.rows.has_deployment = true, plans.rows.deployment = planned;
  plans.place(11, 1), plans.place(12, 2);
  for (const std::uint64_t number : {1, 2}) plans.rows.updates.push_back({.alloc = plans.row(number)});
  plans.rows.updates.push_back({.alloc = plans.row(1), .dropped = true});
  const ApplyResult result = plans.apply();
  EXPECT_EQ(result.rejected_nodes, std::vector<tables::NodeRow>{2});
  EXPECT_EQ(result.committed, 2u);
  const auto stored = plans.log().deployment(id(3, 1));
  EXPECT_EQ(stored->task_groups.at("web")->placed_canaries, (std::vector<std::string>{id(2, 11), id(2, 1)}));
  EXPECT_EQ(stored->task_groups.at("web")->placed_allocs, 5) << "the stored count stays";
  EXPECT_FALSE(stored->task_groups.at("db"));
  EXPECT_TRUE(stored->task_groups.contains("third")) << "a missing group is copied";
  EXPECT_EQ(stored->create_index, 90u);
}

TEST(PlanWrites, TheFirstImpossibleStatusEndsTheList) {  // R-CTRL-708
  for (const bool unknown : {false, true}) {
    Plans plans([](Plans&, model::ClusterState& state) {
      add_deployment(state, 1), add_deployment(state, 2, "failed"), add_deployment(state, 3);
    });
    plans.rows.deployment_updates = {{uuid_of(3, 1), "cancelled", "over"},
                                     {uuid_of(3, unknown ? 9 : 2), "cancelled", "over"},
                                     {uuid_of(3, 3), "cancelled", "over"}};
    const ApplyResult result = plans.apply();
    EXPECT_EQ(result.error, "");
    EXPECT_NE(result.index, 0u);
    EXPECT_EQ(plans.log().deployment(id(3, 1))->status, "cancelled");
    EXPECT_EQ(plans.log().deployment(id(3, 1))->status_description, "over");
    EXPECT_EQ(plans.log().deployment(id(3, 2))->status, "failed");
    EXPECT_EQ(plans.log().deployment(id(3, 3))->status, "running");
  }
}

// ---------------------------------------------------------------- evictions and rejections

TEST(PlanWrites, EvictionsThatCount) {  // R-CTRL-608, 616, 627, 701
  Plans plans([](Plans& p, model::ClusterState& state) {
    for (int i = 0; i < 4; ++i) p.add(state);
    state.allocs[1].client_status = "complete";
    state.allocs[2].node_id = state.allocs[3].node_id = id(1, 3);
  });
  std::uint64_t drawn = 0;
  const std::function<base::Uuid()> draw = [&] { return uuid_of(4, ++drawn); };
  plans.facts.draw_id = &draw;
  plans.place(11, 0);
  plans.rows.stops.push_back({.alloc = plans.row(1), .evict = true, .by = 0});
  plans.rows.stops.push_back({.alloc = plans.row(2), .evict = true, .by = 0});  // has ended
  plans.rows.stops.push_back({.alloc = plans.row(3), .evict = true, .by = 0});  // on a node that is not checked
  plans.rows.stops.push_back({.alloc = plans.row(4), .evict = true, .dropped = true, .by = 0});
  const ApplyResult result = plans.apply();
  EXPECT_EQ(result.stopped, 1u);
  EXPECT_EQ(plans.stored(1).desired_status, "evict");
  EXPECT_EQ(plans.stored(1).preempted_by_allocation, id(2, 11));
  EXPECT_EQ(plans.stored(1).desired_description, "Preempted by alloc ID " + id(2, 11));
  for (const std::uint64_t number : {2, 3, 4}) EXPECT_EQ(plans.stored(number).desired_status, "run") << number;
  EXPECT_EQ(plans.stored(11).preempted_allocations, (std::vector<std::string>{id(2, 1), id(2, 2), id(2, 3)}))
      << "as the scheduler chose them";
  ASSERT_TRUE(plans.log().eval(id(4, 1)));
  EXPECT_EQ(plans.log().eval(id(4, 1))->triggered_by, "preemption");
  EXPECT_EQ(drawn, 1u) << "one for each job";
}

TEST(PlanWrites, EvictionsOnNodesThatThePlanStopsOrUpdates) {  // R-CTRL-606, 608
  for (const bool updates : {false, true}) {
    Plans plans([](Plans& p, model::ClusterState& state) {
      for (int i = 0; i < 3; ++i) p.add(state);
    });
    plans.rows.dropped.push_back({uuid_of(2, 77), 0});
    if (updates)
      plans.rows.updates = {{.alloc = plans.row(2)}, {.alloc = plans.row(3), .dropped = true}};
    else
      plans.rows.stops = {{.alloc = plans.row(2)}, {.alloc = plans.row(3), .dropped = true}};
    plans.rows.stops.push_back({.alloc = plans.row(1), .evict = true, .by = kDroppedBy});
    EXPECT_EQ(plans.apply().stopped, updates ? 1u : 2u);
    EXPECT_EQ(plans.stored(1).desired_status, "evict");
    EXPECT_EQ(plans.stored(1).preempted_by_allocation, id(2, 77)) << "a canary that was trimmed again";
    EXPECT_EQ(plans.stored(3).desired_status, "run");
  }
}

TEST(PlanWrites, AnEvictionKeepsTheLinkThatThePlanMakes) {  // R-CTRL-704, 713
  Plans plans([](Plans& p, model::ClusterState& state) { p.add(state); });
  plans.place(11, 0).previous = plans.row(1);  // replaces what it evicts
  plans.rows.stops.push_back({.alloc = plans.row(1)});
  plans.rows.stops.push_back({.alloc = plans.row(1), .evict = true, .by = 0});
  EXPECT_EQ(plans.apply().stopped, 2u);
  EXPECT_EQ(plans.stored(1).desired_status, "evict");
  EXPECT_EQ(plans.stored(1).next_allocation, id(2, 11));
}

TEST(PlanWrites, NodesThatAreRejectedTooOftenBecomeIneligible) {  // R-CTRL-629 to 631, 905
  Plans plans([](Plans&, model::ClusterState& state) { state.nodes[0].status = "initializing"; });
  plans.applier.track_rejections({.threshold = 3, .window_ns = 300 * base::kSecond});
  fsm::Hooks hooks;
  ASSERT_EQ(plans.log().apply(101, fsm::NodeDeregisterEntry{{id(1, 3)}}, hooks), "");
  for (int round = 1; round <= 3; ++round) {
    plans.place(11, 0), plans.place(12, 2);
    const ApplyResult result = plans.apply();
    EXPECT_EQ(result.rejected_nodes, (std::vector<tables::NodeRow>{0, 2}));
    EXPECT_EQ(result.ineligible_nodes,
              round == 3 ? (std::vector<tables::NodeRow>{0, 2}) : std::vector<tables::NodeRow>());
    EXPECT_EQ(result.index, round == 3 ? 102u : 0u) << "even an otherwise empty result is committed";
  }
  const model::Node node = *plans.log().node(id(1, 1));
  EXPECT_EQ(node.scheduling_eligibility, "ineligible");
  EXPECT_EQ(node.modify_index, 102u);
  ASSERT_EQ(node.events.items().size(), 1u);
  EXPECT_EQ(node.events.items()[0]["Subsystem"].as_string(), "Scheduler");
  EXPECT_EQ(node.events.items()[0]["Message"].as_string(),
            "Node marked as ineligible for scheduling due to multiple plan rejections, refer to "
            "https://developer.hashicorp.com/nomad/s/port-plan-failure for more information");
  EXPECT_EQ(plans.log().table_index(fsm::Table::nodes), 102u);
  EXPECT_FALSE(plans.log().node(id(1, 3))) << "a missing node stays missing";
}

TEST(PlanWrites, APartialPlanNeedsAnIndexToWaitFor) {  // R-CTRL-617
  tables::StateStore store;
  Applier applier(store);
  const tables::VersionRow version = store.upsert_job(testing::make_job(), true);
  for (const std::uint64_t index : {0, 7}) {
    if (index != 0) store.set_index(index);
    PlanRows rows;
    rows.job = version;
    PlannedAlloc& alloc = rows.allocs.emplace_back();
    alloc.id = uuid_of(2, 1), alloc.node = 5, alloc.first_on_node = true;  // there is no node
    alloc.held = store.current().jobs.versions[version]->groups[0].shape.get();
    ApplyResult result;
    applier.apply(rows, index + 1, false, result);
    EXPECT_EQ(result.error, index == 0 ? "partialCommit with RefreshIndex of 0" : "");
    EXPECT_EQ(result.refresh_index, index);
    EXPECT_EQ(result.refused, 1u);
    EXPECT_EQ(result.reasons, std::vector<std::string>{"node does not exist"});
  }
}

TEST(PlanWrites, MissingAllocationsFailThePlan) {  // R-CTRL-606
  Plans plans([](Plans& p, model::ClusterState& state) { p.add(state), p.add(state); });
  const AllocRow gone = plans.row(1);
  fsm::Hooks hooks;
  ASSERT_EQ(plans.log().apply(101, fsm::EvalDeleteEntry{{gone}, {}}, hooks), "");
  plans.rows.stops = {{.alloc = plans.row(2)}, {.alloc = gone, .dropped = true}};
  EXPECT_EQ(plans.apply().error, "") << "a withdrawn stop does not count";
  plans.rows.stops = {{.alloc = plans.row(2)}, {.alloc = gone}};
  EXPECT_EQ(plans.apply().error, "alloc " + id(2, 1) + " doesn't exist");
}

}  // namespace
}  // namespace berth::plan
