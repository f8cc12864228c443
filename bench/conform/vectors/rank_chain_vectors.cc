#include "conform/vectors/rank_chain_vectors.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/text.h"
#include "conform/compare.h"
#include "model/codec/codec.h"
#include "model/job.h"
#include "rank/spread.h"
#include "sched/node/component_table.h"
#include "sched/stack/select_parts.h"
#include "tables/state.h"

namespace berth::conform {
namespace {

/// The values of a target over nodes, in the engine's form. Codes are assigned in order of appearance.
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

/// An attempt with the state and plan of a vector, by the parts of the generic stack. Fit and victims are given.
class Chain {
 public:
  explicit Chain(const Field& in) {
    auto job = std::make_shared<model::Job>();
    model::ClusterState state;
    readable_ = from_json(in["job"], *job).has_value();
    state.jobs.push_back(job);
    for (const Field& node : in["nodes"].items()) readable_ = readable_ && from_json(node, state.nodes.emplace_back());
    std::uint64_t copies = 0;
    for (const Field& alloc : in["allocs"].items()) {
      model::Allocation& out = state.allocs.emplace_back();
      readable_ = readable_ && from_json(alloc, out);
      auto copy = std::make_shared<model::Job>();  // the job of its placement
      copy->namespace_ = out.namespace_;
      copy->id = out.job_id;
      copy->create_index = alloc["JobCreateIndex"].as_uint();
      copy->version = ++copies;
      out.job = std::move(copy);
    }
    if (!readable_) return;
    store_.load(state);
    plan_.job = store_.upsert_job(job, true);
    snapshot_ = store_.snapshot();
    parts_.start(snapshot_, plan_, false);
    parts_.set_job(*snapshot_.jobs.versions[plan_.job], {});
    enter(in["plan"]);
  }

  [[nodiscard]] bool readable() const { return readable_; }

  void place(const Field& alloc) {
    const std::uint32_t group = position_of(alloc["TaskGroup"]);
    plan::PlannedAlloc& planned = plan_.allocs.emplace_back();
    planned.id = base::parse_uuid(alloc["ID"].as_string()).value_or(base::Uuid{});
    planned.node = node(alloc["NodeID"]);
    planned.group = group;
    planned.held = job().groups[group].shape.get();
    parts_.effects.placed(planned);
  }

  json::Value select(const Field& step) {
    const std::uint32_t position = position_of(step["select"]);
    std::vector<tables::NodeRow> penalties;
    for (const Field& penalty : step["penalty_nodes"].items()) penalties.push_back(node(penalty));
    sched::SelectOptions options;
    options.penalty_nodes = penalties;
    sched::Scorer& scorer = parts_.fit.scorer;
    sched::GroupView& group = parts_.begin_select(position, options);
    scorer.begin_select(group, options);
    json::Value out = json::Value::object();
    for (const Field& option : step["options"].items()) {
      const tables::NodeRow row = node(option["node"]);
      rank::ScoreRow score;
      scorer.score(row, *group.group, {}, nullptr, score);
      const auto binpack = parse_bits(option["binpack"].as_string());
      if (!binpack) option.fail("is no double as 16 hex digits", "/binpack");
      score.append(rank::Component::binpack, *binpack);
      if (const auto victims = option["victim_priorities"].items(); !victims.empty()) {
        std::vector<std::int64_t> priorities;
        for (const Field& priority : victims) priorities.push_back(priority.as_int());
        score.append(rank::Component::preemption, rank::preemption_score(rank::net_priority(priorities)));
      }
      const double final_score = scorer.final_score(row, score);
      json::Value components = json::Value::array();
      for (std::size_t c = 0; c < sched::kScoreComponents.size(); ++c)
        if (score.appended >> c & 1)
          components.push(json::Array{sched::kScoreComponents[c].name, bits_text(score.value[c])});
      json::Value& result = out.set(option["node"].as_string(), json::Value::object());
      result.set("components", std::move(components));
      result.set("final", bits_text(final_score));
      result.set("proposed", proposed(row));
    }
    return out;
  }

