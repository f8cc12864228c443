#include "conform/life.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <set>
#include <utility>

#include "conform/applier_check.h"
#include "conform/life_queue.h"
#include "log/requests.h"
#include "model/computed_class.h"
#include "model/predicates.h"
#include "sched/generic.h"
#include "sched/system.h"
#include "sched/to_model.h"
#include "sim/random.h"
#include "tables/export.h"

namespace berth::conform {
namespace {

using tables::AllocRow;
using tables::kNoRow;
using tables::NodeRow;
using tables::Snapshot;

constexpr std::int64_t kSecond = 1'000'000'000, kStart = 1'700'000'000 * kSecond;
constexpr int kEvaluationsMax = 400;  // per step; more would be a chain that feeds itself

/// R-SCHED-10: a plan that is refused in part for the same reason every time, yet counts as progress, is made anew
/// without end. A worker's evaluation would time out then.
constexpr int kSubmissionsMax = 20;
constexpr const char* kGivesUp = "refused again and again";

base::Uuid uuid_of(const std::string& id) { return base::parse_uuid(id).value_or(base::Uuid{}); }

class Life final : public sched::Planner {
 public:
  explicit Life(const LifeOptions& options) : options_(options), random_(options.seed, "life") {
    scratch_.options = general_scratch_.options = options.decisions;
    exhaustive_.set_exhaustive(true);
    general_.set_plain_path(false);
  }

  LifeReport run() {
    build_cluster();
    for (int step = 0; step < options_.steps && report_.problems.empty(); ++step) {
      now_ += static_cast<std::int64_t>(1 + random_.below(40)) * kSecond;
      happen();
      evaluate_all();
      if (report_.problems.empty()) check_rest();
    }
    return std::move(report_);
  }

  sched::Submission submit(const sched::EvalResult& result) override;
  std::string create(const sched::EvalResult& result, const sched::CreatedEval& created) override;

 private:
  // --- drawing ---
  bool chance(unsigned percent) { return random_.below(100) < percent; }
  template <class T>
  T one_of(std::initializer_list<T> values) {
    return values.begin()[random_.below(values.size())];
  }
  std::string next_id() { return base::to_text({random_.next() | 1, random_.next()}); }
  template <class... Args>
  void tell(fmt::format_string<Args...> format, Args&&... args) {
    report_.events.push_back(fmt::format(format, std::forward<Args>(args)...));
  }

  // --- events ---
  void build_cluster();
  std::shared_ptr<model::Job> new_job(const std::string& id);
  void change_job(model::Job& job);
  void happen();
  void register_job();
  void ask_of_job(const model::Job& job);
  void deregister_job();
  void report_from(NodeRow node);
  void change_node();
  void drain(const model::Node& node, bool on);
  void change_deployment();
  void stop_alloc();
  void let_time_pass();

  // --- log ---
  template <class Entry>
  void write(const Entry& entry) {
    log::Hooks hooks;
    const std::string error = log_.apply(log_.next_index(), entry, hooks);
    if (!error.empty()) tell("  refused: {}", error);
    take(hooks);
  }
  void take(const log::Hooks& hooks) { queue_.take(hooks, now_); }
  void ask(const model::Job& job, std::string_view trigger, const std::string& node = {});
  void ask_for_node(const std::string& node_id, std::string_view trigger);
  std::vector<AllocRow> allocs_on(NodeRow node) const;
  NodeRow any_node() { return static_cast<NodeRow>(random_.below(store_.current().nodes.size())); }
  std::shared_ptr<const model::Job> any_job();

  // --- evaluations ---
  void evaluate_all();
  bool evaluate(const model::Evaluation& eval);  // false: it is given back (R-SCHED-5)
  void cancel(const std::string& id);
  void give_up(const model::Evaluation& eval);
  sched::EvalFacts facts_of(const model::Evaluation& eval);
  void schedule(const Snapshot& snapshot, const sched::EvalFacts& facts, const std::string& type,
                sched::Planner& planner, sched::EvalResult& result);
  void check_exhaustive(const Snapshot& snapshot, const sched::EvalFacts& facts);
  void check_general(const Snapshot& snapshot, const sched::EvalFacts& facts, bool exhaustive);
  void check_rest();
  [[nodiscard]] bool never_rests(const model::Job& job, tables::JobKeyRow key) const;
  [[nodiscard]] bool only_repeats(const plan::PlanRows& plan);

