#include "run/life_watch.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <ctime>

#include "lifecycle/alloc_facts.h"
#include "living/log_lines.h"
#include "model/job.h"
#include "server/lane.h"
#include "tables/export.h"

namespace berth::run {

using tables::AllocRow;
using tables::Client;
using tables::Desired;
using tables::JobKeyRow;
using tables::kNoRow;
using tables::NodeRow;

namespace {

constexpr std::size_t kStoryNodes = 60, kStoryLines = 400, kListed = 200;
constexpr std::size_t kBuckets = 1440;  // minutes of a day
constexpr std::size_t kStormEvaluations = 20;
constexpr double kStormTimes = 10;
constexpr std::int64_t kHourNs = 3600 * base::kSecond;

std::int64_t cpu_ns() {
  timespec at{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &at);
  return at.tv_sec * base::kSecond + at.tv_nsec;
}

std::int64_t bucket_of(std::int64_t duration_ns) {
  const std::int64_t even = duration_ns / static_cast<std::int64_t>(kBuckets);
  return std::max<std::int64_t>(1'000'000'000, (even + 999'999'999) / 1'000'000'000 * 1'000'000'000);
}

void count(std::vector<std::pair<std::string, std::uint64_t>>& list, std::string_view what) {
  for (auto& [name, number] : list)
    if (name == what) return static_cast<void>(++number);
  list.emplace_back(what, 1);
}

}  // namespace

LifeWatch::LifeWatch(const sim::Workload& workload, const sim::Inputs& inputs, const sim::LifePlan& plan,
                     Measuring& measuring, sim::RunClock& clock, LifeResult& result)
    : workload_(workload),
      plan_(plan),
      measuring_(measuring),
      clock_(clock),
      result_(result),
      start_ns_(workload.life->start_unix_ns),
      bucket_ns_(bucket_of(workload.life->duration_ns)),
      records_events_(inputs.cluster.nodes.size() <= kStoryNodes),
      flowed_to_(start_ns_) {
  const std::size_t buckets = bucket_at(start_ns_ + workload.life->duration_ns) + 1;
  result_.duration_s = static_cast<double>(workload.life->duration_ns) / 1e9;
  result_.bucket_s = static_cast<double>(bucket_ns_) / 1e9;
  result_.wanted.assign(buckets, 0), result_.missing.assign(buckets, 0), result_.cpu_s.assign(buckets, 0);
  result_.evaluations.assign(buckets, 0), result_.placed.assign(buckets, 0), result_.messages.assign(buckets, 0);
  std::vector<std::uint32_t> kind_of_template(inputs.jobs.templates.size(), 0);
  std::size_t t = 0;
  for (std::uint32_t k = 0; k < workload.jobs.kinds.size(); ++k) {
    result_.kinds.push_back({.name = workload.jobs.kinds[k].name, .jobs = 0});
    for (std::int64_t i = 0; i < workload.jobs.kinds[k].templates && t < kind_of_template.size(); ++i)
      kind_of_template[t++] = k;
  }
  if (result_.kinds.empty()) result_.kinds.push_back({.name = sim::to_text(workload.jobs.source), .jobs = 0});
  for (const sim::JobArrival& arrival : inputs.jobs.arrivals) {
    const std::string& id = inputs.jobs.templates[arrival.template_index]->id;
    kinds_.emplace(inputs.jobs.single[arrival.template_index] ? id : fmt::format("{}-{}", id, arrival.number),
                   kind_of_template[arrival.template_index]);
  }
  result_.faults.resize(plan.faults.size());
  for (std::size_t f = 0; f < plan.faults.size(); ++f) {
    const sim::PlannedFault& planned = plan.faults[f];
    FaultResult& fault = result_.faults[f];
    fault.what = sim::to_text(workload.life->steps[planned.step].action);
    fault.at_s = static_cast<double>(planned.at_ns) / 1e9;
    if (planned.until_ns != sim::kForGood) fault.until_s = static_cast<double>(planned.until_ns) / 1e9;
    fault.nodes = planned.nodes;
  }
}

std::size_t LifeWatch::bucket_at(std::int64_t at) const {
  return static_cast<std::size_t>(std::max<std::int64_t>(0, at - start_ns_) / bucket_ns_);
}

// ---------------------------------------------------------------- running allocations

LifeWatch::Seen& LifeWatch::seen(AllocRow row) {
  if (row >= allocs_.size()) allocs_.resize(std::max<std::size_t>(row + 1, state().allocs.size()));
  return allocs_[row];
}

LifeWatch::JobRow& LifeWatch::job_row(JobKeyRow key) {
  if (key >= jobs_.size()) jobs_.resize(key + 1);
  return jobs_[key];
}

std::uint32_t LifeWatch::kind_of(const model::Job& job) const {
  auto found = kinds_.find(job.id);
  if (found == kinds_.end()) found = kinds_.find(job.parent_id);  // children of periodic and parameterized jobs
  return found == kinds_.end() ? kNoKind : found->second;
}

/// Adds the present wanted and missing counts to the buckets up to `at`.
void LifeWatch::flow_to(std::int64_t at) {
  while (flowed_to_ < at) {
    const std::size_t bucket = std::min(bucket_at(flowed_to_), result_.wanted.size() - 1);
    const std::int64_t edge = start_ns_ + static_cast<std::int64_t>(bucket + 1) * bucket_ns_;
    const std::int64_t until = flowed_to_ < edge ? std::min(at, edge) : at;
    const double share = static_cast<double>(until - flowed_to_) / static_cast<double>(bucket_ns_);
    result_.wanted[bucket] += static_cast<double>(wanted_) * share;
    result_.missing[bucket] += static_cast<double>(missing_) * share;
    flowed_to_ = until;
  }
}

void LifeWatch::settle(JobRow& job) {
  flow_to(now());
  const auto passed = static_cast<double>(now() - job.since_ns);
  job.missing_ns += static_cast<double>(job.missing) * passed;
  job.wanted_ns += static_cast<double>(job.open) * passed;
  job.since_ns = now();
  wanted_ -= job.open, missing_ -= job.missing;
}

/// Updates the job's wanted and missing counts. To be called after settle() and a change of the job's numbers.
void LifeWatch::reckon(JobRow& job) {
  if (job.per_node) job.wanted = job.live;
  job.open = std::max<std::int64_t>(0, job.wanted - (job.per_node ? 0 : job.completed));
  job.missing = job.there || job.per_node ? std::max<std::int64_t>(0, job.open - job.running) : 0;
  job.worst = std::max(job.worst, job.missing);
  wanted_ += job.open, missing_ += job.missing;
}

void LifeWatch::set_running(Seen& alloc, JobRow& job, bool runs) {
  if (alloc.counted == runs) return;
  alloc.counted = runs;
  job.running += runs ? 1 : -1;
}

void LifeWatch::job_changed(JobKeyRow key) {
  JobRow& job = job_row(key);
  const tables::VersionRow version = state().jobs.keys[key].current;
  settle(job);
  const bool was_there = job.there;
  job.there = version != kNoRow && !state().jobs.versions[version]->stopped;
  job.wanted = 0;
  if (version != kNoRow) {
    const tables::CompiledJob& compiled = *state().jobs.versions[version];
    job.batch = is_of_batch(compiled.type);
    job.per_node = is_of_system(compiled.type);
    job.kind = kind_of(*compiled.spec);
    if (job.there && !was_there) {
      job.completed = 0;  // (re-)registered
      if (job.kind != kNoKind) ++result_.kinds[job.kind].jobs;
    }
    const bool runs_itself =
        !compiled.spec->periodic && (!compiled.spec->parameterized_job || compiled.spec->dispatched);
    if (job.there && runs_itself && !job.per_node)
      for (const tables::CompiledGroup& group : compiled.groups) job.wanted += group.count;
  }
  reckon(job);
  if (version == kNoRow && was_there) fold(key);
}

/// Adds the job's row to the sums of its kind and to the list of the worst jobs.
void LifeWatch::fold(JobKeyRow key) {
  JobRow& job = jobs_[key];
  settle(job);
  if (job.kind != kNoKind) {
    Outage& kind = result_.kinds[job.kind];
    kind.wanted_s += job.wanted_ns / 1e9, kind.missing_s += job.missing_ns / 1e9;
    kind.worst = std::max(kind.worst, job.worst), kind.missing_at_end += job.missing;
  }
  if (job.missing_ns > 0 && !job.batch)
    outages_.push_back({.name = state().text(state().jobs.keys[key].job_id),
                        .wanted_s = job.wanted_ns / 1e9,
                        .missing_s = job.missing_ns / 1e9,
                        .worst = job.worst,
                        .missing_at_end = job.missing});
  job = {};
}

// ---------------------------------------------------------------- allocations

AllocRow LifeWatch::previous_of(AllocRow row) const {
  const auto& object = state().allocs.cold[row];
  if (!object) return state().allocs.relations[row].previous;
  return object->previous_allocation.empty() ? kNoRow
                                             : cluster_->server().store().find_alloc(object->previous_allocation);
}

void LifeWatch::alloc_expected(AllocRow row) {
  if (row < allocs_.size()) base::prefetch(&allocs_[row]);
}

void LifeWatch::alloc_changed(const living::AllocChange& change) {
  if (log_)
    if (const auto line = living::log_line(state(), now(), change)) log_(*line);
  const AllocRow row = change.row;
  if (change.is_new) seen(row) = {.job = state().allocs.job_key[row]};
  const JobKeyRow key = seen(row).job;
  if (key == kNoRow) return;
  JobRow& job = job_row(key);
  const Desired desired = change.removed ? Desired::stop : state().allocs.desired[row];
  const Client client = change.removed ? Client::complete : state().allocs.client[row];
  const bool wanted = desired == Desired::run, ends = tables::client_terminal(client);

  if (change.is_new) {
    ++result_.allocs;
    AllocRow before = previous_of(row);
    if (before == kNoRow && !hits_.empty())
      if (const auto named = hit_names_.find(name_of(row)); named != hit_names_.end())
        if (const auto hit = hits_.find(named->second); hit != hits_.end() && hit->second.name == named->first)
          before = named->second;
    if (before != kNoRow) {
      const Seen& old = seen(before);
      if (job.batch) {
        const double lost = old.runs() ? static_cast<double>(now() - old.run) / 1e9 : old.lost_s();
        result_.repeated_s += lost;
      }
      if (const Hit* const hit = hit_of(before)) {
        Hit moved = *hit;
        moved.harmed = true, moved.name = name_of(row);
        hits_.erase(before);
        hits_[row] = moved;
        hit_names_[name_of(row)] = row;
      }
    }
  }
  Seen& now_seen = allocs_[row];  // previous_of() may have grown the list
  settle(job);
  set_running(now_seen, job, client == Client::running && wanted);
  const bool live = wanted && !ends;
  job.live += (live ? 1 : 0) - (now_seen.live ? 1 : 0);
  now_seen.live = live;
  const bool completes = client == Client::complete && wanted && (change.is_new || change.client_before != client);
  if (completes) ++job.completed;
  reckon(job);

  if (client == Client::running && !now_seen.runs()) now_seen.run = now();
  if (now_seen.runs() && (ends || client == Client::pending)) {
    if (job.batch && !(client == Client::complete && wanted) && !change.removed) {
      const double lost = now_seen.lose(now());
      result_.lost_s += lost, ++result_.lost_runs;
      if (client == Client::pending) result_.repeated_s += lost;  // restarts on the same node
    } else {
      now_seen.run = 0;
    }
  }
  if (!change.removed && !change.is_new) {
    result_.completed += completes;
    result_.failed += client == Client::failed && change.client_before != client;
    result_.lost += client == Client::lost && change.client_before != client;
    result_.evicted += desired == Desired::evict && change.desired_before != desired;
  }
  follow_hit(row, now_seen.counted, completes || change.removed);
  if (records_events_ && !change.removed) record_alloc(change);
}

// ---------------------------------------------------------------- faults

void LifeWatch::hit(NodeRow node, const sim::Happening& happening) {
  FaultResult& fault = result_.faults[happening.fault];
  lifecycle::for_each_on_node(state(), node, [&](AllocRow row) {
    Seen& alloc = seen(row);
    if (alloc.job == kNoRow || !alloc.live) return;
    JobRow& job = job_row(alloc.job);
    if (happening.machine_lost) {
      if (job.batch && alloc.runs()) result_.lost_s += alloc.lose(now()), ++result_.lost_runs;
      settle(job);
      set_running(alloc, job, false);
      reckon(job);
    }
    if (job.per_node || hit_of(row)) return;
    hits_[row] = {happening.fault, now(), happening.machine_lost, name_of(row)};
    hit_names_[name_of(row)] = row;
    ++fault.hit;
    if (happening.machine_lost && happening.action == sim::LifeAction::client_restart)
      returns_.emplace(now() + happening.length_ns, row);
  });
}

LifeWatch::Hit* LifeWatch::hit_of(AllocRow row) {
  const auto found = hits_.find(row);
  if (found == hits_.end()) return nullptr;
  FaultResult& fault = result_.faults[found->second.fault];
  if (found->second.harmed || fault.until_s < 0 || seconds(now()) <= fault.until_s + kAftermathS) return &found.value();
  ++fault.unharmed;
  forget_hit(row);
  return nullptr;
}

void LifeWatch::forget_hit(AllocRow row) {
  hits_.erase(row);
  if (hits_.empty()) hit_names_.clear();
}

void LifeWatch::follow_hit(AllocRow row, bool runs, bool ended) {
  Hit* const hit = hit_of(row);
  if (!hit) return;
  FaultResult& fault = result_.faults[hit->fault];
  if (ended) {
    ++fault.ended;
  } else if (!runs) {
    hit->harmed = true;
    return;
  } else if (hit->harmed) {
    ++fault.recovered;
    fault.recovery_ns.push_back(now() - hit->at_ns);
    result_.recovery_ns.record(now() - hit->at_ns);
  } else {
    return;
  }
  forget_hit(row);
}

/// Advances to the next bucket. Tasks that returned before the servers noticed run again without a change of status.
void LifeWatch::tick() {
  flow_to(now());
  const living::Cluster::Counts& counts = cluster_->counts();
  const std::size_t bucket = std::min(bucket_at(now() - 1), result_.messages.size() - 1);
  result_.messages[bucket] += counts.heartbeats + counts.pulls + counts.requests - messages_;
  messages_ = counts.heartbeats + counts.pulls + counts.requests;
  while (!returns_.empty() && returns_.begin()->first + bucket_ns_ < now()) {
    const AllocRow row = returns_.begin()->second;
    returns_.erase(returns_.begin());
    if (hits_.find(row) == hits_.end() || allocs_[row].counted || !allocs_[row].live ||
        state().allocs.client[row] != Client::running)
      continue;
    JobRow& job = job_row(allocs_[row].job);
    settle(job);
    set_running(allocs_[row], job, true);
    reckon(job);
    if (job.batch) allocs_[row].run = now();
    follow_hit(row, true, false);
  }
}

void LifeWatch::happened(const sim::Happening& happening, std::span<const NodeRow> nodes, const std::string& words) {
  ++result_.events;
  causes_.emplace_back(now(), words);
  if (records_events_) record_event("", "EVENT " + words);
  if (!happening.begins || happening.fault == sim::kNoFault) return;
  FaultResult& fault = result_.faults[happening.fault];
  if (nodes.size() <= 3 && plan_.faults[happening.fault].nodes <= 3) fault.what = words;
  for (const NodeRow node : nodes)
    if (node != kNoRow) hit(node, happening);
}

void LifeWatch::refused(const std::string& words, const std::string& error) {
  ++result_.refused_count;
  if (result_.refused.size() < 20) result_.refused.push_back(words + ": " + error);
  if (records_events_) record_event("", "  refused: " + error);
}

// ---------------------------------------------------------------- evaluations

int LifeWatch::compared_hour() const {
  const std::int64_t at = now() - start_ns_, duration = workload_.life->duration_ns;
  if (duration < 2 * kHourNs) return -1;
  return at < kHourNs ? 0 : at >= duration - kHourNs ? 1 : -1;
}

void LifeWatch::attempt(server::Lane& lane) {
  if (lane.number == 0) begin_turn();  // other lanes decide ahead of their turn
  measuring_.attempt(lane);
}

void LifeWatch::waiting(server::Lane& lane) {
  begin_turn();
  measuring_.waiting(lane);
}

void LifeWatch::begin_turn() {
  if (began_cpu_ns_ < 0 && compared_hour() >= 0) began_cpu_ns_ = cpu_ns(), cost_ = nullptr;
  // Waiting is measured on the virtual clock, deciding on the machine's.
  clock_.leave_out(clock_.now_ns() - now());
}

void LifeWatch::applied(server::Lane& lane) {
  measuring_.applied(lane);
  const std::size_t bucket = std::min(bucket_at(now()), result_.placed.size() - 1);
  result_.placed[bucket] += lane.applied.committed;
  if (records_events_ && lane.applied.refused > 0)
    record_event(
        state().text(state().jobs.keys[lane.record->job].job_id) + ":",
        fmt::format("{} placement{} of the plan refused", lane.applied.refused, lane.applied.refused == 1 ? "" : "s"));
}

void LifeWatch::evaluation_decided(const living::DecidedEval& eval) {
  ++result_.evaluations[std::min(bucket_at(now()), result_.evaluations.size() - 1)];
  count(result_.triggers, eval.trigger);
  if (const int hour = compared_hour(); hour >= 0) {
    static constexpr const char* kTypes[] = {"service", "batch", "system", "sysbatch"};  // by model::JobType
    const std::string what = fmt::format("{} {}", eval.trigger, kTypes[static_cast<std::size_t>(eval.lane.facts.type)]);
    cost_ = &costs_[{what, std::bit_floor<std::uint64_t>(eval.lane.placed)}];
    ++(hour == 0 ? cost_->first : cost_->last);
  }
  if (!records_events_) return;
  for (const sched::GroupResult& group : eval.lane.result.groups)
    if (group.failed)
      record_event(state().text(state().jobs.keys[eval.lane.record->job].job_id) + ":",
                   fmt::format("no room for {} allocation{} (evaluation triggered by {})", 1 + group.failure.coalesced,
                               group.failure.coalesced == 0 ? "" : "s", eval.trigger));
}

void LifeWatch::evaluation_over() {
  if (began_cpu_ns_ >= 0 && cost_)
    (compared_hour() == 0 ? cost_->first_s : cost_->last_s) += static_cast<double>(cpu_ns() - began_cpu_ns_) / 1e9;
  began_cpu_ns_ = -1, cost_ = nullptr;
}

void LifeWatch::deployment_ended(const model::Deployment& deployment) {
  if (log_) log_(living::log_line(now(), deployment));
  count(result_.deployments_by_status, deployment.status);
  if (result_.deployments.size() < kListed)
    result_.deployments.push_back({deployment.job_id, deployment.status, deployment.status_description,
                                   deployment.job_version, seconds(deployment.create_time),
                                   static_cast<double>(now() - deployment.create_time) / 1e9});
  if (records_events_)
    record_event(deployment.job_id, fmt::format("deployment of version {} ends: {} ({})", deployment.job_version,
                                                deployment.status, deployment.status_description));
}

void LifeWatch::drain_ended(const living::DrainEnd& drain) {
  if (log_) log_(living::log_line(state(), now(), drain));
  ++(drain.completed ? result_.drains_completed : result_.drains_ended);
  result_.drain_ns.record(now() - drain.began_at);
  if (result_.drains.size() < kListed)
    result_.drains.push_back({node_text(drain.node), seconds(drain.began_at),
                              static_cast<double>(now() - drain.began_at) / 1e9, drain.completed});
  if (records_events_)
    record_event("", fmt::format("the drain of {} is {} after {:.1f} s", node_text(drain.node),
                                 drain.completed ? "complete" : "called off",
                                 static_cast<double>(now() - drain.began_at) / 1e9));
}

// ---------------------------------------------------------------- log of events

std::string LifeWatch::node_text(NodeRow row) const {
  if (row == kNoRow || !state().nodes.exists(row)) return "a node that is gone";
  const std::string* name = state().value_text(tables::kNameColumn, row);
  return name ? *name : base::to_text(state().nodes.id(row));
}

std::string LifeWatch::alloc_text(AllocRow row) const {
  const tables::Snapshot& s = state();
  const std::string job = s.text(s.jobs.keys[s.allocs.job_key[row]].job_id);
  const JobRow& info = jobs_[s.allocs.job_key[row]];
  if (info.per_node) return job;
  const std::string& group = s.text(s.allocs.group[row]);
  return group == "g0" ? fmt::format("{}[{}]", job, s.allocs.name_index[row])
                       : fmt::format("{}.{}[{}]", job, group, s.allocs.name_index[row]);
}

void LifeWatch::record_event(const std::string& subject, std::string what, const std::string& where) {
  const double at = seconds(now());
  if (!result_.story.empty()) {
    StoryLine& last = result_.story.back();
    if (last.at_s == at && last.subject == subject && last.what == what) {
      if (!where.empty()) last.where.push_back(where);
      return;
    }
  }
  if (result_.story.size() >= kStoryLines) {
    result_.story_cut = true;
    return;
  }
  result_.story.push_back({at, subject, std::move(what), {}});
  if (!where.empty()) result_.story.back().where.push_back(where);
}

void LifeWatch::record_alloc(const living::AllocChange& change) {
  const AllocRow row = change.row;
  const tables::AllocTable& allocs = state().allocs;
  const std::string subject = alloc_text(row), where = node_text(allocs.node[row]);
  const auto& object = allocs.cold[row];
  if (change.is_new) {
    const AllocRow before = previous_of(row);
    const std::string canary = state().is_canary(row) ? " as a canary" : "";
    if (before != kNoRow && allocs.exists(before))
      return record_event(subject, fmt::format("is replaced{}: {} ->", canary, node_text(allocs.node[before])), where);
    return record_event(subject, "is placed" + canary + " on", where);
  }
  if (allocs.desired[row] != change.desired_before) {
    std::string why = object ? object->desired_description : std::string(to_text(allocs.links[row].description));
    if (allocs.desired[row] == Desired::run) {
      why = "is to run again on";
    } else if (allocs.desired[row] == Desired::evict) {
      const AllocRow by = allocs.relations[row].preempted_by;
      why = by != kNoRow && allocs.exists(by) ? "is evicted for " + alloc_text(by) + ", on" : "is evicted on";
    } else {
      why = fmt::format("is to stop{}{}, on", why.empty() ? "" : ": ", why);
    }
    record_event(subject, std::move(why), where);
  }
  if (allocs.client[row] == change.client_before) return;
  switch (allocs.client[row]) {
    case Client::pending:
      return record_event(subject, "waits to start again on", where);
    case Client::running:
      return record_event(subject, change.client_before == Client::unknown ? "is found running again on" : "runs on",
                          where);
    case Client::complete:
      return record_event(subject, allocs.desired[row] == Desired::run ? "is done on" : "has stopped on", where);
    case Client::failed:
      return record_event(subject, "has failed on", where);
    case Client::lost:
      return record_event(subject, "is lost on", where);
    case Client::unknown:
      return record_event(subject, "is unknown: its client is disconnected,", where);
  }
}

void LifeWatch::node_changed(const living::NodeChange& change) {
  if (log_)
    if (const auto line = living::log_line(state(), now(), change)) log_(*line);
  if (!records_events_ || change.removed) return;
  const tables::NodeStatus status = state().nodes.status(change.row);
  const std::string node = node_text(change.row);
  if (change.is_new) return record_event("", "joins:", node);
  if (status != change.status_before) record_event("", fmt::format("now {}:", tables::to_text(status)), node);
}

// ---------------------------------------------------------------- the end

void LifeWatch::find_storms() {
  std::vector<double> rates;
  for (const std::uint64_t n : result_.evaluations)
    if (n > 0) rates.push_back(static_cast<double>(n) / result_.bucket_s);
  if (rates.empty()) return;
  std::nth_element(rates.begin(), rates.begin() + static_cast<long>(rates.size() / 2), rates.end());
  result_.base_rate = rates[rates.size() / 2];
  for (std::size_t b = 0; b < result_.evaluations.size(); ++b) {
    const std::uint64_t n = result_.evaluations[b];
    const double times = static_cast<double>(n) / result_.bucket_s / result_.base_rate;
    if (n < kStormEvaluations || times < kStormTimes) continue;
    const double from = static_cast<double>(b) * result_.bucket_s;
    if (result_.storms.empty() || result_.storms.back().until_s < from) {
      Storm& storm = result_.storms.emplace_back();
      storm.from_s = from;
      for (const auto& [at, what] : causes_)
        if (seconds(at) < from + result_.bucket_s) storm.after = what;
    }
    Storm& storm = result_.storms.back();
    storm.until_s = from + result_.bucket_s;
    storm.evaluations += n;
    storm.times_base = std::max(storm.times_base, times);
  }
}

void LifeWatch::finish() {
  tick();
  result_.reached_s = seconds(now());
  for (JobKeyRow key = 0; key < jobs_.size(); ++key)
    if (jobs_[key].kind != kNoKind) fold(key);
  std::stable_sort(outages_.begin(), outages_.end(),
                   [](const Outage& a, const Outage& b) { return a.missing_s > b.missing_s; });
  outages_.resize(std::min<std::size_t>(outages_.size(), 20));
  result_.worst_jobs = std::move(outages_);
  for (const auto& [row, hit] : hits_) {
    FaultResult& fault = result_.faults[hit.fault];
    ++(hit.harmed ? fault.away : fault.unharmed);
  }
  std::erase_if(result_.faults, [&](const FaultResult& fault) { return fault.at_s > result_.reached_s; });
  std::stable_sort(result_.triggers.begin(), result_.triggers.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  find_storms();
  if (result_.has_hours())
    for (auto& [key, cost] : costs_) {
      cost.what = key.first, cost.placements = key.second;
      result_.costs.push_back(std::move(cost));
    }
  const living::Cluster::Counts& counts = cluster_->counts();
  result_.heartbeats = counts.heartbeats, result_.pulls = counts.pulls;
  result_.requests = counts.requests, result_.reports = counts.reports;
}

}  // namespace berth::run
