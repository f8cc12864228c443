#include "sim/life_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <unordered_map>

#include "model/job.h"

namespace berth::sim {
namespace {

constexpr std::int64_t kLater = INT64_MAX;
constexpr std::size_t kMostBytes = std::size_t{512} << 20;  // limit of a plan: about 4,000,000 events

std::string seconds_text(std::int64_t ns) { return fmt::format("{} s", static_cast<double>(ns) / 1e9); }

/// Position of each kind's first template.
std::vector<std::uint32_t> first_templates(const JobsSpec& spec) {
  std::vector<std::uint32_t> out;
  std::uint32_t next = 0;
  for (const JobKindSpec& kind : spec.kinds) out.push_back(next), next += static_cast<std::uint32_t>(kind.templates);
  return out;
}

/// Times of a Poisson process whose rate is linear between the points of a curve, 0 before it and constant after it.
template <class Happens>
void arrive_by(const std::vector<std::pair<std::int64_t, double>>& curve, std::int64_t end_ns, base::Random& random,
               Happens&& happens) {
  double left = random.exponential(1);  // integral of the rate until the next arrival
  for (std::size_t i = 0; i < curve.size(); ++i) {
    const bool last = i + 1 == curve.size();
    const std::int64_t begin = curve[i].first, until = std::min(end_ns, last ? end_ns : curve[i + 1].first);
    if (begin >= until) continue;
    const double length = static_cast<double>((last ? end_ns : curve[i + 1].first) - begin) / 1e9;
    const double rate = curve[i].second, slope = last ? 0 : (curve[i + 1].second - rate) / length;
    const double span = static_cast<double>(until - begin) / 1e9;
    const auto area = [&](double x) { return rate * x + slope * x * x / 2; };
    double done = 0;
    while (area(span) - done > left) {
      done += left;
      // The x of [0, span] at which area(x) is `done`.
      const double root = std::sqrt(std::max(0.0, rate * rate + 2 * slope * done));
      const double x = slope == 0 ? done / rate : 2 * done / (rate + root);
      happens(begin + static_cast<std::int64_t>(std::min(x, span) * 1e9));
      left = random.exponential(1);
    }
    left -= area(span) - done;
  }
}

class Planner {
 public:
  Planner(const Workload& workload, const GeneratedCluster& cluster, const JobStream& jobs)
      : workload_(workload), life_(*workload.life), cluster_(cluster), jobs_(jobs), random_(workload.seed, "life") {}

  Result<LifePlan> plan() {
    look_at_nodes();
    look_at_jobs();
    check_tasks();
    for (const auto& [at, step] : occurrences()) {
      if (error_) break;
      happen(at, step);
    }
    if (error_) return tl::unexpected(*error_);
    std::stable_sort(out_.happenings.begin(), out_.happenings.end(),
                     [](const Happening& a, const Happening& b) { return a.at_ns < b.at_ns; });
    std::erase_if(out_.happenings, [&](const Happening& h) { return h.at_ns > life_.duration_ns; });
    return std::move(out_);
  }

 private:
  struct NodeState {
    std::int64_t joins_ns = 0;
    std::int64_t away_until = 0;  ///< disturbed until then; kLater: does not return by itself
    bool gone = false, unreachable = false, drained = false;
    std::int64_t set_at = -1;   ///< when its eligibility or drain was last set
    std::int64_t link_at = -1;  ///< when an event last disconnected or reconnected it
    std::uint32_t set_line = 0, link_line = 0;
  };
  struct JobState {
    std::uint32_t arrival = 0;
    bool stopped = false, canaries = false;
    std::int64_t count = 0;
    std::int64_t set_at = -1;
    std::uint32_t set_line = 0;
    LifeAction set = LifeAction::gc;
    std::int64_t ordered_at = -1;  ///< when its deployment was last promoted, failed, paused or resumed
    std::uint32_t ordered_line = 0;
  };

  void fail(std::uint32_t line, std::string problem, std::string remedy) {
    if (!error_)
      error_ = InputError{workload_.path, line == 0 ? "" : std::to_string(line), std::move(problem), std::move(remedy)};
  }

