#include "conform/rank_chain_vectors.h"

#include <algorithm>
#include <deque>
#include <map>
#include <numeric>
#include <utility>

#include "conform/compare.h"
#include "match/operand.h"
#include "match/target.h"
#include "model/codec.h"
#include "rank/components.h"
#include "rank/spread.h"

namespace berth::conform {
namespace {

/// The values of one target over nodes, as the engine wants them. Codes are given in order of appearance.
class PropertyColumn {
 public:
  void add_row(std::optional<std::string_view> value) {
    if (!value) return codes_.push_back(rank::kNoValue);
    const auto found = std::find(text_.begin(), text_.end(), *value);
    codes_.push_back(static_cast<std::uint32_t>(found - text_.begin()));
    if (found == text_.end()) text_.push_back(*value);
  }
  [[nodiscard]] rank::SpreadProperty view() {
    ascending_.resize(text_.size());
    std::iota(ascending_.begin(), ascending_.end(), 0u);
    std::sort(ascending_.begin(), ascending_.end(), [&](auto a, auto b) { return text_[a] < text_[b]; });
    return {codes_, text_, ascending_};
  }

 private:
  std::vector<std::uint32_t> codes_, ascending_;
  std::vector<std::string_view> text_;
};

/// What the vectors tell of an allocation.
struct ChainAlloc {
  std::string id, namespace_, job_id, group, node_id;
  std::uint64_t job_create_index = 0;
  bool server_terminal = false, client_terminal = false;
  [[nodiscard]] bool terminal() const { return server_terminal || client_terminal; }
};

ChainAlloc read_alloc(const json::Value& v) {
  const std::string &desired = v["DesiredStatus"].as_string(), &client = v["ClientStatus"].as_string();
  return {v["ID"].as_string(),
          v["Namespace"].as_string(),
          v["JobID"].as_string(),
          v["TaskGroup"].as_string(),
          v["NodeID"].as_string(),
          v["JobCreateIndex"].as_uint(),
          desired == "stop" || desired == "evict",
          client == "complete" || client == "failed" || client == "lost"};
}

using PlanLists = std::map<std::string, std::vector<ChainAlloc>>;  // by node ID

PlanLists read_lists(const json::Value& lists) {
  PlanLists out;
  for (const json::Member& node : lists.members())
    for (const json::Value& alloc : node.value.items()) out[node.key].push_back(read_alloc(alloc));
  return out;
}

bool names(const std::vector<ChainAlloc>& list, const std::string& id) {
  return std::any_of(list.begin(), list.end(), [&](const ChainAlloc& a) { return a.id == id; });
}

/// One attempt over the nodes of a vector.
class Chain {
 public:
  explicit Chain(const json::Value& in)
      : stops_(read_lists(in["plan"]["NodeUpdate"])),
        preemptions_(read_lists(in["plan"]["NodePreemptions"])),
        placements_(read_lists(in["plan"]["NodeAllocation"])) {
    for (const json::Value& alloc : in["allocs"].items()) allocs_.push_back(read_alloc(alloc));
    const json::Array& nodes = in["nodes"].items();
    nodes_.resize(nodes.size());
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      readable_ = readable_ && model::from_json(nodes[i], nodes_[i]);
      row_of_[nodes_[i].id] = static_cast<std::uint32_t>(i);
    }
    readable_ = readable_ && model::from_json(in["job"], job_);
  }

  [[nodiscard]] bool readable() const { return readable_; }

  void place(const json::Value& alloc) {
    const ChainAlloc a = read_alloc(alloc);
    placements_[a.node_id].push_back(a);
    if (a.terminal()) return;
    for (std::size_t g = 0; g < job_.task_groups.size(); ++g)
      if (rank::SpreadGroup* group = spread_.find(static_cast<std::uint32_t>(g));
          group && job_.task_groups[g].name == a.group)
        if (const auto row = row_of(a.node_id)) group->count_proposed(*row, 1);
  }

  json::Value select(const json::Value& step) {
    const std::string& name = step["select"].as_string();
    const model::TaskGroup* const group = job_.group(name);
    if (!group) return {};
    const auto number = static_cast<std::uint32_t>(group - job_.task_groups.data());
    rank::SpreadGroup* spread = spread_.find(number);
    if (!spread) spread = &prepare(number, *group);
    spread_.begin_select(*spread);

    std::vector<std::pair<const model::Affinity*, match::Constraint>> affinities;
    const auto merge = [&](const std::vector<model::Affinity>& list) {
      for (const model::Affinity& a : list)
        affinities.emplace_back(&a, match::compile(a.ltarget, a.operand, a.rtarget, patterns_));
    };
    merge(job_.affinities), merge(group->affinities);
    for (const model::Task& task : group->tasks) merge(task.affinities);

    json::Value out = json::Value::object();
    for (const json::Value& option : step["options"].items()) {
      const std::string& id = option["node"].as_string();
      const std::uint32_t row = *row_of(id);
      json::Value components = json::Value::array(), proposed_ids = json::Value::array();
      rank::ScoreMean mean;
      const auto append = [&](const char* component, double value) {
        mean.append(value);
        components.push(json::Array{component, bits_text(value)});
      };
      append("binpack", *parse_bits(option["binpack"].as_string()));

      std::int64_t collisions = 0;
      for (const ChainAlloc& a : proposed(id)) {
        proposed_ids.push(a.id);
        if (a.job_id == job_.id && a.group == name) ++collisions;
      }
      if (collisions > 0) append("job-anti-affinity", rank::anti_affinity(collisions, group->count));
      for (const json::Value& penalty : step["penalty_nodes"].items())
        if (penalty.as_string() == id) {
          append("node-reschedule-penalty", rank::kReschedulePenalty);
          break;
        }
      if (!affinities.empty()) {
        rank::AffinitySum sum;
        for (const auto& [affinity, constraint] : affinities)
          sum.add(affinity->weight, match::holds(constraint, nodes_[row], patterns_));
        append("node-affinity", sum.component());
      }
      if (const double total = spread_.score(*spread, row); total != 0.0) append("allocation-spread", total);
      if (const json::Array& victims = option["victim_priorities"].items(); !victims.empty()) {
        std::vector<std::int64_t> priorities;
        for (const json::Value& priority : victims) priorities.push_back(priority.as_int());
        append("preemption", rank::preemption_score(rank::net_priority(priorities)));
      }
      json::Value& node = out.set(id, json::Value::object());
      node.set("components", std::move(components));
      node.set("final", bits_text(mean.final_score()));
      node.set("proposed", std::move(proposed_ids));
    }
    return out;
  }

