#include "advice/plan_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "base/json.h"
#include "base/text_table.h"
#include "base/time.h"
#include "model/codec/codec.h"

namespace berth::advice {
namespace {

using json::Value;

std::string_view marker(const Value& diff) {
  const std::string& type = diff["Type"].as_string();
  return type == "Added" ? "+ " : type == "Deleted" ? "- " : type == "Edited" ? "+/- " : "";
}

std::string spaces(std::size_t count) { return std::string(count, ' '); }

/// Width of the widest marker of the lists, whose lines are aligned.
std::size_t widest_marker(std::initializer_list<const Value*> lists) {
  std::size_t out = 0;
  for (const Value* list : lists)
    for (const Value& v : list->items()) out = std::max(out, marker(v).size());
  return out;
}

std::string joined_annotations(const Value& list) {
  if (list.size() == 0) return "";
  std::string out;
  for (const Value& v : list.items()) out += (out.empty() ? " (" : ", ") + v.as_string();
  return out + ")";
}

void append_field(const Value& field, std::size_t start, std::size_t width, std::size_t name_width, std::string& out) {
  const std::string &from = field["Old"].as_string(), &to = field["New"].as_string(), &type = field["Type"].as_string();
  out += fmt::format("{}{:<{}}{:<{}} ", spaces(start), marker(field), width, field["Name"].as_string() + ":",
                     name_width + 1);
  if (type == "Edited")
    out += fmt::format("\"{}\" => \"{}\"", from, to);
  else
    out += fmt::format("\"{}\"", type == "Added" ? to : from);
  out += joined_annotations(field["Annotations"]) + "\n";
}

void append_object(const Value& object, std::size_t start, std::size_t width, std::string& out);

/// Fields, then objects, one line each; `width` of the markers.
void append_content(const Value& diff, std::size_t start, std::size_t width, std::string& out) {
  std::size_t name_width = 0;
  for (const Value& field : diff["Fields"].items()) name_width = std::max(name_width, field["Name"].as_string().size());
  for (const Value& field : diff["Fields"].items()) append_field(field, start, width, name_width, out);
  for (const Value& object : diff["Objects"].items()) append_object(object, start, width, out);
}

void append_object(const Value& object, std::size_t start, std::size_t width, std::string& out) {
  const std::string_view mark = marker(object);
  out += fmt::format("{}{:<{}}{} {{\n", spaces(start), mark, width, object["Name"].as_string());
  const std::size_t before = out.size();
  append_content(object, start + (width - mark.size()) + 2, widest_marker({&object["Fields"], &object["Objects"]}),
                 out);
  if (out.size() == before) out += "\n";
  out += spaces(start + width) + "}\n";
}

bool expanded(const Value& diff, bool verbose) {
  const std::string& type = diff["Type"].as_string();
  return type == "Edited" || (verbose && type != "None");
}

void append_task(const Value& task, std::size_t start, std::size_t width, bool verbose, std::string& out) {
  const std::string_view mark = marker(task);
  out += fmt::format("{}{:<{}}Task: \"{}\"{}\n", spaces(start), mark, width, task["Name"].as_string(),
                     joined_annotations(task["Annotations"]));
  const std::string& type = task["Type"].as_string();
  if (type == "None" || (!verbose && type != "Edited")) return;
  append_content(task, start + (width - mark.size()) + 2, widest_marker({&task["Fields"], &task["Objects"]}), out);
}

void append_group(const Value& group, std::size_t width, bool verbose, std::string& out) {
  const std::string_view mark = marker(group);
  out += fmt::format("{:<{}}Task Group: \"{}\"", mark, width, group["Name"].as_string());
  std::vector<std::pair<std::string, std::uint64_t>> updates;
  for (const json::Member& m : group["Updates"].members()) updates.emplace_back(m.key, m.value.as_uint());
  std::sort(updates.begin(), updates.end());
  std::string text;
  for (const auto& [name, count] : updates) text += fmt::format("{}{} {}", text.empty() ? " (" : ", ", count, name);
  out += text.empty() ? "\n" : text + ")\n";
  const std::size_t start = (width - mark.size()) + 2;
  const bool content = expanded(group, verbose);
  const std::size_t inner = widest_marker({&group["Fields"], &group["Objects"], &group["Tasks"]});
  if (content) append_content(group, start, inner, out);
  for (const Value& task : group["Tasks"].items()) append_task(task, start, inner, verbose, out);
  out += "\n";
}

}  // namespace

std::string diff_text(const Value& diff, bool verbose) {
  std::string out = fmt::format("{}Job: \"{}\"\n", marker(diff), diff["ID"].as_string());
  const std::size_t width = widest_marker({&diff["Fields"], &diff["Objects"], &diff["TaskGroups"]});
  if (expanded(diff, verbose)) append_content(diff, 0, width, out);
  for (const Value& group : diff["TaskGroups"].items()) append_group(group, width, verbose, out);
  return out;
}

std::string failures_text(const std::map<std::string, model::AllocMetric>& failed, const std::string& type) {
  std::string out = type == "system" ? "- WARNING: Failed to place allocations on all nodes.\n"
                                     : "- WARNING: Failed to place all allocations.\n";
  bool first = true;
  for (const auto& [group, metric] : failed) {
    if (!first) out += "\n";
    first = false;
    out += fmt::format("  Task Group \"{}\" (failed to place {} allocation{}):\n", group, metric.coalesced_failures + 1,
                       metric.coalesced_failures > 0 ? "s" : "");
    if (metric.nodes_evaluated == 0) out += "    * No nodes were eligible for evaluation\n";
    for (const auto& [dc, count] : metric.nodes_available)
      if (count == 0) out += fmt::format("    * No nodes are available in datacenter \"{}\"\n", dc);
    for (const auto& [name, count] : metric.class_filtered)
      out += fmt::format("    * Class \"{}\": {} nodes excluded by filter\n", name, count);
    for (const auto& [name, count] : metric.constraint_filtered)
      out += fmt::format("    * Constraint \"{}\": {} nodes excluded by filter\n", name, count);
    if (metric.nodes_exhausted > 0)
      out += fmt::format("    * Resources exhausted on {} nodes\n", metric.nodes_exhausted);
    for (const auto& [name, count] : metric.class_exhausted)
      out += fmt::format("    * Class \"{}\" exhausted on {} nodes\n", name, count);
    for (const auto& [name, count] : metric.dimension_exhausted)
      out += fmt::format("    * Dimension \"{}\" exhausted on {} nodes\n", name, count);
    for (const std::string& dimension : metric.quota_exhausted)
      out += fmt::format("    * Quota limit hit \"{}\"\n", dimension);
  }
  return out;
}

std::string job_text(const std::string& id, const std::string& name_space) {
  return id + (name_space.empty() || name_space == "default" ? "" : "@" + name_space);
}

std::string preemptions_text(const Value& preempted, std::size_t id_length) {
  constexpr std::size_t kShort = 10;
  std::vector<std::vector<std::string>> rows;
  if (preempted.size() < kShort) {
    rows.push_back({"Alloc ID", "Job ID", "Task Group"});
    for (const Value& stub : preempted.items())
      rows.push_back(
          {stub["ID"].as_string().substr(0, id_length), stub["JobID"].as_string(), stub["TaskGroup"].as_string()});
    return base::table_text(rows);
  }
  std::map<std::tuple<std::string, std::string, std::string>, std::size_t> jobs;
  std::map<std::string, std::size_t> types;
  for (const Value& stub : preempted.items()) {
    ++jobs[{stub["JobID"].as_string(), stub["Namespace"].as_string(), stub["JobType"].as_string()}];
    ++types[stub["JobType"].as_string()];
  }
  if (jobs.size() < kShort) {
    rows.push_back({"Job ID", "Namespace", "Job Type", "Preemptions"});
    for (const auto& [job, count] : jobs)
      rows.push_back({std::get<0>(job), std::get<1>(job), std::get<2>(job), std::to_string(count)});
  } else {
    rows.push_back({"Job Type", "Preemptions"});
    for (const auto& [type, count] : types) rows.push_back({type, std::to_string(count)});
  }
  return base::table_text(rows);
}

Value to_json(const server::DryRunAnswer& answer) {
  Value out = Value::object();
  out.set("Annotations", model::to_json(answer.annotations));
  Value& failed = out.set("FailedTGAllocs", Value::object());
  for (const auto& [group, metric] : answer.failed) failed.set(group, model::to_json(metric));
  Value evals = Value::array();
  for (const model::Evaluation& eval : answer.created) evals.push(model::to_json(eval));
  out.set("CreatedEvals", evals.size() == 0 ? Value() : std::move(evals));
  out.set("Diff", answer.diff);
  out.set("Index", answer.job_modify_index);
  out.set("JobModifyIndex", answer.job_modify_index);
  out.set("NextPeriodicLaunch", answer.next_launch.is_zero() ? Value() : Value(base::to_rfc3339(answer.next_launch)));
  out.set("Warnings", answer.warnings);
  return out;
}

std::string to_text(const server::DryRunAnswer& answer, const std::string& type, const TextOptions& options) {
  std::string out;
  if (options.diff) out += diff_text(answer.diff, options.verbose);
  out += "Scheduler dry-run:\n";
  out += answer.failed.empty() ? "- All tasks successfully allocated.\n" : failures_text(answer.failed, type);
  for (const model::Evaluation& eval : answer.created)
    if (eval.triggered_by == "rolling-update")  // R-SEED-38
      out += fmt::format("- Rolling update, next evaluation will be in {}.\n", base::duration_text(eval.wait));
  if (!answer.next_launch.is_zero()) {
    const std::int64_t left = (answer.next_launch.ns - options.now_ns + base::kSecond / 2) / base::kSecond;
    out += fmt::format("- If submitted now, next periodic launch would be at {} ({} from now).\n",
                       base::to_rfc3339(answer.next_launch), base::duration_text(left * base::kSecond));
  }
  out += "\n";
  if (!answer.warnings.empty()) out += "Job Warnings:\n" + answer.warnings + "\n\n";
  if (answer.annotations.preempted_allocs.size() > 0)
    out += "Preemptions:\n\n" + preemptions_text(answer.annotations.preempted_allocs, options.id_length);
  out += fmt::format(
      "Job Modify Index: {0}\n"
      "To submit the job with version verification run:\n\n"
      "nomad job run -check-index {0} {1}\n\n"
      "When running the job with the check-index flag, the job will only be run if the\n"
      "job modify index given matches the server-side version. If the index has\n"
      "changed, another user has modified the job and the plan's results are\n"
      "potentially invalid.\n",
      answer.job_modify_index, options.job_file);
  return out;
}

}  // namespace berth::advice