  void look_at_nodes() {
    nodes_.resize(cluster_.nodes.size());
    const auto joins = static_cast<std::size_t>(workload_.cluster.joins.nodes);
    for (std::size_t n = 0; n < joins && n < nodes_.size(); ++n)
      nodes_[nodes_.size() - joins + n].joins_ns = workload_.cluster.joins.due_ns(n);
    for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
      by_name_[cluster_.node_name(i)] = i;
      if (cluster_.nodes[i].rack != NodeRecord::kNoRack) by_rack_[cluster_.racks[cluster_.nodes[i].rack]].push_back(i);
    }
  }

  void look_at_jobs() {
    const auto firsts = first_templates(workload_.jobs);
    std::vector<std::uint32_t> kind_of(jobs_.templates.size(), 0);
    for (std::uint32_t k = 0; k < firsts.size(); ++k)
      for (std::int64_t t = 0; t < workload_.jobs.kinds[k].templates; ++t)
        kind_of[firsts[k] + static_cast<std::size_t>(t)] = k;
    of_kind_.resize(firsts.size());
    for (std::uint32_t a = 0; a < jobs_.arrivals.size(); ++a) {
      const std::uint32_t t = jobs_.arrivals[a].template_index;
      if (!firsts.empty()) of_kind_[kind_of[t]].push_back(a);
      if (!jobs_.single[t]) continue;
      const model::Job& job = *jobs_.templates[t];
      named_[job.id] = {.arrival = a, .canaries = job.update->canary > 0, .count = job.task_groups.front().count};
      if (jobs_.arrivals[a].due_ns > life_.duration_ns && !firsts.empty())
        fail(workload_.jobs.kinds[kind_of[t]].life.line, fmt::format("job '{}' is registered after the end", job.id),
             "lower 'at_s' or raise 'duration_s'");
    }
  }

  void check_tasks() {
    for (const TaskTrace& trace : life_.tasks) {
      const auto job = named_.find(trace.job);
      if (job == named_.end()) return no_job(trace.line, trace.job);
      const model::TaskGroup* group = group_of(job->second, trace.group);
      if (!group) return no_group(trace.line, trace.job, trace.group);
      if (trace.task >= static_cast<std::int64_t>(group->tasks.size()))
        fail(trace.line, fmt::format("group '{}' has {} tasks", trace.group, group->tasks.size()), "count from 0");
    }
  }

  /// All times of all steps, ordered by time, then by place in the file.
  std::vector<std::pair<std::int64_t, std::uint32_t>> occurrences() {
    std::vector<std::pair<std::int64_t, std::uint32_t>> out;
    for (std::uint32_t s = 0; s < life_.steps.size(); ++s) {
      const LifeStep& step = life_.steps[s];
      for (const std::int64_t at : step.at) out.emplace_back(at, s);
      if (step.every_ns > 0)
        for (std::int64_t at = step.from_ns; at < step.until_ns; at += step.every_ns) out.emplace_back(at, s);
      const auto span = static_cast<std::uint64_t>(std::max<std::int64_t>(1, step.until_ns - step.from_ns));
      for (std::int64_t n = 0; n < step.times; ++n)
        out.emplace_back(step.from_ns + static_cast<std::int64_t>(random_.below(span)), s);
    }
    std::stable_sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    return out;
  }

  // ---------------------------------------------------------------- nodes

  /// The nodes of a step. `disturbs`: only machines that are up.
  std::vector<std::uint32_t> nodes_of(const LifeStep& step, std::int64_t at, bool disturbs) {
    std::vector<std::uint32_t> out;
    std::set<std::string_view> named;
    for (const std::string& name : step.nodes) {
      const auto found = by_name_.find(name);
      if (found == by_name_.end()) {
        fail(step.line, fmt::format("there is no node '{}'", name.substr(0, 60)),
             fmt::format("nodes are called {} to {}", cluster_.node_name(0), cluster_.node_name(nodes_.size() - 1)));
        return {};
      }
      if (!can(found->second, step, at, disturbs)) return {};
      if (!named.insert(name).second) fail(step.line, fmt::format("node '{}' is named twice", name), "name it once");
      out.push_back(found->second);
    }
    for (const std::string& rack : step.racks) {
      const auto found = by_rack_.find(rack);
      if (found == by_rack_.end()) {
        fail(step.line, fmt::format("there is no rack '{}'", rack.substr(0, 60)),
             by_rack_.empty() ? "write racks = 10 in [cluster]"
                              : fmt::format("racks are called r0 to r{}", by_rack_.size() - 1));
        return {};
      }
      if (!named.insert(rack).second) fail(step.line, fmt::format("rack '{}' is named twice", rack), "name it once");
      add_up(found->second, at, out);
    }
    if (step.some == 0 && (step.percent == 0 || !step.kind.empty())) return out;
    if (step.whole_racks) {
      if (by_rack_.empty()) fail(step.line, "the cluster has no racks", "write racks = 10 in [cluster]");
      std::vector<const std::vector<std::uint32_t>*> racks;
      for (const auto& [name, members] : by_rack_) racks.push_back(&members);
      draw(racks, static_cast<std::size_t>(step.some));
      for (const auto* members : racks) add_up(*members, at, out);
      return out;
    }
    std::vector<std::uint32_t> all(nodes_.size());
    std::iota(all.begin(), all.end(), 0U);
    add_up(all, at, out);
    const auto share = static_cast<double>(nodes_.size()) * step.percent / 100;
    draw(out, step.some > 0 ? static_cast<std::size_t>(step.some) : static_cast<std::size_t>(std::ceil(share)));
    std::sort(out.begin(), out.end());
    return out;
  }

