#include "server/shadow.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/json.h"
#include "model/codec/codec.h"
#include "model/job.h"
#include "sched/check_memory.h"
#include "sched/to_model.h"
#include "server/lane.h"
#include "tables/export.h"

namespace berth::server {

using tables::Snapshot;

// ---------------------------------------------------------------- output as text

template <class Object>
void Words::line(std::string_view what, const Object& object) {
  text_ += fmt::format("{} {}\n", what, json::to_text(model::to_json(object, model::WriteMode::sparse)));
}

sched::Submission Words::submit(const sched::EvalResult& result) {
  write(result);
  sched::Submission out;
  if (std::exchange(refuses_, false)) {
    out.nothing_committed = true;
    out.refreshed = result.state;
  }
  return out;
}

std::string Words::create(const sched::EvalResult& result, const sched::CreatedEval& created) {
  line("created", created_eval({*result.state, scratch_}, result, created, eval_, now_ns_));
  return {};
}

std::string Words::finish(const sched::EvalResult& result) {
  if (result.attempts == 0) write(result);
  const sched::Naming naming{*result.state, scratch_};
  text_ += "status " + result.description + "\n";
  if (result.status != sched::EvalStatus::error)
    line("updated", result.reblocked ? reblocked_eval(naming, result, eval_) : updated_eval(naming, result, eval_));
  text_ += fmt::format("attempts {}, port collisions {}\n", result.attempts, result.port_collision_events);
  return take();
}

void Words::write(const sched::EvalResult& result) {
  const model::Plan plan = to_model({*result.state, scratch_}, result, eval_, now_ns_);
  const auto named = [](const model::Job* job) {
    return job ? fmt::format("{} version {}, changed at {}, {}", job->id, job->version, job->modify_index, job->status)
               : "no job";
  };
  text_ += fmt::format("plan of {}, all at once {}\n", named(plan.job.get()), plan.all_at_once);
  if (plan.deployment) line("deployment", *plan.deployment);
  for (const model::DeploymentStatusUpdate& update : plan.deployment_updates)
    text_ += fmt::format("deployment {} {} {}\n", update.deployment_id, update.status, update.status_description);
  const auto lists = [&](std::string_view what, const auto& by_node) {
    for (const auto& [node, allocs] : by_node)
      for (model::Allocation alloc : allocs) {
        text_ += fmt::format("{} on {}, job {}: ", what, node,
                             alloc.job ? std::to_string(alloc.job->version) : std::string("none"));
        alloc.job.reset();
        if (!with_metrics_) alloc.metrics.reset();
        line("", alloc);
      }
  };
  lists("stop", plan.node_update);
  lists("place", plan.node_allocation);
  lists("evict", plan.node_preemptions);
}

void Words::write_failures(const sched::EvalResult& result) {
  const sched::Naming naming{*result.state, scratch_};
  for (const sched::GroupResult& group : result.groups)
    if (group.failed) line("failed " + result.state->text(group.name), failure_metric(naming, group, ""));
  if (!result.any_failed()) return;
  std::vector<std::string> classes;
  for (const auto& [computed_class, eligible] : result.eligibility.classes)
    classes.push_back(fmt::format("class {} {}", result.state->text(computed_class), eligible));
  std::sort(classes.begin(), classes.end());
  text_ += fmt::format("escaped {}, {}\n", result.eligibility.escaped, fmt::join(classes, ", "));
}

std::string difference(const model::Evaluation& eval, std::string_view one_way, const std::string& one,
                       std::string_view other_way, const std::string& other) {
  const auto at =
      std::mismatch(one.begin(), one.begin() + static_cast<std::ptrdiff_t>(std::min(one.size(), other.size())),
                    other.begin())
          .first -
      one.begin();
  const auto from = static_cast<std::size_t>(std::max<std::ptrdiff_t>(at - 60, 0));
  const auto around = [&](const std::string& text) {
    const std::size_t line = text.rfind('\n', std::min(from, text.size()));
    const std::size_t begin = line == std::string::npos ? 0 : line + 1;
    return text.substr(begin, std::min<std::size_t>(60, text.find(' ', begin + 12) - begin)) + "..." +
           text.substr(std::min(from, text.size()), 200);
  };
  return fmt::format("{} ({}): {} decide {}\n    and {} {}", eval.job_id, eval.triggered_by, one_way, around(one),
                     other_way, around(other));
}

// ---------------------------------------------------------------- the second decision

/// A separate scheduler that uses the general source only.
struct Shadow::Second {
  sched::Scratch scratch;
  sched::Scheduler scheduler{scratch};
};

namespace {

/// Writes the first plan as Words does and then stops, because nothing of it is committed.
class FirstPlan final : public sched::Planner {
 public:
  explicit FirstPlan(Words& words) : words_(words) {}
  sched::Submission submit(const sched::EvalResult& result) override {
    if (!std::exchange(written_, true)) words_.write(result), words_.write_failures(result);
    return {};
  }
  std::string create(const sched::EvalResult&, const sched::CreatedEval&) override { return {}; }
  [[nodiscard]] bool written() const { return written_; }

