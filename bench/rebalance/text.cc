#include "rebalance/text.h"

#include <fmt/format.h>

#include <algorithm>

#include "advice/plan_text.h"
#include "base/text.h"
#include "base/text_table.h"

namespace berth::rebalance {
namespace {

using Rows = std::vector<std::vector<std::string>>;

std::string counted(std::int64_t count, const char* what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

/// "cpu 12, memory 9, disk 3".
std::string resources_text(const Bound& bound) {
  std::string out;
  for (std::size_t r = 0; r < kResources; ++r)
    out += fmt::format("{}{} {}", out.empty() ? "" : ", ", kResourceNames[r], bound.by_resource[r]);
  return out;
}

json::Value name_json(const NodeName& node) {
  json::Value out = json::Value::object();
  out.set("id", node.id), out.set("name", node.name);
  return out;
}

json::Value names_json(const std::vector<NodeName>& nodes) {
  json::Value out = json::Value::array();
  for (const NodeName& node : nodes) out.push(name_json(node));
  return out;
}

/// Quotes a text as one word of a POSIX shell.
std::string shell_quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? "'\\''" : std::string(1, c);
  return out + "'";
}

}  // namespace

std::string to_text(const Plan& plan, bool all) {
  std::string out = fmt::format("{}: {} occupied, {} with {}\n", counted(plan.nodes, "node"), plan.occupied_before,
                                plan.occupied_after, counted(static_cast<std::int64_t>(plan.moves.size()), "move"));
  out += fmt::format("At least {} must stay occupied ({}; weighted mix {}; {} hold allocations that cannot move",
                     counted(plan.bound.nodes, "node"), resources_text(plan.bound), plan.bound.by_resources,
                     plan.bound.pinned);
  if (plan.bound.by_moves) out += fmt::format("; the limit of moves {}", *plan.bound.by_moves);
  out += fmt::format("). The plan leaves {}, {:.1f} % above this bound.\n", plan.occupied_after, plan.gap() * 100);
  out += fmt::format("Fragmentation {:.1f} %, then {:.1f} %, of requests of {} MHz, {} MiB, {} MiB disk\n",
                     plan.fragmentation_before * 100, plan.fragmentation_after * 100, plan.mean_request.cpu_mhz,
                     plan.mean_request.memory_mb, plan.mean_request.disk_mb);
  std::string stays;
  for (std::size_t at = 0; at < kStaysNames.size(); ++at)
    if (plan.stays[at] > 0) stays += fmt::format("{} {} {}", stays.empty() ? "" : ",", plan.stays[at], kStaysNames[at]);
  out += fmt::format("{} may move{}\n", counted(plan.movable, "allocation"),
                     stays.empty() ? "" : "; not movable:" + stays);
  Rows moves = {{"Job", "Allocation", "ID", "From", "To", "Nodes per move"}};
  for (const Move& one : plan.moves)
    moves.push_back({advice::job_text(one.job, one.name_space), one.alloc, one.alloc_id.substr(0, 8), one.from.name,
                     one.to.name, fmt::format("{:.3g}", one.gain)});
  out += base::headed_table("\nMoves, in order", std::move(moves), all);
  Rows refusals = {{"Node", "Job", "Allocation", "Why"}};
  for (const Refusal& one : plan.refusals) refusals.push_back({one.node.name, one.job, one.alloc, one.reasons});
  out += base::headed_table("\nNot emptied, as the scheduler finds no place", std::move(refusals), all);
  return out;
}

json::Value to_json(const Plan& plan) {
  json::Value out = json::Value::object();
  out.set("nodes", plan.nodes), out.set("occupied_before", plan.occupied_before);
  out.set("occupied_after", plan.occupied_after), out.set("movable", plan.movable), out.set("passes", plan.passes);
  out.set("fragmentation_before", plan.fragmentation_before);
  out.set("fragmentation_after", plan.fragmentation_after);
  json::Value& request = out.set("mean_request", json::Value::object());
  request.set("cpu_mhz", plan.mean_request.cpu_mhz), request.set("memory_mb", plan.mean_request.memory_mb);
  request.set("disk_mb", plan.mean_request.disk_mb);
  json::Value& bound = out.set("bound", json::Value::object());
  bound.set("nodes", plan.bound.nodes), bound.set("pinned", plan.bound.pinned);
  bound.set("by_resources", plan.bound.by_resources);
  for (std::size_t r = 0; r < kResources; ++r) bound.set(std::string(kResourceNames[r]), plan.bound.by_resource[r]);
  if (plan.bound.by_moves) bound.set("by_moves", *plan.bound.by_moves);
  out.set("gap", plan.gap());
  json::Value& stays = out.set("stays", json::Value::array());
  for (std::size_t at = 0; at < kStaysNames.size(); ++at) {
    if (plan.stays[at] == 0) continue;
    json::Value row = json::Value::object();
    row.set("why", std::string(kStaysNames[at])), row.set("allocations", plan.stays[at]);
    stays.push(std::move(row));
  }
  out.set("emptied", names_json(plan.emptied)), out.set("idle", names_json(plan.idle));
  json::Value& moves = out.set("moves", json::Value::array());
  for (const Move& one : plan.moves) {
    json::Value row = json::Value::object();
    row.set("id", one.alloc_id), row.set("allocation", one.alloc), row.set("job", one.job);
    row.set("namespace", one.name_space), row.set("from", name_json(one.from)), row.set("to", name_json(one.to));
    row.set("gain", one.gain);
    moves.push(std::move(row));
  }
  json::Value& refusals = out.set("refusals", json::Value::array());
  for (const Refusal& one : plan.refusals) {
    json::Value row = json::Value::object();
    row.set("node", name_json(one.node)), row.set("allocation", one.alloc), row.set("job", one.job);
    row.set("reasons", one.reasons);
    refusals.push(std::move(row));
  }
  return out;
}

std::string script(const Plan& plan, const std::string& cluster) {
  std::string out = fmt::format(
      "#!/bin/sh\n"
      "# Made by `berth rebalance` for {}: {}, {}. Ends at the first command that fails.\n"
      "# Where the real scheduler visits nodes in another order, an allocation may land on another node than named "
      "here.\n"
      "set -e\n",
      base::shown(cluster), counted(static_cast<std::int64_t>(plan.emptied.size()), "node") + " to empty",
      counted(static_cast<std::int64_t>(plan.moves.size()), "move"));
  const auto each = [&](const std::vector<NodeName>& nodes, const char* before, const char* change) {
    for (const NodeName& node : nodes)
      out += fmt::format("{}nomad node eligibility -{} {}  # {}\n", before, change, node.id, base::shown(node.name));
  };
  if (!plan.idle.empty()) out += "\n# Empty already, and to stay so.\n";
  each(plan.idle, "", "disable");
  if (!plan.emptied.empty()) out += "\n# To be emptied.\n";
  each(plan.emptied, "", "disable");
  if (!plan.moves.empty()) out += "\n# The scheduler places each stopped allocation again.\n";
  for (const Move& one : plan.moves)
    out +=
        fmt::format("nomad alloc stop {}{}  # {} {}: {} -> {}\n",
                    one.name_space == "default" ? "" : "-namespace=" + shell_quoted(one.name_space) + " ", one.alloc_id,
                    base::shown(one.job), base::shown(one.alloc), base::shown(one.from.name), base::shown(one.to.name));
  out += "\n# To use the nodes again:\n";
  each(plan.idle, "# ", "enable");
  each(plan.emptied, "# ", "enable");
  return out;
}

}  // namespace berth::rebalance
