#include "record/replay.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <unordered_map>

#include "advice/plan_text.h"
#include "dryrun/request.h"
#include "model/job.h"
#include "record/outline.h"
#include "record/past.h"
#include "run/progress.h"
#include "sched/to_model.h"
#include "server/lane.h"
#include "server/surroundings.h"

namespace berth::record {
namespace {

using tables::kNoRow;

/// Topics without which the tables would differ from the cluster's.
constexpr const char* kNeeded[] = {"Evaluation", "Allocation", "Deployment", "Job", "Node", "NodePool"};

std::vector<std::string> only_in(const std::vector<std::string>& these, const std::vector<std::string>& not_those) {
  std::vector<std::string> out;
  std::set_difference(these.begin(), these.end(), not_those.begin(), not_those.end(), std::back_inserter(out));
  return out;
}

/// Records the first plan as submitted, and commits nothing.
class FirstPlan final : public sched::Planner {
 public:
  FirstPlan(server::Server& server, const model::Evaluation& eval, std::int64_t now_ns)
      : server_(server), eval_(eval), now_ns_(now_ns) {}

  sched::Submission submit(const sched::EvalResult& result) override {
    if (!plan_) plan_ = sched::to_model(naming(result), result, eval_, now_ns_);
    return {};
  }
  std::string create(const sched::EvalResult&, const sched::CreatedEval& created) override {
    blocked_ = blocked_ || !created.followup;
    return {};
  }
  [[nodiscard]] sched::Naming naming(const sched::EvalResult& result) const {
    return {*result.state, server_.lane().scratch};
  }
  [[nodiscard]] const std::optional<model::Plan>& plan() const { return plan_; }
  [[nodiscard]] bool blocked() const { return blocked_; }

 private:
  server::Server& server_;
  const model::Evaluation& eval_;
  const std::int64_t now_ns_;
  std::optional<model::Plan> plan_;
  bool blocked_ = false;
};

/// berth's decision on an evaluation.
struct Decision {
  std::string error;  ///< why there is no decision
  Outcome outcome;
  model::Plan plan;
  std::map<std::string, model::AllocMetric> failed;  ///< by group
};

/// The planned allocation of this name on this node; null: none.
const model::Allocation* placement(const model::Plan& plan, const std::string& name, const std::string& node) {
  const auto on_node = plan.node_allocation.find(node);
  if (on_node == plan.node_allocation.end()) return nullptr;
  for (const model::Allocation& alloc : on_node->second)
    if (alloc.name == name) return &alloc;
  return nullptr;
}

std::optional<double> score_of(const std::optional<model::AllocMetric>& metrics, const std::string& node) {
  if (!metrics) return std::nullopt;
  for (const model::ScoreMeta& score : metrics->score_meta_data)
    if (score.node_id == node) return score.norm_score;
  return std::nullopt;
}

/// Finds the recorded metrics of one placement.
class ScoreFinder final : public Reader {
 public:
  ScoreFinder(std::uint64_t plan_index, std::string name, std::string node)
      : plan_index_(plan_index), name_(std::move(name)), node_(std::move(node)) {}
  void take(model::ClusterState, std::int64_t) override {}
  void take(io::EventFrame frame, std::int64_t) override {
    if (frame.index != plan_index_) return;
    for (model::Allocation& alloc : frame.objects.allocs)
      if (alloc.name == name_ && alloc.node_id == node_) metrics_ = std::move(alloc.metrics);
  }
  void take(const model::SchedulerConfiguration&) override {}
  void take(const Gap&) override {}
  void take_skipped(std::uint64_t) override {}
  [[nodiscard]] const std::optional<model::AllocMetric>& metrics() const { return metrics_; }

 private:
  const std::uint64_t plan_index_;
  const std::string name_, node_;
  std::optional<model::AllocMetric> metrics_;
};

class Replay final : public Reader {
 public:
  Replay(Source& source, Outline& outline, const OtherSettings& settings, Report& report)
      : source_(source),
        settings_(settings),
        report_(report),
        finished_(outline.take_finished()),
        configs_(outline.take_configs()) {
    report_.finished = finished_.size();
  }

