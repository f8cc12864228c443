#include "model/options.h"

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace berth::model {
namespace {

constexpr std::int64_t kIdLengthMax = 36;

/// One of two words.
bool set_word(bool& option, std::string_view value, std::string_view off, std::string_view on) {
  if (value != off && value != on) return false;
  option = value == on;
  return true;
}

bool set_number(std::int64_t& option, std::string_view value, std::int64_t least, std::int64_t most) {
  const auto number = base::parse_uint64(value);
  if (!number || *number > static_cast<std::uint64_t>(most) || *number < static_cast<std::uint64_t>(least))
    return false;
  option = static_cast<std::int64_t>(*number);
  return true;
}

const char* text(bool value) { return value ? "true" : "false"; }

}  // namespace

Result<void, std::string> set_option(Options& o, std::string_view assignment) {
  const std::size_t equals = assignment.find('=');
  if (equals == std::string_view::npos)
    return tl::unexpected("option '" + base::shown(assignment) + "': write NAME=VALUE");
  const std::string_view name = assignment.substr(0, equals), value = assignment.substr(equals + 1);
  const auto checked = [&](bool ok, const char* values) -> Result<void, std::string> {
    if (ok) return {};
    return tl::unexpected("option " + std::string(name) + ": '" + base::shown(value) + "' is not " + values);
  };
  static constexpr const char* kBool = "true or false";
  if (name == "compat") {
    bool fixed = o.compat == Compat::fixed;
    const bool ok = set_word(fixed, value, "nomad", "fixed");
    o.compat = fixed ? Compat::fixed : Compat::nomad;
    return checked(ok, "nomad or fixed");
  }
  if (name == "remote_tasks") return checked(set_word(o.remote_tasks, value, "false", "true"), kBool);
  // R-SEED-11 is read by clients alone (R-SEED-13, 19 to 21), and berth runs none.
  if (name == "remote_task_drivers")
    return tl::unexpected(std::string(
        "option remote_task_drivers is for clients, which berth does not run; leave it out: remote_tasks=true alone "
        "decides what becomes of handles"));
  if (name == "system_rolling_update")
    return checked(set_word(o.staggered_system_updates, value, "none", "stagger"), "none or stagger");
  if (name == "strict_ready_updates") return checked(set_word(o.strict_ready_updates, value, "false", "true"), kBool);
  if (name == "disconnect_support") return checked(set_word(o.disconnect_support, value, "false", "true"), kBool);
  if (name == "legacy_disconnect_fields")
    return checked(set_word(o.legacy_disconnect_fields, value, "false", "true"), kBool);
  if (name == "keep_stop_description") return checked(set_word(o.keep_stop_description, value, "false", "true"), kBool);
  if (name == "preemption_min_delta")
    return checked(set_number(o.preemption_min_delta, value, 0, 1'000'000), "a number from 0 to 1000000");
  if (name == "system_reporting")
    return checked(set_word(o.seed_system_reporting, value, "today", "seed"), "today or seed");
  if (name == "plan_id_length")
    return checked(set_number(o.plan_id_length, value, 1, kIdLengthMax), "a number from 1 to 36");
  return tl::unexpected("option '" + base::shown(name) + "' is unknown");
}

std::vector<std::pair<std::string, std::string>> changed_options(const Options& o) {
  const Options defaults;
  std::vector<std::pair<std::string, std::string>> out;
  if (o.compat != defaults.compat) out.emplace_back("compat", "fixed");
  if (o.remote_tasks != defaults.remote_tasks) out.emplace_back("remote_tasks", text(o.remote_tasks));
  if (o.staggered_system_updates) out.emplace_back("system_rolling_update", "stagger");
  if (o.strict_ready_updates) out.emplace_back("strict_ready_updates", text(true));
  if (o.disconnect_support != defaults.disconnect_support)
    out.emplace_back("disconnect_support", text(o.disconnect_support));
  if (o.legacy_disconnect_fields) out.emplace_back("legacy_disconnect_fields", text(true));
  if (o.keep_stop_description) out.emplace_back("keep_stop_description", text(true));
  if (o.preemption_min_delta != defaults.preemption_min_delta)
    out.emplace_back("preemption_min_delta", std::to_string(o.preemption_min_delta));
  if (o.seed_system_reporting) out.emplace_back("system_reporting", "seed");
  if (o.plan_id_length != defaults.plan_id_length) out.emplace_back("plan_id_length", std::to_string(o.plan_id_length));
  return out;
}

std::string take_legacy_disconnect_fields(Job& job) {
  for (TaskGroup& group : job.task_groups) {
    const auto stop_after = std::exchange(group.stop_after_client_disconnect, {});
    const auto lost_after = std::exchange(group.max_client_disconnect, {});
    const bool prevent = std::exchange(group.prevent_reschedule_on_lost, false);
    if (!stop_after && !lost_after && !prevent) continue;
    const auto refused = [&](const char* why) { return "Task group " + group.name + ": " + why; };
    if (stop_after && lost_after)
      return refused("stop_after_client_disconnect and max_client_disconnect exclude each other");
    if (stop_after.value_or(0) < 0 || lost_after.value_or(0) < 0)
      return refused("stop_after_client_disconnect and max_client_disconnect cannot be negative");
    if (stop_after.value_or(0) != 0 && job.type != "service" && job.type != "batch")
      return refused("stop_after_client_disconnect is for service and batch jobs only");
    if (group.disconnect &&
        ((stop_after && group.disconnect->stop_on_client_after) || (lost_after && group.disconnect->lost_after > 0) ||
         (prevent && group.disconnect->replace)))
      return refused("set both in the disconnect block and by a field that the block replaced");
    if (!group.disconnect) group.disconnect.emplace();
    if (stop_after) group.disconnect->stop_on_client_after = stop_after;
    if (lost_after) group.disconnect->lost_after = *lost_after;
    if (prevent) group.disconnect->replace = false;
  }
  return "";
}

}  // namespace berth::model
