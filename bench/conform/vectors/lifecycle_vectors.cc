// Adapters from recorded vectors to berth: decisions of watchers without a log (heartbeat TTLs, launches, drains).
#include <algorithm>

#include "base/time.h"
#include "conform/compare.h"
#include "conform/registry.h"
#include "lifecycle/drain_deadlines.h"
#include "lifecycle/heartbeats.h"
#include "lifecycle/job_drain.h"
#include "model/codec/codec.h"
#include "model/job.h"
#include "model/periodic/cron.h"
#include "tables/state.h"

namespace berth::conform {
namespace {

using json::Value;

Outcome replay_heartbeat_ttl(const Vector& vector) {
  lifecycle::HeartbeatConfig config;
  config.max_per_second = vector.in["max_per_second"].as_double();
  config.min_ttl_ns = vector.in["min_ttl"].as_int();
  Value got;
  got.set("base", lifecycle::base_ttl_ns(config, vector.in["timers"].as_uint()));
  return Outcome::from(compare(vector.out, got, {.rule = "R-CTRL-914"}));
}

Outcome replay_periodic_next(const Vector& vector) {
  model::PeriodicConfig periodic;
  periodic.enabled = true;
  periodic.spec_type = "cron";
  periodic.spec = vector.in["spec"].as_string();
  for (const Field& spec : vector.in["specs"].items()) periodic.specs.push_back(spec.as_string());
  periodic.time_zone = vector.in["time_zone"].as_string();
  const auto from = base::parse_rfc3339(vector.in["from"].as_string());
  if (!from) return Outcome::failed("a time that cannot be read");
  Value got = Value::object();
  if (std::string problem = model::launch_problem(periodic); !problem.empty()) {
    got.set("error", problem);
  } else if (const base::Time next = model::next_launch(periodic, *from); next.is_zero()) {
    got.set("next", nullptr);
  } else {
    got.set("next", base::to_rfc3339(next));
    got.set("unix", next.ns / base::kSecond);
  }
  return Outcome::from(compare(vector.out, got, {.rule = "R-CTRL-1302"}));
}

/// A job with its allocations on nodes, some draining, loaded as a state. The list's order replaces that of the IDs,
/// which is different in Nomad's own tests.
Outcome replay_drain_job(const Vector& vector) {
  model::ClusterState cluster;
  auto job = std::make_shared<model::Job>();
  job->id = job->name = "job", job->namespace_ = "default", job->type = vector.in["type"].as_string();
  for (const Field& item : vector.in["groups"].items()) {
    model::TaskGroup& group = job->task_groups.emplace_back();
    group.name = item["Name"].as_string(), group.count = item["Count"].as_int();
    if (item.has("max_parallel")) group.migrate.emplace().max_parallel = item["max_parallel"].as_int();
  }
  cluster.jobs.push_back(job);
  for (const Field& item : vector.in["nodes"].items()) {
    model::Node& node = cluster.nodes.emplace_back();
    node.id = item["ID"].as_string(), node.status = "ready";
    if (item["draining"].as_bool()) node.drain_strategy.emplace();
  }
  std::vector<std::string> recorded;
  for (const Field& item : vector.in["allocs"].items()) {
    model::Allocation& alloc = cluster.allocs.emplace_back();
    if (auto done = from_json(item, alloc); !done) return Outcome::failed(done.error().line());
    alloc.namespace_ = job->namespace_, alloc.job_id = job->id, alloc.job = job;
    recorded.push_back(alloc.id);
    alloc.id = base::to_text(base::Uuid{recorded.size() << 16, 0});
  }
  tables::StateStore store;
  store.load(cluster);
  lifecycle::JobDrain found;
  lifecycle::look_at_job(store.current(), *job, store.find_job_key("default", "job"),
                         vector.in["last_handled"].as_uint(), model::Quirks(), found);
  const auto ids = [&](const std::vector<tables::AllocRow>& rows) {
    Value out = Value::array();
    for (const tables::AllocRow row : rows) out.push(recorded[row]);
    return out;
  };
  Value got;
  got.set("done", found.done), got.set("drain", ids(found.drain)), got.set("migrated", ids(found.migrated));
  return Outcome::from(compare(vector.out, got, {.rule = "R-CTRL-1022 to 1025"}));
}

Outcome replay_drain_deadlines(const Vector& vector) {
  std::vector<std::string> names;
  for (const Field& step : vector.whole["script"].items())
    if (step.has("node")) names.push_back(step["node"].as_string());
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  const auto row = [&](const Field& step) {
    return tables::NodeRow(std::lower_bound(names.begin(), names.end(), step["node"].as_string()) - names.begin());
  };
  lifecycle::DrainDeadlines deadlines;
  std::int64_t now = 0;
  Value got = Value::array();
  std::vector<tables::NodeRow> nodes;
  const auto advance = [&](std::int64_t to) {
    while (deadlines.next_deadline() <= to) {
      now = std::max(now, deadlines.next_deadline());
      if (!deadlines.take_due(now, nodes)) break;
      std::sort(nodes.begin(), nodes.end());
      Value batch = Value::object();
      Value& list = batch.set("nodes", Value::array());
      for (const tables::NodeRow node : nodes) list.push(names[node]);
      batch.set("t", now);
      got.push(std::move(batch));
    }
    now = to;
  };
  for (const Field& step : vector.whole["script"].items()) {
    const std::string& op = step["op"].as_string();
    if (op == "watch" && step["force"].as_bool())
      deadlines.watch_forced(row(step));
    else if (op == "watch")
      deadlines.watch(row(step), step["deadline"].as_int());
    else if (op == "remove")
      deadlines.remove(row(step));
    else if (op != "advance")
      return Outcome::unsupported("operation " + op);
    advance(now + step["ns"].as_int());
  }
  return Outcome::from(compare(vector.whole["out"], got, {.rule = "R-CTRL-1040, 1041"}));
}

}  // namespace

std::span<const Component> lifecycle_components() {
  static constexpr Component kComponents[] = {
      {"drain_deadlines", replay_drain_deadlines},
      {"drain_job", replay_drain_job},
      {"heartbeat_ttl", replay_heartbeat_ttl},
      {"periodic_next", replay_periodic_next},
  };
  return kComponents;
}

}  // namespace berth::conform
