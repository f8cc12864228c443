// Adapters from recorded control scripts to berth: the tracker of blocked evaluations with a broker.
#include <algorithm>

#include "broker/blocked.h"
#include "broker/broker.h"
#include "conform/control/control_broker.h"
#include "conform/control/control_script.h"

namespace berth::conform {
namespace {

using broker::EvalRow;
using json::Value;

class BlockedScript {
 public:
  BlockedScript() : broker_(config()), tracker_(symbols_) { broker_.enable(); }

  tl::expected<Value, std::string> step(const Field& step, bool with_state) {
    const std::string& op = step["op"].as_string();
    const std::uint64_t index = step["index"].as_uint();
    const auto symbol = [&](std::string_view key) { return symbols_.intern(step[key].as_string()); };
    Value out;
    std::vector<broker::Eval> released;
    if (op == "enable") {
      tracker_.enable(now_);
    } else if (op == "disable") {
      tracker_.disable();
    } else if (op == "block" || op == "reblock") {
      broker::BlockedEval blocked = read(step["eval"]);
      blocked.eval.token = names_.token(step["token"].as_string());
      tracker_.block(blocked, now_, released);
    } else if (op == "untrack") {
      std::vector<EvalRow> taken;
      tracker_.untrack(names_.job_row(step["namespace"].as_string() + "/" + step["job"].as_string()), now_, taken);
    } else if (op == "unblock") {
      tracker_.unblock_class(symbol("class"), index, now_, released);
    } else if (op == "unblock_quota") {
      tracker_.unblock_quota(symbol("quota"), index, now_, released);
    } else if (op == "unblock_class_and_quota") {
      tracker_.unblock_class_and_quota(symbol("class"), symbol("quota"), index, now_, released);
    } else if (op == "unblock_node") {
      tracker_.unblock_node(symbol("node"), now_, released);
    } else if (op == "unblock_resources") {
      std::vector<broker::Symbol> resources;
      for (const Field& r : step["resources"].items()) resources.push_back(symbols_.intern(r.as_string()));
      tracker_.unblock_resources(resources, index, now_, released);
    } else if (op == "unblock_failed") {
      tracker_.unblock_failed(now_, released);
    } else if (op == "duplicates") {
      std::vector<EvalRow> rows;
      tracker_.take_duplicates(rows);
      if (rows.empty()) ++now_;  // the recorder waited without result
      out.set("evals", names_.list(rows));
    } else if (op == "dequeue") {
      const auto got = broker_.dequeue(broker::kSchedulers, now_);
      out.set("eval", Value());
      if (got && *got) {
        out.set("eval", names_.eval((*got)->row));
        out.set("token", names_.delivered((*got)->token));
      }
    } else if (op == "ack") {
      const auto done =
          broker_.ack(names_.row(step["eval"].as_string()), names_.token(step["token"].as_string()), now_);
      out.set("error", done ? std::string_view() : broker::fault_text(done.error()));
    } else if (op == "advance") {
      now_ += step["ns"].as_int();
    } else {
      return tl::unexpected("blocked tracker operation " + op);
    }
    tracker_.advance(now_);
    std::sort(released.begin(), released.end(), [&](const broker::Eval& a, const broker::Eval& b) {  // R-CTRL-320
      return a.create_index != b.create_index ? a.create_index < b.create_index
                                              : names_.eval(a.row) < names_.eval(b.row);
    });
    Value& enqueued = out.set("enqueued", Value::array());
    for (const broker::Eval& eval : released) {
      Value item;
      item.set("eval", names_.eval(eval.row));
      item.set("token", names_.label(eval.token));
      enqueued.push(item);
    }
    static_cast<void>(broker_.enqueue(released, now_));
    const auto& stats = tracker_.stats();
    Value& numbers = out.set("stats", Value::array());
    for (const std::int64_t n : {stats.blocked, stats.escaped, stats.quota_limited}) numbers.push(n);
    if (with_state) out.set("state", state());
    return out;
  }

 private:
  static broker::Config config() {  // not recorded: the attached broker never nacks
    broker::Config out;
    out.order = broker::ReadyOrder::exact;
    out.evals = out.jobs = 256;
    out.nack_timeout_ns = std::int64_t{1} << 62;
    return out;
  }

  broker::BlockedEval read(const Field& eval) {
    broker::BlockedEval out;
    out.eval = names_.read(eval);
    out.snapshot_index = eval["SnapshotIndex"].as_uint();
    out.escaped = eval["EscapedComputedClass"].as_bool();
    out.max_plan_attempts = eval["TriggeredBy"].as_string() == "max-plan-attempts";
    out.quota = symbols_.intern(eval["QuotaLimitReached"].as_string());
    out.node = symbols_.intern(eval["NodeID"].as_string());
    for (const auto& m : eval["ClassEligibility"].members())
      out.classes.push_back({symbols_.intern(m.key), m.value.as_bool()});
    for (const Field& r : eval["MissingNonNodeResources"].items())
      out.missing_resources.push_back(symbols_.intern(r.as_string()));
    read_lacks(eval["FailedTGAllocs"], out);
    return out;
  }

