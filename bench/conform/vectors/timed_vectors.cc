// Adapters from recorded vectors to berth: scripts on a clock, with watchers running between the operations
// (deployments, drains, periodic jobs). Events of the 100 ms after an operation belong to it (FORMAT-control.md).
#include <algorithm>

#include "conform/control/control_state.h"
#include "lifecycle/watchers.h"
#include "model/job.h"
#include "model/registration/job_canonical.h"

namespace berth::conform {
namespace {

using json::Value;

constexpr std::int64_t kAfterOperationNs = 100'000'000, kReportBatchNs = 50'000'000;

/// Compares the canaries of a group as a set, because plans are committed node by node (R-CTRL-705) and recorded
/// entries list their placements in another order.
void normalise(Value& answer) {
  drop_summary_indexes(answer);
  Value* diff = answer.find("diff");
  Value* deployments = diff ? diff->find("Deployments") : nullptr;
  if (!deployments) return;
  for (json::Member& row : deployments->members()) {
    Value* fields = row.value.find("changed");
    Value* groups = (fields ? *fields : row.value).find("TaskGroups");
    if (!groups) continue;
    for (json::Member& group : groups->members())
      if (Value* placed = group.value.find("PlacedCanaries"))
        std::sort(placed->items().begin(), placed->items().end(),
                  [](const Field& a, const Field& b) { return a.as_string() < b.as_string(); });
  }
}

class TimedScript {
 public:
  explicit TimedScript(ScriptState& state) : state_(state), watchers_(state.log(), state.ids()) {}

  tl::expected<void, std::string> carry_out(const Field& step, const Field& recorded, Value& got) {
    entries_ = Value::array();
    now_ = kScriptStartNs + step["at"].as_script_ns();
    const std::string& op = step["op"].as_string();
    run_until(now_);
    if (op == "advance") {
      run_until(now_ + step["ns"].as_script_ns());
    } else {
      if (op == "client_update") run_until(now_ + kReportBatchNs);
      if (auto done = on_operation(step, got); !done) return done;
    }
    run_until(now_ + kAfterOperationNs);
    got.set("entries", std::move(entries_));
    if (!got.has("error")) got.set("error", "");
    if (!recorded.has("reply")) got.erase("reply");
    return {};
  }

 private:
  /// Does everything due up to and including `to`.
  void run_until(std::int64_t to) {
    for (;;) {
      const std::int64_t due = watchers_.next_deadline();
      if (due > to) break;
      now_ = std::max(now_, due);
      outbox_.clear();
      watchers_.advance(now_, outbox_);
      for (const lifecycle::Outbox::Entry& entry : outbox_.entries) put(entry.index, entry.kind, entry.error, entry.at);
    }
    now_ = to;
  }

  tl::expected<void, std::string> on_operation(const Field& step, Value& got) {
    const std::string& op = step["op"].as_string();
    if (op == "node_drain") {
      put(watchers_.nodes().requests().drain(read_drain(step), now_), got);
    } else if (op == "job_register") {
      return register_job(step, got);
    } else if (op.starts_with("deployment_")) {
      on_deployment(step, got);
    } else if (op == "periodic_force") {
      const fsm::Answer answer =
          watchers_.periodic().force(step["namespace"].as_string(), step["job"].as_string(), now_);
      put(answer, got);
      got.set("reply", Value::object()).set("EvalID", answer.eval_id);
    } else {
      if (auto done = state_.carry_out(step, got); !done) return done;
      const Value written = got["entries"];
      for (const Value& entry : written.items()) {
        Value item = entry;
        item.set("t", now_ - kScriptStartNs);
        entries_.push(std::move(item));
      }
    }
    return {};
  }

  /// Jobs of deployment_sim are submitted in a form that lacks defaults.
  tl::expected<void, std::string> register_job(const Field& step, Value& got) {
    const auto submitted = state_.job(step["job"]);
    if (!submitted) return tl::unexpected(std::string("a registration without a job"));
    auto job = std::make_shared<model::Job>(*submitted);
    model::canonicalize(*job);
    fsm::RegisterJob request;
    request.job = std::move(job);
    const fsm::Answer answer = state_.server().requests().register_job(request, now_);
    put(answer, got);
    got.set("reply", Value::object()).set("EvalID", answer.eval_id);
    return {};
  }

  void on_deployment(const Field& step, Value& got) {
    const std::string &op = step["op"].as_string(), &id = step["deployment"].as_string();
    const auto texts = [](const Field& list) {
      std::vector<std::string> out;
      for (const Field& item : list.items()) out.push_back(item.as_string());
      return out;
    };
    lifecycle::DeploymentWatcher& deployments = watchers_.deployments();
    fsm::Answer answer;
    if (op == "deployment_promote")
      answer = deployments.promote(id, texts(step["groups"]), 0, now_);
    else if (op == "deployment_pause")
      answer = deployments.pause(id, step["pause"].as_bool(), now_);
    else if (op == "deployment_fail")
      answer = deployments.fail(id, now_);
    else
      answer = deployments.set_health(id, texts(step["healthy"]), texts(step["unhealthy"]), now_);
    put(answer, got);
    got.set("reply", Value::object()).set("EvalID", answer.eval_id);
  }

  void put(const fsm::Answer& answer, Value& got) {
    for (const fsm::Answer::Entry& entry : answer.entries) put(entry.index, entry.kind, entry.error, now_);
    got.set("error", answer.error);
  }
  void put(std::uint64_t index, const char* kind, const std::string& error, std::int64_t at) {
    Value item = Value::object();
    item.set("index", index), item.set("kind", kind), item.set("t", at - kScriptStartNs);
    if (!error.empty()) item.set("error", error);
    entries_.push(std::move(item));
  }

  ScriptState& state_;
  std::int64_t now_ = kScriptStartNs;
  Value entries_;
  lifecycle::Outbox outbox_;
  lifecycle::Watchers watchers_;
};

Outcome replay_timed(const Vector& vector) {
  auto state = ScriptState::read(vector.whole);
  if (!state) return Outcome::failed(state.error());
  TimedScript script(**state);
  return (*state)->replay(
      vector,
      [&](const Field& step, const Field& recorded, Value& got) { return script.carry_out(step, recorded, got); },
      {"calls"}, normalise);
}

}  // namespace

std::span<const Component> timed_components() {
  static constexpr Component kComponents[] = {
      {"deployment_sim", replay_timed},
      {"drain_sim", replay_timed},
      {"periodic_sim", replay_timed},
  };
  return kComponents;
}

}  // namespace berth::conform
