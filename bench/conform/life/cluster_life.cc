#include "conform/life/cluster_life.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "conform/life/life_draw.h"
#include "conform/life/life_part.h"
#include "conform/life/life_queue.h"
#include "conform/life/life_rest.h"
#include "conform/life/life_ways.h"
#include "living/living.h"
#include "model/job.h"
#include "model/predicates.h"

namespace berth::conform {
namespace {

using base::kSecond;
using tables::AllocRow;
using tables::kNoRow;
using tables::NodeRow;

constexpr std::int64_t kSettled = 1500 * kSecond;  // longer than any drawn deadline or delay
constexpr std::uint64_t kJobIds = 6;

/// Behaviour of tasks without a TaskOutcome.
const client::SeededModel& tasks_of(std::uint64_t seed) {
  thread_local client::SeededModel model;
  model.seed = seed;
  model.start_delay_ns = kSecond / 2, model.kill_ns = kSecond, model.batch_run_ns = 40 * kSecond;
  model.failure_probability = 0.2, model.crash_probability = 0.1, model.start_failure_probability = 0.1;
  model.loss_probability = 0.5;
  return model;
}

living::Config config_of(const LifeOptions& options, bool object_reports) {
  living::Config config;
  config.seed = options.seed;
  config.check = true;
  config.object_reports = object_reports;
  config.server.options = options.decisions;
  config.server.sources = options.sources;
  config.server.plans_max = 20;
  config.server.broker.evals = 1U << 12;  // each check of the queue reads every row
  config.server.broker.jobs = 4096;
  config.tasks = tasks_of(options.seed).model();
  return config;
}

class ClusterLife final : public living::Listener {
 public:
  ClusterLife(const LifeOptions& options, StepDraws draws, bool object_reports)
      : options_(options),
        step_draws_(std::move(draws)),
        draw_(options.seed, "cluster life"),
        cluster_(config_of(options, object_reports), this),
        ways_(options.seed, cluster_.server(),
              [this](std::string text) { report_.problems.push_back(std::move(text)); }) {
    model::ClusterState state = draw_cluster(draw_);
    report_.nodes = state.nodes.size();
    large_ = state.nodes.size() >= 20;
    leave_out_nodes(options_, state.nodes);
    for (model::Node& node : state.nodes) machines_.push_back(std::move(node));
    state.nodes.clear();
    cluster_.load(state);
    for (const model::Node& machine : machines_) ask(living::NodeRegister{machine}, "{} joins", machine.name);
    register_job();
  }

  ClusterLifeReport run() {
    for (const int step : steps_of(options_)) {
      if (!goes_on() || !step_draws_.begin(step, draw_)) break;
      ++report_.steps;
      wait(static_cast<std::int64_t>(draw_.below(draw_.chance(8) ? 400'000 : 15'000)) * (kSecond / 1000));
      happen();
    }
    if (goes_on()) settle();
    report_.digest = cluster_.digest();
    report_.heartbeats = cluster_.counts().heartbeats, report_.reports = cluster_.counts().reports;
    report_.twice = ways_.twice();
    report_.simulated_ns = cluster_.now() - start_;
    report_.state = cluster_.server().log().state();
    return std::move(report_);
  }
  /// After run().
  [[nodiscard]] const StepDraws& step_draws() const { return step_draws_; }

 private:
  // --- events ---
  template <class... Args>
  bool ask(const living::Event& event, fmt::format_string<Args...> format, Args&&... args) {
    const fsm::Answer answer = cluster_.apply(event);
    report_.events.push_back(
        fmt::format("{:.1f} s: {} {}", seconds(), fmt::format(format, std::forward<Args>(args)...), answer.error));
    return answer.error.empty();
  }
  void happen();
  void happen_to_node();
  void happen_to_job();
  void register_job();
  void change_machine(model::Node& machine);
  void declare_outcome();
  void operate_deployment();
  void change_configuration();
  [[nodiscard]] std::shared_ptr<model::Job> draw_life_job(const std::string& id);
  [[nodiscard]] std::string any_job() { return "job" + std::to_string(draw_.below(kJobIds)); }
  [[nodiscard]] std::string any_alloc();

