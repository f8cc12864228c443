#include "record/life.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <unordered_map>
#include <utility>

#include "advice/plan_text.h"
#include "base/json.h"
#include "dryrun/request.h"
#include "living/living.h"
#include "model/job.h"
#include "model/predicates.h"
#include "record/past.h"
#include "run/progress.h"
#include "server/lane.h"
#include "server/surroundings.h"
#include "sim/imported.h"
#include "tables/export.h"

namespace berth::record {
namespace {

using tables::kNoRow;
using JobName = std::pair<std::string, std::string>;  // namespace, ID

constexpr std::int64_t kStartDelay = base::kSecond;  // of a task: image, folders, network

/// Times are limited, so that sums of damaged ones do not overflow; the limit is in the year 2096.
std::int64_t limited(std::int64_t ns) { return std::clamp<std::int64_t>(ns, 0, 4'000'000'000 * base::kSecond); }

/// The newest time of the agent's clock that a frame shows; 0: none.
std::int64_t shown_time(const io::EventFrame& frame) {
  std::int64_t out = 0;
  for (const model::Evaluation& eval : frame.objects.evals) out = std::max(out, eval.modify_time);
  for (const model::Allocation& alloc : frame.objects.allocs) out = std::max(out, alloc.modify_time);
  return limited(out);
}

/// The agent's clock. What shows no time is placed by its arrival, which is on the clock of `berth record`.
class FrameClock {
 public:
  /// `offset`: of the agent's clock to that of the arrivals. Times before `first` count as `first`.
  FrameClock(std::int64_t offset, std::int64_t first) : offset_(offset), last_(first) {}
  std::int64_t at(std::int64_t shown, std::int64_t arrival) {
    if (shown > 0) offset_ = shown - limited(arrival);
    return last_ = std::max(last_, limited(arrival) + offset_);
  }

 private:
  std::int64_t offset_ = 0, last_ = 0;
};

bool is_batch(const std::string& type) { return type == "batch" || type == "sysbatch"; }

std::int64_t median(std::vector<std::int64_t> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// First pass: the length of the recording, what Nomad decided, and run times.
class Times final : public Reader {
 public:
  explicit Times(LifeReport& report) : report_(report) {}

  void take(model::ClusterState state, std::int64_t arrival) override {
    if (!std::exchange(begun_, true)) first_arrival_ = arrival, report_.first_index = state.index;
    seen(state.index, 0, arrival);
    for (const auto& job : state.jobs) take_job(*job);
    for (const model::Allocation& alloc : state.allocs) take_alloc(alloc);
  }
  void take(io::EventFrame frame, std::int64_t arrival) override {
    ++report_.frames;
    const std::int64_t shown = shown_time(frame);
    if (shown > 0) {
      std::int64_t& newest = shown_[frame.index];
      newest = std::max(newest, shown);
    }
    seen(frame.index, shown, arrival);
    for (const auto& job : frame.objects.jobs) take_job(*job);
    const bool is_plan = frame.type == "PlanResult";
    for (const model::Allocation& alloc : frame.objects.allocs) {
      take_alloc(alloc);
      if (!is_plan || alloc.alloc_modify_index != frame.index) continue;
      if (alloc.create_index == frame.index) ++report_.nomad.placed;
      if (alloc.desired_status == "evict") ++report_.nomad.evicted;
    }
  }
  void take(const model::SchedulerConfiguration&) override {}
  void take(const Gap&) override { ++report_.gaps; }
  void take_skipped(std::uint64_t) override { ++report_.skipped; }

  /// Run time of a batch allocation; client::kEndless if the recording has no finished one.
  [[nodiscard]] std::int64_t run_time(const model::Job& job, const std::string& alloc) const {
    if (const auto own = runs_.find(key_of(job.namespace_, alloc)); own != runs_.end()) return own->second;
    if (const auto family = medians_.find(family_of(job)); family != medians_.end()) return family->second;
    return median_of_all_;
  }

  /// The newest time that any frame of the index shows: a registration shows none, its evaluation at the same index
  /// does. 0: none.
  [[nodiscard]] std::int64_t shown_at(std::uint64_t index) const {
    const auto found = shown_.find(index);
    return found == shown_.end() ? 0 : found->second;
  }

  /// Offset of the agent's clock to that of the arrivals, by the first frame with a time.
  [[nodiscard]] std::int64_t offset() const { return offset_.value_or(0); }

  void finish() {
    report_.first_ns = std::max<std::int64_t>(limited(first_arrival_) + offset(), 0);
    report_.last_ns = std::max(offset_ ? last_ns_ : limited(last_arrival_), report_.first_ns);
    std::vector<std::int64_t> all;
    for (auto& [family, times] : by_family_) {
      all.insert(all.end(), times.begin(), times.end());
      medians_.emplace(family, median(std::move(times)));
    }
    by_family_.clear();
    if (!all.empty()) median_of_all_ = median(std::move(all));
  }

 private:
  static std::string key_of(const std::string& name_space, const std::string& alloc) {
    return name_space + '\n' + alloc;
  }
  static JobName family_of(const model::Job& job) {
    return {job.namespace_, job.parent_id.empty() ? job.id : std::string(*job.parent_id)};
  }
  void seen(std::uint64_t index, std::int64_t shown, std::int64_t arrival) {
    report_.last_index = std::max(report_.last_index, index);
    last_arrival_ = std::max(last_arrival_, arrival);
    if (shown > 0 && !offset_) offset_ = shown - limited(arrival);
    if (offset_) last_ns_ = clock_.at(shown, arrival);
  }
  void take_job(const model::Job& job) {
    if (is_batch(job.type)) batch_.try_emplace({job.namespace_, job.id}, family_of(job));
  }
  void take_alloc(const model::Allocation& alloc) {
    if (alloc.client_status != "complete" || alloc.desired_status != "run") return;
    const auto family = batch_.find({alloc.namespace_, alloc.job_id});
    if (family == batch_.end()) return;
    const std::int64_t run = sim::run_time_of(alloc).ns;
    if (runs_.insert_or_assign(key_of(alloc.namespace_, alloc.name), run).second)
      by_family_[family->second].push_back(run);
  }

  LifeReport& report_;
  FrameClock clock_{0, 0};
  bool begun_ = false;
  std::int64_t first_arrival_ = 0, last_arrival_ = 0, last_ns_ = 0;
  std::optional<std::int64_t> offset_;
  std::unordered_map<std::uint64_t, std::int64_t> shown_;  // by index
  std::map<JobName, JobName> batch_;                       // batch job -> its family
  std::unordered_map<std::string, std::int64_t> runs_;
  std::map<JobName, std::vector<std::int64_t>> by_family_;
  std::map<JobName, std::int64_t> medians_;
  std::int64_t median_of_all_ = client::kEndless;
};

client::Outcome recorded_outcome(const void* context, const client::TaskStart& start) {
  client::Outcome out;
  if (start.run == 0) out.start_delay_ns = kStartDelay;
  if (!is_batch(start.spec->type)) return out;
  const std::string& group = start.spec->task_groups.list()[start.group].name;
  out.run_ns = static_cast<const Times*>(context)->run_time(
      *start.spec, fmt::format("{}.{}[{}]", start.spec->id, group, start.name_index));
  return out;
}

Fill fill_of(const tables::Snapshot& state) {
  Fill out;
  double cpu = 0, memory = 0, cpu_held = 0, memory_held = 0;
  const tables::NodeTable& nodes = state.nodes;
  for (tables::NodeRow row = 0; row < nodes.size(); ++row) {
    if (!nodes.exists(row) || nodes.status(row) == tables::NodeStatus::down) continue;
    const tables::NodeUse& use = nodes.use[row];
    ++out.nodes, out.used_nodes += use.alloc_count > 0, out.allocs += use.alloc_count;
    cpu += static_cast<double>(nodes.capacity(row).cpu_mhz);
    memory += static_cast<double>(nodes.capacity(row).memory_mb);
    cpu_held += static_cast<double>(use.cpu_mhz), memory_held += static_cast<double>(use.memory_mb);
  }
  if (cpu > 0) out.cpu = cpu_held / cpu;
  if (memory > 0) out.memory = memory_held / memory;
  for (tables::StoredEvalRow row = 0; row < state.evals.size(); ++row)
    out.blocked += state.evals.exists(row) && state.evals.status[row] == tables::kEvalBlocked;
  return out;
}

/// Live allocations as (job and name, node), ascending. System jobs have equal names on many nodes.
using Places = std::vector<std::pair<std::string, base::Uuid>>;
Places places_of(const tables::Snapshot& state) {
  Places out;
  const tables::AllocTable& allocs = state.allocs;
  for (tables::AllocRow row = 0; row < allocs.size(); ++row) {
    if (!allocs.exists(row) || allocs.terminal(row)) continue;
    const tables::JobKey& key = state.jobs.keys[allocs.job_key[row]];
    out.emplace_back(fmt::format("{}\n{}\n{}\n{}", state.text(key.job_namespace), state.text(key.job_id),
                                 state.text(allocs.group[row]), allocs.name_index[row]),
                     allocs.node[row] == tables::kNoRow ? base::Uuid{} : state.nodes.id(allocs.node[row]));
  }
  std::sort(out.begin(), out.end());
  return out;
}

void compare_places(const Places& nomad, const Places& berth, Moment& out) {
  Places only_nomad, only_berth;
  std::set_difference(nomad.begin(), nomad.end(), berth.begin(), berth.end(), std::back_inserter(only_nomad));
  std::set_difference(berth.begin(), berth.end(), nomad.begin(), nomad.end(), std::back_inserter(only_berth));
  out.same = nomad.size() - only_nomad.size();
  for (auto n = only_nomad.begin(), b = only_berth.begin(); n != only_nomad.end() && b != only_berth.end();) {
    if (n->first == b->first)
      ++out.elsewhere, ++n, ++b;
    else if (n->first < b->first)
      ++n;
    else
      ++b;
  }
  out.only_nomad = only_nomad.size() - out.elsewhere, out.only_berth = only_berth.size() - out.elsewhere;
}

/// True if a client would describe the machine in the same words.
bool is_same_machine(const model::Node& a, const model::Node& b) {
  return a.computed_class == b.computed_class && a.attributes == b.attributes && a.meta == b.meta &&
         a.node_resources == b.node_resources && a.reserved_resources == b.reserved_resources &&
         a.host_volumes == b.host_volumes && a.host_networks == b.host_networks &&
         std::equal(a.drivers.begin(), a.drivers.end(), b.drivers.begin(), b.drivers.end(),
                    [](const auto& one, const auto& other) {
                      const bool both = one.second.has_value() && other.second.has_value();
                      return one.first == other.first && one.second.has_value() == other.second.has_value() &&
                             (!both || (one.second->detected == other.second->detected &&
                                        one.second->healthy == other.second->healthy));
                    });
}

bool is_up(const model::Node& node) { return node.status != "down" && node.status != "disconnected"; }
bool is_eligible(const model::Node& node) { return node.scheduling_eligibility != "ineligible"; }

/// Second pass: plays the recording.
class Life final : public Reader, public living::Listener {
 public:
  Life(const Times& times, const OtherSettings& settings, LifeReport& report)
      : times_(times), settings_(settings), report_(report), clock_(times.offset(), report.first_ns) {}

  // --- Reader ---
  void take(model::ClusterState state, std::int64_t arrival) override {
    const std::int64_t now = clock_.at(0, arrival);
    leave_past();
    if (!cluster_) {
      begin(state, now);
    } else {
      advance(now);
      reconcile(state);
    }
    past_ = std::make_unique<Past>(state, model::Options{});
  }
  void take(io::EventFrame frame, std::int64_t arrival) override {
    const std::int64_t now = clock_.at(times_.shown_at(frame.index), arrival);
    if (!past_) return;  // in a gap: the next state contains it
    advance(now);
    progress_.update(++frames_);
    happen(frame);
    past_->apply(std::move(frame), [this](const model::Allocation& alloc) { return job_of(alloc); });
  }
  void take(const model::SchedulerConfiguration& config) override {
    if (cluster_) configure(config);
  }
  void take(const Gap&) override { leave_past(); }
  void take_skipped(std::uint64_t) override {}

  /// False: the recording has no state.
  bool end() {
    if (!cluster_) return false;
    advance(report_.last_ns);
    cluster_->run_until(report_.last_ns);
    sample();
    leave_past();
    cluster_->stop_workers();
    progress_.finish();
    return true;
  }

  // --- living::Listener ---
  void alloc_changed(const living::AllocChange& change) override {
    if (change.removed) return;
    report_.berth.placed += change.is_new;
    report_.berth.evicted += !change.is_new && change.desired_before != tables::Desired::evict &&
                             cluster_->state().allocs.desired[change.row] == tables::Desired::evict;
  }
  void node_changed(const living::NodeChange& change) override { stale_ |= change.is_new || change.removed; }
  void job_changed(tables::JobKeyRow) override { stale_ = true; }

 private:
  // ---------------------------------------------------------------- time
  void begin(const model::ClusterState& recorded, std::int64_t now) {
    model::ClusterState state = recorded;
    [[maybe_unused]] const auto done = dryrun::change_scheduler(state, settings_.algorithm, settings_.preemption);
    living::Config config;
    config.start_ns = now;
    config.tasks = {&times_, recorded_outcome, nullptr};
    config.resume = true;  // tasks that run in the state keep running
    cluster_ = std::make_unique<living::Cluster>(config, this);
    cluster_->load(state);
    report_.berth = {};  // loading reports the recorded allocations as new
    refresh_strategy();
    for (const auto& job : recorded.jobs) known_jobs_[{job->namespace_, job->id}] = job->job_modify_index;
    for (const model::Node& node : recorded.nodes) known_nodes_[node.id] = node;
    step_ns_ = std::max<std::int64_t>((report_.last_ns - now) / static_cast<std::int64_t>(kMoments), 1);
    next_sample_ = now + step_ns_;
  }

  void advance(std::int64_t now) {
    for (; next_sample_ <= now && report_.moments.size() + 1 < kMoments; next_sample_ += step_ns_) {
      cluster_->run_until(next_sample_);
      sample();
    }
    if (now > cluster_->now()) cluster_->run_before(now);
  }

  void sample() {
    Moment& out = report_.moments.emplace_back();
    out.after_s = static_cast<double>(cluster_->now() - report_.first_ns) / 1e9;
    out.berth = fill_of(cluster_->state());
    if (!past_) return;
    out.nomad = fill_of(past_->state());
    compare_places(places_of(past_->state()), places_of(cluster_->state()), out);
  }

  void leave_past() {
    if (past_) report_.left_out += past_->left_out();
    past_.reset();
  }

  /// Makes the strategy again, because it compares with the nodes and jobs of the moment.
  void refresh_strategy() {
    stale_ = false;
    if (settings_.strategy.empty()) return;
    auto made = server::scoring_strategy(settings_.strategy, cluster_->state());  // checked before
    if (!made) return;
    made->use_in(cluster_->server().lane().scratch.strategy_fit);
    strategy_ = std::move(*made);
  }

  // ---------------------------------------------------------------- events from outside
  void apply(const char* kind, const std::string& what, const living::Event& event) {
    ++report_.happened[kind];
    const fsm::Answer answer = cluster_->apply(event);
    if (stale_) refresh_strategy();
    if (answer.error.empty()) return;
    if (report_.refused++ < kRefusalsShown)
      report_.refusals.push_back(fmt::format("{}: {} at index {}: {}", kind, what, index_, answer.error));
  }

  void happen(const io::EventFrame& frame) {
    index_ = frame.index;
    for (const auto& job : frame.objects.jobs) take_job(*job);
    for (const model::Node& node : frame.objects.nodes) take_node(node);
    for (const io::EventFrame::Gone& gone : frame.gone) {
      // Garbage collection is the simulated leader's own.
      if (gone.topic == "Job" && frame.type == "JobDeregistered") purge({gone.name_space, gone.key});
      if (gone.topic == "Node") leave(gone.key);
    }
    for (const model::Evaluation& eval : frame.objects.evals)
      if (eval.triggered_by == "alloc-stop" && eval.create_index == frame.index) stops_.insert(eval.id);
    if (frame.type == "PlanResult" && !stops_.empty()) take_stops(frame);
    if (frame.type == "DeploymentPromotion")
      for (const model::Deployment& one : frame.objects.deployments) promote(one);
  }

  void reconcile(const model::ClusterState& state) {
    index_ = state.index;
    std::set<JobName> jobs;
    std::set<std::string> nodes;
    for (const model::Node& node : state.nodes) nodes.insert(node.id), take_node(node);
    for (const auto& job : state.jobs) jobs.insert({job->namespace_, job->id}), take_job(*job);
    std::vector<JobName> gone_jobs;
    for (const auto& [name, index] : known_jobs_)
      if (!jobs.contains(name)) gone_jobs.push_back(name);
    for (const JobName& name : gone_jobs) purge(name);
    std::vector<std::string> gone_nodes;
    for (const auto& [id, node] : known_nodes_)
      if (!nodes.contains(id)) gone_nodes.push_back(id);
    for (const std::string& id : gone_nodes) leave(id);
    if (state.scheduler_config) configure(*state.scheduler_config);
  }

  void configure(const model::SchedulerConfiguration& recorded) {
    model::ClusterState with;
    with.scheduler_config = recorded;
    [[maybe_unused]] const auto done = dryrun::change_scheduler(with, settings_.algorithm, settings_.preemption);
    with.scheduler_config->pause_eval_broker = false;  // a paused cluster would decide nothing from then on
    apply("scheduler configuration", "", living::SetSchedulerConfig{*with.scheduler_config});
  }

  void take_job(const model::Job& job) {
    std::uint64_t& known = known_jobs_[{job.namespace_, job.id}];
    if (job.job_modify_index <= known) return;  // only its status changed
    known = job.job_modify_index;
    const std::string words = advice::job_text(job.id, job.namespace_);
    if (job.stop) {
      living::JobDeregister event;
      event.name_space = job.namespace_, event.job_id = job.id;
      return apply("job stopped", words, event);
    }
    if (!job.parent_id.empty() && !job.dispatched) return;  // launched by the simulated leader
    auto copy = std::make_shared<model::Job>(job);
    copy->version = copy->create_index = copy->modify_index = copy->job_modify_index = 0;
    copy->status = "pending", copy->status_description.clear();
    copy->stable = false, copy->version_tag = json::Value();
    living::JobRegister event;
    event.job = std::move(copy);
    apply("job registered", words, event);
  }

  void purge(const JobName& name) {
    known_jobs_.erase(name);
    living::JobDeregister event;
    event.name_space = name.first, event.job_id = name.second, event.purge = true;
    apply("job purged", advice::job_text(name.second, name.first), event);
  }

  void take_node(const model::Node& node) {
    const auto at = known_nodes_.find(node.id);
    if (at == known_nodes_.end()) {
      known_nodes_.emplace(node.id, node);
      return join(node);
    }
    model::Node& known = at->second;
    if (node.modify_index <= known.modify_index) return;
    const model::Node before = std::exchange(known, node);
    if (!is_same_machine(before, node)) apply("node changed", node.name, living::NodeRegister{machine_of(node)});
    if (is_up(before) && !is_up(node)) apply("node lost", node.name, living::NodeUnreachable{node.id});
    if (!is_up(before) && is_up(node)) apply("node returned", node.name, living::NodeReachable{node.id});
    if (node.drain_strategy && !before.drain_strategy) return drain(node);
    if (is_eligible(node) == is_eligible(before) || node.drain_strategy) return;
    if (is_eligible(node) && is_draining(node.id)) {
      living::NodeDrain event;
      event.node_id = node.id, event.clear = event.mark_eligible = true;
      return apply("drain ended", node.name, event);
    }
    // A drain that is over leaves the node ineligible, here as there.
    if (!before.drain_strategy || is_eligible(node))
      apply("eligibility changed", node.name, living::NodeEligibility{node.id, is_eligible(node)});
  }

  void join(const model::Node& node) {
    apply("node joined", node.name, living::NodeRegister{machine_of(node)});
    if (!is_up(node)) apply("node lost", node.name, living::NodeUnreachable{node.id});
    if (node.drain_strategy)
      drain(node);
    else if (!is_eligible(node))
      apply("eligibility changed", node.name, living::NodeEligibility{node.id, false});
  }

  void drain(const model::Node& node) {
    living::NodeDrain event;
    event.node_id = node.id, event.deadline = node.drain_strategy->deadline;
    event.ignore_system_jobs = node.drain_strategy->ignore_system_jobs;
    apply("drain begun", node.name, event);
  }

  void leave(const std::string& id) {
    const auto at = known_nodes_.find(id);
    if (at == known_nodes_.end()) return;
    const std::string name = at->second.name;
    known_nodes_.erase(at);
    living::NodeDeregister event;
    event.node_ids = {id};
    apply("node left", name, event);
  }

  /// The node as its client would register it.
  static model::Node machine_of(const model::Node& node) {
    model::Node out = node;
    out.status = "ready", out.scheduling_eligibility = "eligible";
    out.drain_strategy.reset(), out.last_drain = nullptr, out.events = nullptr;
    out.create_index = out.modify_index = 0;
    return out;
  }

  [[nodiscard]] bool is_draining(const std::string& id) const {
    const tables::NodeRow row = cluster_->server().store().find_node(id);
    return row != kNoRow && (cluster_->state().nodes.state[row] & tables::kDraining) != 0;
  }

  /// An operator's stop is recorded as an evaluation; its plan shows which allocation it was.
  void take_stops(const io::EventFrame& frame) {
    const bool is_of_stop = std::any_of(frame.objects.evals.begin(), frame.objects.evals.end(),
                                        [&](const model::Evaluation& eval) { return stops_.erase(eval.id) > 0; });
    if (!is_of_stop) return;
    for (const model::Allocation& alloc : frame.objects.allocs) {
      if (alloc.create_index == frame.index || alloc.desired_status != "stop") continue;
      const std::string id = live_alloc(alloc);
      if (!id.empty()) apply("allocation stopped", alloc.name, living::AllocStop{id});
    }
  }

  /// ID of the live allocation of berth's cluster with the same job and name; "": none.
  [[nodiscard]] std::string live_alloc(const model::Allocation& like) const {
    const tables::Snapshot& state = cluster_->state();
    const tables::JobKeyRow key = cluster_->server().store().find_job_key(like.namespace_, like.job_id);
    if (key == kNoRow) return "";
    for (tables::AllocRow row = state.jobs.keys[key].alloc_head; row != kNoRow; row = state.allocs.next_of_job[row])
      if (!state.allocs.terminal(row) && tables::alloc_name(state, row) == like.name)
        return base::to_text(state.allocs.id[row]);
    return "";
  }

  void promote(const model::Deployment& recorded) {
    if (model::has_auto_promote(recorded)) return;  // by the simulated leader
    const tables::Snapshot& state = cluster_->state();
    const tables::JobKeyRow key = cluster_->server().store().find_job_key(recorded.namespace_, recorded.job_id);
    if (key == kNoRow) return;
    for (tables::DeploymentRow row = state.jobs.keys[key].deployment_head; row != kNoRow;
         row = state.deployments.next_of_job[row]) {
      const auto& one = state.deployments.object[row];
      if (!one || !model::is_active_deployment(one->status)) continue;
      living::DeploymentOp event;
      event.deployment_id = one->id;
      return apply("canaries promoted", advice::job_text(recorded.job_id, recorded.namespace_), event);
    }
  }

  /// The version of the job that a recorded plan gave to an allocation.
  JobPtr job_of(const model::Allocation& alloc) {
    const tables::DeploymentRow row = past_->server().store().find_deployment(alloc.deployment_id);
    const auto& deployment = row == kNoRow ? nullptr : past_->state().deployments.object[row];
    return deployment ? past_->version(alloc.namespace_, alloc.job_id, deployment->job_version) : nullptr;
  }

  const Times& times_;
  const OtherSettings& settings_;
  LifeReport& report_;
  FrameClock clock_;
  run::Progress progress_{"frames", report_.frames, false};
  server::ScoringStrategy strategy_;                // outlives the cluster, which uses it
  std::unique_ptr<living::Cluster> cluster_;        // null: before the first state
  std::unique_ptr<Past> past_;                      // null: in a gap
  std::map<JobName, std::uint64_t> known_jobs_;     // JobModifyIndex of what has happened
  std::map<std::string, model::Node> known_nodes_;  // by ID, as last recorded
  std::set<std::string> stops_;                     // evaluations of operators' stops, without a plan yet
  std::int64_t step_ns_ = 0, next_sample_ = 0;
  std::uint64_t frames_ = 0, index_ = 0;
  bool stale_ = false;  // the strategy was made for another cluster
};

}  // namespace

Result<LifeReport> live_on(Recording& recording, const OtherSettings& settings) {
  if (auto done = check_replay(recording, settings); !done) return tl::unexpected(done.error());
  LifeReport report;
  report.address = recording.header().address;
  Times times(report);
  if (auto done = recording.read(times); !done) return tl::unexpected(done.error());
  times.finish();
  report.notes = recording.notes();
  if (!recording.end()) report.notes.push_back("the recording was killed: it has no last line");
  if (report.last_ns - report.first_ns > kDaysMost * 86'400 * base::kSecond)
    return tl::unexpected(InputError{"berth replay", "--live",
                                     fmt::format("the recording lasts more than {} days", kDaysMost),
                                     "check the times in it, or replay it without --live"});
  Life life(times, settings, report);
  if (auto done = recording.read(life); !done) return tl::unexpected(done.error());
  if (!life.end())
    return tl::unexpected(InputError{"berth replay", "--live", "the recording has no state to begin with",
                                     "record again: berth record writes one first"});
  return report;
}

}  // namespace berth::record
