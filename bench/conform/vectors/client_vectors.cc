// Adapters from recorded vectors to berth: the client's rules on restarts, health and the status of an allocation.
#include <algorithm>
#include <map>

#include "client/health.h"
#include "client/restart.h"
#include "conform/control/control_script.h"
#include "model/job.h"

namespace berth::conform {
namespace {

using json::Value;

client::TaskRole read_role(const Field& task) {
  const Field& lifecycle = task["lifecycle"];
  return {client::hook(lifecycle["hook"].as_string()), lifecycle["sidecar"].as_bool(), false};
}

client::TaskStatus read_task(const Field& task) {
  client::TaskStatus out;
  const std::string& state = task["state"].as_string();
  out.state = state == "running" ? client::TaskState::running
              : state == "dead"  ? client::TaskState::dead
                                 : client::TaskState::pending;
  out.failed = task["failed"].as_bool();
  if (task.has("started_at")) out.started_at = task["started_at"].as_int();
  if (task.has("finished_at")) out.finished_at = task["finished_at"].as_int();
  return out;
}

client::TaskEnd read_end(const Field& step) {
  const std::string& event = step["event"].as_string();
  if (event == "killed") return client::TaskEnd::killed;
  if (event == "start_error")
    return step["recoverable"].as_bool() ? client::TaskEnd::not_started : client::TaskEnd::never_starts;
  if (event == "restart_triggered")
    return step["failure"].as_bool() ? client::TaskEnd::failed : client::TaskEnd::asked_to_restart;
  return step["exit_code"].as_int() == 0 && step["signal"].as_int() == 0 ? client::TaskEnd::succeeded
                                                                         : client::TaskEnd::failed;
}

std::string_view state_text(client::RestartState state) {
  switch (state) {
    case client::RestartState::restarting:
      return "Restarting";
    case client::RestartState::terminated:
      return "Terminated";
    case client::RestartState::not_restarting:
      return "Not Restarting";
    case client::RestartState::killed:
      break;
  }
  return "Killed";
}

Outcome replay_restarts(const Vector& v) {
  const Field& in = v.whole["in"];
  const Field& given = in["policy"];
  const client::RestartPolicy policy{given["attempts"].as_int(), given["interval"].as_int(), given["delay"].as_int(),
                                     given["mode"].as_string() == "delay"};
  const bool on_success = client::restarts_on_success(model::parse_job_type(in["type"].as_string()), read_role(in));
  client::RestartCount count;
  return replay_script(v, [&](const Field& step, std::size_t) -> tl::expected<Value, std::string> {
    const auto decision = client::decide_restart(policy, on_success, count, read_end(step), step["t"].as_int(),
                                                 [&](std::int64_t) { return step["draw"].as_int(); });
    Value out;
    out.set("state", state_text(decision.state)), out.set("delay", decision.wait_ns);
    out.set("reason", to_text(decision.reason, policy)), out.set("count", count.count);
    return out;
  });
}

Outcome replay_health(const Vector& v) {
  const Field& in = v.whole["in"];
  std::vector<client::TaskRole> roles;
  for (const Field& task : in["tasks"].items()) roles.push_back(read_role(task));
  client::HealthPolicy policy;
  policy.min_healthy_ns = in["min_healthy_time"].as_int();
  if (policy.min_healthy_ns < 0) in["min_healthy_time"].fail("is negative");
  policy.checks = in["use_checks"].as_bool() && in["nomad_checks"].as_int() > 0;
  client::HealthTracker tracker(policy, 0);
  std::map<std::string, std::pair<std::string, bool>> checks;  // by ID: stored status, passes
  std::vector<client::TaskStatus> tasks(roles.size());
  client::Health health = client::Health::unknown;
  for (const Field& step : v.whole["script"].items()) {
    const std::int64_t t = step["t"].as_int();
    health = tracker.advance(t);
    if (health != client::Health::unknown) break;
    if (step.has("check")) {
      const Field& check = step["check"];
      const std::string& status = check["status"].as_string();
      auto [stored, is_new] = checks.try_emplace(check["id"].as_string());
      if (is_new || status != "pending")
        stored->second = {status, client::check_passes(check["mode"].as_string(), status)};
      tracker.set_checks_pass(std::all_of(checks.begin(), checks.end(), [](const auto& c) { return c.second.second; }),
                              t);
      continue;
    }
    const Field& alloc = step["alloc"];
    for (std::size_t i = 0; i < roles.size(); ++i)
      tasks[i] = read_task(alloc["tasks"][in["tasks"].items()[i]["name"].as_string()]);
    health = tracker.observe(tasks, roles, alloc["client_status"].as_string() == "failed",
                             alloc["desired_status"].as_string() != "run", t);
  }
  health = tracker.advance(in["horizon"].as_int());
  static constexpr const char* kTexts[] = {"none", "healthy", "unhealthy", "stopped"};
  Value out;
  out.set("result", kTexts[static_cast<std::size_t>(health)]);
  if (health != client::Health::unknown) out.set("t", tracker.decided_at());
  return Outcome::from(compare(v.whole["out"], out));
}

Outcome replay_status(const Vector& v) {
  std::vector<client::TaskStatus> tasks;
  for (const auto& task : v.whole["in"]["tasks"].members()) tasks.push_back(read_task(task.value));
  const client::AllocStatus status = client::alloc_status(tasks);
  Value out;
  out.set("client_status", tasks.empty() ? "" : tables::to_text(status.status));
  out.set("description", client::to_text(status.description));
  return Outcome::from(compare(v.whole["out"], out));
}

}  // namespace

std::span<const Component> client_components() {
  static constexpr Component kComponents[] = {
      {"client_restarts", replay_restarts}, {"client_health", replay_health}, {"client_status", replay_status}};
  return kComponents;
}

}  // namespace berth::conform