  LifeOptions options_;
  sim::Random random_;
  LifeReport report_;
  std::int64_t now_ = kStart;
  tables::StateStore store_;
  log::StateLog log_{store_, options_.decisions.quirks};
  log::Requests requests_{log_, [this] { return next_id(); }, options_.decisions.strict_ready_updates};
  plan::Applier applier_{store_, options_.decisions.quirks};
  plan::ApplyResult applied_;
  sched::Scratch scratch_;
  sched::GenericScheduler generic_{scratch_}, exhaustive_{scratch_};
  sched::Scratch general_scratch_;
  sched::GenericScheduler general_{general_scratch_};  // without any of the fast ways
  sched::SystemScheduler system_{scratch_};
  sched::IdStream ids_{options_.seed};
  model::Evaluation eval_;  // under way
  int submitted_ = 0;       // plans of it
  std::deque<tables::SnapshotRef> refreshed_;
  LifeQueue queue_{store_, options_.decisions.quirks};
  std::vector<std::string> nodes_to_evaluate_;  // that changed under a plan
  std::set<tables::JobKeyRow> refused_;         // jobs of which a plan was refused in part and not made anew
  std::set<tables::JobKeyRow> once_refused_;    // jobs of which one ever was
  // Jobs of which an allocation was renamed because its name stood twice in the index; the new name may be in use as
  // well (R-SCHED-83, R-RECON-161).
  std::set<tables::JobKeyRow> renamed_;
  std::set<base::Uuid> replaced_;  // whose stop was written as a copy (R-SCHED-94)
};

// ---------------------------------------------------------------- the cluster

void Life::build_cluster() {
  model::ClusterState state;
  state.index = 10;
  model::PreemptionConfig& preemption = state.scheduler_config.emplace().preemption_config;
  preemption.service_scheduler_enabled = chance(60);
  preemption.batch_scheduler_enabled = chance(40);
  preemption.sysbatch_scheduler_enabled = chance(40);
  state.scheduler_config->scheduler_algorithm = chance(30) ? "spread" : "binpack";
  const std::uint64_t count = chance(10) ? 20 + random_.below(60) : 2 + random_.below(7);
  for (std::uint64_t i = 0; i < count; ++i) {
    model::Node& node = state.nodes.emplace_back();
    node.id = next_id();
    node.name = "n" + std::to_string(i);
    node.datacenter = chance(80) ? "dc1" : "dc2";
    node.node_pool = "default";
    node.node_class = chance(50) ? "a" : "b";
    node.attributes = {{"driver.exec", "1"}, {"nomad.version", "2.0.5"}, {"kernel.name", "linux"}};
    node.meta["rack"] = "r" + std::to_string(random_.below(3));
    node.status = "ready";
    node.scheduling_eligibility = "eligible";
    model::NodeResources& r = node.node_resources.emplace();
    model::Topology& topology = r.processors.emplace().topology.emplace();
    for (std::uint16_t core = 0; core < 2; ++core) topology.cores.push_back({.id = core, .base_speed = 1000});
    r.memory.memory_mb = one_of<std::int64_t>({1024, 2048, 4096});
    r.disk.disk_mb = 10'000;
    const std::string ip = "10.0.0." + std::to_string(i + 1);
    model::NetworkResource& network = r.networks.emplace_back();
    network.mode = "host", network.device = "eth0", network.cidr = ip + "/32", network.ip = ip, network.mbits = 1000;
    if (chance(40)) {
      model::NodeDevice& device = r.devices.emplace_back();
      device.vendor = "nvidia", device.type = "gpu", device.name = "t4";
      for (const char* id : {"gpu-0", "gpu-1"}) device.instances.emplace_back().id = id;
      for (model::DeviceInstance& instance : device.instances) instance.healthy = chance(90);
    }
    if (chance(60)) node.host_volumes["data"] = model::HostVolumeInfo{"data", "/srv/data", chance(30), ""};
    model::NodeNetworkResource& host = r.node_networks.emplace().emplace_back();
    host.mode = "host", host.device = "eth0", host.speed = 1000;
    host.addresses.push_back({"ipv4", "default", ip, "", ""});
    node.computed_class = model::computed_class(node);
    node.create_index = node.modify_index = 5;
  }
  store_.load(state);
  log_.load(state);
  log_.set_table_index(log::Table::nodes, 5);
  tell("{} nodes", count);
}

std::shared_ptr<model::Job> Life::new_job(const std::string& id) {
  auto job = std::make_shared<model::Job>();
  job->region = "global";
  job->namespace_ = "default";
  job->id = job->name = id;
  job->type = one_of<const char*>({"service", "service", "service", "batch", "system", "sysbatch"});
  job->priority = one_of<std::int64_t>({20, 50, 80});
  job->all_at_once = chance(8);
  job->datacenters = {chance(80) ? "*" : "dc1"};
  job->node_pool = "default";
  const bool service = job->type == "service", batch = job->type == "batch";
  const std::uint64_t groups = 1 + random_.below(2), count_below = store_.current().nodes.size() < 20 ? 6 : 60;
  for (std::uint64_t g = 0; g < groups; ++g) {
    model::TaskGroup& group = job->task_groups.emplace_back();
    group.name = g == 0 ? "web" : "db";
    group.count = service || batch ? static_cast<std::int64_t>(random_.below(count_below)) : 1;
    group.restart_policy.emplace().mode = "fail";
    group.ephemeral_disk.emplace().size_mb = 100;
    group.ephemeral_disk->sticky = chance(20);
    if (service || batch) {
      model::ReschedulePolicy& policy = group.reschedule_policy.emplace();
      policy.unlimited = service && chance(70);
      policy.attempts = policy.unlimited ? 0 : static_cast<std::int64_t>(random_.below(3));
      policy.interval = 3600 * kSecond;
      policy.delay = static_cast<std::int64_t>(5 + random_.below(30)) * kSecond;
      policy.max_delay = 300 * kSecond;
      policy.delay_function = one_of<const char*>({"constant", "exponential", "fibonacci"});
      if (chance(40)) {
        model::DisconnectStrategy& disconnect = group.disconnect.emplace();
        disconnect.lost_after = 300 * kSecond;
        disconnect.replace = chance(70);
        disconnect.reconcile =
            one_of<const char*>({"best_score", "keep_original", "keep_replacement", "longest_running"});
      }
    }
    if (service) {
      group.migrate.emplace().max_parallel = 1;
      if (chance(30)) group.spreads.push_back({"${meta.rack}", 50, {}});
    }
    if (chance(15)) group.affinities.push_back({"${meta.rack}", "r0", "=", one_of<std::int8_t>({50, -50})});
    if (chance(8)) group.constraints.push_back({"", "", "distinct_hosts"});
    if (chance(8)) group.constraints.push_back({"${meta.rack}", "3", "distinct_property"});
    if (chance(10)) {
      model::VolumeRequest volume;
      volume.name = volume.source = "data", volume.type = "host", volume.read_only = chance(50);
      group.volumes["data"] = volume;
    }
    if ((service || job->type == "system") && chance(65)) {
      model::UpdateStrategy& update = group.update.emplace();
      update.max_parallel = static_cast<std::int64_t>(1 + random_.below(3));
      update.health_check = "task_states";
      update.progress_deadline = chance(80) ? 600 * kSecond : 0;
      update.canary = chance(40) ? static_cast<std::int64_t>(1 + random_.below(service ? 2 : 60)) : 0;
      update.auto_promote = update.canary > 0 && chance(30);
    }
    if (chance(30)) {
      model::NetworkResource& network = group.networks.emplace_back();
      network.mode = "host";
      if (chance(50))
        network.dynamic_ports.push_back({.label = "http", .host_network = "default"});
      else
        network.reserved_ports.push_back(
            {.label = "http", .value = static_cast<std::int64_t>(8080 + random_.below(2)), .host_network = "default"});
    }
    model::Task& task = group.tasks.emplace_back();
    task.name = "t";
    task.driver = "exec";
    task.restart_policy = group.restart_policy;
    model::Resources& ask = task.resources.emplace();
    ask.memory_mb = one_of<std::int64_t>({64, 256, 512});
    if (chance(10))
      ask.cores = 1;
    else
      ask.cpu = one_of<std::int64_t>({100, 300, 600});
    if (chance(12)) ask.devices.emplace_back(), ask.devices[0].name = "nvidia/gpu", ask.devices[0].count = 1;
  }
  return job;
}

/// One change of the kind people make: scaling, a new image, another amount, or what an update in place can do.
void Life::change_job(model::Job& job) {
  model::TaskGroup& group = job.task_groups[random_.below(job.task_groups.size())];
  switch (random_.below(6)) {
    case 0:
    case 1:
      if (job.type == "service" || job.type == "batch") group.count = static_cast<std::int64_t>(random_.below(8));
      break;
    case 2:
      group.tasks[0].env = json::Value::object();
      group.tasks[0].env.set("V", static_cast<std::uint64_t>(random_.below(1000)));
      break;
    case 3:
      group.tasks[0].resources->memory_mb = one_of<std::int64_t>({64, 128, 256, 512});
      break;
    case 4:
      job.priority = one_of<std::int64_t>({20, 50, 80});
      break;
    default:
      group.restart_policy->attempts = static_cast<std::int64_t>(random_.below(5));
      group.tasks[0].kill_timeout = static_cast<std::int64_t>(1 + random_.below(9)) * kSecond;
  }
}

// ---------------------------------------------------------------- events

void Life::happen() {
  const std::uint64_t kind = random_.below(100);
  if (report_.events.size() < 2 || kind < 22) return register_job();
  if (kind < 25) return deregister_job();
  if (kind < 62) {
    for (NodeRow node = 0; node < store_.current().nodes.size(); ++node)
      if (chance(75)) report_from(node);
    return;
  }
  if (kind < 78) return change_node();
  if (kind < 86) return change_deployment();
  if (kind < 91) return stop_alloc();
  let_time_pass();
}

std::shared_ptr<const model::Job> Life::any_job() {
  std::vector<std::shared_ptr<const model::Job>> jobs;
  for (int i = 0; i < 4; ++i)
    if (auto job = log_.job("default", "job" + std::to_string(i))) jobs.push_back(std::move(job));
  return jobs.empty() ? nullptr : jobs[random_.below(jobs.size())];
}

void Life::register_job() {
  const std::string id = "job" + std::to_string(random_.below(4));
  const auto stored = log_.job("default", id);
  if (stored && chance(30)) return ask_of_job(*stored);
  std::shared_ptr<model::Job> job;
  if (!stored) {
    job = new_job(id);
  } else {
    job = std::make_shared<model::Job>(*stored);
    job->stop = false;
    if (!stored->stop || chance(50)) change_job(*job);
  }
  const log::Answer answer = requests_.register_job({.job = job}, now_);
  tell("register {} ({}, priority {}, group {} x {}) {}", id, job->type, job->priority, job->task_groups[0].name,
       job->task_groups[0].count, answer.error);
  take(answer.hooks);
}

/// What people ask of a job that is there, without its file.
void Life::ask_of_job(const model::Job& job) {
  log::Answer answer;
  switch (random_.below(3)) {
    case 0: {
      const std::string& group = job.task_groups[random_.below(job.task_groups.size())].name;
      const auto count = static_cast<std::int64_t>(random_.below(8));
      answer = requests_.scale_job({job.namespace_, job.id, group, count}, now_);
      tell("scale {}, group {} x {} {}", job.id, group, count, answer.error);
      break;
    }
    case 1: {
      const std::uint64_t version = job.version > 2 ? job.version - 1 - random_.below(2) : 0;
      answer = requests_.revert_job(job.namespace_, job.id, version, now_);
      tell("revert {} to version {} {}", job.id, version, answer.error);
      break;
    }
    default: {
      const bool force = chance(70);
      answer = requests_.evaluate_job(job.namespace_, job.id, force, now_);
      tell("evaluate {}{} {}", job.id, force ? ", reschedule by force" : "", answer.error);
    }
  }
  take(answer.hooks);
}

void Life::deregister_job() {
  const auto job = any_job();
  if (!job) return;
  const bool purge = chance(30);
  tell("{} {}", purge ? "purge" : "stop", job->id);
  take(requests_.deregister_job({.name_space = job->namespace_, .job_id = job->id, .purge = purge}, now_).hooks);
}

std::vector<AllocRow> Life::allocs_on(NodeRow node) const {
  std::vector<AllocRow> rows;
  const Snapshot& state = store_.current();
  for (AllocRow a = state.nodes.use[node].alloc_head; a != kNoRow; a = state.allocs.next_on_node[a]) rows.push_back(a);
  return rows;
}

void Life::report_from(NodeRow node) {
  const Snapshot& state = store_.current();
  if (state.nodes.status(node) != tables::NodeStatus::ready) return;
  std::vector<model::Allocation> reports;
  std::vector<std::string> watched;
  for (const AllocRow row : allocs_on(node)) {
    if (chance(30)) continue;
    const model::Allocation alloc = tables::to_alloc(state, row);
    model::Allocation out;
    out.id = alloc.id;
    out.namespace_ = alloc.namespace_;
    out.job_id = alloc.job_id;
    out.node_id = alloc.node_id;
    out.task_states = alloc.task_states;
    model::TaskState task;
    if (const auto known = alloc.task_states.find("t"); known != alloc.task_states.end() && known->second)
      task = *known->second;
    const bool batch = alloc.job && (alloc.job->type == "batch" || alloc.job->type == "sysbatch");
    if (alloc.desired_status != "run") {
      out.client_status = "complete";
    } else if (alloc.client_status == "pending" || alloc.client_status == "unknown") {
      out.client_status = chance(88) ? "running" : "failed";
    } else if (chance(batch ? 40 : 15)) {
      out.client_status = batch && chance(60) ? "complete" : "failed";
    } else {
      out.client_status = "running";
    }
    task.state = out.client_status == "running" ? "running" : "dead";
    if (out.client_status == "running" && task.started_at.is_zero()) task.started_at = base::Time{now_};
    if (out.client_status != "running") task.finished_at = base::Time{now_};
    task.failed = out.client_status == "failed";
    out.task_states["t"] = task;
    if (!alloc.deployment_id.empty() && !model::has_health(alloc) && out.client_status != "complete") {
      model::DeploymentStatus& health = out.deployment_status.emplace();
      if (alloc.deployment_status) health = *alloc.deployment_status;
      health.healthy = out.client_status == "running";
      health.timestamp = base::Time{now_};
      watched.push_back(alloc.job_id);
    }
    if (out.client_status == alloc.client_status && !out.deployment_status) continue;
    tell("  {} {} -> {}", alloc.name, alloc.client_status, out.client_status);
    reports.push_back(std::move(out));
  }
  if (reports.empty()) return;
  const log::Answer answer = requests_.update_allocs(std::move(reports), now_, now_ + kSecond / 20);
  tell("report from {} {}", state.nodes.spec(node).node.name, answer.error);
  take(answer.hooks);
  for (const std::string& id : watched)
    if (const auto job = log_.job("default", id)) ask(*job, "deployment-watcher");
}

void Life::change_node() {
  const NodeRow row = any_node();
  const model::Node node = *log_.node(base::to_text(store_.current().nodes.id(row)));
  if (node.status != "ready") {
    tell("{} is ready again", node.name);
    write(log::NodeStatusEntry{node.id, "ready", now_ / kSecond});
    return ask_for_node(node.id, "node-update");
  }
  if (node.drain_strategy) return drain(node, false);
  switch (random_.below(4)) {
    case 0:
      return drain(node, true);
    case 1: {
      tell("{} is {}", node.name, node.scheduling_eligibility == "eligible" ? "ineligible" : "eligible");
      model::Node changed = node;
      changed.scheduling_eligibility = node.scheduling_eligibility == "eligible" ? "ineligible" : "eligible";
      const std::uint64_t index = log_.next_index();
      store_.begin_commit(index).upsert_node(changed);
      log_.seen(index);
      return ask_for_node(node.id, "node-update");
    }
    default: {
      const std::string status = chance(60) ? "disconnected" : "down";
      tell("{} is {}", node.name, status);
      write(log::NodeStatusEntry{node.id, status, now_ / kSecond});
      ask_for_node(node.id, "node-update");
    }
  }
}

void Life::drain(const model::Node& node, bool on) {
  tell("{} {}", on ? "drain" : "end the drain of", node.name);
  model::Node changed = node;
  changed.drain_strategy.reset();
  if (on) changed.drain_strategy.emplace().deadline = 3600 * kSecond;
  changed.scheduling_eligibility = on ? "ineligible" : "eligible";
  const std::uint64_t index = log_.next_index();
  store_.begin_commit(index).upsert_node(changed);
  log_.seen(index);
  log::TransitionEntry entry;
  for (const AllocRow row : allocs_on(store_.find_node(node.id))) {
    const model::Allocation alloc = tables::to_alloc(store_.current(), row);
    if (!on || model::is_terminal(alloc) || !alloc.job || alloc.job->type == "batch" || alloc.job->type == "sysbatch")
      continue;
    model::DesiredTransition transition;
    transition.migrate = true;
    entry.allocs.emplace_back(alloc.id, transition);
  }
  if (!entry.allocs.empty()) write(entry);
  ask_for_node(node.id, "node-drain");
}

void Life::change_deployment() {
  std::vector<std::shared_ptr<const model::Deployment>> active;
  for (const auto& deployment : deployments_of(store_.current()))
    if (model::is_active_deployment(deployment->status)) active.push_back(deployment);
  if (active.empty()) return let_time_pass();
  const model::Deployment& deployment = *active[random_.below(active.size())];
  const auto job = log_.job(deployment.namespace_, deployment.job_id);
  if (chance(60)) {
    tell("promote the deployment of {}", deployment.job_id);
    log::DeploymentPromoteEntry entry;
    entry.deployment_id = deployment.id;
    entry.all = true;
    entry.promoted_at = entry.now = now_;
    write(entry);
  } else {
    log::DeploymentStatusEntry entry;
    entry.update.deployment_id = deployment.id;
    entry.update.status = deployment.status == "paused" ? "running" : one_of<const char*>({"failed", "paused"});
    entry.update.status_description = "by hand";
    entry.update.updated_at = now_;
    tell("deployment of {}: {}", deployment.job_id, entry.update.status);
    write(entry);
  }
  if (job) ask(*job, "deployment-watcher");
}

void Life::stop_alloc() {
  const Snapshot& state = store_.current();
  if (state.allocs.size() == 0) return;
  const auto row = static_cast<AllocRow>(random_.below(state.allocs.size()));
  if (!state.allocs.exists(row) || state.allocs.terminal(row)) return;
  tell("stop allocation {}", tables::alloc_name(state, row));
  take(requests_.stop_alloc(base::to_text(state.allocs.id[row]), chance(50), false, now_).hooks);
}

void Life::let_time_pass() {
  now_ += static_cast<std::int64_t>(30 + random_.below(600)) * kSecond;
  tell("time passes");
}

// ---------------------------------------------------------------- evaluations

void Life::ask(const model::Job& job, std::string_view trigger, const std::string& node) {
  model::Evaluation eval;
  eval.id = next_id();
  eval.namespace_ = job.namespace_;
  eval.job_id = job.id;
  eval.type = job.type;
  eval.priority = job.priority;
  eval.triggered_by = trigger;
  eval.node_id = node;
  eval.status = "pending";
  eval.create_time = eval.modify_time = now_;
  write(std::vector<model::Evaluation>{eval});
}

/// Every job with an allocation on the node, and every system job (R-CTRL-213).
void Life::ask_for_node(const std::string& node_id, std::string_view trigger) {
  const NodeRow row = store_.find_node(node_id);
  const Snapshot& state = store_.current();
  for (int i = 0; i < 4; ++i) {
    const auto job = log_.job("default", "job" + std::to_string(i));
    if (!job) continue;
    bool concerned = job->type == "system" || job->type == "sysbatch";
    for (AllocRow a = 0; a < state.allocs.size() && !concerned; ++a)
      concerned = state.allocs.exists(a) && state.allocs.node[a] == row &&
                  state.allocs.job_key[a] == store_.find_job_key(job->namespace_, job->id);
    if (concerned) ask(*job, trigger, node_id);
  }
}

void Life::evaluate_all() {
  queue_.advance(now_);
  int left = kEvaluationsMax;
  const auto cancel_duplicates = [&] {
    for (const std::string& id : queue_.take_cancelled()) cancel(id);
  };
  for (cancel_duplicates(); report_.problems.empty();) {
    const auto delivery = queue_.next(now_);
    if (!delivery) break;
    queue_.set_token(delivery->row, delivery->token);
    const auto eval = log_.eval(delivery->eval_id);
    if (!eval || model::is_terminal_evaluation(eval->status)) {
      queue_.ack(*delivery, now_);
      continue;
    }
    if (eval->wait_until.ns > now_) report_.problems.push_back("R-CTRL-1735: " + eval->id + " came before its time");
    bool done = true;
    if (delivery->failed)
      give_up(*eval);
    else
      done = evaluate(*eval);
    if (done)
      queue_.ack(*delivery, now_);
    else
      queue_.nack(*delivery, now_);
    for (const std::string& node : std::exchange(nodes_to_evaluate_, {})) ask_for_node(node, "node-update");
    cancel_duplicates();
    queue_.check(store_.current(), report_.problems);
    if (--left == 0) report_.problems.push_back("evaluations go on for ever");
  }
}

void Life::cancel(const std::string& id) {
  const auto eval = log_.eval(id);
  if (!eval || model::is_terminal_evaluation(eval->status)) return;
  model::Evaluation cancelled = *eval;
  cancelled.status = "canceled";
  cancelled.status_description = "cancelled after more recent eval was processed";
  cancelled.modify_time = now_;
  write(std::vector<model::Evaluation>{cancelled});
}

/// R-SCHED-21.
void Life::give_up(const model::Evaluation& eval) {
  model::Evaluation failed = eval, followup;
  failed.status = "failed";
  failed.status_description = "evaluation reached delivery limit (3)";
  failed.modify_time = now_;
  std::vector<model::Evaluation> written;
  if (log_.job(eval.namespace_, eval.job_id)) {
    followup.id = failed.next_eval = next_id();
    followup.namespace_ = eval.namespace_, followup.job_id = eval.job_id;
    followup.type = eval.type, followup.priority = eval.priority;
    followup.job_modify_index = eval.job_modify_index;
    followup.triggered_by = "failed-follow-up";
    followup.previous_eval = eval.id;
    followup.status = "pending";
    followup.wait = 60 * kSecond + static_cast<std::int64_t>(random_.below(300)) * kSecond;
    followup.create_time = followup.modify_time = now_;
    written.push_back(followup);
  }
  written.push_back(failed);
  tell("  gave up {} of {}", eval.triggered_by, eval.job_id);
  write(written);
}

sched::EvalFacts Life::facts_of(const model::Evaluation& eval) {
  return sched::facts_of(eval, store_.job_key(eval.namespace_, eval.job_id), now_);
}

void Life::schedule(const Snapshot& snapshot, const sched::EvalFacts& facts, const std::string& type,
                    sched::Planner& planner, sched::EvalResult& result) {
  if (type == "system" || type == "sysbatch")
    system_.process(snapshot, facts, ids_, planner, result);
  else
    generic_.process(snapshot, facts, rank::OrderProvider::nomad, ids_, planner, result);
}

bool Life::evaluate(const model::Evaluation& eval) {
  ++report_.evaluations;
  submitted_ = 0;
  eval_ = eval;
  const sched::EvalFacts facts = facts_of(eval_);
  const tables::SnapshotRef snapshot = store_.snapshot();
  if (eval.type == "service" || eval.type == "batch") {
    if (chance(15)) check_exhaustive(*snapshot, facts);
    if (report_.evaluations % 3 == 0) check_general(*snapshot, facts, report_.evaluations % 2 == 0);
  }
  sched::EvalResult result;
  schedule(*snapshot, facts, eval.type, *this, result);
  // R-CTRL-707: a plan of a system job made before its deployment's promotion; the worker gives the evaluation back.
  if (result.description == "deployment promotion cannot be undone" || result.description == kGivesUp) {
    tell("  given back: {}", result.description);
    return false;
  }
  if (result.status == sched::EvalStatus::error) {
    report_.problems.push_back("evaluation of " + eval.job_id + ": " + result.description);
    return false;
  }
  const sched::Naming naming{*result.state, scratch_};
  model::Evaluation done =
      result.reblocked ? sched::reblocked_eval(naming, result, eval_) : sched::updated_eval(naming, result, eval_);
  done.modify_time = now_;
  // Made anew until all of it was taken, or given up: then a replacement stands beside what was not stopped
  // (R-CTRL-615).
  if (refused_.erase(facts.job) > 0 && done.status != "complete") renamed_.insert(facts.job);
  done.snapshot_index = result.state->index;  // R-CTRL-235
  write(std::vector<model::Evaluation>{done});
  refreshed_.clear();
  return true;
}

sched::Submission Life::submit(const sched::EvalResult& result) {
  if (++submitted_ > kSubmissionsMax) {
    sched::Submission out;
    out.error = kGivesUp;
    return out;
  }
  ++report_.plans;
  // Sometimes a node goes away between snapshot and commit.
  if (chance(6) && !result.plan.allocs.empty()) {
    const NodeRow row = result.plan.allocs[random_.below(result.plan.allocs.size())].node;
    const std::string id = base::to_text(store_.current().nodes.id(row));
    tell("  meanwhile {} goes down", store_.current().nodes.spec(row).node.name);
    write(log::NodeStatusEntry{id, "down", now_ / kSecond});
    nodes_to_evaluate_.push_back(id);
  }
  const sched::Naming naming{*result.state, scratch_};
  const model::Plan plan = to_model(naming, result, eval_, now_);
  const auto deployment = planned_deployment(naming, result, eval_, now_);
  model::ClusterState before_objects;
  if (options_.compare_appliers) before_objects = tables::to_cluster(store_.current());
  const tables::SnapshotRef before = store_.snapshot();
  plan::CommitFacts facts;
  facts.index = log_.next_index();
  facts.all_at_once = plan.all_at_once;
  facts.now_ns = now_;
  facts.eval = uuid_of(eval_.id);
  facts.deployment = deployment ? &*deployment : nullptr;
  applier_.apply(result.plan, facts, applied_);
  log_.seen(facts.index);
  log_.adopt_plan(*before);
  const Snapshot& after = store_.current();

  for (const plan::PlannedStop& stop : result.plan.stops) ++(stop.evict ? report_.preemptions : report_.stops);
  report_.allocations += result.plan.allocs.size();
  for (const plan::PlannedAlloc& alloc : result.plan.allocs)
    if (alloc.previous != kNoRow && !alloc.keeps_name) renamed_.insert(store_.job_key(eval_.namespace_, eval_.job_id));
  report_.updates += result.plan.updates.size();
  report_.deployments += result.plan.has_deployment;
  report_.refused_plans += !applied_.rejected_nodes.empty();
  tell("  plan of {} ({}): {} new, {} updated, {} stopped{}{}", eval_.job_id, eval_.triggered_by,
       result.plan.allocs.size(), result.plan.updates.size(), result.plan.stops.size(),
       result.plan.has_deployment ? ", deployment" : "", applied_.rejected_nodes.empty() ? "" : ", partly refused");
  for (const std::string& reason : applied_.reasons) tell("    refused: {}", reason);
  Problems& problems = report_.problems;
  check_commit(after, result.plan, applied_, store_, problems);
  check_change(*before, after, problems);
  for (const plan::PlannedStop& stop : result.plan.stops)
    if (stop.replaced) replaced_.insert(after.allocs.id[stop.alloc]);
  check_state(after, replaced_, problems);
  check_summaries(after, log_, problems);
  if (options_.compare_appliers && problems.empty())
    problems = compare_appliers(before_objects, plan, now_, facts.index, after, applied_, options_.decisions.quirks);

  for (const tables::JobKeyRow key : applied_.preempted_jobs)
    ask(*after.jobs.versions[after.jobs.keys[key].current]->spec, "preemption");
  sched::Submission out;
  out.error = applied_.error;
  out.nothing_committed = facts.all_at_once && !applied_.rejected_nodes.empty();
  out.refused_nodes = applied_.rejected_nodes;
  out.placements_refused = applied_.placements_refused;
  if (applied_.refresh_index != 0) {
    const tables::JobKeyRow key = store_.job_key(eval_.namespace_, eval_.job_id);
    refused_.insert(key), once_refused_.insert(key);
    out.refreshed = &*refreshed_.emplace_back(store_.snapshot());
  }
  return out;
}

std::string Life::create(const sched::EvalResult& result, const sched::CreatedEval& created) {
  model::Evaluation eval = created_eval({*result.state, scratch_}, result, created, eval_, now_);
  eval.snapshot_index = result.state->index;  // R-CTRL-235
  write(std::vector<model::Evaluation>{eval});
  return {};
}

// ---------------------------------------------------------------- properties

/// All that the evaluation decided, in words.
std::string decided(const sched::Naming& naming, const sched::EvalResult& result, const model::Evaluation& eval) {
  const model::Plan plan = sched::to_model(naming, result, eval, 0);
  std::string out;
  for (const auto* lists : {&plan.node_update, &plan.node_allocation, &plan.node_preemptions})
    for (const auto& [node, allocs] : *lists)
      for (const model::Allocation& alloc : allocs)
        out += json::to_text(model::to_json(alloc, model::WriteMode::sparse)) + "\n";
  return out + json::to_text(model::to_json(sched::updated_eval(naming, result, eval), model::WriteMode::sparse));
}

/// The fast ways through a Select decide, score and count as the general one does.
void Life::check_general(const Snapshot& snapshot, const sched::EvalFacts& facts, bool exhaustive) {
  general_.set_exhaustive(exhaustive);
  const auto words = [&](sched::GenericScheduler& scheduler, const sched::Scratch& scratch) {
    sched::NoPlanner planner;
    sched::EvalResult result;
    sched::IdStream ids(options_.seed);
    scheduler.process(snapshot, facts, rank::OrderProvider::nomad, ids, planner, result);
    return decided({*result.state, scratch}, result, eval_);
  };
  const std::string fast = words(exhaustive ? exhaustive_ : generic_, scratch_),
                    slow = words(general_, general_scratch_);
  if (fast == slow) return;
  const auto at = std::mismatch(fast.begin(), fast.end(), slow.begin(), slow.end()).first - fast.begin();
  const std::size_t from = at > 60 ? static_cast<std::size_t>(at) - 60 : 0;
  report_.problems.push_back(fmt::format("{}{}: a fast way decides ...{}... and the general one ...{}...", eval_.job_id,
                                         exhaustive ? ", exhaustive" : "", fast.substr(from, 160),
                                         slow.substr(from, 160)));
}

/// The first placement of the exhaustive mode scores at least what the sampled one's does, on the same state.
void Life::check_exhaustive(const Snapshot& snapshot, const sched::EvalFacts& facts) {
  sched::NoPlanner planner;
  sched::EvalResult sampled, best;
  const auto first_of = [&](sched::GenericScheduler& scheduler, sched::EvalResult& result) {
    sched::IdStream ids(1);
    scheduler.process(snapshot, facts, rank::OrderProvider::nomad, ids, planner, result);
  };
  first_of(generic_, sampled);
  first_of(exhaustive_, best);
  const auto evicts = [](const sched::EvalResult& result) {
    return std::any_of(result.plan.stops.begin(), result.plan.stops.end(), [](const auto& s) { return s.evict; });
  };
  if (sampled.plan.allocs.empty() || evicts(sampled) || evicts(best)) return;
  if (best.plan.allocs.empty()) {
    report_.problems.push_back("the exhaustive mode finds no node where the sampled one does");
    return;
  }
  const plan::PlannedAlloc &a = sampled.plan.allocs.front(), &b = best.plan.allocs.front();
  if (a.group == b.group && a.name_index == b.name_index && b.score < a.score)
    report_.problems.push_back(fmt::format("{}: exhaustive scores {}, sampled {}", eval_.job_id, b.score, a.score));
}

/// What each evaluation plans anew: a deployment that ended otherwise is declared successful, and that is refused
/// (R-RECON-83, R-CTRL-708); ended allocations of sysbatch jobs are stopped for a rerun that no node takes
/// (R-SCHED-132, 167).
bool Life::only_repeats(const plan::PlanRows& plan) {
  if (!plan.allocs.empty() || !plan.updates.empty() || plan.has_deployment) return false;
  for (const plan::PlannedStop& stop : plan.stops)
    if (!store_.current().allocs.terminal(stop.alloc)) return false;
  return std::none_of(plan.deployment_updates.begin(), plan.deployment_updates.end(), [&](const auto& update) {
    const std::uint32_t row = store_.find_deployment(update.deployment);
    return row != kNoRow && model::is_active_deployment(store_.current().deployments.object[row]->status);
  });
}

/// Whether every evaluation of the job plans something, as some of the rules have it.
bool Life::never_rests(const model::Job& job, tables::JobKeyRow key) const {
  const Snapshot& state = store_.current();
  // R-SCHED-187: with a deployment every evaluation of a system job submits a plan.
  if (job.type == "system" && sched::latest_deployment(state, key)) return true;
  // R-RECON-71, 73: an evaluation that still saw an older version cancels the deployment of the newer one, which stays
  // the current one all the same. Its canaries belong to no deployment: they are stopped as too many and placed again,
  // evaluation by evaluation. R-RECON-112, 113, 116: likewise replaced is a disconnected batch allocation that was to
  // be stopped and placed again.
  for (AllocRow row = state.jobs.keys[key].alloc_head; row != kNoRow; row = state.allocs.next_of_job[row])
    if (const model::Allocation alloc = tables::to_alloc(state, row);
        !model::is_terminal(alloc) &&
        ((model::is_canary(alloc) && alloc.deployment_id.empty()) ||
         (alloc.client_status == "unknown" && model::is_set(alloc.desired_transition.reschedule))))
      return true;
  return false;
}

/// Nothing is waiting to be evaluated: names are unique, nothing is missing, and evaluating a job once more, and again,
/// changes nothing the second time.
void Life::check_rest() {
  const Snapshot& state = store_.current();
  check_summaries(state, log_, report_.problems);
  std::set<tables::JobKeyRow> unsettled = queue_.given_back();
  unsettled.insert(refused_.begin(), refused_.end());
  std::set<tables::JobKeyRow> excepted = unsettled;
  excepted.insert(renamed_.begin(), renamed_.end());
  check_names(state, excepted, once_refused_, report_.problems);
  const auto job = any_job();
  if (!job || !report_.problems.empty()) return;
  const tables::JobKeyRow key = store_.job_key(job->namespace_, job->id);
  if (unsettled.contains(key) || never_rests(*job, key)) return;
  // A deployment ends in the evaluation after the last placement (R-RECON-213), and then what failed in it is
  // rescheduled (R-RECON-116). An unknown allocation is not counted as too many but may be stopped for it, one per
  // evaluation (R-RECON-167, 168).
  int rounds = 3;
  for (AllocRow row = 0; row < state.allocs.size(); ++row)
    rounds += state.allocs.exists(row) && state.allocs.job_key[row] == key &&
              state.allocs.client[row] == tables::Client::unknown;
  for (int round = 0; round <= rounds; ++round) {
    model::Evaluation eval;
    eval.id = next_id();
    eval.namespace_ = job->namespace_;
    eval.job_id = job->id;
    eval.type = job->type;
    eval.priority = job->priority;
    eval.triggered_by = "job-register";
    sched::NoPlanner planner;
    sched::EvalResult result;
    const tables::SnapshotRef snapshot = store_.snapshot();
    schedule(*snapshot, facts_of(eval), eval.type, planner, result);
    if (result.attempts == 0 && !result.any_failed() && !queue_.waits(key)) {
      const auto deployment = sched::latest_deployment(*snapshot, key);
      if (!renamed_.contains(key) && (!deployment || deployment->status == "successful"))
        check_counts(*snapshot, key, *job, report_.problems), ++report_.at_rest;
    }
    if (result.attempts == 0 || result.any_failed() || only_repeats(result.plan)) return;
    if (round == rounds) {
      std::string what = result.plan.has_deployment ? " a deployment" : "";
      for (const plan::PlannedStatus& update : result.plan.deployment_updates)
        what += fmt::format(" deployment {}", update.status);
      for (const plan::PlannedStop& stop : result.plan.stops)
        what += fmt::format(" stop {} ({})", tables::alloc_name(*snapshot, stop.alloc), to_text(stop.description));
      for (const plan::PlannedUpdate& update : result.plan.updates)
        what += " update " + tables::alloc_name(*snapshot, update.alloc);
      for (const plan::PlannedAlloc& alloc : result.plan.allocs)
        what += " place " + sched::planned_name(*snapshot, result.plan, alloc);
      report_.problems.push_back(job->id + " is not at rest:" + what);
      return;
    }
    eval.status = "pending";  // what the state had left to do, such as a rule that depends on the time, is done first
    write(std::vector<model::Evaluation>{eval});
    evaluate_all();
    // What the applier refuses again and again, such as a preemption that forgot the job's own use (R-PREEMPT-403),
    // does not come to rest: the evaluation fails.
    if (!report_.problems.empty() || queue_.given_back().contains(key) || log_.eval(eval.id)->status == "failed" ||
        never_rests(*job, key))
      return;
  }
}

}  // namespace

LifeReport run_life(const LifeOptions& options) { return Life(options).run(); }

}  // namespace berth::conform