  void take(model::ClusterState state, std::int64_t) override {
    end_state();
    for (; next_ < finished_.size() && finished_[next_].state < state_number_; ++next_) leave_out("in a gap");
    ++state_number_;
    if (!settings_.empty()) {  // checked before
      [[maybe_unused]] const auto done = dryrun::change_scheduler(state, settings_.algorithm, settings_.preemption);
    }
    past_ = std::make_unique<Past>(state, model::Options{});
    strategy_is_stale_ = true;
  }

  void take(io::EventFrame frame, std::int64_t) override {
    if (!past_) return;  // in a gap: the next State contains it
    decide_before(frame.index);
    set_configs(frame.index);
    const bool is_plan = frame.type == "PlanResult";
    std::vector<std::string> evals;
    if (is_plan)
      for (const model::Evaluation& eval : frame.objects.evals) evals.push_back(eval.id);
    strategy_is_stale_ =
        strategy_is_stale_ || !frame.objects.nodes.empty() || !frame.objects.jobs.empty() || !frame.gone.empty();
    past_->apply(std::move(frame), [this](const model::Allocation& alloc) { return job_of(alloc); });
    for (const std::string& id : evals) planned_.erase(id);
  }

  void take(const model::SchedulerConfiguration&) override {}  // all are in configs_
  void take(const Gap&) override { end_state(); }
  void take_skipped(std::uint64_t) override {}

  void end() {
    end_state();
    for (; next_ < finished_.size(); ++next_) leave_out("in a gap");
    progress_.finish();
  }

  /// Adds the recorded scores to the explanation of the first difference.
  Result<void> explain() {
    if (!report_.first) return {};
    ScoreFinder finder(first_plan_, report_.first->alloc, first_nodes_[0]);
    if (auto done = source_.read(finder); !done) return done;
    for (std::size_t i = 0; i < report_.first->nodes.size(); ++i)
      report_.first->nodes[i].nomad = score_of(finder.metrics(), first_nodes_[i]);
    return {};
  }

 private:
  /// The strategy compares with the nodes and jobs as they are at the decision.
  void use_strategy() {
    if (settings_.strategy.empty() || !std::exchange(strategy_is_stale_, false)) return;
    auto made = server::scoring_strategy(settings_.strategy, past_->state());
    if (!made) return;
    made->use_in(past_->server().lane().scratch.strategy_fit);
    strategy_ = std::move(*made);
  }

  void leave_out(const char* reason) { ++report_.not_comparable[reason]; }

  void end_state() {
    if (!past_) return;
    decide_before(past_->index() + 1);
    report_.left_out += past_->left_out();
    planned_.clear();
    past_.reset();
  }

  void set_configs(std::uint64_t until) {
    for (; next_config_ < configs_.size() && configs_[next_config_].modify_index <= until; ++next_config_)
      if (settings_.empty() && configs_[next_config_].modify_index > past_->begin_index())
        past_->set_config(configs_[next_config_], configs_[next_config_].modify_index);
  }

  void decide_before(std::uint64_t index) {
    for (; next_ < finished_.size() && finished_[next_].state + 1 == state_number_ &&
           finished_[next_].snapshot_index < index;
         ++next_) {
      const Finished& one = finished_[next_];
      progress_.update(next_);
      if (one.snapshot_index < past_->begin_index())
        leave_out("decided on a state before the first");
      else if (const char* why = source_.why_unknown(one.eval_id))
        leave_out(why);
      else if (one.snapshot_index < past_->index())
        leave_out("decided on a state that the recording passed already");
      else if (one.ran_out)
        leave_out("out of attempts, as its plans were refused");
      else if (one.plans > 1)
        leave_out("decided in several attempts, as a plan was refused in part");
      else
        compare(one);
    }
  }

