// Adapters from recorded vectors to berth: removals by garbage collection.
#include <algorithm>

#include "conform/control/control_state.h"
#include "lifecycle/garbage.h"

namespace berth::conform {
namespace {

using json::Value;

constexpr std::pair<std::string_view, lifecycle::GcKind> kOperations[] = {
    {"eval-gc", lifecycle::GcKind::evals},
    {"job-gc", lifecycle::GcKind::jobs},
    {"node-gc", lifecycle::GcKind::nodes},
    {"deployment-gc", lifecycle::GcKind::deployments},
};

/// New evaluations without their generated IDs, in an order independent of these.
Value without_ids(const Field& evals) {
  std::vector<std::pair<std::string, Value>> sorted;
  for (const auto& eval : evals.members()) {
    Value item = eval.value;
    item.erase("ID");
    sorted.emplace_back(item["NodeID"].as_string() + item["Namespace"].as_string() + "/" + item["JobID"].as_string(),
                        std::move(item));
  }
  std::sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  Value out = Value::array();
  for (auto& [key, item] : sorted) out.push(std::move(item));
  return out;
}

/// Fills `deleted`, `job_status` and `new_evals` from a difference of states.
void put_gc_lists(const Field& diff, const ScriptState& state, Value& got) {
  Value& deleted = got.set("deleted", Value::object());
  for (const char* table : {"Nodes", "Jobs", "JobVersions", "Allocs", "Evals", "Deployments"}) {
    std::vector<std::string> keys;
    for (const auto& row : diff[table].members())
      if (row.value.is_null()) keys.push_back(row.key);
    if (keys.empty()) continue;
    std::sort(keys.begin(), keys.end());
    Value& list = deleted.set(table, Value::array());
    for (const std::string& key : keys) list.push(key);
  }
  Value statuses = Value::object();
  for (const auto& row : diff["Jobs"].members()) {
    if (row.value.is_null()) continue;
    const std::size_t slash = row.key.find('/');
    statuses.set(row.key, state.job_status(row.key.substr(0, slash), row.key.substr(slash + 1)));
  }
  if (statuses.size() > 0) got.set("job_status", std::move(statuses));
  Value created = Value::object();
  for (const auto& row : diff["Evals"].members())
    if (!row.value.is_null() && !row.value.has("changed")) created.set(row.key, row.value);
  if (created.size() > 0) got.set("new_evals", without_ids(created));
}

Outcome replay_gc(const Vector& vector) {
  auto state = ScriptState::read(vector.whole);
  if (!state) return Outcome::failed(state.error());
  Value whole = vector.whole;
  for (const Field& answer : vector.whole["out"].items()) static_cast<void>(answer.has("new_evals"));  // an object
  for (Value& answer : whole.find("out")->items())
    if (answer.has("new_evals")) answer.set("new_evals", without_ids(answer["new_evals"]));
  const Vector prepared{whole, whole, vector.out, vector.path, vector.name};
  std::uint64_t drawn = 0;
  lifecycle::GarbageCollector garbage((*state)->log(), [&] { return base::to_text(base::Uuid{++drawn << 32, drawn}); });
  const std::int64_t now = vector.whole["now"].as_int();
  const ScriptStep step = [&](const Field& operation, std::size_t) -> tl::expected<Value, std::string> {
    const std::string& op = operation["op"].as_string();
    const auto* known = std::find_if(std::begin(kOperations), std::end(kOperations),
                                     [&](const auto& listed) { return listed.first == op; });
    if (known == std::end(kOperations)) return tl::unexpected("operation " + op);
    lifecycle::Outbox out;
    garbage.run(known->second, {operation["threshold"].as_int(), operation["batch_threshold"].as_int()}, now, out);
    Value got = Value::object();
    Value& entries = got.set("entries", Value::array());
    for (const auto& written : out.entries) {
      Value entry = Value::object();
      entry.set("index", written.index), entry.set("kind", written.kind);
      entries.push(std::move(entry));
    }
    put_gc_lists((*state)->take_diff(Value::object()), **state, got);
    got.set("error", "");
    return got;
  };
  return replay_script(prepared, step);
}

}  // namespace

std::span<const Component> gc_components() {
  static constexpr Component kComponents[] = {{"gc", replay_gc}};
  return kComponents;
}

}  // namespace berth::conform
