#include "model/options.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/edit_distance.h"
#include "base/text.h"
#include "model/job.h"

namespace berth::model {
namespace {

constexpr std::int64_t kIdLengthMax = 36;

/// Sets a boolean option from one of two words.
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

template <bool Options::*kMember>
bool set_bool(Options& o, std::string_view value) {
  return set_word(o.*kMember, value, "false", "true");
}

template <bool Options::*kMember>
std::string get_bool(const Options& o) {
  return o.*kMember ? "true" : "false";
}

/// "a,b": names of letters, digits, '-' and '_'.
bool set_drivers(Options& o, std::string_view value) {
  std::vector<std::string> names;
  for (std::size_t begin = 0; begin <= value.size();) {
    const std::size_t end = std::min(value.find(',', begin), value.size());
    const std::string_view name = value.substr(begin, end - begin);
    const auto is_allowed = [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
    };
    if (name.empty() || !std::all_of(name.begin(), name.end(), is_allowed)) return false;
    names.emplace_back(name);
    begin = end + 1;
  }
  o.remote_task_drivers = std::move(names);
  return true;
}

std::string get_drivers(const Options& o) {
  std::string out;
  for (const std::string& name : o.remote_task_drivers) out.append(out.empty() ? "" : ",").append(name);
  return out;
}

constexpr auto kOptions = std::to_array<OptionInfo>({
    {"remote_tasks", "false or true", "R-SEED-10 to 18",
     "true: the replacement of a lost or migrating allocation gets the handles of its remote tasks",
     set_bool<&Options::remote_tasks>, get_bool<&Options::remote_tasks>},
    {"remote_task_drivers", "names of drivers, separated by commas", "R-SEED-11, R-SEED-13, R-SEED-19 to 21",
     "drivers whose tasks continue without their node; only simulated clients read it", set_drivers, get_drivers},
    {"system_rolling_update", "none or stagger", "R-SEED-30 to 39",
     "stagger: system jobs are updated max_parallel at a time, and a follow-up evaluation makes each next step",
     [](Options& o, std::string_view value) { return set_word(o.staggered_system_updates, value, "none", "stagger"); },
     [](const Options& o) { return std::string(o.staggered_system_updates ? "stagger" : "none"); }},
    {"strict_ready_updates", "false or true", "R-SEED-50 to 53",
     "true: clients may report allocation updates only if their node is ready",
     set_bool<&Options::strict_ready_updates>, get_bool<&Options::strict_ready_updates>},
    {"disconnect_support", "true or false", "R-SEED-60 to 63", "false: allocations on a disconnected node are lost",
     set_bool<&Options::disconnect_support>, get_bool<&Options::disconnect_support>},
    {"legacy_disconnect_fields", "false or true", "R-SEED-70 to 73",
     "true: the group fields of older job files move into the disconnect block",
     set_bool<&Options::legacy_disconnect_fields>, get_bool<&Options::legacy_disconnect_fields>},
    {"keep_stop_description", "false or true", "R-SEED-75, R-SEED-76",
     "true: the stop of a rescheduled allocation keeps its description", set_bool<&Options::keep_stop_description>,
     get_bool<&Options::keep_stop_description>},
    {"preemption_min_delta", "a number from 0 to 1000000", "R-SEED-80, R-SEED-81",
     "by how much the priority of a victim must be lower (default: 10)",
     [](Options& o, std::string_view value) { return set_number(o.preemption_min_delta, value, 0, 1'000'000); },
     [](const Options& o) { return std::to_string(o.preemption_min_delta); }},
    {"system_reporting", "today or seed", "R-SEED-85 to 87",
     "failures that evaluations of system jobs report: as today, or as in earlier versions (seed)",
     [](Options& o, std::string_view value) { return set_word(o.seed_system_reporting, value, "today", "seed"); },
     [](const Options& o) { return std::string(o.seed_system_reporting ? "seed" : "today"); }},
    {"plan_id_length", "a number from 1 to 36", "R-SEED-90",
     "letters of an allocation's ID in the text of a plan (default: 36)",
     [](Options& o, std::string_view value) { return set_number(o.plan_id_length, value, 1, kIdLengthMax); },
     [](const Options& o) { return std::to_string(o.plan_id_length); }},
    {"spare_leaving_ports", "false or true", "R-MODEL-490, 491",
     "true: a placement does not get dynamic ports that the same plan frees; always so in simulated clusters",
     set_bool<&Options::spare_leaving_ports>, get_bool<&Options::spare_leaving_ports>},
});

constexpr std::string_view kQuirkPrefix = "quirk.";

/// "option 'X' is unknown", and a similar valid name if there is one.
std::string unknown_option(std::string_view name) {
  std::vector<std::string> valid = {"compat"};
  for (const OptionInfo& option : kOptions) valid.emplace_back(option.name);
  for (const QuirkInfo& quirk : kQuirks) valid.push_back(std::string(kQuirkPrefix) + std::string(quirk.name));
  const std::string* nearest = base::nearest_name(name, valid);
  std::string all = "compat";
  for (const OptionInfo& option : kOptions) all.append(", ").append(option.name);
  return "option '" + base::shown(name) + "' is unknown" + (nearest ? " (did you mean '" + *nearest + "'?)" : "") +
         "; valid: " + all + ", quirk.NAME";
}

}  // namespace

std::span<const OptionInfo> option_infos() { return kOptions; }

Result<void, std::string> set_option(Options& o, std::string_view assignment) {
  const std::size_t equals = assignment.find('=');
  if (equals == std::string_view::npos)
    return tl::unexpected("option '" + base::shown(assignment) + "': write NAME=VALUE");
  const std::string_view name = assignment.substr(0, equals), value = assignment.substr(equals + 1);
  const auto checked = [&](bool ok, std::string_view values) -> Result<void, std::string> {
    if (ok) return {};
    return tl::unexpected("option " + std::string(name) + ": '" + base::shown(value) + "' is not " +
                          std::string(values));
  };
  if (name == "compat") {
    bool all = false;
    const bool ok = set_word(all, value, "fixed", "nomad");
    if (ok) o.quirks = all ? Quirks() : Quirks::none();
    return checked(ok, "nomad or fixed");
  }
  if (name.starts_with(kQuirkPrefix))
    for (const QuirkInfo& quirk : kQuirks)
      if (quirk.name == name.substr(kQuirkPrefix.size()))
        return checked(set_word(o.quirks.*quirk.member, value, "off", "on"), "on or off");
  for (const OptionInfo& option : kOptions)
    if (option.name == name) return checked(option.set(o, value), option.values);
  return tl::unexpected(unknown_option(name));
}

std::vector<std::pair<std::string, std::string>> changed_options(const Options& o) {
  std::vector<std::pair<std::string, std::string>> out;
  const auto on = std::count_if(kQuirks.begin(), kQuirks.end(), [&](const QuirkInfo& q) { return o.quirks.*q.member; });
  const bool fixed = 2 * static_cast<std::size_t>(on) < kQuirks.size();
  if (fixed) out.emplace_back("compat", "fixed");
  for (const QuirkInfo& quirk : kQuirks)
    if (o.quirks.*quirk.member == fixed)
      out.emplace_back(std::string(kQuirkPrefix) + std::string(quirk.name), fixed ? "on" : "off");
  const Options defaults;
  for (const OptionInfo& option : kOptions)
    if (option.get(o) != option.get(defaults)) out.emplace_back(option.name, option.get(o));
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