  void add_up(const std::vector<std::uint32_t>& from, std::int64_t at, std::vector<std::uint32_t>& out) const {
    for (const std::uint32_t n : from) {
      const NodeState& node = nodes_[n];
      if (!node.gone && !node.unreachable && node.away_until <= at && node.joins_ns <= at) out.push_back(n);
    }
  }

  template <class T>
  void draw(std::vector<T>& from, std::size_t count) {
    count = std::min(count, from.size());
    for (std::size_t i = 0; i < count; ++i)
      std::swap(from[i], from[i + static_cast<std::size_t>(random_.below(from.size() - i))]);
    from.resize(count);
  }

  void contradicts(const LifeStep& step, std::uint32_t line, const char* what) {
    fail(step.line, fmt::format("contradicts line {}: the same {} at the same time", line, what),
         "keep one of the two");
  }

  /// True if the step can be applied to a node that it names.
  bool can(std::uint32_t n, const LifeStep& step, std::int64_t at, bool disturbs) {
    NodeState& node = nodes_[n];
    const std::string name = cluster_.node_name(n);
    if (node.joins_ns > at)
      fail(step.line, fmt::format("node '{}' joins at {} only", name, seconds_text(node.joins_ns)),
           "let it come later");
    else if (node.gone)
      fail(step.line, fmt::format("node '{}' was deregistered before", name), "remove it here or there");
    else if (disturbs && (node.unreachable || node.away_until > at))
      fail(step.line, fmt::format("node '{}' is away at {} already", name, seconds_text(at)),
           "name another node or another time");
    else if (step.action == LifeAction::reachable && !node.unreachable)
      fail(step.line, fmt::format("node '{}' is not unreachable at {}", name, seconds_text(at)),
           "let an event 'unreachable' come before");
    else if (step.action == LifeAction::drain && step.clear && !node.drained)
      fail(step.line, fmt::format("node '{}' is not drained at {}", name, seconds_text(at)), "let a drain come before");
    const bool goes = step.action == LifeAction::deregister;
    if ((goes || step.action == LifeAction::drain || step.action == LifeAction::eligibility) && node.set_at == at)
      contradicts(step, node.set_line, "node");
    if ((goes || step.action == LifeAction::unreachable || step.action == LifeAction::reachable) && node.link_at == at)
      contradicts(step, node.link_line, "node");
    return !error_;
  }

  // ---------------------------------------------------------------- jobs

  void no_job(std::uint32_t line, const std::string& job) {
    std::string all;
    for (const auto& [name, state] : named_) all += (all.empty() ? "" : ", ") + name;
    fail(line, fmt::format("there is no job '{}'", job.substr(0, 60)),
         all.empty() ? "write named = true at a kind of job" : "name one of: " + all.substr(0, 200));
  }
  void no_group(std::uint32_t line, const std::string& job, const std::string& group) {
    fail(line, fmt::format("job '{}' has no group '{}'", job, group.substr(0, 60)), "groups are called g0, g1, ...");
  }
  [[nodiscard]] const model::Job& form_of(const JobState& job) const {
    return *jobs_.templates[jobs_.arrivals[job.arrival].template_index];
  }
  [[nodiscard]] const model::TaskGroup* group_of(const JobState& job, const std::string& name) const {
    for (const model::TaskGroup& group : form_of(job).task_groups)
      if (group.name == name) return &group;
    return nullptr;
  }

