#include "model/update/diff_annotations.h"

#include <algorithm>
#include <array>

#include "base/json.h"
#include "base/text.h"

namespace berth::model {
namespace {

constexpr const char* kForcesCreate = "forces create";
constexpr const char* kForcesDestroy = "forces destroy";
constexpr const char* kForcesInPlace = "forces in-place update";
constexpr const char* kForcesDestructive = "forces create/destroy update";

std::map<std::string, std::uint64_t> update_counts(const DesiredUpdates& u) {
  std::map<std::string, std::uint64_t> out;
  const auto add = [&](const char* name, std::uint64_t count) {
    if (count > 0) out[name] = count;
  };
  add("ignore", u.ignore), add("create", u.place), add("migrate", u.migrate), add("destroy", u.stop);
  add("canary", u.canary), add("in-place update", u.in_place_update);
  add("create/destroy update", u.destructive_update);
  return out;
}

/// Annotation of the Count field, "" for none; an empty text is zero.
Result<std::string> count_annotation(const json::Value& field) {
  const auto read = [](const std::string& text) {
    return text.empty() ? std::optional<std::int64_t>(0) : base::parse_int64(text);
  };
  const auto before = read(field["Old"].as_string()), after = read(field["New"].as_string());
  if (!before || !after)
    return tl::unexpected(InputError{"-", "Count", "is not a number", "give the count as a decimal number"});
  return std::string(*before < *after ? kForcesCreate : *after < *before ? kForcesDestroy : "");
}

bool is_none(const json::Value& diff) { return diff["Type"].as_string().empty() || diff["Type"].as_string() == "None"; }

/// A change that the display heuristic calls destructive (R-SCHED-199).
bool destructive(const json::Value& task) {
  for (const json::Value& field : task["Fields"].items())
    if (!is_none(field) && field["Name"].as_string() != "KillTimeout") return true;
  static constexpr std::array kMild = {"Service", "Constraint", "Affinity", "Spread"};
  for (const json::Value& object : task["Objects"].items()) {
    if (is_none(object)) continue;
    const std::string& name = object["Name"].as_string();
    if (std::find(kMild.begin(), kMild.end(), name) != kMild.end()) continue;
    if (name != "LogConfig") return true;
    for (const json::Value& field : object["Fields"].items())
      if (field["Name"].as_string() == "Disabled") return true;  // listed is enough, edited or not
  }
  return false;
}

std::vector<std::string> task_annotations(const json::Value& group, const json::Value& task) {
  if (is_none(task)) return {};
  const std::string& group_type = group["Type"].as_string();
  const std::string& type = task["Type"].as_string();
  if (group_type == "Added" || group_type == "Deleted") {
    if (type == "Added") return {kForcesCreate};
    if (type == "Deleted") return {kForcesDestroy};
    return {};
  }
  return {destructive(task) ? kForcesDestructive : kForcesInPlace};
}

}  // namespace

Result<std::vector<GroupAnnotations>> annotate_diff(const json::Value& diff,
                                                    const std::map<std::string, DesiredUpdates>& updates) {
  std::vector<GroupAnnotations> out;
  for (const json::Value& group : diff["TaskGroups"].items()) {
    GroupAnnotations& entry = out.emplace_back();
    entry.group = group["Name"].as_string();
    if (const auto found = updates.find(entry.group); found != updates.end())
      entry.updates = update_counts(found->second);
    for (const json::Value& field : group["Fields"].items()) {
      if (field["Name"].as_string() != "Count" || is_none(field)) continue;
      auto annotation = count_annotation(field);
      if (!annotation) return tl::unexpected(annotation.error());
      if (!annotation->empty()) entry.count.push_back(std::move(*annotation));
    }
    for (const json::Value& task : group["Tasks"].items())
      if (auto annotations = task_annotations(group, task); !annotations.empty())
        entry.tasks[task["Name"].as_string()] = std::move(annotations);
  }
  return out;
}

}  // namespace berth::model
