// Adapters from recorded vectors to berth: scripts of node registrations, heartbeats, drains and deregistrations.
#include "conform/control/control_state.h"
#include "lifecycle/nodes.h"

namespace berth::conform {
namespace {

using json::Value;

class NodeScript {
 public:
  explicit NodeScript(ScriptState& state) : state_(state), nodes_(state.log(), state.ids()) {}

  tl::expected<void, std::string> carry_out(const Field& step, Value& got) {
    if (auto done = on_node(step, got); !done) return done;
    Value& timers = got.set("heartbeat_timers", Value::array());
    const tables::NodeTable& nodes = state_.store().current().nodes;
    for (const tables::NodeRow row : *nodes.fixed->by_id)
      if (nodes_.heartbeats().has(row)) timers.push(base::to_text(nodes.id(row)));
    return {};
  }

 private:
  tl::expected<void, std::string> on_node(const Field& step, Value& got) {
    const std::string& op = step["op"].as_string();
    const std::int64_t now = kScriptStartNs + step["at"].as_script_ns();
    const std::string& id = step["node"].value().as_string();  // for a registration: a node
    if (op == "node_register") {
      model::Node node;
      if (auto done = from_json(step["node"], node); !done) return tl::unexpected(done.error().line());
      put(nodes_.register_node(std::move(node), now), true, got);
    } else if (op == "node_update_status") {
      put(nodes_.update_status(id, step["status"].as_string(), now), true, got);
    } else if (op == "heartbeat_expired") {
      state_.put_answer(nodes_.heartbeat_missed(id, now), got);
    } else if (op == "node_eligibility") {
      put(nodes_.requests().set_eligibility(id, step["eligibility"].as_string(), now), false, got);
    } else if (op == "node_drain") {
      put(nodes_.requests().drain(read_drain(step), now), false, got);
    } else if (op == "node_deregister") {
      std::vector<std::string> ids;
      for (const Field& item : step["nodes"].items()) ids.push_back(item.as_string());
      put(nodes_.deregister(ids, now), true, got);
    } else if (op == "node_evaluate") {
      put(nodes_.requests().evaluate(id, now), true, got);
    } else {
      return state_.carry_out(step, got);
    }
    return {};
  }

  void put(const fsm::NodeAnswer& answer, bool indexes, Value& got) {
    state_.put_answer(answer, got);
    Value& reply = got.set("reply", Value::object());
    Value& ids = reply.set("EvalIDs", Value::array());
    for (const std::string& id : answer.eval_ids) ids.push(id);
    if (!indexes) return;
    reply.set("EvalCreateIndex", answer.eval_create_index);
    reply.set("NodeModifyIndex", answer.node_modify_index);
  }

  ScriptState& state_;
  lifecycle::Nodes nodes_;
};

/// Adds secrets to the nodes of a state, which recordings omit; registrations with any secret but `secret` use them.
Value with_secrets(Value whole) {
  Value* state = whole.find("state");
  Value* nodes = state ? state->find("Nodes") : nullptr;
  if (!nodes) return whole;
  for (Value& node : nodes->items()) {
    node.set("SecretID", "as recorded");
    for (const Value& step : whole["script"].items())
      if (step["op"].as_string() == "node_register" && step["what"].as_string() != "secret" &&
          step["node"]["ID"].as_string() == node["ID"].as_string()) {
        node.set("SecretID", step["node"]["SecretID"].as_string());
        break;
      }
  }
  return whole;
}

Outcome replay_nodes(const Vector& vector) {
  static_cast<void>(vector.whole["state"]["Nodes"].items());
  const Value whole = with_secrets(vector.whole);
  auto state = in_copy(whole, [&] { return ScriptState::read(whole); });
  if (!state) return Outcome::failed(state.error());
  NodeScript script(**state);
  return (*state)->replay(vector,
                          [&](const Field& step, const Value&, Value& got) { return script.carry_out(step, got); });
}

}  // namespace

fsm::DrainNode read_drain(const Field& step) {
  fsm::DrainNode request;
  request.node_id = step["node"].as_string();
  request.clear = step["clear"].as_bool();
  request.deadline = step["deadline"].as_int();
  request.ignore_system_jobs = step["ignore_system_jobs"].as_bool();
  request.mark_eligible = step["mark_eligible"].as_bool();
  if (step.has("meta")) request.meta = step["meta"].value();
  return request;
}

std::span<const Component> nodes_components() {
  static constexpr Component kComponents[] = {{"nodes", replay_nodes}};
  return kComponents;
}

}  // namespace berth::conform
