// Adapters from recorded vectors to berth: the plan queue and the tracker of rejected nodes.
#include <deque>
#include <map>

#include "conform/control/control_script.h"
#include "plan/plan_queue.h"
#include "plan/rejection_tracker.h"

namespace berth::conform {
namespace {

using json::Value;

struct NamedPlan : plan::Submission {
  std::string name;
};

Outcome replay_plan_queue(const Vector& vector) {
  plan::PlanQueue queue;
  std::deque<NamedPlan> plans;
  std::vector<NamedPlan*> waiting;  // in submission order
  std::int64_t now_ns = 0;
  return replay_script(vector, [&](const Field& step, std::size_t) -> tl::expected<Value, std::string> {
    const std::string& op = step["op"].as_string();
    Value got = Value::object();
    if (op == "enable") {
      queue.enable();
    } else if (op == "disable") {
      queue.disable();
      Value& answered = got.set("answered", Value::array());
      for (NamedPlan* plan : waiting) {
        plan->wait();
        Value entry;
        entry.set("plan", plan->name), entry.set("error", plan->error);
        answered.push(std::move(entry));
      }
      waiting.clear();
    } else if (op == "enqueue") {
      NamedPlan& plan = plans.emplace_back();
      plan.name = step["plan"].as_string();
      plan.priority = step["priority"].as_int();
      plan.enqueued_ns = ++now_ns;
      if (queue.enqueue(plan)) waiting.push_back(&plan);
      got.set("error", plan.error);
    } else if (op == "dequeue") {
      const plan::PlanQueue::Dequeued dequeued = queue.dequeue();
      got.set("error", dequeued.enabled ? "" : plan::kQueueDisabled);
      if (dequeued.plan) {
        auto* plan = static_cast<NamedPlan*>(dequeued.plan);
        std::erase(waiting, plan);
        got.set("plan", plan->name);
      }
    } else {
      return tl::unexpected("operation " + op);
    }
    got.set("depth", static_cast<std::uint64_t>(queue.depth()));
    return got;
  });
}

Outcome replay_rejection_tracker(const Vector& vector) {
  const Field& in = vector.whole["in"];
  plan::RejectionLimits limits;
  limits.threshold = in["threshold"].as_int();
  limits.window_ns = in["window"].as_int();
  limits.burst = in["burst"].as_int();
  if (in["refill_per_second"].as_string() != "5/1800") return Outcome::unsupported("another refill rate");
  plan::RejectionTracker tracker(limits);
  std::map<std::string, base::Uuid> nodes;
  Value got = Value::array();
  for (const Field& step : vector.whole["script"].items()) {
    const auto [at, added] = nodes.emplace(step["node"].as_string(), base::Uuid{1, nodes.size() + 1});
    got.push(tracker.add(at->second, step["t"].as_int()));
  }
  return Outcome::from(compare(vector.whole["out"], got, {.rule = "R-CTRL-630"}));
}

}  // namespace

std::span<const Component> control_plan_components() {
  static constexpr Component kComponents[] = {
      {"plan_queue", replay_plan_queue},
      {"rejection_tracker", replay_rejection_tracker},
  };
  return kComponents;
}

}  // namespace berth::conform
