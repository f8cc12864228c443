#include "sim/imported.h"

#include <fmt/format.h>

#include <algorithm>
#include <compare>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "base/json.h"
#include "base/time.h"
#include "io/export_import.h"
#include "model/computed_class.h"
#include "model/job.h"
#include "model/predicates.h"

namespace berth::sim {
namespace {

/// Namespace and ID of a job.
using JobKey = std::pair<std::string, std::string>;

/// Jobs that arrive as one template; see the head of imported.h.
struct Family {
  std::shared_ptr<const model::Job> job;  ///< the latest one
  std::set<std::int64_t> submitted;       ///< Unix ns
  std::vector<RunTime> run_times;         ///< of finished allocations, if the jobs end; ascending
  std::size_t registrations = 0;          ///< of `submitted`, within the window
  double rate_per_s = 0;
};

bool is_ending(const model::Job& job) { return job.type == "batch" || job.type == "sysbatch"; }
/// A job that only launches others.
bool is_parent(const model::Job& job) { return job.periodic || (job.parameterized_job && !job.dispatched); }

JobKey family_of(const model::Job& job) {
  return {job.namespace_, job.parent_id.empty() ? job.id : std::string(*job.parent_id)};
}

std::string span_words(double seconds) {
  if (seconds < 120) return fmt::format("{:.0f} s", seconds);
  if (seconds < 7200) return fmt::format("{:.0f} min", seconds / 60);
  if (seconds < 172'800) return fmt::format("{:.1f} h", seconds / 3600);
  return fmt::format("{:.1f} days", seconds / 86'400);
}

/// IDs of copies are "<stem>-<number>". Returns a stem for which no job of the cluster has such an ID.
std::string fresh_stem(const JobKey& key, const std::set<JobKey>& taken) {
  std::string stem = key.second;
  while (taken.contains({key.first, stem})) stem += "-copy";
  return stem;
}

/// "web" for "web-12".
std::optional<std::string> stem_of(const std::string& id) {
  const std::size_t end = id.find_last_not_of("0123456789");
  if (end == std::string::npos || end + 1 == id.size() || id[end] != '-') return std::nullopt;
  return id.substr(0, end);
}

std::shared_ptr<const model::Job> template_of(const model::Job& from, std::string stem) {
  auto out = std::make_shared<model::Job>(model::untagged(from));
  out->id = std::move(stem), out->name = out->id;
  out->parent_id.clear(), out->dispatch_idempotency_token.clear(), out->payload.clear();
  out->status_description.clear();
  out->periodic.reset(), out->parameterized_job.reset();
  out->stop = out->dispatched = out->stable = false;
  out->status = "pending";
  out->version = out->create_index = out->modify_index = out->job_modify_index = 0;
  out->submit_time = 0;
  return out;
}

class Estimate {
 public:
  Estimate(GeneratedCluster& cluster, const Workload& workload, const std::string& path)
      : cluster_(cluster),
        state_(*cluster.imported),
        workload_(workload),
        path_(path),
        random_(workload.seed, "imported") {}

  Result<JobStream> run(std::vector<std::string>& notes) {
    gather();
    if (families_.empty())
      return tl::unexpected(InputError{path_, "", "has no job that could arrive again",
                                       "name a cluster with jobs, or give the workload its own [[jobs.mix]]"});
    set_windows();
    if (workload_.arrivals.process == Process::trace && ending_.seconds <= 0 && lasting_.seconds <= 0)
      return tl::unexpected(InputError{path_, "", "registered all its jobs at one moment, which gives no rate",
                                       "write a workload with generator = \"import\" and rate_per_s in [arrivals]"});
    JobStream out = draw();
    if (workload_.departures) end_running();
    write(out, notes);
    return out;
  }

 private:
  struct Window {
    std::int64_t from_ns = INT64_MAX;
    double seconds = 0;
    std::size_t registrations = 0, families = 0;
  };

  void gather() {
    for (const auto* list : {&state_.jobs, &state_.job_versions})
      for (const auto& job : *list) {
        if (is_parent(*job)) continue;
        Family& family = families_[family_of(*job)];
        if (!family.job || family.job->submit_time < job->submit_time) family.job = job;
        if (job->submit_time > 0) family.submitted.insert(job->submit_time);
        latest_ns_ = std::max(latest_ns_, job->submit_time);
      }
    for (const auto& job : state_.jobs) {
      parents_ += is_parent(*job);
      if (auto stem = stem_of(job->id)) taken_.emplace(job->namespace_, std::move(*stem));
      if (!job->stop || !job->parent_id.empty()) continue;
      stopped_ += families_.erase(family_of(*job));
    }
    for (const model::Allocation& alloc : state_.allocs) {
      latest_ns_ = std::max({latest_ns_, alloc.create_time, alloc.modify_time});
      Family* const family = family_with(alloc);
      if (!family || !is_ending(*family->job)) continue;
      if (alloc.client_status == "complete" || alloc.client_status == "failed") {
        family->run_times.push_back(run_time_of(alloc));
        all_run_times_.push_back(family->run_times.back());
      }
    }
    for (auto& [key, family] : families_) std::sort(family.run_times.begin(), family.run_times.end());
    std::sort(all_run_times_.begin(), all_run_times_.end());
  }

  Family* family_with(const model::Allocation& alloc) {
    if (!alloc.job) return nullptr;
    const auto at = families_.find(family_of(*alloc.job));
    return at == families_.end() ? nullptr : &at->second;
  }

  Window& window_of(const Family& family) { return is_ending(*family.job) ? ending_ : lasting_; }

  void set_windows() {
    // Jobs that have ended are kept for hours only, those that still run for as long as they run.
    for (const auto& job : state_.jobs)
      if (is_ending(*job) && !is_parent(*job) && job->status == "dead" && job->submit_time > 0 &&
          families_.contains(family_of(*job)))
        ending_.from_ns = std::min(ending_.from_ns, job->submit_time);
    const bool has_dead = ending_.from_ns != INT64_MAX;
    for (const auto& [key, family] : families_)
      if (!family.submitted.empty() && !(is_ending(*family.job) && has_dead)) {
        Window& window = window_of(family);
        window.from_ns = std::min(window.from_ns, *family.submitted.begin());
      }
    for (Window* window : {&ending_, &lasting_})
      if (window->from_ns < latest_ns_)
        window->seconds = (static_cast<double>(latest_ns_) - static_cast<double>(window->from_ns)) / 1e9;
    const double longer = std::max({ending_.seconds, lasting_.seconds, 0.0});
    for (auto& [key, family] : families_) {
      Window& window = window_of(family);
      family.registrations =
          static_cast<std::size_t>(std::distance(family.submitted.lower_bound(window.from_ns), family.submitted.end()));
      // Without any time, a job was registered once.
      if (family.submitted.empty()) family.registrations = 1;
      const double seconds = window.seconds > 0 ? window.seconds : longer;
      family.rate_per_s = static_cast<double>(family.registrations) / (seconds > 0 ? seconds : 1);
      rate_per_s_ += family.rate_per_s;
      window.registrations += family.registrations, ++window.families;
    }
  }

  JobStream draw() {
    JobStream out;
    std::vector<const Family*> families;
    std::vector<double> cumulative;
    double sum = 0;
    for (const auto& [key, family] : families_) {
      std::string stem = fresh_stem(key, taken_);
      taken_.insert({key.first, stem});
      out.templates.push_back(template_of(*family.job, std::move(stem)));
      families.push_back(&family);
      cumulative.push_back(sum += family.rate_per_s);
    }
    out.single.assign(out.templates.size(), false);
    const std::size_t registered = ending_.registrations + lasting_.registrations;
    const auto count = workload_.jobs.count > 0 ? static_cast<std::size_t>(workload_.jobs.count) : registered;
    double due_ns = 0;
    for (std::size_t n = 0; n < count; ++n) {
      due_ns += random_.exponential(1e9 / rate_per_s_);
      const double at = random_.unit() * sum;
      const auto found = std::upper_bound(cumulative.begin(), cumulative.end() - 1, at);
      const auto position = static_cast<std::size_t>(found - cumulative.begin());
      JobArrival arrival{.due_ns = static_cast<std::int64_t>(std::min(due_ns, kLatestNs)),
                         .template_index = static_cast<std::uint32_t>(position),
                         .number = static_cast<std::uint32_t>(n)};
      if (const auto run = draw_run(*families[position], -1))
        arrival.run_time_ns = run->ns, arrival.fails = run->failed;
      out.arrivals.push_back(arrival);
    }
    return out;
  }

  /// A run time of the family beyond `elapsed_ns`; nullopt: its jobs never end.
  std::optional<RunTime> draw_run(const Family& family, std::int64_t elapsed_ns) {
    if (!is_ending(*family.job)) return std::nullopt;
    const std::vector<RunTime>& from = family.run_times.empty() ? all_run_times_ : family.run_times;
    if (from.empty()) return std::nullopt;
    RunTime out = from[random_.below(from.size())];
    if (out.ns > elapsed_ns) return out;
    const auto longer = std::upper_bound(from.begin(), from.end(), elapsed_ns,
                                         [](std::int64_t ns, const RunTime& run) { return ns < run.ns; });
    const auto count = static_cast<std::size_t>(from.end() - longer);
    if (count > 0) return longer[static_cast<std::ptrdiff_t>(random_.below(count))];
    out.ns += std::min<std::int64_t>(elapsed_ns, static_cast<std::int64_t>(kLatestNs) - out.ns);  // longer than any
    return out;
  }

  void end_running() {
    const double speed = workload_.arrivals.process == Process::trace ? workload_.arrivals.speed : 1;
    for (const model::Allocation& alloc : state_.allocs) {
      if (model::is_terminal(alloc)) continue;
      const Family* const family = family_with(alloc);
      if (!family) continue;
      const std::int64_t elapsed = std::clamp<std::int64_t>(latest_ns_ - alloc.create_time, 0, INT64_MAX / 4);
      const auto run = draw_run(*family, elapsed);
      const auto id = base::parse_uuid(alloc.id);
      if (!run || !id) continue;
      const double left_ns = static_cast<double>(std::max<std::int64_t>(run->ns - elapsed, 0)) / speed;
      cluster_.ends.push_back({*id, static_cast<std::int64_t>(std::min(left_ns, kLatestNs)), run->failed});
    }
    std::stable_sort(cluster_.ends.begin(), cluster_.ends.end(),
                     [](const RunningEnd& a, const RunningEnd& b) { return a.due_ns < b.due_ns; });
  }

  void write(const JobStream& out, std::vector<std::string>& notes) const {
    for (const auto& [window, what] : {std::pair(&ending_, "batch"), std::pair(&lasting_, "service and system")})
      if (window->families > 0)
        notes.push_back(fmt::format("{} jobs: {} registrations of {} within {}", what, window->registrations,
                                    window->families, span_words(window->seconds)));
    if (workload_.arrivals.process == Process::trace)
      notes.push_back(fmt::format("arrivals: {} jobs, one in {} on average", out.arrivals.size(),
                                  span_words(1 / rate_per_s_ / workload_.arrivals.speed)));
    if (ending_.families > 0) {
      std::size_t without = 0;
      for (const auto& [key, family] : families_) without += is_ending(*family.job) && family.run_times.empty();
      std::string line = fmt::format("run times of batch jobs: from {} finished allocations", all_run_times_.size());
      if (all_run_times_.empty())
        line = "run times of batch jobs: no allocation has finished, so they never end";
      else if (without > 0)
        line += fmt::format("; {} of the jobs have none of their own and take those of all", without);
      notes.push_back(std::move(line));
    }
    if (parents_ + stopped_ > 0)
      notes.push_back(fmt::format("left out: {} jobs that only launch others, {} stopped ones", parents_, stopped_));
  }

  GeneratedCluster& cluster_;
  const model::ClusterState& state_;
  const Workload& workload_;
  const std::string& path_;
  base::Random random_;
  std::map<JobKey, Family> families_;
  std::set<JobKey> taken_;              // stems of IDs that end in a number
  std::vector<RunTime> all_run_times_;  // ascending
  Window ending_, lasting_;
  std::int64_t latest_ns_ = 0;
  double rate_per_s_ = 0;
  std::size_t parents_ = 0, stopped_ = 0;
};

/// The allocations that hold resources, as strategies see them: each of a job with its own group only.
void add_load(GeneratedCluster& cluster) {
  std::map<std::string, std::uint32_t> nodes;
  for (std::size_t i = 0; i < cluster.imported->nodes.size(); ++i)
    nodes.emplace(cluster.imported->nodes[i].id, static_cast<std::uint32_t>(i));
  std::map<std::pair<const model::Job*, std::string>, std::uint32_t> jobs;
  for (const model::Allocation& alloc : cluster.imported->allocs) {
    const auto node = nodes.find(alloc.node_id);
    if (model::is_client_terminal(alloc) || !alloc.job || node == nodes.end()) continue;
    const model::TaskGroup* const group = alloc.job->group(alloc.task_group);
    if (!group) continue;
    const auto [at, fresh] =
        jobs.try_emplace({alloc.job.get(), alloc.task_group}, static_cast<std::uint32_t>(cluster.load_jobs.size()));
    if (fresh) {
      auto job = std::make_shared<model::Job>(*alloc.job);
      job->task_groups = std::vector<model::TaskGroup>{*group};
      cluster.load_jobs.push_back(std::move(job));
    }
    cluster.load.push_back({node->second, at->second, 0});
  }
}

}  // namespace

RunTime run_time_of(const model::Allocation& alloc) {
  std::int64_t from = INT64_MAX, to = INT64_MIN;
  for (const auto& [name, state] : alloc.task_states) {
    if (!state || state->started_at.is_zero() || state->finished_at.is_zero()) continue;
    from = std::min(from, state->started_at.ns), to = std::max(to, state->finished_at.ns);
  }
  if (from > to) from = alloc.create_time, to = alloc.modify_time;
  // Clocks of clients differ, and a client that never set its clock reports times near 1970.
  const bool plausible = to >= from && from >= 0 && static_cast<double>(to) - static_cast<double>(from) < kLatestNs;
  return {plausible ? to - from : 0, alloc.client_status == "failed"};
}

Result<GeneratedCluster> imported_cluster(const std::string& path, std::vector<std::string>& notes) {
  auto imported = io::import_cluster(path);
  if (!imported) return tl::unexpected(imported.error());
  if (!imported->warnings.empty())
    notes.push_back(fmt::format("the import had {} warning{}; `berth import` shows them", imported->warnings.size(),
                                imported->warnings.size() == 1 ? "" : "s"));
  auto state = std::make_shared<model::ClusterState>(std::move(imported->state));
  if (state->nodes.empty())
    return tl::unexpected(InputError{path, "", "has no nodes", "name a cluster, as `berth import` reads it"});
  if (!state->evals.empty()) {
    const auto open = std::count_if(state->evals.begin(), state->evals.end(), [](const model::Evaluation& eval) {
      return !model::is_terminal_evaluation(eval.status);
    });
    if (open > 0)
      notes.push_back(fmt::format("{} pending or blocked evaluations of the cluster are not decided", open));
    state->evals.clear();
  }
  GeneratedCluster out;
  for (std::size_t i = 0; i < state->nodes.size(); ++i) {
    model::Node& node = state->nodes[i];
    if (node.computed_class.empty()) node.computed_class = model::computed_class(node);
    const auto id = base::parse_uuid(node.id);
    out.nodes.push_back({.id = id.value_or(base::Uuid{}), .shape = static_cast<std::uint32_t>(i)});
    out.names.push_back(node.name);
    out.shapes.push_back(node);
  }
  out.imported = std::move(state);
  add_load(out);
  return out;
}

Result<JobStream> estimated_jobs(GeneratedCluster& cluster, const Workload& workload, const std::string& path,
                                 std::vector<std::string>& notes) {
  return Estimate(cluster, workload, path).run(notes);
}

}  // namespace berth::sim