 private:
  Words& words_;
  bool written_ = false;
};

model::Evaluation eval_of(const Lane& lane, const Snapshot& state) {
  const tables::JobKey& key = state.jobs.keys[lane.facts.job];
  model::Evaluation out;
  out.id = lane.facts.id_text;
  out.namespace_ = state.text(key.job_namespace), out.job_id = state.text(key.job_id);
  for (const char* type : {"service", "batch", "system", "sysbatch"})
    if (model::parse_job_type(type) == lane.facts.type) out.type = type;
  out.priority = lane.facts.priority;
  out.triggered_by = lane.facts.triggered_by;
  out.status = lane.facts.blocked ? "blocked" : "pending";
  out.annotate_plan = lane.facts.annotate;
  return out;
}

}  // namespace

Shadow::Shadow(const Config& config, std::uint64_t every, Problem problem)
    : order_(config.order), exhaustive_(config.exhaustive), every_(every), problem_(std::move(problem)) {}
Shadow::~Shadow() = default;

void Shadow::lane_made(Lane& lane) {
  if (seconds_.size() <= lane.number) seconds_.resize(lane.number + std::size_t{1});
  seconds_[lane.number] = std::make_unique<Second>();
  Second& second = *seconds_[lane.number];
  second.scratch.options = lane.scratch.options;
  second.scheduler.generic.set_sources(sched::EnabledSources::none());
  second.scheduler.generic.set_exhaustive(exhaustive_);
}

void Shadow::report(std::string text) {
  const std::lock_guard lock(reporting_);
  ++different_;
  problem_(std::move(text));
}

void Shadow::decided(Lane& lane) {
  const bool first = lane.attempts == 1 && lane.plans <= 1;
  if (!first || lane.result.status == sched::EvalStatus::error || turn_.fetch_add(1) % every_ != 0) return;
  ++checked_;
  const Snapshot& state = *lane.result.state;
  const model::Evaluation eval = eval_of(lane, state);
  const auto& placed = lane.result.plan.allocs;
  const bool deferred = std::any_of(placed.begin(), placed.end(), [](const auto& a) { return a.metrics.deferred; });
  const auto words_of = [&](const Snapshot& on, const sched::EvalFacts& facts, Second& by) {
    by.scratch.strategy_fit.use_as(lane.scratch.strategy_fit);
    by.scratch.passed_over = lane.scratch.passed_over;
    // Evaluations that this one created may have raised the state's index since.
    by.scheduler.generic.set_order_index(lane.order_index != 0 ? lane.order_index : lane.state_index);
    Words words(by.scratch, eval, facts.now_ns, false, !deferred);
    FirstPlan planner(words);
    sched::IdStream ids(lane.ids_seed);
    sched::EvalResult result;
    by.scheduler.process(on, facts, order_, ids, planner, result);
    if (!planner.written()) words.write(result), words.write_failures(result);
    return words.take();
  };
  Words own(lane.scratch, eval, lane.facts.now_ns, false, !deferred);
  own.write(lane.result), own.write_failures(lane.result);
  const std::string lived = own.take();
  if (lane.number >= seconds_.size() || !seconds_[lane.number]) lane_made(lane);  // a driver that was attached later
  Second& general = *seconds_[lane.number];
  if (const std::string again = words_of(state, lane.facts, general); again != lived)
    report(difference(eval, "this worker", lived, "the general source", again));

  tables::StateStore store;
  store.load(tables::to_cluster(state));
  sched::EvalFacts facts = lane.facts;
  facts.job = store.job_key(eval.namespace_, eval.job_id);
  Second fresh;
  fresh.scratch.options = lane.scratch.options;
  fresh.scheduler.generic.set_exhaustive(exhaustive_);
  if (const std::string again = words_of(store.current(), facts, fresh); again != lived)
    report(difference(eval, "the living tables", lived, "those loaded again", again));
  for (const std::string& stale : sched::check_worker_memory(state, lane.scratch))
    report(fmt::format("{} ({}): stale: {}", eval.job_id, eval.triggered_by, stale));
}

}  // namespace berth::server
