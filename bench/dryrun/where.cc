#include "dryrun/where.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <unordered_map>
#include <unordered_set>

#include "advice/plan_text.h"
#include "base/text.h"
#include "base/text_table.h"

namespace berth::dryrun {
namespace {

/// The number in "job.group[12]"; names without one come first.
std::int64_t number_in(const std::string& name) {
  const std::size_t open = name.rfind('[');
  if (open == std::string::npos || !name.ends_with(']')) return -1;
  return base::parse_int64(std::string_view(name).substr(open + 1, name.size() - open - 2)).value_or(-1);
}

std::optional<double> score_on(const model::Allocation& alloc, const std::string& node_id) {
  if (alloc.metrics)
    for (const model::ScoreMeta& meta : alloc.metrics->score_meta_data)
      if (meta.node_id == node_id) return meta.norm_score;
  return std::nullopt;
}

using Rows = std::vector<std::vector<std::string>>;

/// A title and a table of at most `most` rows below its head.
std::string table(const std::string& title, Rows rows, std::size_t most) {
  const std::size_t left_out = rows.size() - 1 > most ? rows.size() - 1 - most : 0;
  rows.resize(rows.size() - left_out);
  std::string out = title + "\n" + base::table_text(rows);
  if (left_out > 0) out += fmt::format("and {} more; --verbose shows them\n", left_out);
  return out;
}

}  // namespace

Where where_of(const model::ClusterState& state, const model::Plan& plan) {
  std::unordered_map<std::string_view, std::string_view> names;
  for (const model::Node& node : state.nodes) names.emplace(node.id, node.name);
  std::unordered_map<std::string_view, const model::Allocation*> before;
  for (const model::Allocation& alloc : state.allocs) before.emplace(alloc.id, &alloc);
  const auto name_of = [&](const std::string& node_id) {
    const auto found = names.find(node_id);
    return found == names.end() ? std::string() : std::string(found->second);
  };
  Where out;
  for (const auto& [node_id, allocs] : plan.node_allocation)
    for (const model::Allocation& alloc : allocs) {
      const bool in_place = before.contains(alloc.id);
      out.placed.push_back({alloc.id, alloc.name, alloc.task_group, node_id, name_of(node_id),
                            in_place ? std::nullopt : score_on(alloc, node_id), in_place,
                            in_place ? "" : alloc.previous_allocation});
    }
  for (const auto& [node_id, allocs] : plan.node_preemptions)
    for (const model::Allocation& alloc : allocs) {
      const auto found = before.find(alloc.id);  // a plan's evictions contain little more than IDs
      const model::Allocation& whole = found == before.end() ? alloc : *found->second;
      out.evicted.push_back({alloc.id, whole.name, whole.job_id, whole.task_group, node_id, name_of(node_id)});
    }
  std::sort(out.placed.begin(), out.placed.end(), [](const PlacedAlloc& a, const PlacedAlloc& b) {
    return std::make_tuple(std::cref(a.group), number_in(a.name), std::cref(a.node_name), std::cref(a.id)) <
           std::make_tuple(std::cref(b.group), number_in(b.name), std::cref(b.node_name), std::cref(b.id));
  });
  std::sort(out.evicted.begin(), out.evicted.end(), [](const EvictedAlloc& a, const EvictedAlloc& b) {
    return std::tie(a.node_name, a.node_id, a.job_id, a.id) < std::tie(b.node_name, b.node_id, b.job_id, b.id);
  });
  return out;
}

std::string to_text(const Where& where, std::size_t id_length, bool all) {
  const std::size_t most = all ? where.placed.size() + where.evicted.size() : kRowsShown;
  std::string out;
  if (!where.placed.empty()) {
    Rows rows = {{"Allocation", "Task Group", "Node", "Score", "Instead Of"}};
    for (const PlacedAlloc& a : where.placed)
      rows.push_back({a.name, a.group, a.node_name.empty() ? a.node_id : a.node_name,
                      a.in_place ? "in place"
                      : a.score  ? fmt::format("{:.4f}", *a.score)
                                 : "-",
                      a.replaces.empty() ? "-" : a.replaces.substr(0, id_length)});
    out += table("Placements:", std::move(rows), most);
  }
  if (!where.evicted.empty()) {
    Rows rows = {{"Evicted", "Job ID", "Task Group", "Node"}};
    for (const EvictedAlloc& a : where.evicted)
      rows.push_back({a.id.substr(0, id_length), a.job_id, a.group, a.node_name.empty() ? a.node_id : a.node_name});
    out += (out.empty() ? "" : "\n") + table("Evictions:", std::move(rows), most);
  }
  return out;
}

void add_json(const Where& where, json::Value& into) {
  json::Value& placements = into.set("placements", json::Value::array());
  for (const PlacedAlloc& a : where.placed)
    placements.push(json::Object{{"id", a.id},
                                 {"name", a.name},
                                 {"group", a.group},
                                 {"node_id", a.node_id},
                                 {"node", a.node_name},
                                 {"score", a.score ? json::Value(*a.score) : json::Value()},
                                 {"in_place", a.in_place},
                                 {"replaces", a.replaces}});
  json::Value& evictions = into.set("evictions", json::Value::array());
  for (const EvictedAlloc& a : where.evicted)
    evictions.push(json::Object{{"id", a.id},
                                {"name", a.name},
                                {"job", a.job_id},
                                {"group", a.group},
                                {"node_id", a.node_id},
                                {"node", a.node_name}});
}

}  // namespace berth::dryrun