  void compare(const Finished& one) {
    set_configs(one.snapshot_index);
    past_->raise_index(one.snapshot_index);
    const tables::StoredEvalRow row = past_->server().store().find_eval(one.eval_id);
    const auto eval = row == kNoRow ? nullptr : past_->state().eval(row);
    if (!eval) return leave_out("its evaluation is not in the recording");
    const Decision decision = decide(*eval, one.now_ns);
    if (!decision.error.empty()) return leave_out("berth cannot process it");
    ++report_.compared;
    report_.nomad.add(one.outcome), report_.berth.add(decision.outcome);
    report_.nomad.opened += opened(one.outcome), report_.berth.opened += opened(decision.outcome);
    if (decision.outcome == one.outcome) {
      ++report_.equal;
    } else {
      DifferentEval& different = report_.different.emplace_back();
      different.id = eval->id, different.job = advice::job_text(eval->job_id, eval->namespace_);
      different.trigger = eval->triggered_by, different.index = one.snapshot_index;
      differences(one, decision, *eval, different.differences);
    }
    if (one.plan_index == 0) return;
    auto& planned = planned_[one.eval_id];  // the recorded allocations get the job versions that berth planned
    for (const auto& [node, allocs] : decision.plan.node_allocation)
      for (const model::Allocation& alloc : allocs)
        if (alloc.job) planned[alloc.name] = alloc.job;
  }

  Decision decide(const model::Evaluation& eval, std::int64_t now_ns) {
    past_->clock().set(now_ns);
    use_strategy();
    server::Server& server = past_->server();
    Decision out;
    FirstPlan planner(server, eval, now_ns);
    server.decide(eval, server.lane(), planner);
    const sched::EvalResult& result = server.lane().result;
    if (result.status == sched::EvalStatus::error) {
      out.error = result.description;
    } else {
      out.failed = sched::updated_eval(planner.naming(result), result, eval).failed_tg_allocs;
      for (const auto& [group, metric] : out.failed)
        out.outcome.failed[group] =
            static_cast<std::uint64_t>(std::max<std::int64_t>(metric.coalesced_failures, 0)) + 1;
      out.outcome.blocked = planner.blocked();
      if (planner.plan()) out.plan = *planner.plan();
    }
    for (const auto& [node, allocs] : out.plan.node_allocation)
      for (const model::Allocation& alloc : allocs) {
        if (server.store().find_alloc(alloc.id) == kNoRow)
          out.outcome.placed.emplace_back(alloc.name, node);
        else
          out.outcome.updated.push_back(alloc.id);
      }
    const auto ids = [](const auto& by_node, std::vector<std::string>& list) {
      for (const auto& [node, allocs] : by_node)
        for (const model::Allocation& alloc : allocs) list.push_back(alloc.id);
      std::sort(list.begin(), list.end());
    };
    ids(out.plan.node_update, out.outcome.stopped), ids(out.plan.node_preemptions, out.outcome.evicted);
    std::sort(out.outcome.placed.begin(), out.outcome.placed.end());
    std::sort(out.outcome.updated.begin(), out.outcome.updated.end());
    server.lane().held[0].reset();  // rows of removed objects may be reused
    return out;
  }

  /// Number of placements on nodes that were empty before.
  [[nodiscard]] std::uint64_t opened(const Outcome& outcome) const {
    std::set<tables::NodeRow> nodes;
    for (const auto& [name, node] : outcome.placed) {
      const tables::NodeRow row = past_->server().store().find_node(node);
      if (row != kNoRow && past_->state().nodes.use[row].alloc_head == kNoRow) nodes.insert(row);
    }
    return nodes.size();
  }

