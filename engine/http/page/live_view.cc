#include "http/page/live_view.h"

#include <algorithm>
#include <chrono>

#include "model/job.h"
#include "server/lane.h"

namespace berth::http {

namespace {

constexpr std::int64_t kTick = 500'000'000;
constexpr std::size_t kNodesPerMessage = 2'000;
constexpr std::size_t kLatencies = 10'000;

std::int64_t clock_now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

/// A share in thousandths.
std::int64_t share(std::int64_t used, std::int64_t of) {
  return of <= 0 ? 0 : std::clamp<std::int64_t>(used * 1000 / of, 0, 1000);
}

}  // namespace

void LiveView::attach(Simulation& simulation) {
  const bool first = !simulation_;
  simulation_ = &simulation;
  begin();
  if (first) simulation.listen(this);
  std::erase_if(readers_, [&](const Reader& reader) { return !send_all(reader); });
}

/// Counts the present objects.
void LiveView::begin() {
  allocs_ = {};
  nodes_.clear(), jobs_.clear(), is_noted_node_.clear(), is_noted_in_full_.clear(), is_noted_job_.clear();
  decisions_.clear(), newest_decisions_.clear(), marks_.clear();
  const tables::AllocTable& allocs = simulation_->state().allocs;
  for (tables::AllocRow row = 0; row < allocs.size(); ++row)
    if (allocs.exists(row)) ++allocs_[static_cast<std::size_t>(allocs.client[row])];
}

// ---------------------------------------------------------------- events

void LiveView::note_node(tables::NodeRow node, bool in_full) {
  if (readers_.empty() || node >= kNodes) return;
  if (node >= is_noted_node_.size()) is_noted_node_.resize(node + 1), is_noted_in_full_.resize(node + 1);
  if (in_full) is_noted_in_full_[node] = true;
  if (is_noted_node_[node]) return;
  is_noted_node_[node] = true;
  nodes_.push_back(node);
}

void LiveView::note_job(tables::JobKeyRow job) {
  if (readers_.empty()) return;
  if (job >= is_noted_job_.size()) is_noted_job_.resize(job + 1);
  if (is_noted_job_[job]) return;
  is_noted_job_[job] = true;
  jobs_.push_back(job);
}

void LiveView::lane_made(server::Lane& lane) { began_ns_.resize(lane.number + 1); }

void LiveView::attempt(server::Lane& lane) {
  if (lane.attempts <= 1) began_ns_[lane.number] = clock_now_ns();
}

void LiveView::entry_written(const living::WrittenEntry&) { ++entries_; }

/// Adds a mark, or counts the node to one of the last marks. `node` kNoRow: the whole cluster.
void LiveView::note_mark(const char* kind, tables::NodeRow node) {
  constexpr std::int64_t kTogether = 10 * base::kSecond;
  constexpr std::size_t kExamined = 16;
  const std::int64_t now = simulation_->now();
  for (std::size_t i = 0; i < std::min(kExamined, marks_.size()); ++i) {
    Mark& mark = marks_[marks_.size() - 1 - i];
    if (std::string_view(mark.kind) != kind || now - mark.at > kTogether || now < mark.until) continue;
    ++mark.count, mark.until = now;
    first_changed_mark_ = std::min(first_changed_mark_, mark.number);
    return;
  }
  Mark mark{.number = next_mark_++, .at = now, .until = now, .kind = kind};
  if (node != tables::kNoRow) {
    const std::string* name = simulation_->state().value_text(tables::kNameColumn, node);
    mark.node_id = base::to_text(simulation_->state().nodes.id(node)), mark.node_name = name ? *name : mark.node_id;
  }
  marks_.push_back(std::move(mark));
  if (marks_.size() > kMarks) marks_.pop_front();
}

/// Faults. Their consequences, and drains, are changes of nodes.
void LiveView::event_applied(const living::Event& what) {
  const auto mark = [&](const char* kind, const std::string& id) {
    note_mark(kind, simulation_->store().find_node(id));
  };
  if (const auto* event = std::get_if<living::NodeUnreachable>(&what)) mark("partition", event->node_id);
  if (const auto* event = std::get_if<living::NodeReachable>(&what)) mark("heal", event->node_id);
  if (const auto* event = std::get_if<living::ClientRestart>(&what))
    mark(event->down_ns == client::kNever ? "kill" : "restart", event->node_id);
  if (const auto* event = std::get_if<living::ReportLag>(&what))
    mark(event->lag_ns > 0 ? "slow" : "heal", event->node_id);
  if (std::holds_alternative<living::LeaderChange>(what)) note_mark("leader", tables::kNoRow);
}

void LiveView::node_changed(const living::NodeChange& what) {
  note_node(what.row, true);
  const tables::NodeTable& nodes = simulation_->state().nodes;
  if (what.removed) return note_mark("lose", what.row);
  if (what.is_new) return note_mark("join", what.row);
  const bool draining = (nodes.state[what.row] & tables::kDraining) != 0;
  const bool eligible = (nodes.state[what.row] & tables::kEligible) != 0;
  const tables::NodeStatus status = nodes.status(what.row);
  if (status != what.status_before) {
    static constexpr const char* kKinds[] = {"", "ready", "down", "disconnected"};
    if (status != tables::NodeStatus::initializing) note_mark(kKinds[static_cast<std::size_t>(status)], what.row);
  }
  if (draining != what.draining_before)
    note_mark(draining ? "drain" : "drained", what.row);
  else if (eligible != what.eligible_before)
    note_mark(eligible ? "eligible" : "ineligible", what.row);
}

void LiveView::alloc_changed(const living::AllocChange& what) {
  const tables::AllocTable& allocs = simulation_->state().allocs;
  const auto before = static_cast<std::size_t>(what.client_before);
  if (!what.is_new) --allocs_[before];
  if (what.removed) return;
  const auto now = static_cast<std::size_t>(allocs.client[what.row]);
  ++allocs_[now];
  placed_ += what.is_new;
  const auto ended = [](std::size_t status) {
    return status == static_cast<std::size_t>(tables::Client::complete) ||
           status == static_cast<std::size_t>(tables::Client::failed) ||
           status == static_cast<std::size_t>(tables::Client::lost);
  };
  ended_ += ended(now) && (what.is_new || !ended(before));
  note_node(allocs.node[what.row]);
  note_job(allocs.job_key[what.row]);
}

json::Value LiveView::decision_json(const living::DecidedEval& what, std::int64_t took_ns) const {
  const tables::Snapshot& state = simulation_->state();
  const server::Lane& lane = what.lane;
  json::Value out = json::Value::object();
  out.set("at", simulation_->now() / 1'000'000);
  const tables::JobKeyRow key = lane.record->job;
  if (key != tables::kNoRow) {
    out.set("namespace", state.text(state.jobs.keys[key].job_namespace));
    out.set("job", state.text(state.jobs.keys[key].job_id));
  }
  out.set("trigger", what.trigger), out.set("plans", static_cast<std::uint64_t>(lane.plans));
  out.set("placed", static_cast<std::uint64_t>(lane.placed)),
      out.set("refused", static_cast<std::uint64_t>(lane.refused));
  const auto& stops = lane.result.plan.stops;
  const auto evicted =
      std::count_if(stops.begin(), stops.end(), [](const plan::PlannedStop& stop) { return stop.evict; });
  out.set("stopped", static_cast<std::int64_t>(stops.size()) - evicted), out.set("preempted", evicted);
  out.set("us", took_ns / 1000), out.set("waited_ms", what.waited_ns / 1'000'000);
  json::Value failed = json::Value::array();
  for (const sched::GroupResult& group : lane.result.groups)
    if (group.failed) {
      json::Value one = json::Value::object();
      one.set("group", state.text(group.name));
      one.set("missing", 1 + static_cast<std::int64_t>(group.failure.coalesced));
      failed.push(std::move(one));
    }
  out.set("failed", std::move(failed));
  return out;
}

void LiveView::evaluation_decided(const living::DecidedEval& what) {
  const std::int64_t took = std::max<std::int64_t>(0, clock_now_ns() - began_ns_[what.lane.number]);
  ++evaluations_;
  if (latencies_ns_.size() < kLatencies) latencies_ns_.push_back(took);
  if (readers_.empty() && newest_decisions_.size() >= kDecisions && evaluations_ % 16 != 0) return;
  json::Value line = decision_json(what, took);
  newest_decisions_.push_back(line);
  if (newest_decisions_.size() > kDecisions) newest_decisions_.pop_front();
  if (readers_.empty()) return;
  decisions_.push_back(std::move(line));
  if (decisions_.size() > kDecisions) decisions_.pop_front(), ++decisions_missed_;
}

// ---------------------------------------------------------------- messages

json::Value LiveView::node_json(tables::NodeRow row) const {
  const tables::NodeTable& nodes = simulation_->state().nodes;
  const tables::NodeUse& use = nodes.use[row];
  const tables::NodeCapacity& has = nodes.capacity(row);
  return json::Array{static_cast<std::int64_t>(row),  static_cast<std::int64_t>(nodes.state[row]),
                     share(use.cpu_mhz, has.cpu_mhz), share(use.memory_mb, has.memory_mb),
                     share(use.disk_mb, has.disk_mb), static_cast<std::int64_t>(use.alloc_count)};
}

void LiveView::push_names(tables::NodeRow row, json::Value& node) const {
  const tables::Snapshot& state = simulation_->state();
  node.push(base::to_text(state.nodes.id(row)));
  for (const tables::ColumnId column :
       {tables::kNameColumn, tables::kDatacenterColumn, tables::kClassColumn, tables::kPoolColumn}) {
    const std::string* text = state.value_text(column, row);
    node.push(text ? *text : "");
  }
}

json::Value LiveView::marks_json(std::uint64_t from) const {
  json::Value out = json::Value::array();
  for (const Mark& mark : marks_) {
    if (mark.number < from) continue;
    json::Value one = json::Value::object();
    one.set("number", mark.number), one.set("at", mark.at / 1'000'000), one.set("until", mark.until / 1'000'000);
    one.set("kind", mark.kind), one.set("count", mark.count);
    one.set("id", mark.node_id), one.set("node", mark.node_name);
    out.push(std::move(one));
  }
  return out;
}

json::Value LiveView::job_json(tables::JobKeyRow row) const {
  const fsm::JobRecord* record = simulation_->log().record(row);
  const tables::Snapshot& state = simulation_->state();
  const tables::JobKey& names = state.jobs.keys[row];
  if (!record || !record->current)
    return json::Array{state.text(names.job_namespace), state.text(names.job_id), "", "gone", 0, 0, 0, 0};
  const model::Job& job = *record->current;
  std::int64_t wanted = 0, running = 0, starting = 0, failed = 0;
  for (const model::TaskGroup& group : job.task_groups) wanted += job.stop ? 0 : group.count;
  if (record->summary)
    for (const auto& [name, group] : record->summary->groups) {
      running += group.counts[static_cast<std::size_t>(fsm::Bin::running)];
      starting += group.counts[static_cast<std::size_t>(fsm::Bin::starting)];
      failed += group.counts[static_cast<std::size_t>(fsm::Bin::failed)] +
                group.counts[static_cast<std::size_t>(fsm::Bin::lost)];
    }
  return json::Array{job.namespace_, job.id, job.type, job.status, wanted, running, starting, failed};
}

json::Value LiveView::counts_json() const {
  const tables::Snapshot& state = simulation_->state();
  json::Value out = json::Value::object(), allocs = json::Value::object(), nodes = json::Value::object();
  for (std::size_t i = 0; i < allocs_.size(); ++i)
    allocs.set(tables::to_text(static_cast<tables::Client>(i)), allocs_[i]);
  std::int64_t ready = 0, down = 0, draining = 0, all = 0;
  tables::NodeUse used;  // sums over the nodes that are ready, including ineligible ones
  std::int64_t cpu_mhz = 0, memory_mb = 0, disk_mb = 0;
  for (tables::NodeRow row = 0; row < state.nodes.size(); ++row) {
    if (!state.nodes.exists(row)) continue;
    ++all, ready += state.nodes.ready(row), draining += (state.nodes.state[row] & tables::kDraining) != 0;
    down += state.nodes.status(row) == tables::NodeStatus::down;
    if (state.nodes.status(row) != tables::NodeStatus::ready) continue;
    const tables::NodeUse& use = state.nodes.use[row];
    const tables::NodeCapacity& has = state.nodes.capacity(row);
    used.cpu_mhz += use.cpu_mhz, used.memory_mb += use.memory_mb, used.disk_mb += use.disk_mb;
    cpu_mhz += has.cpu_mhz, memory_mb += has.memory_mb, disk_mb += has.disk_mb;
  }
  json::Value resources = json::Value::object();
  resources.set("cpu_mhz", json::Array{used.cpu_mhz, cpu_mhz});
  resources.set("memory_mb", json::Array{used.memory_mb, memory_mb});
  resources.set("disk_mb", json::Array{used.disk_mb, disk_mb});
  out.set("resources", std::move(resources));
  nodes.set("all", all), nodes.set("ready", ready), nodes.set("down", down), nodes.set("draining", draining);
  std::int64_t jobs = 0, live = 0;
  for (tables::JobKeyRow key = 0; key < state.jobs.keys.size(); ++key)
    if (const auto& job = state.jobs.objects[key]) ++jobs, live += job->status != "dead";
  const broker::Stats queued = simulation_->server().broker().stats();
  out.set("nodes", std::move(nodes)), out.set("allocs", std::move(allocs)), out.set("jobs", jobs);
  out.set("live_jobs", live), out.set("evals_ready", queued.ready), out.set("evals_waiting", queued.waiting);
  out.set("evals_blocked", static_cast<std::uint64_t>(simulation_->server().blocked_count()));
  out.set("index", simulation_->log().next_index() - 1);
  return out;
}

json::Value LiveView::latency_json() {
  json::Value out = json::Value::object();
  out.set("count", static_cast<std::uint64_t>(latencies_ns_.size()));
  std::sort(latencies_ns_.begin(), latencies_ns_.end());
  const auto quantile = [&](double q) {
    return latencies_ns_[static_cast<std::size_t>(q * static_cast<double>(latencies_ns_.size() - 1))] / 1000;
  };
  if (!latencies_ns_.empty()) out.set("p50_us", quantile(0.5)), out.set("p99_us", quantile(0.99));
  return out;
}

std::string LiveView::state_message() {
  const tables::Snapshot& state = simulation_->state();
  json::Value out = json::Value::object(), jobs = json::Value::array(), decisions = json::Value::array();
  out.set("kind", "state"), out.set("now", simulation_->now() / 1'000'000);
  out.set("speed", simulation_->speed().text()), out.set("nodes_drawn", static_cast<std::uint64_t>(kNodes));
  out.set("counts", counts_json());
  for (tables::JobKeyRow key = 0; key < state.jobs.keys.size() && jobs.size() < kJobs; ++key)
    if (state.jobs.objects[key]) jobs.push(job_json(key));
  for (const json::Value& line : newest_decisions_) decisions.push(line);
  out.set("jobs", std::move(jobs)), out.set("decisions", std::move(decisions)), out.set("marks", marks_json(0));
  return json::to_text(out);
}

std::string LiveView::tick_message() {
  const std::int64_t real = clock_now_ns();
  json::Value out = json::Value::object(), nodes = json::Value::array(), jobs = json::Value::array(),
              rates = json::Value::object(), decisions = json::Value::array();
  out.set("kind", "tick"), out.set("now", simulation_->now() / 1'000'000);
  out.set("speed", simulation_->speed().text());
  const double seconds = std::max(static_cast<double>(real - last_tick_ns_) / 1e9, 1e-3);
  const auto per_second = [&](std::uint64_t count) { return static_cast<double>(count) / seconds; };
  rates.set("placed", per_second(placed_)), rates.set("ended", per_second(ended_));
  rates.set("evaluations", per_second(evaluations_)), rates.set("entries", per_second(entries_));
  const tables::Snapshot& state = simulation_->state();
  for (const tables::NodeRow row : nodes_) {
    if (row < state.nodes.size()) {  // the cluster may have been replaced
      json::Value node = node_json(row);
      if (is_noted_in_full_[row]) push_names(row, node);
      nodes.push(std::move(node));
    }
    is_noted_node_[row] = is_noted_in_full_[row] = false;
  }
  const std::size_t skipped = jobs_.size() > kJobs ? jobs_.size() - kJobs : 0;
  for (std::size_t i = 0; i < jobs_.size(); ++i) {
    if (i >= skipped && jobs_[i] < state.jobs.keys.size()) jobs.push(job_json(jobs_[i]));
    is_noted_job_[jobs_[i]] = false;
  }
  for (const json::Value& line : decisions_) decisions.push(line);
  out.set("nodes", std::move(nodes)), out.set("jobs", std::move(jobs)), out.set("rates", std::move(rates));
  out.set("counts", counts_json()), out.set("latency", latency_json()), out.set("decisions", std::move(decisions));
  out.set("decisions_missed", decisions_missed_), out.set("marks", marks_json(first_changed_mark_));
  first_changed_mark_ = next_mark_;
  nodes_.clear(), jobs_.clear(), decisions_.clear(), latencies_ns_.clear();
  placed_ = ended_ = evaluations_ = entries_ = decisions_missed_ = 0;
  last_tick_ns_ = real;
  return json::to_text(out);
}

// ---------------------------------------------------------------- readers

namespace {

transport::TextRef event_text(const std::string& message) {
  return std::make_shared<const transport::SharedText>("data: " + message + "\n\n");
}

}  // namespace

void LiveView::send(const std::string& message) {
  const transport::TextRef text = event_text(message);
  std::erase_if(readers_, [&](const Reader& reader) { return !reader(text); });
}

/// Sends the complete present state; false: the reader is gone.
bool LiveView::send_all(const Reader& reader) {
  const tables::NodeTable& nodes = simulation_->state().nodes;
  bool reads = reader(event_text(state_message()));
  json::Value names = json::Value::array();
  const auto flush = [&](std::size_t next) {
    json::Value out = json::Value::object();
    out.set("kind", "nodes"), out.set("nodes", std::exchange(names, json::Value::array()));
    out.set("complete", next >= std::min<std::size_t>(nodes.size(), kNodes));
    reads = reads && reader(event_text(json::to_text(out)));
  };
  for (tables::NodeRow row = 0; row < std::min<std::size_t>(nodes.size(), kNodes); ++row) {
    json::Value one = node_json(row);
    push_names(row, one);
    names.push(std::move(one));
    if (names.size() == kNodesPerMessage) flush(row + std::size_t{1});
  }
  flush(nodes.size());
  return reads;
}

void LiveView::subscribe(Reader reader) {
  if (!send_all(reader)) return;
  readers_.push_back(std::move(reader));
  if (ticking_) return;
  (void)tick_message();  // drops earlier changes
  ticking_ = true;
  tick();
}

/// Called every half second of the real clock while there are readers.
void LiveView::tick() {
  Waiter waiter;
  waiter.deadline_ns = kTick;
  waiter.gone = [] { return false; };
  waiter.end = [this] {
    send(tick_message());
    ticking_ = !readers_.empty();
    if (ticking_) tick();
  };
  ticking_ = simulation_->wait(std::move(waiter));
}

}  // namespace berth::http
