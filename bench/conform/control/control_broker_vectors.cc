// Adapters from recorded control scripts to berth: the evaluation broker.
#include <algorithm>
#include <map>

#include "base/time.h"
#include "broker/broker.h"
#include "conform/control/control_broker.h"
#include "conform/control/control_script.h"

namespace berth::conform {
namespace {

using broker::EvalRow;
using broker::Queue;
using json::Value;

/// One broker under the script's clock.
class BrokerScript {
 public:
  explicit BrokerScript(const Vector& v) : broker_(config(v.whole["config"])) {}

  tl::expected<Value, std::string> step(const Field& step) {
    const std::string& op = step["op"].as_string();
    Value out;
    if (op == "enable") {
      broker_.enable();
    } else if (op == "disable") {
      broker_.disable();
    } else if (op == "enqueue") {
      enqueue({{step["eval"], Value()}});
    } else if (op == "enqueue_all") {
      std::vector<std::pair<Value, Value>> list;
      for (const Field& item : step["evals"].items()) list.emplace_back(item["eval"], item["token"]);
      std::sort(list.begin(), list.end(), [](const auto& a, const auto& b) {  // R-CTRL-320
        const auto ia = a.first["CreateIndex"].as_uint(), ib = b.first["CreateIndex"].as_uint();
        return ia != ib ? ia < ib : a.first["ID"].as_string() < b.first["ID"].as_string();
      });
      enqueue(list);
    } else if (op == "dequeue") {
      dequeue(step, out);
    } else if (op == "outstanding") {
      const auto token = broker_.outstanding(row(step["eval"]));
      out.set("ok", token.has_value());
      if (token) out.set("token", names_.label(*token));
    } else if (op == "ack") {
      answer(out, broker_.ack(row(step["eval"]), token(step), now_));
    } else if (op == "nack") {
      answer(out, broker_.nack(row(step["eval"]), token(step), now_));
    } else if (op == "reset") {
      answer(out, broker_.reset(row(step["eval"]), token(step), now_));
    } else if (op == "pause") {
      answer(out, broker_.pause(row(step["eval"]), token(step)));
    } else if (op == "resume") {
      answer(out, broker_.resume(row(step["eval"]), token(step), now_));
    } else if (op == "drop_waiting") {
      broker_.drop_waiting(row(step["eval"]["ID"]));
    } else if (op == "cancelable") {
      std::vector<EvalRow> taken;
      broker_.take_cancelable(static_cast<std::uint32_t>(step["max"].as_int()), taken);
      out.set("evals", names_.list(taken));
    } else if (op == "advance") {
      now_ += step["ns"].as_int();
    } else {
      return tl::unexpected("broker operation " + op);
    }
    broker_.advance(now_);
    out.set("t", now_ - kScriptStartNs);
    const broker::Stats stats = broker_.stats();
    Value& numbers = out.set("stats", Value::array());
    for (const std::int64_t n : {stats.ready, stats.unacked, stats.pending, stats.waiting, stats.cancelable})
      numbers.push(n);
    return out;
  }

  /// The member `end`: the remaining contents of the broker.
  Value end() {
    const broker::Contents contents = broker_.contents();
    const broker::Stats stats = broker_.stats();
    Value out;
    out.set("enabled", broker_.enabled());
    Value evals = Value::object(), jobs = Value::object(), ready = Value::object(), pending = Value::object(),
          by_type = Value::object(), unack = Value::object(), requeue = Value::object();
    for (const auto& held : contents.known) evals.set(names_.eval(held.row), static_cast<int>(held.deliveries));
    for (const auto& [job, holder] : contents.holders) jobs.set(names_.job(job), names_.eval(holder));
    for (const auto& [job, list] : contents.pending) pending.set(names_.job(job), names_.list(list));
    for (std::uint32_t q = 0; q < broker::kQueueCount; ++q) {
      const std::string_view name = broker::queue_name(static_cast<Queue>(q));
      if (!contents.ready[q].empty()) ready.set(name, names_.list(contents.ready[q]));
      if (!stats.queues[q].used) continue;
      Value& pair = by_type.set(name, Value::array());
      pair.push(stats.queues[q].ready), pair.push(stats.queues[q].unacked);
    }
    for (const auto& o : contents.outstanding) unack.set(names_.eval(o.row), names_.label(o.token));
    for (const auto& [token, eval] : contents.requeue) requeue.set(names_.label(token), names_.eval(eval));
    const auto sorted = [&](const std::vector<EvalRow>& rows) {
      Value list = names_.list(rows);
      std::sort(list.items().begin(), list.items().end(),
                [](const Field& a, const Field& b) { return a.as_string() < b.as_string(); });
      return list;
    };
    out.set("evals", evals), out.set("job_evals", jobs), out.set("ready", ready), out.set("pending", pending);
    out.set("by_type", by_type), out.set("unack", unack), out.set("requeue", requeue);
    out.set("cancelable", names_.list(contents.cancelable)), out.set("time_wait", sorted(contents.time_wait));
    out.set("delayed", sorted(contents.delayed));
    return out;
  }

