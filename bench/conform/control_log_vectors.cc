// Adapters from recorded vectors to berth: what log entries change in the state.
#include "conform/control_state.h"

namespace berth::conform {
namespace {

using json::Value;

constexpr std::string_view kIgnored[] = {"ids"};

/// Modify indexes of summaries may be ignored (FORMAT-control.md).
void drop_summary_indexes(Value& answer) {
  Value* diff = answer.find("diff");
  if (!diff) return;
  Value* summaries = diff->find("JobSummaries");
  if (!summaries) return;
  for (json::Member& entry : summaries->members()) {
    entry.value.erase("ModifyIndex");
    if (Value* changed = entry.value.find("changed")) changed->erase("ModifyIndex");
  }
}

Outcome replay_state_effects(const Vector& vector) {
  auto state = ScriptState::read(vector.whole);
  if (!state) return Outcome::failed(state.error());
  json::Value whole = vector.whole;
  for (Value& answer : whole.find("out")->items()) drop_summary_indexes(answer);
  const Vector stripped{whole, whole, vector.out, vector.path, vector.name};
  ScriptOptions options;
  options.ignored = kIgnored;
  const ScriptStep step = [&](const Value& operation, std::size_t index) -> tl::expected<Value, std::string> {
    DrawnIds ids(whole["out"][index]);
    Value got = Value::object();
    auto done = (*state)->carry_out(operation, ids, got);
    if (!done) return tl::unexpected(done.error());
    if (!*done) return tl::unexpected("operation " + operation["op"].as_string());
    got.set("diff", (*state)->take_diff());
    return got;
  };
  return replay_script(stripped, step, options);
}

constexpr Component kComponents[] = {
    {"state_effects", replay_state_effects},
};

}  // namespace

std::span<const Component> control_log_components() { return kComponents; }

}  // namespace berth::conform