  void differences(const Finished& one, const Decision& decision, const model::Evaluation& eval,
                   std::vector<std::string>& out) {
    const Outcome &nomad = one.outcome, &berth = decision.outcome;
    using Placed = std::vector<std::pair<std::string, std::string>>;
    Placed only_nomad, only_berth;
    std::set_difference(nomad.placed.begin(), nomad.placed.end(), berth.placed.begin(), berth.placed.end(),
                        std::back_inserter(only_nomad));
    std::set_difference(berth.placed.begin(), berth.placed.end(), nomad.placed.begin(), nomad.placed.end(),
                        std::back_inserter(only_berth));
    std::multimap<std::string, std::string> of_berth(only_berth.begin(), only_berth.end());
    for (const auto& [name, node] : only_nomad) {
      const auto other = of_berth.find(name);
      if (other == of_berth.end()) {
        out.push_back(fmt::format("{}: Nomad places it on {}, berth nowhere", name, past_->node_name(node)));
        continue;
      }
      ++report_.elsewhere;
      out.push_back(fmt::format("{}: Nomad places it on {}, berth on {}", name, past_->node_name(node),
                                past_->node_name(other->second)));
      if (!report_.first) explain(one, decision, eval, name, node, other->second);
      of_berth.erase(other);
    }
    for (const auto& [name, node] : of_berth)
      out.push_back(fmt::format("{}: berth places it on {}, Nomad nowhere", name, past_->node_name(node)));
    const auto list = [&](const char* what, const std::vector<std::string>& a, const std::vector<std::string>& b) {
      for (const std::string& id : only_in(a, b)) out.push_back(fmt::format("{}: only Nomad {} it", id, what));
      for (const std::string& id : only_in(b, a)) out.push_back(fmt::format("{}: only berth {} it", id, what));
    };
    list("stops", nomad.stopped, berth.stopped), list("evicts", nomad.evicted, berth.evicted);
    list("updates", nomad.updated, berth.updated);
    for (const auto* failed : {&nomad.failed, &berth.failed})
      for (const auto& [group, count] : *failed) {
        const auto in = [&](const Outcome& outcome) {
          const auto found = outcome.failed.find(group);
          return found == outcome.failed.end() ? 0 : found->second;
        };
        if (in(nomad) != in(berth) && (failed == &nomad.failed || in(nomad) == 0))
          out.push_back(fmt::format("group {}: {} without a node in Nomad, {} in berth", group, in(nomad), in(berth)));
      }
    if (nomad.blocked != berth.blocked)
      out.push_back(fmt::format("only {} leaves a blocked evaluation", nomad.blocked ? "Nomad" : "berth"));
  }

  /// Explains the first difference: the scores of both nodes. If berth's list of best nodes lacks a node, berth decides
  /// again for that node alone.
  void explain(const Finished& one, const Decision& decision, const model::Evaluation& eval, const std::string& name,
               const std::string& nomad_node, const std::string& berth_node) {
    Explanation& out = report_.first.emplace();
    out.alloc = name;
    first_plan_ = one.plan_index, first_nodes_ = {nomad_node, berth_node};
    const model::Allocation* chosen = placement(decision.plan, name, berth_node);
    const auto metrics = chosen ? chosen->metrics : std::nullopt;
    for (const std::string& node : first_nodes_) {
      ScoredNode& scored = out.nodes.emplace_back();
      scored.name = past_->node_name(node);
      scored.berth = score_of(metrics, node);
      if (scored.berth) continue;
      const Decision alone = decide_on(node, eval, one.now_ns);
      const model::Allocation* there = placement(alone.plan, name, node);
      if (there) scored.berth = score_of(there->metrics, node);
      if (!there) scored.reason = why_not(alone, name);
    }
  }

  /// The decision if all other nodes were ineligible.
  Decision decide_on(const std::string& only, const model::Evaluation& eval, std::int64_t now_ns) {
    tables::StateStore& store = past_->server().store();
    const tables::NodeTable& nodes = past_->state().nodes;
    std::vector<tables::NodeRow> hidden;
    const auto set = [&](tables::NodeRow row, bool eligible) {
      store.set_node_state(row, nodes.status(row), eligible, (nodes.state[row] & tables::kDraining) != 0);
    };
    const tables::NodeRow wanted = store.find_node(only);
    for (tables::NodeRow row = 0; row < nodes.size(); ++row)
      if (row != wanted && nodes.exists(row) && (nodes.state[row] & tables::kEligible) != 0) hidden.push_back(row);
    for (const tables::NodeRow row : hidden) set(row, false);
    Decision out = decide(eval, now_ns);
    for (const tables::NodeRow row : hidden) set(row, true);
    return out;
  }