  void read_lacks(const Field& groups, broker::BlockedEval& out) {  // R-CTRL-830
    std::vector<std::string> datacenters, classes, pools;
    const auto add = [](std::vector<std::string>& list, const std::string& text) {
      if (std::find(list.begin(), list.end(), text) == list.end()) list.push_back(text);
    };
    for (const auto& group : groups.members()) {
      for (const auto& dc : group.value["NodesAvailable"].members())
        if (dc.value.as_int() > 0) add(datacenters, dc.key);
      for (const auto& c : group.value["ClassExhausted"].members()) add(classes, c.key);
      if (group.value["ClassExhausted"].size() == 0) add(classes, "");
      add(pools, group.value["NodePool"].as_string());
      for (const auto& task : group.value["ResourcesExhausted"].members()) {
        out.cpu_mhz += task.value["CPU"].as_int();
        out.memory_mb += task.value["MemoryMB"].as_int();
      }
    }
    for (const std::string& dc : datacenters)
      for (const std::string& c : classes)
        for (const std::string& pool : pools)
          out.lacks.push_back(
              {symbols_.intern(dc), symbols_.intern(c), symbols_.intern(pool), out.cpu_mhz, out.memory_mb});
  }

  Value state() const {
    const auto tracked = [&](const broker::BlockedTracker::Tracked& set) {
      Value out = Value::object();
      for (const auto& [row, blocked] : set) out.set(names_.eval(row), names_.label(blocked.eval.token));
      return out;
    };
    Value out, jobs = Value::object(), unblocks = Value::object(), by_node = Value::object(), by_job = Value::object(),
               system_by_job = Value::object(), by_class = Value::array();
    for (const auto& [job, row] : tracker_.jobs()) jobs.set(names_.job(job), names_.eval(row));
    for (const auto& [key, unblock] : tracker_.unblocks()) unblocks.set(symbols_.text(key), unblock.index);
    for (const auto& [node, set] : tracker_.system_by_node()) {
      std::vector<std::string> ids;
      for (const auto& [row, blocked] : set) ids.push_back(names_.eval(row));
      std::sort(ids.begin(), ids.end());
      Value& list = by_node.set(symbols_.text(node), Value::array());
      for (const std::string& id : ids) list.push(id);
    }
    for (const auto& [job, nodes] : tracker_.system_by_job()) {
      Value& entry = system_by_job.set(names_.job(job), Value::object());
      for (const auto& [node, row] : nodes) entry.set(symbols_.text(node), names_.eval(row));
    }
    for (const auto& [job, row] : tracker_.booked_by_job()) {
      Value& pair = by_job.set(names_.job(job), Value::array());
      pair.push(row.cpu_mhz), pair.push(row.memory_mb);
    }
    std::vector<std::pair<std::string, Value>> rows;  // in the recorder's order: by the joined key
    for (const auto& [key, row] : tracker_.booked_by_class()) {
      const std::string &dc = symbols_.text(key.datacenter), &c = symbols_.text(key.node_class),
                        &pool = symbols_.text(key.pool);
      Value item = Value::array();
      item.push(dc), item.push(c), item.push(pool), item.push(row.cpu_mhz), item.push(row.memory_mb);
      std::string joined = dc;
      rows.emplace_back(joined.append("|").append(c).append("|").append(pool), item);
    }
    std::sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    for (const auto& [key, item] : rows) by_class.push(item);
    out.set("captured", tracked(tracker_.captured())), out.set("escaped", tracked(tracker_.escaped()));
    out.set("jobs", jobs), out.set("unblock_indexes", unblocks), out.set("system_by_node", by_node);
    out.set("system_by_job", system_by_job), out.set("by_job", by_job), out.set("by_class", by_class);
    return out;
  }

  tables::SymbolTable symbols_;
  broker::Broker broker_;
  broker::BlockedTracker tracker_;
  ScriptNames names_;
  std::int64_t now_ = kScriptStartNs;
};

Outcome replay_blocked(const Vector& v) {
  BlockedScript script;
  const auto answers = v.whole["out"].items();
  ScriptOptions options;
  options.compare.absent_is_zero = true;
  return replay_script(
      v,
      [&](const Field& step, std::size_t i) {
        return script.step(step, i < answers.size() && answers[i].has("state"));
      },
      options);
}

}  // namespace

std::span<const Component> control_blocked_components() {
  static constexpr Component kComponents[] = {{"blocked", replay_blocked}};
  return kComponents;
}

}  // namespace berth::conform
