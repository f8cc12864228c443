#include "sched/system.h"

#include <algorithm>
#include <utility>

#include "base/stages.h"
#include "model/job.h"
#include "model/predicates.h"
#include "sched/check_memory.h"
#include "sched/in_place.h"
#include "sched/stream_ids.h"

namespace berth::sched {

using plan::PlannedStop;
using plan::PlannedUpdate;
using reconcile::NodeAlloc;
using reconcile::NodeVisit;
using tables::AllocRow;
using tables::kNoRow;
using tables::NodeRow;
using tables::Snapshot;

namespace {

/// Triggers that the two schedulers accept (R-SCHED-3).
bool accepts(std::string_view trigger, bool sysbatch) {
  static constexpr std::string_view kAccepted[] = {
      "job-register",  "job-deregister",     "node-drain",       "node-update", "alloc-stop",  "rolling-update",
      "queued-allocs", "deployment-watcher", "failed-follow-up", "preemption",  "job-scaling", "reconnect"};
  return std::find(std::begin(kAccepted), std::end(kAccepted), trigger) != std::end(kAccepted) ||
         (sysbatch && trigger == "periodic-job");
}

bool may_preempt(const Snapshot& snapshot, bool sysbatch) {  // R-SCHED-122, R-PREEMPT-103
  const auto& config = snapshot.cold->scheduler_config;
  if (!config) return true;
  return sysbatch ? config->preemption_config.sysbatch_scheduler_enabled
                  : config->preemption_config.system_scheduler_enabled;
}

void add_counts(std::vector<Count>& sum, std::span<const Count> more) {
  for (const Count& c : more) {
    const auto known = std::find_if(sum.begin(), sum.end(), [&](const Count& other) { return other.what == c.what; });
    if (known == sum.end())
      sum.push_back(c);
    else
      known->count += c.count;
  }
}

}  // namespace

void SystemScheduler::Group::clear() {
  candidates = canaries = destructive = limit = 0;
  has_candidates = exists = has_filtered = reported = false;
  filtered = {};
  reasons.clear();
  classes.clear();
}

void SystemScheduler::process(const Snapshot& snapshot, const EvalFacts& eval, IdStream& ids, Planner& planner,
                              EvalResult& result) {
  const base::StageScope planning(base::Stage::plan);  // all time that no other stage claims
  result.clear();
  scratch_.arena.reset();
  if (!accepts(eval.triggered_by, is_of_batch(eval.type))) return refuse_trigger(eval, result);
  given_.eval = &eval;
  given_.ids = &ids;
  given_.planner = &planner;
  given_.result = &result;
  result.state = given_.state = &snapshot;
  ready_ = nullptr;
  static constexpr std::uint32_t kSystemAttempts = 5, kSysbatchAttempts = 2;  // R-SCHED-6
  run_attempts(is_of_batch(eval.type) ? kSysbatchAttempts : kSystemAttempts, result, [this] {
    const AttemptEnd end = attempt();
    given_.result->port_collision_events += stack_.port_collision_events();
    return end;
  });
  assert_worker_memory(*result.state, scratch_);
}

/// Reads the job and starts the stack.
void SystemScheduler::begin_attempt() {
  EvalResult& result = *given_.result;
  const Snapshot& state = *given_.state;
  result.begin_attempt(state);
  const tables::JobKey& key = state.jobs.keys[given_.eval->job];
  job_ = key.current == kNoRow ? nullptr : state.jobs.versions[key.current].get();
  stopped_ = !job_ || job_->stopped;
  result.plan.job = key.current;
  if (!stopped_) {
    const base::StageScope ordering(base::Stage::order);
    ready_ = &scratch_.ready_nodes(state, job_->base_set);
  }
  deploying_.is_used = !is_of_batch(given_.eval->type) && !scratch_.options.staggered_system_updates;  // R-SEED-33
  deploying_.stored = deploying_.is_used ? latest_deployment(state, given_.eval->job) : nullptr;
  stack_.start(state, result.plan, may_preempt(state, is_of_batch(given_.eval->type)));
  if (!stopped_) {
    stack_.set_job(*job_, stack_config(state, *job_, rank::OrderProvider::identity));
    stack_.set_candidates(*ready_, job_->base_set);
  }
}

void SystemScheduler::run_reconciler() {
  const Snapshot& state = *given_.state;
  const auto gather = [&]() -> reconcile::NodeInput& {
    const base::StageScope reconciling(base::Stage::reconcile);
    return gatherer_.gather(state, given_.eval->job, job_, ready_, given_.eval->now_ns);
  };
  reconcile::NodeInput& input = gather();
  input.deployment = deploying_.stored.get();
  if (scratch_.options.staggered_system_updates) input.use_deployments = false;
  input.disconnect_support = scratch_.options.disconnect_support;
  input.quirks = quirks();
  if (deploying_.is_used && !input.deployment && !stopped_)
    input.old_servers = gatherer_.has_old_server(state, *ready_);
  StreamIds deployment_ids(*given_.ids);
  input_ = &input;
  {
    const base::StageScope reconciling(base::Stage::reconcile);
    diff_ = &reconciler_.run(input, deployment_ids);
  }
  if (given_.eval->node_order != 0) shuffle_nodes();
}

/// The deployment that in-place updates and placements join.
void SystemScheduler::choose_deployment() {
  EvalResult& result = *given_.result;
  deploying_.current.reset();
  if (deploying_.is_used) {  // R-SCHED-147
    if (diff_->deployment)
      deploying_.current = *diff_->deployment;
    else if (deploying_.stored && (quirks().set_aside_deployment_named ||
                                   diff_->old_deployment.empty()))  // without the quirk, unless set aside (R-SCHED-49)
      deploying_.current = *deploying_.stored;
  }
  deploying_.id = deploying_.current ? base::parse_uuid(deploying_.current->id).value_or(base::Uuid{}) : base::Uuid{};
  result.deployment_id = deploying_.id;
  // In-place updates join the current deployment; placements join only an active one (R-SCHED-118, 155).
  result.plan.deployment_ids.front() = deploying_.id;
  deploying_.placing = 0;
  if (deploying_.current && !model::is_active_deployment(deploying_.current->status)) {
    result.plan.deployment_ids.emplace_back();
    deploying_.placing = 1;
  }
}

AttemptEnd SystemScheduler::attempt() {
  EvalResult& result = *given_.result;
  begin_attempt();
  run_reconciler();
  choose_deployment();
  add_groups();

  for (const AllocRow row : gatherer_.finish_lost()) stop(row, tables::Description::lost, tables::Client::lost);
  stop_tuples(diff_->stop, tables::Description::not_needed);
  stop_tuples(diff_->migrate, tables::Description::node_tainted);
  stop_tuples(diff_->lost, tables::Description::lost, tables::Client::lost);
  for (const Tuple& tuple : diff_->disconnecting) {
    result.plan.updates.push_back({.alloc = row_of(tuple), .kind = PlannedUpdate::Kind::unknown});
    stack_.updated(static_cast<std::uint32_t>(result.plan.updates.size() - 1));
  }
  update_in_place();
  if (failed_to_process()) return AttemptEnd::error;
  count_updates();
  limit_updates();
  if (!place()) return AttemptEnd::error;
  if (!is_of_batch(given_.eval->type)) deploy();
  if (scratch_.options.seed_system_reporting && !given_.eval->annotate)  // R-SEED-86
    for (GroupResult& group : result.groups) group.has_updates = false;
  result.plan.drop_taken_back();
  if (result.plan.is_no_op() && !given_.eval->annotate) return AttemptEnd::done;  // R-SCHED-39
  if (updates_.limit_reached && !continue_later()) return AttemptEnd::error;
  return submit_plan(*given_.planner, given_.state, result, false);
}

void SystemScheduler::shuffle_nodes() {
  shuffled_ = *diff_;
  diff_ = &shuffled_;
  IdStream random(given_.eval->node_order);
  std::vector<std::uint64_t> rank(input_->visits.size());
  for (std::uint64_t& r : rank) r = random.next().hi;
  for (std::vector<Tuple>* list : {&shuffled_.place, &shuffled_.update, &shuffled_.reconnecting, &shuffled_.ignore})
    std::stable_sort(list->begin(), list->end(),
                     [&](const Tuple& a, const Tuple& b) { return rank[a.visit] < rank[b.visit]; });
}

void SystemScheduler::add_groups() {
  const std::size_t count = job_ ? job_->groups.size() : 0;
  groups_.resize(count);
  for (Group& group : groups_) group.clear();
  for (std::size_t g = 0; g < count; ++g) {
    GroupResult& out = given_.result->groups.emplace_back();
    out.name = job_->groups[g].name;
    out.in_job = true;
    out.has_updates = false;
  }
  for (const Tuple& tuple : diff_->stop) {  // groups that the job no longer has
    const tables::Symbol name = given_.state->allocs.group[row_of(tuple)];
    if (given_.result->group(name)) continue;
    GroupResult& out = given_.result->groups.emplace_back();
    out.name = name;
    out.has_updates = false;
  }
  std::sort(given_.result->groups.begin() + static_cast<std::ptrdiff_t>(count), given_.result->groups.end(),
            [this](const GroupResult& a, const GroupResult& b) {
              return given_.state->text(a.name) < given_.state->text(b.name);
            });
}

void SystemScheduler::stop(AllocRow row, tables::Description description, std::optional<tables::Client> client) {
  given_.result->plan.stops.push_back({.alloc = row, .description = description, .client = client});
  stack_.stopped(static_cast<std::uint32_t>(given_.result->plan.stops.size() - 1));
}

void SystemScheduler::stop_tuples(const std::vector<Tuple>& tuples, tables::Description description,
                                  std::optional<tables::Client> client) {
  for (const Tuple& tuple : tuples) stop(row_of(tuple), description, client);
}

void SystemScheduler::update_in_place() {  // R-SCHED-115
  updates_.tuples = diff_->update;
  updates_.tuples.insert(updates_.tuples.end(), diff_->reconnecting.begin(), diff_->reconnecting.end());
  std::size_t i = 0, end = updates_.tuples.size();
  updates_.destructive_count = 0;
  if (end == 0) return;
  InPlaceCheck check(*given_.state, *job_, quirks(), scratch_.shapes);
  while (i < end) {
    if (try_in_place(updates_.tuples[i], check))
      std::swap(updates_.tuples[i], updates_.tuples[--end]);
    else
      ++i;
  }
  updates_.destructive_count = end;
}

bool SystemScheduler::try_in_place(const Tuple& tuple, InPlaceCheck& check) {  // R-SCHED-116 to 119
  const AllocRow row = row_of(tuple);
  const std::uint32_t group = name_of(tuple).group;
  if (check.must_replace(row)) return false;
  if (given_.state->allocs.terminal(row)) return true;
  const NodeRow node = input_->visits[tuple.visit].handle;
  if (!check.on_target(node)) return false;
  stop(row, tables::Description::none, std::nullopt);
  auto selected = stack_.select(node, group, name_of(tuple).index, true);
  stack_.pop_stop(row);
  stack_.forget_last_stop();
  if (!selected) return false;
  check.merge(row, group, std::move(*selected), false);
  PlannedUpdate& update = given_.result->plan.updates.emplace_back();
  update.alloc = row;
  update.held = check.held();
  update.shape = check.take_shape();
  update.to_deployment = true;
  update.came_back = is_reconnecting(tuple);
  update.metrics = stack_.take_metrics();
  stack_.updated(static_cast<std::uint32_t>(given_.result->plan.updates.size() - 1));
  return true;
}

void SystemScheduler::count_updates() {  // R-SCHED-126, 148, 192
  const auto updates = [&](std::uint32_t group) -> model::DesiredUpdates& {
    given_.result->groups[group].has_updates = true;
    return given_.result->groups[group].updates;
  };
  const auto group_of = [&](const Tuple& tuple) { return name_of(tuple).group; };
  const auto candidate = [&](std::uint32_t group) {
    ++groups_[group].candidates;
    groups_[group].has_candidates = true;
  };
  for (const Tuple& tuple : diff_->stop) {
    GroupResult& out = *given_.result->group(given_.state->allocs.group[row_of(tuple)]);
    out.has_updates = true;
    ++out.updates.stop;
  }
  for (const Tuple& tuple : diff_->place) ++updates(group_of(tuple)).place, candidate(group_of(tuple));
  for (const Tuple& tuple : diff_->ignore) {
    const std::uint32_t group = group_of(tuple);
    ++updates(group).ignore;
    candidate(group);
    groups_[group].exists = true;
    if (given_.state->is_canary(row_of(tuple))) ++groups_[group].canaries;
  }
  for (const Tuple& tuple : diff_->migrate) ++updates(group_of(tuple)).migrate;
  for (std::size_t i = 0; i < updates_.tuples.size(); ++i) {
    const std::uint32_t group = group_of(updates_.tuples[i]);
    candidate(group);
    if (i < updates_.destructive_count) {
      ++updates(group).destructive_update;
      ++groups_[group].destructive;
    } else {
      ++updates(group).in_place_update;
      groups_[group].exists = true;
    }
  }
  for (const Tuple& tuple : diff_->disconnecting) ++updates(group_of(tuple)).disconnect;
  for (const Tuple& tuple : diff_->reconnecting) ++updates(group_of(tuple)).reconnect;
}

void SystemScheduler::limit_updates() {  // R-SCHED-149 to 152
  place_ = diff_->place;
  updates_.limit_reached = false;
  if (stopped_) return;
  if (scratch_.options.staggered_system_updates) return limit_updates_of_job();
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    const auto& own = job_->groups[g].spec->update;
    const model::UpdateStrategy& of_job = job_->spec->update;
    groups_[g].limit = own && own->max_parallel > 0 ? own->max_parallel
                       : of_job.max_parallel > 0    ? of_job.max_parallel
                                                    : static_cast<std::int64_t>(updates_.destructive_count);
  }
  if (deploying_.current)
    for (const Tuple& tuple : diff_->ignore) {  // R-SCHED-150
      const AllocRow row = row_of(tuple);
      if (given_.state->deployment_of(row) == deploying_.id && !given_.state->has_health(row))
        --groups_[name_of(tuple).group].limit;
    }
  for (std::size_t i = 0; i < updates_.destructive_count; ++i) {
    const Tuple& tuple = updates_.tuples[i];
    Group& group = groups_[name_of(tuple).group];
    if (group.limit <= 0) continue;
    evict_and_place(tuple);
    if (!tuple.canary) --group.limit;
  }
}