 private:
  static broker::Config config(const Field& v) {
    broker::Config out;
    out.order = broker::ReadyOrder::exact;
    out.evals = out.jobs = 256;
    out.nack_timeout_ns = v["nack_timeout"].as_int();
    out.initial_nack_delay_ns = v["initial_nack_delay"].as_int();
    out.subsequent_nack_delay_ns = v["subsequent_nack_delay"].as_int();
    out.delivery_limit = static_cast<std::uint32_t>(v["delivery_limit"].as_int());
    return out;
  }
  EvalRow row(const Field& id) { return names_.row(id.as_string()); }
  broker::Token token(const Field& step) const { return names_.token(step["token"].as_string()); }
  static void answer(Value& out, const tl::expected<void, broker::Fault>& result) {
    out.set("error", result ? std::string_view() : broker::fault_text(result.error()));
  }
  void enqueue(const std::vector<std::pair<Value, Value>>& list) {
    std::vector<broker::Eval> evals;
    for (const auto& [eval, label] : list) {
      evals.push_back(names_.read(eval));
      evals.back().token = names_.token(label.as_string());
    }
    static_cast<void>(broker_.enqueue(evals, now_));
  }
  void dequeue(const Field& step, Value& out) {
    broker::QueueSet queues = 0;
    for (const Field& type : step["types"].items())
      queues = static_cast<broker::QueueSet>(queues | broker::only(queue_of(type.as_string())));
    const std::int64_t until = now_ + step["timeout"].as_int();
    for (;;) {
      const auto got = broker_.dequeue(queues, now_);
      if (!got) {
        out.set("error", broker::fault_text(got.error()));
        return;
      }
      if (*got) {
        out.set("eval", names_.eval((*got)->row));
        out.set("token", names_.delivered((*got)->token));
        out.set("wait", (*got)->wait_ns);
        return;
      }
      if (now_ >= until) break;
      now_ = std::min(until, std::max(now_, broker_.next_deadline().value_or(until)));
      broker_.advance(now_);
    }
    out.set("eval", Value());
  }

  broker::Broker broker_;
  ScriptNames names_;
  std::int64_t now_ = kScriptStartNs;
};

Outcome replay_broker(const Vector& v) {
  BrokerScript script(v);
  Outcome outcome = replay_script(v, [&](const Field& step, std::size_t) { return script.step(step); });
  if (outcome.kind != Outcome::Kind::equal) return outcome;
  std::vector<Difference> differences = compare(v.whole["end"], script.end(), {.absent_is_zero = false});
  for (Difference& d : differences) d.place = "/end" + d.place;
  return Outcome::from(std::move(differences));
}

}  // namespace

std::span<const Component> control_broker_components() {
  static constexpr Component kComponents[] = {{"broker", replay_broker}};
  return kComponents;
}

Queue queue_of(std::string_view name) {
  for (std::uint32_t q = 0; q < broker::kQueueCount; ++q)
    if (broker::queue_name(static_cast<Queue>(q)) == name) return static_cast<Queue>(q);
  return Queue::service;
}

broker::Eval ScriptNames::read(const Field& eval) {
  broker::Eval out;
  out.row = row(eval["ID"].as_string());
  out.job =
      static_cast<broker::JobKeyRow>(jobs_.number(eval["Namespace"].as_string() + "/" + eval["JobID"].as_string()));
  out.job_id = job_ids_.number(eval["JobID"].as_string());
  out.priority = static_cast<std::int32_t>(eval["Priority"].as_int());
  out.type = queue_of(eval["Type"].as_string());
  out.create_index = eval["CreateIndex"].as_uint();
  out.modify_index = eval["ModifyIndex"].as_uint();
  out.wait_ns = eval["Wait"].as_int();
  if (const auto until = base::parse_rfc3339(eval["WaitUntil"].as_string())) out.wait_until_ns = until->ns;
  return out;
}

Value ScriptNames::list(const std::vector<EvalRow>& rows) const {
  Value out = Value::array();
  for (const EvalRow r : rows) out.push(eval(r));
  return out;
}

}  // namespace berth::conform
