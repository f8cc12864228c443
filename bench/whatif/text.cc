#include "whatif/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "advice/plan_text.h"
#include "base/text_table.h"

namespace berth::whatif {
namespace {

using Rows = std::vector<std::vector<std::string>>;

/// "95 s", "12 min", "1.5 h".
std::string length_text(double seconds) {
  if (seconds < 120) return fmt::format("{:.0f} s", seconds);
  if (seconds < 7200) return fmt::format("{:.0f} min", seconds / 60);
  return fmt::format("{:.1f} h", seconds / 3600);
}

std::string plural(std::int64_t count, const char* what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

std::string placements_text(const StepReport& report, bool moved, bool all) {
  Rows rows = {moved ? std::vector<std::string>{"Job", "Allocation", "From", "To"}
                     : std::vector<std::string>{"Job", "Allocation", "Node"}};
  for (const Placement& one : report.placements) {
    if (one.from.empty() == moved) continue;
    if (moved)
      rows.push_back({one.job, one.alloc, one.from, one.node});
    else
      rows.push_back({one.job, one.alloc, one.node});
  }
  return base::headed_table(moved ? "Moved" : "New", std::move(rows), all);
}

std::string allowed_text(const Shortfall& one) {
  if (!one.allowed) return "-";
  return fmt::format("{}{}", *one.allowed, one.away_most > *one.allowed ? " (exceeded)" : "");
}

}  // namespace

std::string to_text(const Packing& packing) {
  std::string out =
      fmt::format("{}, {} used, {}, cpu {:.1f} %, memory {:.1f} %", plural(packing.nodes, "node"), packing.used_nodes,
                  plural(packing.allocs, "allocation"), packing.cpu * 100, packing.memory * 100);
  if (packing.price_per_hour) out += fmt::format(", {:.2f} an hour", *packing.price_per_hour);
  return out;
}

std::string to_text(const StepReport& report, std::size_t number, bool all) {
  const auto moved = std::count_if(report.placements.begin(), report.placements.end(),
                                   [](const Placement& one) { return !one.from.empty(); });
  const auto placed = static_cast<std::int64_t>(report.placements.size()) - moved;
  std::string out = fmt::format("Step {}: {}", number, report.words);
  if (report.nodes > 0) out += fmt::format(" ({})", plural(report.nodes, "node"));
  out += fmt::format("\n{} moved, {} new, {} stopped, {} evicted; {}\n", moved, placed, report.stopped,
                     report.evictions.size(),
                     report.settled ? "at rest after " + length_text(report.length_s)
                                    : "not at rest when the time for a step was over; --step-time gives it more");
  for (const std::string& part : {placements_text(report, true, all), placements_text(report, false, all)})
    if (!part.empty()) out += "\n" + part;
  Rows evicted = {{"Job", "Allocation", "Node", "For"}};
  for (const Eviction& one : report.evictions) evicted.push_back({one.job, one.alloc, one.node, one.by});
  Rows waiting = {{"Job", "Group", "Missing", "Since", "Why"}};
  for (const Waiting& one : report.waiting)
    waiting.push_back(
        {one.job, one.group, std::to_string(one.missing), one.before ? "before" : "this step", one.reasons});
  Rows below = {{"Job", "Group", "Ran", "Away at once", "Allowed", "Away now", "Time below", "Lost"}};
  for (const Shortfall& one : report.shortfalls)
    below.push_back({one.job, one.group, std::to_string(one.ran), std::to_string(one.away_most), allowed_text(one),
                     std::to_string(one.away_end), length_text(one.below_s), length_text(one.missing_s)});
  for (const std::string& part :
       {base::headed_table("Evicted", std::move(evicted), all),
        base::headed_table("Without a place", std::move(waiting), all),
        base::headed_table("Below what ran before (lost: summed over allocations)", std::move(below), all)})
    if (!part.empty()) out += "\n" + part;
  out += "\nBefore: " + to_text(report.before) + "\nAfter:  " + to_text(report.after) + "\n";
  return out;
}

json::Value to_json(const Packing& packing) {
  json::Value out = json::Value::object();
  out.set("nodes", packing.nodes), out.set("used_nodes", packing.used_nodes);
  out.set("eligible_nodes", packing.eligible_nodes), out.set("allocations", packing.allocs);
  out.set("cpu", packing.cpu), out.set("memory", packing.memory);
  if (packing.price_per_hour) out.set("price_per_hour", *packing.price_per_hour);
  return out;
}

json::Value to_json(const StepReport& report) {
  json::Value out = json::Value::object();
  out.set("step", report.words), out.set("nodes", report.nodes), out.set("length_s", report.length_s);
  out.set("settled", report.settled), out.set("stopped", report.stopped);
  json::Value& placements = out.set("placements", json::Value::array());
  for (const Placement& one : report.placements) {
    json::Value row = json::Value::object();
    row.set("job", one.job), row.set("allocation", one.alloc), row.set("node", one.node);
    if (!one.from.empty()) row.set("from", one.from);
    placements.push(std::move(row));
  }
  json::Value& evictions = out.set("evictions", json::Value::array());
  for (const Eviction& one : report.evictions) {
    json::Value row = json::Value::object();
    row.set("job", one.job), row.set("allocation", one.alloc), row.set("node", one.node), row.set("for", one.by);
    evictions.push(std::move(row));
  }
  json::Value& waiting = out.set("waiting", json::Value::array());
  for (const Waiting& one : report.waiting) {
    json::Value row = json::Value::object();
    row.set("job", one.job), row.set("group", one.group), row.set("missing", one.missing);
    row.set("before", one.before), row.set("reasons", one.reasons);
    waiting.push(std::move(row));
  }
  json::Value& below = out.set("below", json::Value::array());
  for (const Shortfall& one : report.shortfalls) {
    json::Value row = json::Value::object();
    row.set("job", one.job), row.set("group", one.group), row.set("ran", one.ran);
    row.set("away_most", one.away_most), row.set("away_end", one.away_end);
    row.set("below_s", one.below_s), row.set("missing_s", one.missing_s);
    if (one.allowed) row.set("allowed", *one.allowed);
    below.push(std::move(row));
  }
  out.set("before", to_json(report.before)), out.set("after", to_json(report.after));
  return out;
}

}  // namespace berth::whatif