void SystemScheduler::evict_and_place(const Tuple& tuple) {  // R-SCHED-151
  stop(row_of(tuple), tables::Description::updating, std::nullopt);
  given_.result->plan.stops.back().came_back = is_reconnecting(tuple);
  place_.push_back(tuple);
}

void SystemScheduler::limit_updates_of_job() {  // R-SEED-31, 32
  const model::UpdateStrategy& update = job_->spec->update;
  const bool rolling = update.stagger > 0 && update.max_parallel > 0;
  const std::size_t limit = rolling
                                ? std::min(updates_.destructive_count, static_cast<std::size_t>(update.max_parallel))
                                : updates_.destructive_count;
  for (std::size_t i = 0; i < limit; ++i) evict_and_place(updates_.tuples[i]);
  updates_.limit_reached = limit < updates_.destructive_count;
}

bool SystemScheduler::continue_later() {  // R-SEED-34, 35: once per evaluation
  if (!given_.result->next_eval.is_nil()) return true;
  CreatedEval created;
  created.id = given_.result->next_eval = given_.ids->next();
  model::Evaluation& next = continuation_;
  next = {};
  next.id = base::to_text(created.id);
  next.namespace_ = job_->spec->namespace_;
  next.priority = given_.eval->priority;
  next.type = job_->spec->type;
  next.triggered_by = "rolling-update";
  next.job_id = job_->spec->id;
  next.status = "pending";
  next.wait = job_->spec->update->stagger;
  next.create_time = next.modify_time = given_.eval->now_ns;
  created.followup = &next;
  given_.result->description = given_.planner->create(*given_.result, created);
  return given_.result->description.empty();
}

