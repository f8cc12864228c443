#include "whatif/capacity.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <map>
#include <set>
#include <thread>

#include "base/text.h"
#include "io/json_parse.h"
#include "model/flatten.h"
#include "model/job.h"
#include "model/predicates.h"
#include "run/processes.h"

namespace berth::whatif {
namespace {

using tables::kNoRow;
using tables::NodeRow;

constexpr double kPercentMost = 10'000;  // limit of a mix: a hundred times the running one
constexpr unsigned kAtOnceMost = 8;      // forked trials; each may copy the memory of the whole cluster

/// Result of a trial, sent from its process to the parent.
struct Trial {
  Growth growth;
  double reached = 0;  ///< for a mix: growth of what is used, in percent, of cpu or memory, whichever is fuller
  std::string error;
};

std::string to_text(const Trial& trial) {
  json::Value out = json::Value::object();
  out.set("job", trial.growth.job), out.set("group", trial.growth.group), out.set("placed", trial.growth.placed);
  out.set("factor", trial.growth.factor), out.set("ended", trial.growth.ended);
  out.set("reasons", trial.growth.reasons), out.set("reached", trial.reached), out.set("error", trial.error);
  return json::to_text(out);
}

Trial read_trial(const std::string& text) {
  Trial out;
  const auto read = io::parse_json(text);
  if (!read) {
    out.error = "the process of a trial gave no answer";
    return out;
  }
  const json::Value& value = *read;
  out.growth.job = value["job"].as_string(), out.growth.group = value["group"].as_string();
  out.growth.placed = value["placed"].as_int(), out.growth.factor = value["factor"].as_double();
  out.growth.ended = value["ended"].as_bool(), out.growth.reasons = value["reasons"].as_string();
  out.reached = value["reached"].as_double(), out.error = value["error"].as_string();
  return out;
}

/// Finds the largest growth in percent that fits. The first trial grows by the free capacity. A trial that does not fit
/// reports how much it placed; the next trial tries just that. After the first trial that fits, two trials are made
/// close to the two bounds. Then the search is a bisection.
class MixSearch {
 public:
  explicit MixSearch(const Packing& packing) {
    const double held = std::max(packing.cpu, packing.memory);
    const double free = held > 0 ? std::clamp(100 / held - 100, 0.0, kPercentMost) : 0;
    // Small groups grow later than by their share: up to twice the free capacity may fit.
    if (held > 0) high_ = static_cast<std::int64_t>(std::min(kPercentMost - 1, 2 * free)) + 2;
    next_ = std::clamp(static_cast<std::int64_t>(free), low_ + 1, std::max(low_ + 1, high_ - 1));
  }
  [[nodiscard]] bool done() const { return high_ - low_ <= 1; }
  [[nodiscard]] std::int64_t next() const { return next_; }
  /// The result of growing by next() percent.
  void take(Trial trial) {
    const std::int64_t percent = next_;
    ++trials_;
    if (trial.growth.ended) {
      high_ = percent;
      const bool guesses = low_ == 0 || guesses_-- > 0;
      next_ = guesses ? std::min(static_cast<std::int64_t>(trial.reached), percent - step_) : middle();
      if (trials_ > 1) step_ *= 2;
      fails_ = std::move(trial.growth);
    } else {
      low_ = percent;
      if (!fails_.ended)
        next_ = low_ + std::exchange(step_, step_ * 2);
      else
        next_ = guesses_-- > 0 ? low_ + (high_ - low_) / kNear : middle();
      fits_ = std::move(trial.growth);
    }
    if (!done()) next_ = std::clamp(next_, low_ + 1, high_ - 1);
  }
  [[nodiscard]] Growth result() const {
    Growth out = fits_;
    if (out.factor == 0) out.factor = 1;
    out.ended = fails_.ended, out.job = fails_.job, out.group = fails_.group, out.reasons = fails_.reasons;
    return out;
  }
  [[nodiscard]] std::int64_t trials() const { return trials_; }

 private:
  static constexpr std::int64_t kNear = 8;  // part of the range above what fits in which the result is guessed

  [[nodiscard]] std::int64_t middle() const { return low_ + (high_ - low_) / 2; }

