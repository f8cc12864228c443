// The clock of a simulated cluster and the order of its due work (R-CTRL-1701, 1702).
#include <algorithm>
#include <limits>

#include "living/living.h"
#include "model/job.h"
#include "server/lane.h"
#include "tables/task_log.h"

namespace berth::living {

using lifecycle::kNever;

namespace {

Config living(Config config) {
  config.server.retain = true;
  config.server.options.spare_leaving_ports = true;
  config.server.seed = config.seed;
  config.watchers.heartbeat_seed = base::mix64(config.seed);
  return config;
}

client::ClientsConfig clients_config(const Config& config, const Outcomes& outcomes) {
  client::ClientsConfig out;
  out.timing = config.clients;
  out.tasks = outcomes.model();
  out.groups.remote_drivers = config.server.options.remote_task_drivers;
  out.seed = config.seed;
  out.journal = config.journal;
  return out;
}

/// Stores the default scheduler configuration, as a new leader does if none is stored (R-CTRL-1603).
void keep_configuration(tables::StateStore& store) {
  if (store.current().cold->scheduler_config) return;
  model::SchedulerConfiguration configuration;
  configuration.scheduler_algorithm = "binpack";
  configuration.preemption_config.system_scheduler_enabled = true;
  store.set_scheduler_config(configuration);
}

/// The node object that the client registers. Shares the table's object if that is complete, so that nodes are not
/// stored twice.
std::shared_ptr<const model::Node> machine_of(const fsm::StateLog& log, const tables::Snapshot& state,
                                              tables::NodeRow row) {
  model::Node node = *log.node(base::to_text(state.nodes.id(row)));
  const auto& spec = state.nodes.fixed->spec[row];
  if (!spec->shared && spec->node == node) return {spec, &spec->node};
  return std::make_shared<const model::Node>(std::move(node));
}

}  // namespace

void collapse(Config& config) {
  config.server.client_batch_ns = 0;
  config.watchers.deployments.eval_batch_ns = config.watchers.deployments.entry_batch_ns = 0;
  config.watchers.drains.batch_ns = 0;
  config.clients.report_tick_ns = 0;
  config.clients.check_poll_ns = 0;
}

Cluster::Cluster(Config config, Listener* listener)
    : config_(living(std::move(config))),
      outcomes_(config_.tasks, config_.batch_run_ns, config_.drivers),
      ids_(config_.seed, "watcher-ids") {
  clock_.set(config_.start_ns);
  recorder_ = std::make_unique<Recorder>(clock_, listener);
  server_ = std::make_unique<server::Server>(config_.server, clock_, recorder_.get());
  keep_configuration(server_->store());
  recorder_->bind(server_->log());
  if (config_.check) recorder_->check = [this](const server::Lane& lane) { check_plan(lane); };
  const auto next_id = [this] {
    return base::to_text(server_->unused_id([this] { return base::Uuid{ids_.next(), ids_.next()}; }));
  };
  watchers_ = std::make_unique<lifecycle::Watchers>(server_->log(), next_id, config_.watchers);
  watchers_->set_follower([this](const tables::Changes& changes) {
    recorder_->changed(changes);
    notify_clients(changes);
  });
  clients_ = std::make_unique<client::Clients>(clients_config(config_, outcomes_));
}

Cluster::~Cluster() { stop_workers(); }

void Cluster::load(const model::ClusterState& state) {
  server_->load(state);
  keep_configuration(server_->store());
  recorder_->loaded();
  const tables::NodeTable& nodes = this->state().nodes;
  if (config_.resume) resumes_.assign(nodes.size(), true);
  if (config_.journal) keep_logs(state);
  for (tables::NodeRow row = 0; row < nodes.size(); ++row) {
    if (!nodes.exists(row) || nodes.status(row) != tables::NodeStatus::ready) continue;
    start_client(row, machine_of(server_->log(), this->state(), row));
  }
  watchers_->become_leader(now(), written_);
  take(written_);
  server_->disable_queues();
  const auto& configuration = this->state().cold->scheduler_config;
  if (!configuration || !configuration->pause_eval_broker) server_->enable_queues();
}

/// Stores the task events of the loaded state, so that later client reports append to them.
void Cluster::keep_logs(const model::ClusterState& state) {
  tables::Commit commit = server_->store().begin_commit();
  for (const model::Allocation& alloc : state.allocs) {
    const model::TaskGroup* group = alloc.job ? alloc.job->group(alloc.task_group) : nullptr;
    if (!group || alloc.task_states.empty()) continue;
    auto log = std::make_shared<tables::TaskLog>();
    for (const model::Task& task : group->tasks) {
      const auto told = alloc.task_states.find(task.name);
      log->push_back(told == alloc.task_states.end() || !told->second ? std::vector<tables::TaskLogEvent>()
                                                                      : tables::read_task_log(told->second->events));
    }
    if (const tables::AllocRow row = server_->store().find_alloc(alloc.id); row != tables::kNoRow)
      commit.set_task_log(row, std::move(log));
  }
}

// ---------------------------------------------------------------- the server's threads

void Cluster::start_workers() {
  if (works_) return;
  works_ = true;
  server_->start();
  turn_.emplace(*server_);
}

void Cluster::stop_workers() {
  if (!works_) return;
  turn_.reset();
  server_->stop();
  works_ = false;
}

/// Lets the free workers run for at most kMoment ns. False if they have no work left.
bool Cluster::let_work() {
  constexpr std::int64_t kMoment = 200'000;  // ns that a request may wait
  if (server_->at_rest()) return false;
  turn_.reset();
  server_->wait_at_rest(kMoment);
  server_->tick();
  turn_.emplace(*server_);
  return true;
}

// ---------------------------------------------------------------- the clock

std::int64_t Cluster::next_deadline() {
  if (is_free() && !server_->at_rest()) return now();
  const std::int64_t at = std::min({clients_->next_deadline(), batch_due_, watchers_->next_deadline(), leader_due_,
                                    server_->next_deadline().value_or(kNever)});
  return std::max(at, now());  // a deadline in the past is due now
}

void Cluster::run_until(std::int64_t t) {
  step_until_idle();
  for (std::int64_t at = next_due_; at <= t; at = next_due_) {
    BERTH_ASSERT(at >= now());  // R-CTRL-1735
    clock_.set(at);
    step_until_idle();
  }
  check_unchecked();
  clock_.set(std::max(now(), t));
}

bool Cluster::run_until(std::int64_t t, const std::function<bool()>& enough) {
  for (std::int64_t at = now();; at = next_deadline()) {
    if (at > t) break;
    clock_.set(std::max(now(), at));
    while (checked_step())
      if (enough()) {
        check_unchecked();
        return false;
      }
  }
  check_unchecked();
  clock_.set(std::max(now(), t));
  return true;
}

void Cluster::run_before(std::int64_t t) {
  if (t <= now()) return;
  run_until(t - 1);
  clock_.set(t);
}

void Cluster::step_until_idle() {
  while (checked_step()) {
  }
}

void Cluster::check_unchecked() {
  if (unchecked_steps_ > 0 && problems_.empty() && !(is_free() && !server_->at_rest())) check_state_now();
}

bool Cluster::checked_step() {
  if (!step()) return false;
  if (config_.check && problems_.empty() && check_is_due()) check_state_now();
  return true;
}

/// A check reads the whole state. It runs less often when there are many rows, so that the cost of a simulation does
/// not grow with the square of its length.
bool Cluster::check_is_due() {
  if (checked_ && checked_->index == state().index) return false;  // the step wrote nothing
  if (is_free() && !server_->at_rest()) return false;              // an evaluation is half written
  constexpr std::uint64_t kSmall = 500;                            // up to this many rows: check after every step
  return ++unchecked_steps_ * kSmall >= state().allocs.size() + state().evals.size();
}

/// R-CTRL-1720, 1721, 1723 to 1727, 1729 to 1732, 1734.
void Cluster::check_state_now() {
  unchecked_steps_ = 0;
  tables::StateStore& store = server_->store();
  if (checked_) exceptions_.note(*checked_, state());
  check_state(state(), checked_ ? checked_->index : 0, exceptions_, problems_);
  if (checked_) check_change(*checked_, state(), problems_);
  check_summaries(state(), server_->log(), exceptions_, problems_);
  if (server_->queues_enabled()) check_queue(*server_, problems_);
  if (has_leader()) check_heartbeats(state(), watchers_->nodes().heartbeats(), problems_);
  if (std::string broken = clients_->check(); !broken.empty()) problems_.push_back(std::move(broken));
  for (std::string& problem : problems_)
    problem = "at " + std::to_string(now()) + ", index " + std::to_string(state().index) + ": " + problem;
  checked_ = store.snapshot();
}

/// R-CTRL-1731, 1733.
void Cluster::check_plan(const server::Lane& lane) {
  if (!lane.applied.error.empty()) return;
  exceptions_.note(lane.result.plan, state());
  check_commit(state(), lane.result.plan, lane.applied, server_->store(), problems_);
}

/// Does one piece of due work, of the lowest class (R-CTRL-1701). False if nothing is due before `next_due_`.
bool Cluster::step() {
  start_workers();
  const std::int64_t now = this->now();
  next_due_ = kNever;
  const auto is_due = [&](std::int64_t at) {
    next_due_ = std::min(next_due_, at);
    return at <= now;
  };
  if (is_due(leader_due_)) {
    begin_leading();
  } else if (is_due(clients_->next_deadline())) {
    exchange();
  } else if (is_due(batch_due_)) {
    flush_reports();
  } else if (is_due(watchers_->next_deadline())) {
    watchers_->advance(now, written_);
    take(written_);
  } else if (is_due(server_->next_deadline().value_or(kNever))) {
    turn_.reset();
    server_->advance();
    if (is_free()) turn_.emplace(*server_);
  } else if (is_free()) {
    if (!let_work()) return false;
    recorder_->evaluation_over();
    greet_returning();
  } else {
    if (!server_->step()) return false;
    recorder_->evaluation_over();
    greet_returning();
  }
  return true;
}

/// Passes on the log entries and hooks of a watcher or of a client's message.
void Cluster::take(lifecycle::Outbox& out) {
  for (const lifecycle::Outbox::Entry& entry : out.entries)
    recorder_->written({entry.at, entry.index, entry.kind, entry.error});
  server_->take(out.hooks);
  out.clear();
}

void Cluster::take(const fsm::Answer& answer) {
  for (const fsm::Answer::Entry& entry : answer.entries)
    recorder_->written({now(), entry.index, entry.kind, entry.error});
  server_->take(answer.hooks);
}

}  // namespace berth::living