bool SystemScheduler::place() {  // R-SCHED-154, 156
  for (std::size_t g = 0; g < groups_.size(); ++g)
    given_.result->groups[g].has_queued =
        !stopped_ &&
        ((!is_of_batch(given_.eval->type) && !scratch_.options.seed_system_reporting) || place_.empty());  // R-SEED-87
  for (const Tuple& tuple : place_) {
    GroupResult& group = given_.result->groups[name_of(tuple).group];
    group.has_queued = true;
    ++group.queued;
  }
  const base::StageScope placing(base::placing_stage());
  given_.result->plan.allocs.reserve(place_.size());
  if (!quirks().one_blocked_per_group) blocked_.assign(input_->visits.size(), 0);
  for (const Tuple& tuple : place_)
    if (input_->visits[tuple.visit].candidate && !place_one(tuple)) return false;
  return true;
}

bool SystemScheduler::failed_to_process() {  // R-SCHED-5, R-FEAS-933
  if (stack_.error().empty()) return false;
  given_.result->description = "failed to process eval: " + stack_.error();
  return true;
}

bool SystemScheduler::place_one(const Tuple& tuple) {
  const NodeRow node = input_->visits[tuple.visit].handle;
  const auto [group, index] = name_of(tuple);
  if (scratch_.passes_over(job_->groups[group].name)) return true;
  if (fails_again(tuple, group)) return true;
  auto selected = stack_.select(node, group, index);
  if (failed_to_process()) return false;
  if (!selected) {
    no_option(tuple, group);
    return true;
  }
  stack_.preempt(*selected);
  PlannedAlloc& alloc = given_.result->plan.allocs.emplace_back();
  alloc.id = given_.ids->next();
  alloc.node = node;
  alloc.group = group;
  alloc.name_index = index;
  alloc.score = selected->score;
  alloc.previous = row_of(tuple);
  alloc.deployment = deploying_.placing;
  alloc.canary = tuple.canary && deploying_.current && !is_of_batch(given_.eval->type);
  alloc.held = selected->held;
  alloc.shape = std::move(selected->shape);
  alloc.metrics = stack_.take_metrics();
  stack_.add_candidates(alloc.metrics, !quirks().system_metrics_lose_pool);
  stack_.add_score(alloc.metrics, alloc.score);
  stack_.placed(alloc);
  return true;
}