  JobState* job_of(const LifeStep& step, const std::string& name, std::int64_t at) {
    const auto found = named_.find(name);
    if (found == named_.end()) return no_job(step.line, name), nullptr;
    JobState& job = found->second;
    const std::int64_t due = jobs_.arrivals[job.arrival].due_ns;
    if (due > at)
      fail(step.line, fmt::format("job '{}' is registered at {} only", name, seconds_text(due)), "let it come later");
    else if (job.stopped && step.action != LifeAction::register_job)
      fail(step.line, fmt::format("job '{}' is stopped at {}", name, seconds_text(at)),
           "let an event 'register' come before");
    else if (!job.stopped && step.action == LifeAction::register_job)
      fail(step.line, fmt::format("job '{}' is registered at {} already", name, seconds_text(at)),
           "do = \"update\" changes it");
    return error_ ? nullptr : &job;
  }

  /// Checks that a job has what the step needs.
  void check_job(const LifeStep& step, JobState& job, std::int64_t at) {
    const model::Job& form = form_of(job);
    const bool per_node = form.type == "system" || form.type == "sysbatch";
    const auto needs = [&](bool has, const char* what) {
      if (!has) fail(step.line, fmt::format("job '{}' has no '{}'", form.id, what), "add it to its kind");
    };
    switch (step.action) {
      case LifeAction::dispatch:
        needs(form.parameterized_job.has_value(), "parameterized");
        break;
      case LifeAction::force_periodic:
        needs(form.periodic.has_value(), "periodic");
        break;
      case LifeAction::promote:
        needs(job.canaries, "canary");
        break;
      case LifeAction::fail:
      case LifeAction::pause:
      case LifeAction::resume:
        needs(form.task_groups.front().update.has_value(), "update");
        break;
      case LifeAction::scale:
      case LifeAction::alloc_stop:
        if (!group_of(job, step.group)) return no_group(step.line, form.id, step.group);
        if (step.action == LifeAction::scale && per_node)
          fail(step.line, fmt::format("job '{}' runs once on every node", form.id), "scale a service or batch job");
        if (step.action == LifeAction::alloc_stop && !per_node && step.index >= job.count)
          fail(step.line, fmt::format("job '{}' has no allocation {}", form.id, step.index), "count from 0");
        break;
      default:
        break;
    }
    if (step.action == LifeAction::update && step.count >= 0 && per_node)
      fail(step.line, fmt::format("job '{}' runs once on every node", form.id), "remove 'count'");
    if (job.set_at == at && job.set != LifeAction::gc &&
        (job.set == step.action || step.action == LifeAction::stop || job.set == LifeAction::stop))
      contradicts(step, job.set_line, "job");
    const bool orders = step.action == LifeAction::promote || step.action == LifeAction::fail ||
                        step.action == LifeAction::pause || step.action == LifeAction::resume;
    if ((orders || step.action == LifeAction::stop) && job.ordered_at == at) contradicts(step, job.ordered_line, "job");
    if (orders) job.ordered_at = at, job.ordered_line = step.line;
    if (step.action == LifeAction::scale || step.action == LifeAction::stop || step.action == LifeAction::update)
      job.set_at = at, job.set_line = step.line, job.set = step.action;
    if (step.action == LifeAction::stop) job.stopped = true;
    if (step.action == LifeAction::register_job) job.stopped = false;
    if ((step.action == LifeAction::scale || step.action == LifeAction::update) && step.count >= 0)
      job.count = step.count;
    if (step.action == LifeAction::update && step.canary >= 0) job.canaries = step.canary > 0;
  }

