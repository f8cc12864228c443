#include "diff/text.h"

#include <fmt/format.h>

#include <algorithm>

#include "advice/plan_text.h"
#include "base/text_table.h"
#include "base/time.h"

namespace berth::diff {
namespace {

using Table = std::vector<std::vector<std::string>>;

/// "3", or "3 -> 5" if it changed.
std::string change(std::int64_t before, std::int64_t after) {
  return before == after ? std::to_string(after) : fmt::format("{} -> {}", before, after);
}
std::string change(const std::string& before, const std::string& after) {
  return before == after ? after : before + " -> " + after;
}
std::string change(const std::optional<std::int64_t>& before, const std::optional<std::int64_t>& after) {
  const auto words = [](const std::optional<std::int64_t>& count) { return count ? std::to_string(*count) : "-"; };
  return change(words(before), words(after));
}
std::string or_dash(std::int64_t count) { return count == 0 ? "-" : std::to_string(count); }
std::string more(std::int64_t amount) { return amount == 0 ? "-" : fmt::format("{:+}", amount); }

std::string moment_text(const char* name, const Moment& moment) {
  return fmt::format("{}: index {}{}, {} nodes, {} jobs, {} live allocations\n", name, moment.index,
                     moment.ns == 0 ? "" : ", " + base::to_rfc3339({moment.ns}), moment.nodes, moment.jobs,
                     moment.live);
}

json::Value to_json(const Moment& moment) {
  json::Value out = json::Value::object();
  out.set("index", moment.index), out.set("nodes", moment.nodes), out.set("jobs", moment.jobs);
  out.set("live", moment.live);
  if (moment.ns != 0) out.set("time", base::to_rfc3339({moment.ns}));
  return out;
}

}  // namespace

std::string to_text(const Report& report, bool all) {
  std::string out = moment_text("A", report.before) + moment_text("B", report.after);
  if (report.empty()) return out + "No difference\n";
  std::int64_t failed = 0;
  for (const GroupChange& one : report.groups) failed += one.failed;
  out += fmt::format("{} moved, {} replaced on their node, {} new, {} ended; {} failed\n", report.count(Kind::moved),
                     report.count(Kind::replaced), report.count(Kind::placed), report.count(Kind::ended), failed);
  Table jobs = {{"Job", "A", "B"}};
  for (const JobChange& one : report.jobs) jobs.push_back({one.job, one.before, one.after});
  Table groups = {{"Job", "Group", "Count", "Live", "Moved", "Replaced", "New", "Ended", "Failed", "Evicted", "Updated",
                   "Waiting", "MHz", "MiB"}};
  for (const GroupChange& one : report.groups)
    groups.push_back({one.job, one.group, change(one.count_before, one.count_after),
                      change(one.live_before, one.live_after), or_dash(one.moved), or_dash(one.replaced),
                      or_dash(one.placed), or_dash(one.ended), or_dash(one.failed), or_dash(one.evicted),
                      or_dash(one.updated), change(one.waiting_before, one.waiting_after), more(one.cpu_mhz),
                      more(one.memory_mb)});
  Table nodes = {{"Node", "State", "Live", "Came", "Left", "Failed", "MHz", "MiB"}};
  for (const NodeChange& one : report.nodes)
    nodes.push_back({one.node, change(one.before, one.after), change(one.live_before, one.live_after),
                     or_dash(one.came), or_dash(one.left), or_dash(one.failed), more(one.cpu_mhz),
                     more(one.memory_mb)});
  Table fields = {{"Node", "What", "A", "B"}};
  for (const NodeFieldChange& one : report.node_fields)
    fields.push_back({one.node, one.field, one.before.empty() ? "-" : one.before, one.after.empty() ? "-" : one.after});
  Table allocs = {{"Allocation", "Job", "Change", "From", "To", "Why"}};
  for (const AllocChange& one : report.allocs)
    allocs.push_back({one.name, one.job, to_text(one.kind), one.from.empty() ? "-" : one.from,
                      one.to.empty() ? "-" : one.to, one.why.empty() ? "-" : one.why});
  return out + base::headed_table("\nJobs", std::move(jobs), all) +
         base::headed_table("\nGroups", std::move(groups), all) + base::headed_table("\nNodes", std::move(nodes), all) +
         base::headed_table("\nNode properties", std::move(fields), all) +
         base::headed_table("\nAllocations", std::move(allocs), all);
}

json::Value to_json(const Report& report) {
  json::Value out = json::Value::object();
  out.set("before", to_json(report.before)), out.set("after", to_json(report.after));
  json::Value& jobs = out.set("jobs", json::Value::array());
  for (const JobChange& one : report.jobs) {
    json::Value row = json::Value::object();
    row.set("job", one.job), row.set("before", one.before), row.set("after", one.after);
    jobs.push(std::move(row));
  }
  json::Value& groups = out.set("groups", json::Value::array());
  for (const GroupChange& one : report.groups) {
    json::Value row = json::Value::object();
    row.set("job", one.job), row.set("group", one.group);
    if (one.count_before) row.set("count_before", *one.count_before);
    if (one.count_after) row.set("count_after", *one.count_after);
    row.set("live_before", one.live_before), row.set("live_after", one.live_after);
    row.set("moved", one.moved), row.set("replaced", one.replaced), row.set("placed", one.placed);
    row.set("ended", one.ended), row.set("failed", one.failed), row.set("evicted", one.evicted);
    row.set("updated", one.updated), row.set("waiting_before", one.waiting_before);
    row.set("waiting_after", one.waiting_after), row.set("cpu_mhz", one.cpu_mhz), row.set("memory_mb", one.memory_mb);
    groups.push(std::move(row));
  }
  json::Value& nodes = out.set("nodes", json::Value::array());
  for (const NodeChange& one : report.nodes) {
    json::Value row = json::Value::object();
    row.set("node", one.node), row.set("id", one.id), row.set("before", one.before), row.set("after", one.after);
    row.set("live_before", one.live_before), row.set("live_after", one.live_after);
    row.set("came", one.came), row.set("left", one.left), row.set("failed", one.failed);
    row.set("cpu_mhz", one.cpu_mhz), row.set("memory_mb", one.memory_mb);
    nodes.push(std::move(row));
  }
  json::Value& fields = out.set("node_properties", json::Value::array());
  for (const NodeFieldChange& one : report.node_fields) {
    json::Value row = json::Value::object();
    row.set("node", one.node), row.set("id", one.id), row.set("property", one.field);
    if (!one.before.empty()) row.set("before", one.before);
    if (!one.after.empty()) row.set("after", one.after);
    fields.push(std::move(row));
  }
  json::Value& allocs = out.set("allocations", json::Value::array());
  for (const AllocChange& one : report.allocs) {
    json::Value row = json::Value::object();
    row.set("change", to_text(one.kind)), row.set("job", one.job), row.set("group", one.group);
    row.set("name", one.name);
    const auto set = [&](const char* key, const std::string& value) {
      if (!value.empty()) row.set(key, value);
    };
    set("from", one.from), set("to", one.to), set("old_id", one.old_id), set("new_id", one.new_id);
    set("why", one.why);
    allocs.push(std::move(row));
  }
  return out;
}

}  // namespace berth::diff