/// True if the node is known to fail a check. It is then counted like the filtered nodes of its group, without a
/// Select.
bool SystemScheduler::fails_again(const Tuple& tuple, std::uint32_t g) {
  Group& group = groups_[g];
  if (!group.has_filtered) return false;
  const NodeRow node = input_->visits[tuple.visit].handle;
  const std::uint32_t reason = stack_.known_failure(node, g);
  if (reason == kReasonNone) return false;
  give_up(tuple, group);
  --given_.result->groups[g].queued;
  ++group.filtered.evaluated, ++group.filtered.filtered;
  SelectCounts::add(group.reasons, reason);
  stack_.add_class(group.classes, node);
  report_filtered(given_.result->groups[g], group);
  return true;
}

/// Records that the tuple's node cannot hold the allocation.
void SystemScheduler::give_up(const Tuple& tuple, Group& group) {
  if (!is_of_batch(given_.eval->type)) {  // R-SCHED-157
    --group.candidates;
    if (tuple.alloc != reconcile::kNoRow) --group.destructive;
  }
  // A new allocation of another group may already use the freed room; then the stop must stay (R-SCHED-167).
  if (!quirks().system_stop_leaves_hole && tuple.alloc != reconcile::kNoRow &&
      !stack_.places_on(input_->visits[tuple.visit].handle))
    stack_.pop_stop(row_of(tuple));
}