  std::vector<std::uint32_t> jobs_of(const LifeStep& step, std::int64_t at) {
    if (!step.job.empty()) {
      JobState* job = job_of(step, step.job, at);
      if (!job) return {};
      check_job(step, *job, at);
      return {job->arrival};
    }
    std::vector<std::uint32_t> out;
    const auto& kinds = workload_.jobs.kinds;
    const auto kind =
        std::find_if(kinds.begin(), kinds.end(), [&](const JobKindSpec& k) { return k.name == step.kind; });
    if (kind == kinds.end()) {
      fail(step.line, fmt::format("there is no kind of job '{}'", step.kind.substr(0, 60)), "name one of [[jobs.mix]]");
      return out;
    }
    if (step.action == LifeAction::dispatch && !kind->life.parameterized)
      fail(step.line, fmt::format("kind '{}' has no 'parameterized'", kind->name), "add it");
    if (step.action == LifeAction::stop || step.action == LifeAction::scale)
      if (kind->life.named) fail(step.line, fmt::format("'{}' is one job", kind->name), "write job instead of kind");
    for (const std::uint32_t a : of_kind_[static_cast<std::size_t>(kind - kinds.begin())])
      if (jobs_.arrivals[a].due_ns <= at && !stopped_.count(a)) out.push_back(a);
    draw(out, static_cast<std::size_t>(std::ceil(static_cast<double>(out.size()) * step.percent / 100)));
    std::sort(out.begin(), out.end());
    if (step.action == LifeAction::stop) stopped_.insert(out.begin(), out.end());
    return out;
  }

  // ---------------------------------------------------------------- happenings

  Happening& add(std::int64_t at, LifeAction action, std::uint32_t step, std::uint32_t fault,
                 std::vector<std::uint32_t> nodes, std::vector<std::uint32_t> jobs = {}) {
    bytes_ += sizeof(Happening) + (nodes.size() + jobs.size()) * sizeof(nodes[0]);
    if (bytes_ > kMostBytes)
      fail(life_.steps[step].line, "with this, events and faults take more than 512 MiB",
           "let it happen less often, or to fewer nodes or jobs");
    Happening& h = out_.happenings.emplace_back();
    h.at_ns = at, h.action = action, h.step = step, h.fault = fault;
    h.nodes = std::move(nodes), h.jobs = std::move(jobs);
    return h;
  }

  /// Events at one time may set different parts of the scheduler configuration, but not one part to two values.
  void check_configuration(const LifeStep& step, std::int64_t at) {
    if (at != configured_at_) configured_ = {};
    configured_at_ = at;
    const auto text = [](const std::optional<bool>& value) { return !value ? "" : *value ? "on" : "off"; };
    const std::string settings[] = {step.algorithm,           text(step.preempt_system),  text(step.preempt_sysbatch),
                                    text(step.preempt_batch), text(step.preempt_service), text(step.pause_broker)};
    for (std::size_t i = 0; i < configured_.size(); ++i) {
      auto& [value, line] = configured_[i];
      if (settings[i].empty()) continue;
      if (!value.empty() && value != settings[i]) contradicts(step, line, "setting");
      value = settings[i], line = step.line;
    }
  }