  // --- the clock, and checks ---
  [[nodiscard]] double seconds() const { return static_cast<double>(cluster_.now() - start_) / 1e9; }
  [[nodiscard]] bool goes_on() {
    if (report_.problems.empty()) report_.problems = cluster_.problems();
    return report_.problems.empty() && !report_.cut;
  }
  void wait(std::int64_t ns) {
    if (report_.cut) return;
    report_.cut =
        !cluster_.run_until(cluster_.now() + ns, [this] { return report_.evaluations >= options_.max_evaluations; });
  }
  void settle();
  void attempt(server::Lane& lane) override;
  void applied(server::Lane& lane) override;
  void settled(server::Lane& lane) override { ledger_.settle(*lane.record); }
  void alloc_changed(const living::AllocChange& change) override {
    if (!change.removed && change.client_before != tables::Client::lost)
      report_.lost += cluster_.state().allocs.client[change.row] == tables::Client::lost;
  }
  void drain_ended(const living::DrainEnd&) override { ++report_.drains; }
  void deployment_ended(const model::Deployment& deployment) override {
    ++report_.ended_deployments;
    report_.events.push_back(fmt::format("{:.1f} s:   deployment of {} {}: {}", seconds(), deployment.job_id,
                                         deployment.status, deployment.status_description));
  }