void SystemScheduler::no_option(const Tuple& tuple, std::uint32_t g) {
  Group& group = groups_[g];
  GroupResult& out = given_.result->groups[g];
  give_up(tuple, group);
  if (stack_.was_filtered()) return add_filtered(out, group);
  if (out.failed) {  // R-SCHED-163
    out.coalesce(job_->groups[g].spec);
    if (quirks().one_blocked_per_group) return;
  } else {
    SelectMetrics metrics = stack_.take_metrics();
    stack_.add_candidates(metrics, true);
    out.fail(metrics, job_->groups[g].spec);
  }
  // R-SCHED-164: one node per group; without the quirk every node, once.
  if (!quirks().one_blocked_per_group && std::exchange(blocked_[tuple.visit], 1) != 0) return;
  Eligibility& eligibility = given_.result->eligibility;  // R-SCHED-164, R-FEAS-1705
  eligibility.escaped = stack_.has_escaped();
  const NodeRow node = input_->visits[tuple.visit].handle;
  eligibility.classes = {
      {given_.state->nodes.computed_class(given_.state->nodes.capacity(node).computed_class_code), true}};
  eligibility.missing_resources = stack_.missing_resources();
  std::sort(eligibility.missing_resources.begin(), eligibility.missing_resources.end());
  static_cast<void>(create_blocked(*given_.planner, *given_.result, given_.ids->next(), "queued-allocs",
                                   "created to place remaining allocations", node));
}

