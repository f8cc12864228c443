#include "advice/advice_text.h"

#include <fmt/format.h>

#include "advice/plan_text.h"
#include "base/text_table.h"

namespace berth::advice {

namespace {

/// All reasons of a node in the scheduler's order, with details.
std::string reasons_text(const advice::Shortage& node) {
  std::string out;
  for (std::size_t i = 0; i < node.reasons.size(); ++i) {
    out += (i == 0 ? "" : "; ") + node.reasons[i];
    if (!node.details[i].empty()) out += " (" + node.details[i] + ")";
  }
  return out.empty() ? "-" : out;
}

std::string need_text(const advice::Need& need) {
  std::string out = fmt::format("  no candidate has {}", need.text);
  if (need.node_count == 0) {
    out += need.values.empty() ? ", and no other node" : fmt::format(": {}", need.values);
  } else {
    out += ": only ";
    for (std::size_t i = 0; i < need.nodes.size(); ++i) out += (i == 0 ? "" : ", ") + need.nodes[i];
    const auto more = need.node_count - static_cast<std::int64_t>(need.nodes.size());
    if (more > 0) out += fmt::format(" and {} more", more);
    out += need.node_count == 1 ? " has" : " have";
    out += need.values.empty() ? "" : fmt::format("; {}", need.values);
  }
  return out + "\n";
}

}  // namespace

std::string to_text(const std::vector<advice::GroupAdvice>& advice, std::size_t left_out) {
  std::string out;
  for (const advice::GroupAdvice& a : advice) {
    if (a.failed > 0)
      out += fmt::format("Why {} of group \"{}\" found no node:\n", a.failed, a.group);
    else
      out += fmt::format("What would help group \"{}\", {} of whose allocations the applier would refuse:\n", a.group,
                         a.refused);
    if (!a.filtered_most.empty())
      out += fmt::format("  filtered most: \"{}\", {} node{}\n", a.filtered_most, a.filtered_nodes,
                         a.filtered_nodes == 1 ? "" : "s");
    if (!a.nearest.empty()) {
      std::vector<std::vector<std::string>> rows = {
          {"  nearest node", "cpu missing", "memory missing", "disk missing", "cores missing", "refused for"}};
      const auto cell = [](std::int64_t missing, const char* unit) {
        return missing == 0 ? std::string("-") : fmt::format("{}{}", missing, unit);
      };
      for (const advice::Shortage& s : a.nearest)
        rows.push_back({"  " + s.node_name, cell(s.cpu_mhz, " MHz"), cell(s.memory_mb, " MiB"), cell(s.disk_mb, " MiB"),
                        cell(s.cores, ""), reasons_text(s)});
      out += base::table_text(rows);
    }
    for (const advice::Need& need : a.needs) out += need_text(need);
    if (!a.note.empty()) out += "  " + a.note + "\n";
    if (a.changes.empty())
      out +=
          "  no single change of count, resources, constraints, ports, volumes, datacenters, pool or preemption makes "
          "it fit, nor do several at once\n";
    for (std::size_t i = 0; i < a.changes.size(); ++i) {
      const bool on = !a.changes[i].node.empty();
      out += fmt::format("  {} {}\n",
                         i == 0 ? (on ? "would fit on" : "would fit with") : (on ? "or on        " : "or with       "),
                         a.changes[i].text);
    }
  }
  if (left_out > 0)
    out += fmt::format("No advice for {}{} failed group{}; --advice {} gives it for all.\n", left_out,
                       advice.empty() ? "" : " more", left_out == 1 ? "" : "s", advice.size() + left_out);
  return out;
}

json::Value to_json(const std::vector<advice::GroupAdvice>& advice) {
  json::Value out = json::Value::array();
  for (const advice::GroupAdvice& a : advice) {
    json::Value entry = json::Value::object();
    entry.set("group", a.group), entry.set("failed", a.failed), entry.set("refused", a.refused);
    entry.set("filtered_most", a.filtered_most), entry.set("filtered_nodes", a.filtered_nodes);
    json::Value& nearest = entry.set("nearest", json::Value::array());
    for (const advice::Shortage& s : a.nearest) {
      json::Value node = json::Value::object();
      node.set("node", s.node_name), node.set("cpu_missing_mhz", s.cpu_mhz);
      node.set("memory_missing_mb", s.memory_mb), node.set("disk_missing_mb", s.disk_mb);
      node.set("cores_missing", s.cores), node.set("reason", s.reason());
      json::Value& reasons = node.set("reasons", json::Value::array());
      for (std::size_t i = 0; i < s.reasons.size(); ++i)
        reasons.push(json::Object{{"reason", s.reasons[i]}, {"detail", s.details[i]}});
      nearest.push(std::move(node));
    }
    json::Value& needs = entry.set("needs", json::Value::array());
    for (const advice::Need& need : a.needs) {
      json::Value names = json::Value::array();
      for (const std::string& name : need.nodes) names.push(name);
      needs.push(json::Object{
          {"what", need.text}, {"nodes", std::move(names)}, {"node_count", need.node_count}, {"values", need.values}});
    }
    entry.set("note", a.note);
    json::Value& changes = entry.set("changes", json::Value::array());
    for (const advice::Change& change : a.changes) {
      json::Value one = json::Value::object();
      one.set("text", change.text), one.set("patch", change.patch), one.set("node_id", change.node);
      changes.push(std::move(one));
    }
    out.push(std::move(entry));
  }
  return out;
}

}  // namespace berth::advice