 private:
  [[nodiscard]] const tables::CompiledJob& job() const { return *parts_.attempt.job; }
  [[nodiscard]] tables::NodeRow node(const Field& id) const {
    const tables::NodeRow row = store_.find_node(id.as_string());
    if (row == tables::kNoRow) id.fail("names no node of the vector");
    return row;
  }
  [[nodiscard]] tables::AllocRow alloc(const Field& id) {
    const tables::AllocRow row = store_.find_alloc(id.as_string());
    if (row == tables::kNoRow) id.fail("names no allocation of the vector");
    return row;
  }
  [[nodiscard]] std::uint32_t position_of(const Field& group) const {
    for (std::uint32_t g = 0; g < job().groups.size(); ++g)
      if (job().groups[g].spec->name == group.as_string()) return g;
    group.fail("names no group of the job");
  }

  /// Enters the initial plan: stops, preemptions, and allocations that it lists again.
  void enter(const Field& plan) {
    const auto each = [&](const char* list, auto visit) {
      for (const auto& node : plan[list].members())
        for (const Field& alloc : node.value.items()) visit(this->alloc(alloc["ID"]), alloc["ID"]);
    };
    each("NodeUpdate", [&](tables::AllocRow alloc, const Field&) {
      plan_.stops.emplace_back().alloc = alloc;
      parts_.effects.stopped(static_cast<std::uint32_t>(plan_.stops.size() - 1));
    });
    each("NodePreemptions", [&](tables::AllocRow alloc, const Field& id) {
      const tables::NodeRow node = snapshot_.allocs.node[alloc];
      if (node == tables::kNoRow) id.fail("names an allocation on a node that does not exist");
      parts_.effects.preempt(node, std::span(&alloc, 1));
    });
    each("NodeAllocation", [&](tables::AllocRow alloc, const Field&) {
      plan_.updates.emplace_back().alloc = alloc;
      parts_.effects.updated(static_cast<std::uint32_t>(plan_.updates.size() - 1));
    });
  }

  /// R-RANK-501 to 504.
  json::Value proposed(tables::NodeRow row) {
    json::Value out = json::Value::array();
    parts_.fit.proposed.collect(row);
    std::vector<tables::AllocRow> relisted;  // newest first
    parts_.effects.each_relisted(row, [&](tables::AllocRow alloc) { relisted.push_back(alloc); });
    std::vector<tables::AllocRow>& rows = parts_.fit.proposed.rows;
    rows.insert(rows.end(), relisted.rbegin(), relisted.rend());
    for (const tables::AllocRow alloc : rows) out.push(base::to_text(snapshot_.allocs.id[alloc]));
    for (const plan::PlannedAlloc& planned : plan_.allocs)
      if (planned.node == row) out.push(base::to_text(planned.id));
    return out;
  }

  bool readable_ = true;
  tables::StateStore store_;
  tables::Snapshot snapshot_;
  sched::Scratch scratch_;
  plan::PlanRows plan_;
  sched::SelectParts parts_{scratch_};
};

}  // namespace

// R-RANK-834, 835: a set without targets whose map holds exactly the given counts; 0 = one existing use, cleared.
Outcome replay_even_spread(const Vector& v) {
  PropertyColumn column;
  const auto use = v.in["use"].members();
  for (const auto& value : use) column.add_row(value.key);
  const auto value = v.in.find("value");
  column.add_row(value ? std::optional<std::string_view>(value->as_string()) : std::nullopt);
  rank::SpreadState spread;
  const std::vector<model::Spread> job_spreads = {{"${meta.rack}", 50, {}}};
  rank::SpreadGroup& group = spread.prepare(0, job_spreads, {}, 1, std::vector{column.view()});
  for (std::uint32_t row = 0; row < use.size(); ++row) {
    const std::uint64_t count = use[row].value.as_count();
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
  for (const Field& step : v.in["steps"].items()) {
    if (const auto alloc = step.find("place")) {
      chain.place(*alloc);
      steps.push(json::Value());
    } else {
      steps.push(chain.select(step));
    }
  }
  return Outcome::from(compare(v.out, got, {.rule = "R-RANK-831"}));
}

}  // namespace berth::conform