  static std::string why_not(const Decision& decision, const std::string& name) {
    std::vector<std::string> reasons;
    for (const auto& [group, metric] : decision.failed) {
      if (name.find("." + group + "[") == std::string::npos) continue;
      for (const auto& [reason, count] : metric.constraint_filtered) reasons.push_back(reason);
      for (const auto& [dimension, count] : metric.dimension_exhausted) reasons.push_back(dimension + " exhausted");
    }
    return reasons.empty() ? "it is not feasible" : fmt::format("{}", fmt::join(reasons, ", "));
  }

  /// The version of the job that a recorded plan gave to an allocation.
  JobPtr job_of(const model::Allocation& alloc) {
    if (const auto planned = planned_.find(alloc.eval_id); planned != planned_.end())
      if (const auto job = planned->second.find(alloc.name);
          job != planned->second.end() && job->second->id == alloc.job_id)
        return job->second;
    const tables::DeploymentRow row = past_->server().store().find_deployment(alloc.deployment_id);
    const auto& deployment = row == kNoRow ? nullptr : past_->state().deployments.object[row];
    return deployment ? past_->version(alloc.namespace_, alloc.job_id, deployment->job_version) : nullptr;
  }

  Source& source_;
  const OtherSettings& settings_;
  Report& report_;
  const std::vector<Finished> finished_;
  const std::vector<model::SchedulerConfiguration> configs_;
  run::Progress progress_{"evaluations", finished_.size(), false};
  std::size_t next_ = 0, next_config_ = 0, state_number_ = 0;
  server::ScoringStrategy strategy_;  // outlives the server, which uses it
  bool strategy_is_stale_ = true;     // it was made for another state
  std::unique_ptr<Past> past_;        // null: before the first state, and in a gap
  /// Jobs of the allocations planned by berth, by evaluation and name, until the recorded plan is applied.
  std::unordered_map<std::string, std::map<std::string, JobPtr>> planned_;
  std::uint64_t first_plan_ = 0;
  std::array<std::string, 2> first_nodes_;  // of the explanation: Nomad's node, berth's node
};

}  // namespace

void Totals::add(const Outcome& outcome) {
  placed += outcome.placed.size(), stopped += outcome.stopped.size(), evicted += outcome.evicted.size();
  updated += outcome.updated.size(), blocked += outcome.blocked ? 1 : 0;
  for (const auto& [group, count] : outcome.failed) failed += count;
}

Result<void> check_replay(const Recording& recording, const OtherSettings& settings) {
  for (const char* topic : kNeeded) {
    const auto& recorded = recording.header().topics;
    if (std::find(recorded.begin(), recorded.end(), topic) == recorded.end())
      return tl::unexpected(InputError{"berth replay", "", fmt::format("the recording lacks the topic {}", topic),
                                       "record without --topics"});
  }
  model::ClusterState none;
  if (auto done = dryrun::change_scheduler(none, settings.algorithm, settings.preemption); !done)
    return tl::unexpected(InputError{"berth replay", "--algorithm, --preemption", done.error(), ""});
  return settings.strategy.empty() ? Result<void>() : server::check_scoring_strategy(settings.strategy);
}

Result<Report> replay(Recording& recording, const OtherSettings& settings) {
  if (auto done = check_replay(recording, settings); !done) return tl::unexpected(done.error());
  Report report;
  report.address = recording.header().address;
  if (auto done = decide_again(recording, settings, report); !done) return tl::unexpected(done.error());
  report.notes = recording.notes();
  if (!recording.end()) report.notes.push_back("the recording was killed: it has no last line");
  return report;
}

Result<void> decide_again(Source& source, const OtherSettings& settings, Report& report) {
  Outline outline;
  if (auto done = source.read(outline); !done) return done;
  outline.describe(report);
  report.not_comparable = outline.others();
  Replay replay(source, outline, settings, report);
  if (auto done = source.read(replay); !done) return done;
  replay.end();
  return replay.explain();
}

}  // namespace berth::record