  void happen(std::int64_t at, std::uint32_t s) {
    const LifeStep& step = life_.steps[s];
    switch (step.action) {
      case LifeAction::configure:
        check_configuration(step, at);
        [[fallthrough]];
      case LifeAction::gc:
      case LifeAction::leader_change:
        add(at, step.action, s, kNoFault, {});
        return;
      case LifeAction::unreachable:
      case LifeAction::reachable:
      case LifeAction::client_restart:
      case LifeAction::deregister:
      case LifeAction::eligibility:
      case LifeAction::drain:
      case LifeAction::loss:
      case LifeAction::partition:
      case LifeAction::rolling_reboot:
      case LifeAction::flapping:
      case LifeAction::slow_clients:
        return happen_to_nodes(at, s, step);
      default:
        break;
    }
    const auto jobs = jobs_of(step, at);
    if (error_) return;
    const std::uint32_t fault =
        step.fault && step.action == LifeAction::task_failures ? new_fault(at, s, 0, jobs.size()) : kNoFault;
    if (step.action == LifeAction::scale_curve) {
      for (const auto& [after, factor] : step.curve) {
        if (error_) return;
        add(at + after, LifeAction::scale, s, kNoFault, {}, jobs).factor = factor;
      }
      return;
    }
    Happening& h = add(at, step.action, s, fault, {}, jobs);
    if (step.action == LifeAction::task_failures)
      out_.faults.back().until_ns = at + (h.length_ns = step.for_s->draw(random_) * 1'000'000'000);
  }

  std::uint32_t new_fault(std::int64_t at, std::uint32_t s, std::size_t nodes, std::size_t jobs) {
    out_.faults.push_back({s, at, kForGood, static_cast<std::uint32_t>(nodes), static_cast<std::uint32_t>(jobs)});
    return static_cast<std::uint32_t>(out_.faults.size() - 1);
  }

  /// A step at one of its times, with the affected nodes.
  struct Hit {
    std::int64_t at;
    std::uint32_t step_index;
    const LifeStep& step;
    std::vector<std::uint32_t> nodes;
    std::int64_t for_ns = kForGood, until = kLater;
    bool is_fault = false;
    std::uint32_t fault = kNoFault;
  };
  Happening& add(const Hit& hit, std::int64_t at, LifeAction action) {
    return add(at, action, hit.step_index, hit.fault, hit.nodes);
  }
  Happening& add_first(const Hit& hit, LifeAction action) {
    Happening& h = add(hit, hit.at, action);
    h.begins = hit.is_fault;
    return h;
  }
  void end_fault(const Hit& hit, std::int64_t at) { out_.faults[hit.fault].until_ns = at; }
  void keep_away(const Hit& hit, std::int64_t until) {
    for (const std::uint32_t n : hit.nodes) nodes_[n].away_until = until;
  }

  void happen_to_nodes(std::int64_t at, std::uint32_t s, const LifeStep& step) {
    const bool sets = step.action == LifeAction::drain || step.action == LifeAction::eligibility;
    const bool disturbs = !sets && step.action != LifeAction::deregister && step.action != LifeAction::reachable;
    if (!step.node_of.empty() && !job_of(step, step.node_of, at)) return;
    Hit hit{.at = at, .step_index = s, .step = step, .nodes = nodes_of(step, at, disturbs)};
    if (error_) return;
    if (step.for_s) hit.for_ns = step.for_s->draw(random_) * 1'000'000'000;
    if (hit.for_ns != kForGood) hit.until = at + hit.for_ns;
    hit.is_fault = step.fault || step.action == LifeAction::unreachable || step.action == LifeAction::client_restart ||
                   step.action == LifeAction::deregister || (step.action == LifeAction::drain && !step.clear);
    if (hit.is_fault) hit.fault = new_fault(at, s, step.node_of.empty() ? hit.nodes.size() : 1, 0);
    if (sets)
      for (const std::uint32_t n : hit.nodes) {
        nodes_[n].set_at = at, nodes_[n].set_line = step.line;
        if (step.action == LifeAction::drain) nodes_[n].drained = !step.clear;
      }
    switch (step.action) {
      case LifeAction::loss:
        return lose(hit);
      case LifeAction::partition:
        add_first(hit, LifeAction::unreachable);
        add(hit, hit.until, LifeAction::reachable);
        return keep_away(hit, hit.until), end_fault(hit, hit.until);
      case LifeAction::flapping:
        return flap(hit);
      case LifeAction::rolling_reboot:
        return reboot_in_batches(hit);
      case LifeAction::slow_clients:
        add_first(hit, LifeAction::report_lag).length_ns = step.lag_ns;
        add(hit, hit.until, LifeAction::report_lag).length_ns = 0;
        return end_fault(hit, hit.until);
      default:
        happen_once(hit);
    }
  }

  /// Steps that are one event on the nodes, or one that ends by itself.
  void happen_once(const Hit& hit) {
    Happening& h = add_first(hit, hit.step.action);
    switch (hit.step.action) {
      case LifeAction::client_restart: {
        const std::int64_t back = hit.at + hit.step.down_ns;
        h.length_ns = hit.step.down_ns, h.machine_lost = !hit.step.recovered;
        keep_away(hit, back), end_fault(hit, back);
        break;
      }
      case LifeAction::unreachable:
      case LifeAction::reachable:
        for (const std::uint32_t n : hit.nodes) {
          nodes_[n].unreachable = hit.step.action == LifeAction::unreachable;
          nodes_[n].link_at = hit.at, nodes_[n].link_line = hit.step.line;
        }
        break;
      case LifeAction::drain:
        if (hit.for_ns != kForGood) add(hit, hit.until, LifeAction::eligibility);
        break;
      case LifeAction::deregister:
        h.machine_lost = true;
        for (const std::uint32_t n : hit.nodes) nodes_[n].gone = true;
        break;
      default:
        break;
    }
  }

  void lose(const Hit& hit) {
    const bool for_good = hit.for_ns == kForGood;
    Happening& h = add_first(hit, for_good ? LifeAction::unreachable : LifeAction::client_restart);
    h.machine_lost = true, h.length_ns = hit.for_ns;
    keep_away(hit, hit.until);
    if (!for_good) end_fault(hit, hit.until);
  }

  void flap(const Hit& hit) {
    bool begins = true;
    std::int64_t t = hit.at;
    const std::int64_t round = hit.step.down_ns + hit.step.up_ns;
    for (; t < std::min(hit.until, life_.duration_ns + 1) && !error_; t += round) {
      add(hit, t, LifeAction::unreachable).begins = std::exchange(begins, false);
      add(hit, t + hit.step.down_ns, LifeAction::reachable);
    }
    if (t < hit.until) t += (hit.until - t + round - 1) / round * round;  // after the end of the simulation
    keep_away(hit, t), end_fault(hit, t - hit.step.up_ns);
  }

  void reboot_in_batches(const Hit& hit) {
    const LifeStep& step = hit.step;
    std::int64_t t = hit.at;
    for (std::size_t begin = 0; begin < hit.nodes.size() && t <= kLatestNs;
         begin += static_cast<std::size_t>(step.batch)) {
      const std::size_t end = std::min(hit.nodes.size(), begin + static_cast<std::size_t>(step.batch));
      const std::vector<std::uint32_t> batch(hit.nodes.begin() + static_cast<long>(begin),
                                             hit.nodes.begin() + static_cast<long>(end));
      if (step.deadline_ns > 0) {
        add(t, LifeAction::drain, hit.step_index, hit.fault, batch).begins = true;
        t += step.deadline_ns;
      }
      Happening& h = add(t, LifeAction::client_restart, hit.step_index, hit.fault, batch);
      h.length_ns = step.down_ns, h.machine_lost = true, h.begins = step.deadline_ns == 0;
      if (step.deadline_ns > 0) add(t + step.down_ns, LifeAction::eligibility, hit.step_index, hit.fault, batch);
      t += step.down_ns + step.pause_ns;
    }
    keep_away(hit, t), end_fault(hit, t - step.pause_ns);
  }

  const Workload& workload_;
  const LifeSpec& life_;
  const GeneratedCluster& cluster_;
  const JobStream& jobs_;
  base::Random random_;
  LifePlan out_;
  std::size_t bytes_ = 0;  // of out_.happenings
  std::int64_t configured_at_ = -1;
  std::array<std::pair<std::string, std::uint32_t>, 6>
      configured_;  // at that time: value of each setting, and its line
  std::optional<InputError> error_;
  std::vector<NodeState> nodes_;
  std::unordered_map<std::string, std::uint32_t> by_name_;
  std::map<std::string, std::vector<std::uint32_t>> by_rack_;
  std::map<std::string, JobState> named_;
  std::vector<std::vector<std::uint32_t>> of_kind_;  // arrivals by kind
  std::set<std::uint32_t> stopped_;
};

}  // namespace

Result<LifePlan> plan_life(const Workload& workload, const GeneratedCluster& cluster, const JobStream& jobs) {
  return Planner(workload, cluster, jobs).plan();
}

void add_life_arrivals(JobStream& jobs, const Workload& workload) {
  const auto firsts = first_templates(workload.jobs);
  base::Random random(workload.seed, "life arrivals");
  for (std::size_t k = 0; k < firsts.size(); ++k) {
    const JobKindSpec& kind = workload.jobs.kinds[k];
    const auto add = [&](std::int64_t due_ns) {
      JobArrival& arrival = jobs.arrivals.emplace_back();
      arrival.due_ns = due_ns;
      arrival.number = static_cast<std::uint32_t>(jobs.arrivals.size() - 1);
      arrival.template_index =
          firsts[k] + static_cast<std::uint32_t>(random.below(static_cast<std::uint64_t>(kind.templates)));
      if (kind.ends()) arrival.run_time_ns = kind.draw_run_ns(random);
    };
    if (kind.life.named) add(kind.life.at_ns);
    auto rate = kind.life.rate;
    for (auto& [at, per_s] : rate) per_s *= workload.jobs.rate_scale;
    arrive_by(rate, workload.life->duration_ns, random, add);
  }
}

}  // namespace berth::sim
