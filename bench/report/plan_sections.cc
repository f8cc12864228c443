// Answers of `berth plan --json`: changes, placements and advice.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "report/kinds.h"

namespace berth::report {
namespace {

std::vector<Cell> cells(std::initializer_list<std::string> texts) { return {texts.begin(), texts.end()}; }

void add_groups(const json::Value& value, Section& section) {
  Table table{.title = "Task groups",
              .head = {"group", "place", "destructive", "in place", "migrate", "canary", "stop", "ignore", "failed"},
              .rows = {}};
  const json::Value& failed = value["FailedTGAllocs"];
  for (const json::Member& group : value["Annotations"]["DesiredTGUpdates"].members()) {
    std::vector<Cell> row = {group.key};
    for (const char* what : {"Place", "DestructiveUpdate", "InPlaceUpdate", "Migrate", "Canary", "Stop", "Ignore"})
      row.emplace_back(shown(group.value[what].as_double(), ""));
    const json::Value* metric = failed.find(group.key);
    row.emplace_back(metric ? shown((*metric)["CoalescedFailures"].as_double() + 1, "") : "0", metric ? "bad" : "");
    table.rows.push_back(std::move(row));
  }
  section.tables.push_back(std::move(table));
}

void add_placements(const json::Value& berth, Section& section) {
  const json::Value &placed = berth["placements"], &evicted = berth["evictions"];
  if (placed.size() > 0) {
    Table table{.title = "Placements", .head = {"allocation", "group", "node", "score"}, .rows = {}};
    std::map<std::string, double> per_node;
    for (const json::Value& one : placed.items()) {
      table.rows.push_back(cells({one["name"].as_string(), one["group"].as_string(), one["node"].as_string(),
                                  one["in_place"].as_bool()  ? "in place"
                                  : one["score"].is_number() ? fmt::format("{:.4f}", one["score"].as_double())
                                                             : "-"}));
      ++per_node[one["node"].as_string()];
    }
    table.folded = table.rows.size() > 50;
    section.tables.push_back(std::move(table));
    if (per_node.size() > 1 && per_node.size() <= 100) {
      Chart chart{.kind = ChartKind::bars, .title = "Allocations per node"};
      chart.about = fmt::format("How many of the {} allocations each of {} nodes gets", placed.size(), per_node.size());
      chart.x.title = "allocations";
      Series& series = chart.series.emplace_back(Series{"allocations", {}});
      for (const auto& [node, count] : per_node) {
        series.points.push_back({static_cast<double>(chart.categories.size()), count});
        chart.categories.push_back(node);
      }
      section.charts.push_back(std::move(chart));
    }
  }
  if (evicted.size() == 0) return;
  Table table{.title = "Evictions", .head = {"allocation", "job", "group", "node"}, .rows = {}};
  for (const json::Value& one : evicted.items())
    table.rows.push_back(
        cells({one["name"].as_string(), one["job"].as_string(), one["group"].as_string(), one["node"].as_string()}));
  section.tables.push_back(std::move(table));
}

void add_advice(const json::Value& berth, Section& section) {
  Table why{.title = "Why placements failed", .head = {"group", "failed", "filtered most", "nodes"}, .rows = {}};
  Table changes{.title = "What would help", .head = {"group", "change"}, .rows = {}};
  for (const json::Value& one : berth["advice"].items()) {
    const std::string& group = one["group"].as_string();
    if (one["failed"].as_int() > 0)
      why.rows.push_back(cells({group, shown(one["failed"].as_double(), ""), one["filtered_most"].as_string(),
                                shown(one["filtered_nodes"].as_double(), "")}));
    for (const json::Value& change : one["changes"].items())
      changes.rows.push_back(cells({group, change["text"].as_string()}));
    if (one["changes"].size() == 0) changes.rows.push_back(cells({group, "no single change makes it fit"}));
  }
  if (!why.rows.empty()) section.tables.push_back(std::move(why));
  if (!changes.rows.empty()) section.tables.push_back(std::move(changes));
}

void add_refusals(const json::Value& applier, Section& section) {
  if (!applier.is_object()) return;
  Table table{.title = "Nodes whose part the plan applier would refuse", .head = {"node", "reason"}, .rows = {}};
  for (const json::Value& node : applier["nodes"].items())
    table.rows.push_back(cells({node["name"].as_string(), node["reason"].as_string()}));
  table.note = fmt::format("simulated to the end, the evaluation ends {} after {} plans; {} placed",
                           applier["end"].as_string(), applier["plans"].as_int(), applier["placed"].as_int());
  section.tables.push_back(std::move(table));
}

}  // namespace

Result<void> check_plan(const Input& input) {
  return check(input.value, input.path,
               {{"Annotations/DesiredTGUpdates", 'o'},
                {"FailedTGAllocs", 'o'},
                {"Berth/now", 's'},
                {"Berth/order", 'n'},
                {"Berth/job", 's'},
                {"Berth/placements", 'l'},
                {"Berth/placements/*/node", 's'},
                {"Berth/evictions", 'l'},
                {"Berth/advice", 'l'}});
}

void plan_sections(const std::vector<const Input*>& inputs, Document& out) {
  for (const Input* input : inputs) {
    const json::Value &value = input->value, &berth = value["Berth"];
    Section& section = out.sections.emplace_back();
    section.title = "Plan of " + berth["job"].as_string();
    section.file = input->path;
    const std::size_t failed = value["FailedTGAllocs"].size();
    section.verdict = berth["applier"].is_object() ? Cell("would be refused in part", "bad")
                      : failed > 0                 ? Cell("not all placed", "bad")
                                                   : Cell("all placed", "good");
    section.facts = {{"time", berth["now"].as_string()},
                     {"visiting order", std::to_string(berth["order"].as_int())},
                     {"change", value["Diff"]["Type"].as_string()},
                     {"placed", shown(static_cast<double>(berth["placements"].size()), "")},
                     {"evicted", shown(static_cast<double>(berth["evictions"].size()), "")}};
    if (const std::string& warnings = value["Warnings"].as_string(); !warnings.empty())
      section.texts.emplace_back("Warnings", warnings);
    add_groups(value, section);
    add_refusals(berth["applier"], section);
    add_placements(berth, section);
    add_advice(berth, section);
    if (const std::string& explanation = berth["explanation"].as_string(); !explanation.empty())
      section.texts.emplace_back("Explanation", explanation);
  }
}

}  // namespace berth::report