  ClusterLifeReport report_;
  LifeLedger ledger_;
  LifeOptions options_;
  StepDraws step_draws_;
  bool large_ = false;
  Draw draw_;
  std::vector<model::Node> machines_;  // present form, including removed ones
  living::Cluster cluster_;
  std::int64_t start_ = cluster_.now();
  LifeWays ways_;
};

// ---------------------------------------------------------------- events

void ClusterLife::happen() {
  const std::uint64_t kind = draw_.below(100);
  if (kind < 30) return register_job();
  if (kind < 62) return happen_to_node();
  if (kind < 80) return happen_to_job();
  if (kind < 86) return operate_deployment();
  if (kind < 90) return declare_outcome();
  if (kind < 94) return change_configuration();
  if (kind < 97) {
    ask(living::CollectGarbage{}, "collect garbage");
  } else {
    const auto gap = static_cast<std::int64_t>(draw_.below(20));
    ask(living::LeaderChange{gap * kSecond}, "another leader after {} s", gap);
  }
}

void ClusterLife::happen_to_node() {
  model::Node& machine = machines_[draw_.below(machines_.size())];
  const std::string &id = machine.id, &name = machine.name;
  switch (draw_.below(12)) {
    case 0:
    case 1:
      return change_machine(machine);
    case 2:
    case 3:
      ask(living::NodeUnreachable{id}, "{} is not reachable", name);
      return;
    case 4:
    case 5:
      ask(living::NodeReachable{id}, "{} is reachable", name);
      return;
    case 6: {
      const auto down = static_cast<std::int64_t>(draw_.below(60));
      ask(living::ClientRestart{id, down * kSecond, static_cast<client::Recovery>(draw_.below(3))},
          "the client of {} restarts, {} s", name, down);
      return;
    }
    case 7: {
      const bool gone = draw_.chance(50);
      ask(living::NodeDeregister{{id}, gone}, "{} is deregistered{}", name, gone ? ", the machine is gone" : "");
      return;
    }
    case 8: {
      const bool eligible = draw_.chance(60);
      ask(living::NodeEligibility{id, eligible}, "{} is {}", name, eligible ? "eligible" : "ineligible");
      return;
    }
    case 9: {
      const auto lag = static_cast<std::int64_t>(draw_.below(3)) * 5;
      ask(living::ReportLag{id, lag * kSecond}, "{} reports {} s late", name, lag);
      return;
    }
    default: {
      living::NodeDrain drain{.node_id = id};
      drain.clear = draw_.chance(30);
      drain.deadline = draw_.one_of<std::int64_t>({-1, 0, 30, 120}) * kSecond;
      drain.ignore_system_jobs = draw_.chance(50);
      drain.mark_eligible = draw_.chance(50);
      ask(drain, "{} of {}, deadline {} s", drain.clear ? "end the drain" : "drain", name, drain.deadline / kSecond);
    }
  }
}

/// A node joins, returns or gets another label, class, memory or device.
void ClusterLife::change_machine(model::Node& machine) {
  if (draw_.chance(30)) {
    machines_.push_back(draw_node(draw_, 100 + machines_.size()));
    ask(living::NodeRegister{machines_.back()}, "{} joins", machines_.back().name);
    return;
  }
  change_node(draw_, machine);
  ask(living::NodeRegister{machine}, "{} registers: rack {}, class {}, {} MiB", machine.name, machine.meta["rack"],
      machine.node_class, machine.node_resources->memory.memory_mb);
}

/// A job as in life_draw.h, with members that only clients and watchers read.
std::shared_ptr<model::Job> ClusterLife::draw_life_job(const std::string& id) {
  std::shared_ptr<model::Job> job = draw_job(draw_, "default", id, large_);
  const bool batch = job->type == "batch", short_lived = batch || job->type == "sysbatch";
  for (model::TaskGroup& group : job->task_groups) {
    model::RestartPolicy& restart = *group.restart_policy;
    restart.attempts = static_cast<std::int64_t>(draw_.below(3));
    restart.interval = 600 * kSecond, restart.delay = static_cast<std::int64_t>(1 + draw_.below(15)) * kSecond;
    restart.mode = draw_.one_of<const char*>({"fail", "delay"});
    model::Task& task = group.tasks.front();
    task.restart_policy = restart;
    task.kill_timeout = static_cast<std::int64_t>(draw_.below(3)) * kSecond;
    if (draw_.chance(20)) task.shutdown_delay = 2 * kSecond;
    if (group.update) {
      group.update->min_healthy_time = static_cast<std::int64_t>(draw_.below(10)) * kSecond;
      group.update->healthy_deadline = 60 * kSecond;
      if (group.update->progress_deadline > 0) group.update->progress_deadline = 120 * kSecond;
      group.update->auto_revert = draw_.chance(40);
    }
    if (group.migrate) group.migrate->min_healthy_time = 3 * kSecond, group.migrate->healthy_deadline = 60 * kSecond;
    if (!group.disconnect && !short_lived && draw_.chance(20))
      group.disconnect.emplace().stop_on_client_after = 20 * kSecond;
    if (!draw_.chance(25)) continue;
    model::Task side = task;
    side.name = "side";
    side.resources->networks.clear(), side.resources->devices.clear();
    side.lifecycle.emplace().hook = draw_.one_of<const char*>({"prestart", "poststart", "poststop"});
    side.lifecycle->sidecar = side.lifecycle->hook != "poststop" && draw_.chance(50);
    group.tasks.push_back(std::move(side));
  }
  if (short_lived && draw_.chance(12)) {
    job->parameterized_job.emplace().payload = "optional";
  } else if (short_lived && draw_.chance(12)) {
    model::PeriodicConfig& periodic = job->periodic.emplace();
    periodic.enabled = true, periodic.spec_type = "cron", periodic.spec = "*/10 * * * *", periodic.time_zone = "UTC";
    periodic.prohibit_overlap = draw_.chance(50);
  }
  return job;
}

void ClusterLife::register_job() {
  const std::string id = any_job();
  std::shared_ptr<model::Job> job;
  if (const auto stored = cluster_.server().log().job("default", id); stored && !draw_.chance(15)) {
    job = std::make_shared<model::Job>(*stored);
    job->stop = false;
    change_job(draw_, *job);
  } else {
    job = draw_life_job(id);
    if (stored && stored->type != job->type) return;  // R-MODEL: a job's type cannot change
  }
  const model::TaskGroup& group = job->task_groups.front();
  ask(living::JobRegister{.job = job}, "register {} ({}{}, priority {}, group {} x {})", id, job->type,
      job->periodic            ? ", periodic"
      : job->parameterized_job ? ", parameterized"
                               : "",
      job->priority, group.name, group.count);
}

std::string ClusterLife::any_alloc() {
  const tables::AllocTable& allocs = cluster_.state().allocs;
  for (int tries = 0; tries < 8 && allocs.size() > 0; ++tries)
    if (const auto row = static_cast<AllocRow>(draw_.below(allocs.size())); allocs.exists(row))
      return base::to_text(allocs.id[row]);
  return "";
}

void ClusterLife::happen_to_job() {
  const std::string id = any_job();
  switch (draw_.below(7)) {
    case 0: {
      const bool purge = draw_.chance(30);
      ask(living::JobDeregister{.name_space = "default", .job_id = id, .purge = purge}, "{} {}",
          purge ? "purge" : "stop", id);
      return;
    }
    case 1:
    case 2: {
      const auto count = static_cast<std::int64_t>(draw_.below(8));
      ask(living::JobScale{"default", id, "web", count}, "scale {} to {}", id, count);
      return;
    }
    case 3:
      ask(living::JobEvaluate{"default", id, draw_.chance(60)}, "evaluate {}", id);
      return;
    case 4:
      ask(living::JobDispatch{.name_space = "default", .job_id = id}, "dispatch {}", id);
      return;
    case 5:
      ask(living::PeriodicForce{"default", id}, "force a launch of {}", id);
      return;
    default:
      if (const std::string alloc = any_alloc(); !alloc.empty())
        ask(living::AllocStop{alloc, draw_.chance(50), draw_.chance(30)}, "stop allocation {}", alloc);
  }
}

void ClusterLife::declare_outcome() {
  living::TaskOutcome event{.name_space = "default", .job_id = any_job()};
  if (draw_.chance(50)) event.alloc_index = static_cast<std::uint32_t>(draw_.below(4));
  if (draw_.chance(30)) event.run = static_cast<std::uint32_t>(draw_.below(3));
  client::Outcome& outcome = event.outcome;
  outcome.run_ns = draw_.chance(40) ? client::kEndless : static_cast<std::int64_t>(draw_.below(90)) * kSecond;
  outcome.exit_code = draw_.chance(50) ? 1 : 0;
  outcome.start_error = static_cast<client::StartError>(draw_.chance(70) ? 0 : 1 + draw_.below(2));
  outcome.checks = static_cast<client::CheckOutcome>(draw_.chance(60) ? 0 : 1 + draw_.below(2));
  outcome.recovered = draw_.chance(50);
  ask(event, "from now on tasks of {} run {} s, exit code {}", event.job_id,
      outcome.run_ns == client::kEndless ? -1 : outcome.run_ns / kSecond, outcome.exit_code);
}

void ClusterLife::operate_deployment() {
  std::vector<std::shared_ptr<const model::Deployment>> stored = living::deployments_of(cluster_.state());
  std::erase_if(stored, [](const auto& deployment) { return !model::is_active_deployment(deployment->status); });
  if (stored.empty()) return;
  const model::Deployment& deployment = *stored[draw_.below(stored.size())];
  living::DeploymentOp event{.deployment_id = deployment.id};
  using Kind = living::DeploymentOp::Kind;
  event.kind = draw_.one_of({Kind::promote, Kind::promote, Kind::fail, Kind::pause, Kind::resume, Kind::set_health});
  if (event.kind == Kind::set_health)
    for (AllocRow row = 0; row < cluster_.state().allocs.size(); ++row)
      if (cluster_.state().allocs.exists(row) && draw_.chance(50) &&
          base::to_text(cluster_.state().deployment_of(row)) == deployment.id)
        (draw_.chance(60) ? event.healthy : event.unhealthy).push_back(base::to_text(cluster_.state().allocs.id[row]));
  static constexpr const char* kNames[] = {"promote", "fail", "pause", "resume", "set the health of"};
  ask(event, "{} the deployment of {}", kNames[static_cast<std::size_t>(event.kind)], deployment.job_id);
}

void ClusterLife::change_configuration() {
  living::SetSchedulerConfig event{draw_configuration(draw_)};
  event.configuration.pause_eval_broker = draw_.chance(10);
  ask(event, "configuration: {}{}", event.configuration.scheduler_algorithm,
      event.configuration.pause_eval_broker ? ", the broker is paused" : "");
}

// ---------------------------------------------------------------- checks

void ClusterLife::attempt(server::Lane& lane) {
  if (lane.attempts > 1) return;
  ++report_.evaluations;
  if (options_.before_evaluation) options_.before_evaluation(cluster_.server());
  ways_.check(cluster_.state(), lane.facts, stored_eval(cluster_.state(), *lane.record));
}

void ClusterLife::applied(server::Lane& lane) {
  ++report_.plans;
  const std::string type = stored_eval(cluster_.state(), *lane.record).type;
  ledger_.note(lane.record->job, type, lane.result.plan, lane.applied, cluster_.state());
  report_.count(lane.result.plan, lane.applied);
}

/// Lets all nodes return and runs without events for a while. Then names must be unique, and every job without waiting
/// work must have its counts (R-CTRL-1722, 1728).
void ClusterLife::settle() {
  wait(60 * kSecond);
  living::SetSchedulerConfig event{draw_configuration(draw_)};
  ask(event, "configuration: the broker runs");
  for (const model::Node& machine : machines_) {
    ask(living::ReportLag{machine.id, 0}, "{} reports in time", machine.name);
    ask(living::NodeReachable{machine.id}, "{} is reachable", machine.name);
  }
  wait(kSettled);
  if (!goes_on()) return;
  report_.at_rest += check_settled(cluster_.server(), ledger_, report_.problems);
}

}  // namespace

ClusterLifeReport run_cluster_life(const LifeOptions& options, bool object_reports) {
  return run_or_part(options, [&](const LifeOptions& of, StepDraws draws) {
    return ClusterLife(of, std::move(draws), object_reports);
  });
}

}  // namespace berth::conform