  std::int64_t low_ = 0, high_ = 1;  // low_ fits; high_ does not, or is the limit
  std::int64_t next_ = 1, step_ = 1, guesses_ = 2, trials_ = 0;
  Growth fits_, fails_;
};

}  // namespace

std::string WhatIf::largest(const std::string& key) const {
  std::map<std::string, double> shares;
  double cpu = 0, memory = 0;
  const tables::NodeTable& nodes = state().nodes;
  for (NodeRow row = 0; row < nodes.size(); ++row) {
    if (!nodes.exists(row)) continue;
    cpu += static_cast<double>(nodes.capacity(row).cpu_mhz),
        memory += static_cast<double>(nodes.capacity(row).memory_mb);
  }
  for (NodeRow row = 0; row < nodes.size(); ++row) {
    if (!nodes.exists(row)) continue;
    const auto machine = machines_.find(base::to_text(nodes.id(row)));
    const std::string* value = machine == machines_.end() ? nullptr : value_of(machine->second, key);
    if (!value || value->empty()) continue;
    const tables::NodeCapacity& has = nodes.capacity(row);
    shares[*value] += (cpu > 0 ? static_cast<double>(has.cpu_mhz) / cpu : 0) +
                      (memory > 0 ? static_cast<double>(has.memory_mb) / memory : 0);
  }
  const auto most =
      std::max_element(shares.begin(), shares.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == shares.end() ? "" : key + "=" + most->first;
}

Result<std::shared_ptr<const model::Job>, std::string> WhatIf::read_growing(const std::string& file) {
  const auto document = read_document(file);
  if (!document) return wrong(document.error());
  auto job = read_job(file, *document);
  if (job && (*job)->type != "service" && (*job)->type != "batch")
    return wrong(
        fmt::format("{}: a {} job runs once on each node; only service and batch jobs can grow", file, (*job)->type));
  if (!job || (!model::is_periodic(**job) && !model::is_parameterized(**job))) return job;
  // Such a job runs nothing itself. What can grow is one of the jobs that it launches.
  model::Job launched = **job;
  launched.id += model::is_periodic(launched) ? "/periodic" : "/dispatch";
  launched.name = launched.id, launched.periodic.reset(), launched.parameterized_job.reset();
  return std::make_shared<const model::Job>(std::move(launched));
}

Result<Growth, std::string> WhatIf::fill(const model::Job& job, std::size_t group) {
  model::Job full = job;
  full.task_groups.at(group).count = kCountMost;
  living::JobRegister event;
  event.job = std::make_shared<const model::Job>(std::move(full));
  if (auto done = apply(event); !done) return tl::unexpected(done.error());
  cluster_->run_until(cluster_->now());
  Growth out;
  out.job = event.job->id, out.group = event.job->task_groups[group].name;
  const tables::JobKeyRow key = cluster_->server().store().find_job_key(event.job->namespace_, event.job->id);
  const std::int64_t missing = key == kNoRow ? kCountMost : watch_.missing(key, out.group).value_or(kCountMost);
  out.placed = kCountMost - missing, out.ended = missing > 0;
  for (const Waiting& one : waiting())
    if (one.job == job_words(key) && one.group == out.group) out.reasons = one.reasons;
  return out;
}

Growth WhatIf::grow_all(std::int64_t percent) {
  std::set<std::string> waits;
  for (const Waiting& one : waiting()) waits.insert(one.job);
  Growth out;
  out.factor = 1 + static_cast<double>(percent) / 100;
  const std::map<GroupKey, Group> groups = watch_.groups();  // the present ones: scaling adds none
  for (const auto& [key, group] : groups) {
    const std::int64_t more = group.wanted * percent / 100;
    const tables::JobKey& job = state().jobs.keys[key.job];
    // A job that already waits gives no information when it grows, and one that is being rolled out cannot grow.
    const bool rolls_out = job.deployment_head != kNoRow && state().deployments.active[job.deployment_head] != 0;
    if (more == 0 || group.live == 0 || rolls_out || waits.count(job_words(key.job)) != 0) continue;
    const std::int64_t lacked = std::max<std::int64_t>(0, group.wanted - group.live);  // e.g. delayed restarts
    living::JobScale event;
    event.name_space = state().text(job.job_namespace), event.job_id = state().text(job.job_id);
    event.group = state().text(key.name), event.count = group.wanted + more;
    out.job = job_words(key.job), out.group = event.group;
    if (auto done = apply(event); !done) {
      out.ended = true, out.reasons = done.error();
      return out;
    }
    cluster_->run_until(cluster_->now());
    const std::int64_t missing = watch_.missing(key.job, event.group).value_or(0) - lacked;
    out.placed += std::clamp<std::int64_t>(more - missing, 0, more);
    if (missing <= 0) continue;
    out.ended = true;
    for (const Waiting& one : waiting())
      if (one.job == out.job && one.group == out.group) out.reasons = one.reasons;
    if (out.reasons.empty()) out.reasons = "fewer are placed at once, and none of them waits for a node";
    return out;
  }
  out.job.clear(), out.group.clear();
  return out;
}

Result<Room, std::string> find_room(WhatIf& cluster, const std::vector<std::string>& files) {
  struct Fill {
    std::shared_ptr<const model::Job> job;
    std::size_t group;
  };
  Room out;
  std::vector<Fill> fills;
  for (const std::string& file : files) {
    auto job = cluster.read_growing(file);
    if (!job) return tl::unexpected(job.error());
    for (std::size_t group = 0; group < (*job)->task_groups.size(); ++group) {
      fills.push_back({*job, group});
      out.jobs.emplace_back().file = file;
    }
  }
  const Packing before = cluster.packing();
  const auto grow = [&](std::int64_t percent) {
    Trial trial;
    trial.growth = cluster.grow_all(percent);
    const Packing after = cluster.packing();
    const auto growth = [](double now, double was) { return was > 0 ? 100 * (now / was - 1) : 0; };
    trial.reached = after.cpu > after.memory ? growth(after.cpu, before.cpu) : growth(after.memory, before.memory);
    return trial;
  };
  const auto fill = [&](const Fill& what) {
    Trial trial;
    if (auto growth = cluster.fill(*what.job, what.group); growth)
      trial.growth = std::move(*growth);
    else
      trial.error = growth.error();
    return trial;
  };
  run::Processes processes;
  const auto start = [&](std::size_t id, const auto& trial) {
    return processes.start(id, [&] {
      for (const int signal : {SIGINT, SIGTERM, SIGHUP}) std::signal(signal, SIG_IGN);  // it ends with its parent
      return to_text(trial());
    });
  };
  MixSearch search(before);
  const std::size_t at_once = std::clamp(std::thread::hardware_concurrency(), 1U, kAtOnceMost), mix = fills.size();
  bool grows = false;  // a trial of the mix runs
  for (std::size_t begun = 0; begun < fills.size() || grows || !search.done() || processes.running() > 0;) {
    bool started = true;
    if (!grows && !search.done()) {
      started = start(mix, [&] { return grow(search.next()); });
      grows = true;
    } else if (begun < fills.size() && processes.running() < at_once) {
      started = start(begun, [&] { return fill(fills[begun]); });
      ++begun;
    } else if (auto ended = processes.next(60); ended) {
      if (!ended->failure.empty()) return wrong("the process of a trial " + ended->failure);
      Trial trial = read_trial(ended->text);
      if (ended->id == mix) {
        if (!trial.error.empty()) return wrong(trial.error);
        search.take(std::move(trial));
        grows = false;
      } else {
        std::string file = std::move(out.jobs[ended->id].file);
        if (!trial.error.empty()) return wrong(file + ": " + trial.error);
        trial.growth.file = std::move(file);
        out.jobs[ended->id] = std::move(trial.growth);
      }
    }
    if (!started) return wrong("cannot start a process: end others, or raise the limit (ulimit -u)");
  }
  out.mix = search.result(), out.trials = search.trials();
  return out;
}

Used used_by(const model::ClusterState& state) {
  std::set<std::string_view> up;
  for (const model::Node& node : state.nodes)
    if (node.status != "down") up.insert(node.id);
  Used out;
  for (const model::Allocation& alloc : state.allocs) {
    if (!alloc.allocated_resources || model::is_client_terminal(alloc) || !up.contains(alloc.node_id)) continue;
    const model::FlatResources held = model::flatten(*alloc.allocated_resources);
    out.cpu_mhz += static_cast<double>(held.cpu_mhz), out.memory_mb += static_cast<double>(held.memory_mb);
  }
  return out;
}

}  // namespace berth::whatif