void SystemScheduler::add_filtered(GroupResult& out, Group& group) {  // R-SCHED-158, 159, 161
  --out.queued;
  if (scratch_.options.seed_system_reporting) {  // R-SEED-85, 86
    if (out.updates.place > 0) --out.updates.place;
    return;
  }
  const SelectMetrics metrics = stack_.counted();
  if (!group.has_filtered) {
    group.has_filtered = true;
    group.filtered = metrics;
    group.filtered.dimensions = scratch_.arena.copy(metrics.dimensions);
    group.filtered.classes_exhausted = scratch_.arena.copy(metrics.classes_exhausted);
  } else {
    group.filtered.evaluated += metrics.evaluated;
    group.filtered.filtered += metrics.filtered;
  }
  add_counts(group.reasons, metrics.reasons);
  add_counts(group.classes, metrics.classes_filtered);
  report_filtered(out, group);
}

void SystemScheduler::report_filtered(GroupResult& out, Group& group) {  // R-SCHED-158, 159, 161
  if (out.queued <= 0 && !group.exists) {
    if (!group.reported) out.exhausted.clear();
    group.filtered.coalesced = group.reported ? out.failure.coalesced : 0;
    group.filtered.reasons = scratch_.arena.copy(std::span<const Count>(group.reasons));
    group.filtered.classes_filtered = scratch_.arena.copy(std::span<const Count>(group.classes));
    out.failed = group.reported = true;
    out.failure = group.filtered;
  }
  if (is_of_batch(given_.eval->type) && (quirks().system_stop_leaves_hole || out.updates.place != 0))
    --out.updates.place;
}

}  // namespace berth::sched