 private:
  [[nodiscard]] std::optional<std::uint32_t> row_of(const std::string& node_id) const {
    const auto found = row_of_.find(node_id);
    return found == row_of_.end() ? std::nullopt : std::optional(found->second);
  }

  rank::SpreadGroup& prepare(std::uint32_t number, const model::TaskGroup& group) {
    std::vector<rank::SpreadProperty> properties;
    for (const std::vector<model::Spread>* list : {&std::as_const(job_.spreads), &group.spreads})
      for (const model::Spread& spread : *list) {
        PropertyColumn& column = columns_.emplace_back();
        const match::Target target = match::parse_target(spread.attribute);
        for (const model::Node& node : nodes_) {
          const match::Side side = match::resolve(target, node);
          column.add_row(side.found ? std::optional(side.text) : std::nullopt);
        }
        properties.push_back(column.view());
      }
    rank::SpreadGroup& out = spread_.prepare(number, job_.spreads, group.spreads, group.count, properties);
    for (const ChainAlloc& a : allocs_)  // R-RANK-813
      if (a.namespace_ == job_.namespace_ && a.job_id == job_.id && a.job_create_index == job_.create_index &&
          a.group == group.name && !a.terminal())
        if (const auto row = row_of(a.node_id)) out.count_existing(*row);
    for (const auto& [node, list] : placements_)  // R-RANK-814
      for (const ChainAlloc& a : list)
        if (a.group == group.name && !a.terminal())
          if (const auto row = row_of(a.node_id)) out.count_proposed(*row, 1);
    for (const auto& [node, list] : stops_)
      for (const ChainAlloc& a : list)
        if (a.group == group.name)
          if (const auto row = row_of(a.node_id)) out.count_cleared(*row, 1);
    return out;
  }

  /// R-RANK-501 to 504.
  [[nodiscard]] std::vector<ChainAlloc> proposed(const std::string& node_id) {
    std::vector<ChainAlloc> out;
    for (const ChainAlloc& a : allocs_)
      if (a.node_id == node_id && !a.client_terminal && !names(stops_[node_id], a.id) &&
          !names(preemptions_[node_id], a.id))
        out.push_back(a);
    for (const ChainAlloc& a : placements_[node_id]) {
      const auto same = std::find_if(out.begin(), out.end(), [&](const ChainAlloc& b) { return b.id == a.id; });
      if (same == out.end())
        out.push_back(a);
      else
        *same = a;
    }
    return out;
  }

  std::vector<ChainAlloc> allocs_;
  PlanLists stops_, preemptions_, placements_;
  std::vector<model::Node> nodes_;
  std::map<std::string, std::uint32_t> row_of_;
  model::Job job_;
  bool readable_ = true;
  std::deque<PropertyColumn> columns_;  // the engine keeps views of them
  rank::SpreadState spread_;
  match::Patterns patterns_;
};

}  // namespace

// R-RANK-834, 835: a set without targets whose map holds exactly the given counts; 0 = one existing use, cleared.
Outcome replay_even_spread(const Vector& v) {
  PropertyColumn column;
  const json::Object& use = v.in["use"].members();
  for (const json::Member& value : use) column.add_row(value.key);
  const json::Value* const value = v.in.find("value");
  column.add_row(value ? std::optional<std::string_view>(value->as_string()) : std::nullopt);
  rank::SpreadState spread;
  const std::vector<model::Spread> job_spreads = {{"${meta.rack}", 50, {}}};
  rank::SpreadGroup& group = spread.prepare(0, job_spreads, {}, 1, std::vector{column.view()});
  for (std::uint32_t row = 0; row < use.size(); ++row) {
    const std::uint64_t count = use[row].value.as_uint();
    for (std::uint64_t i = 0; i < std::max<std::uint64_t>(count, 1); ++i) group.count_existing(row);
    if (count == 0) group.count_cleared(row, 1);
  }
  spread.begin_select(group);
  json::Value got;
  got.set("boost", bits_text(group.sets().front().even(static_cast<std::uint32_t>(use.size()))));
  return Outcome::from(compare(v.out, got, {.rule = "R-RANK-834"}));
}

Outcome replay_score_chain(const Vector& v) {
  Chain chain(v.in);
  if (!chain.readable()) return Outcome::failed("a node or the job cannot be read");
  json::Value got;
  json::Value& steps = got.set("steps", json::Value::array());
  for (const json::Value& step : v.in["steps"].items()) {
    if (const json::Value* alloc = step.find("place")) {
      chain.place(*alloc);
      steps.push(json::Value());
    } else {
      steps.push(chain.select(step));
    }
  }
  return Outcome::from(compare(v.out, got, {.rule = "R-RANK-831"}));
}

}  // namespace berth::conform
