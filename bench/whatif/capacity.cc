// Finds how much more fits: groups grow until an allocation finds no node.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/text.h"
#include "dryrun/job_document.h"
#include "io/files.h"
#include "tables/export.h"
#include "whatif/whatif.h"

namespace berth::whatif {
namespace {

using tables::kNoRow;
using tables::NodeRow;

constexpr double kPercentMost = 10'000;  // limit of a mix: a hundred times the running one

}  // namespace

model::ClusterState WhatIf::state_now() const { return tables::to_cluster(state()); }

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

Result<Growth, std::string> WhatIf::fill(const std::string& file, std::size_t group, std::size_t* groups) {
  const auto text = io::read_file(file);
  if (!text) return wrong(text.error().line());
  const auto document = dryrun::job_document(*text, file);
  if (!document) return wrong(document.error());
  const auto asked = read_job(file, document->value);
  if (!asked) return wrong(asked.error());
  model::Job full = **asked;
  if (full.type != "service" && full.type != "batch")
    return wrong(
        fmt::format("{}: a {} job runs once on each node; only service and batch jobs can grow", file, full.type));
  *groups = full.task_groups.size();
  model::TaskGroup& growing = full.task_groups.at(group);
  growing.count = kCountMost;
  living::JobRegister event;
  event.job = std::make_shared<const model::Job>(std::move(full));
  if (auto done = apply(event); !done) return wrong(fmt::format("{}: {}", file, done.error()));
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

Growth find_mix(const serve::Start& start, const Settings& settings) {
  Growth fits, fails;
  fits.factor = 1;
  // Twice the capacity of cpu and memory, so that the search ends at a growth that does not fit.
  const Packing packing = WhatIf(start, settings).packing();
  const double held = std::max(packing.cpu, packing.memory);
  std::int64_t low = 0;
  std::int64_t high = held > 0 ? static_cast<std::int64_t>(std::min(kPercentMost, 2 * (100 / held - 100))) + 2 : 1;
  while (high - low > 1) {
    const std::int64_t percent = low + (high - low) / 2;
    Growth tried = WhatIf(start, settings).grow_all(percent);
    if (tried.ended) {
      high = percent, fails = std::move(tried);
    } else {
      low = percent, fits = std::move(tried);
    }
  }
  fits.ended = fails.ended, fits.job = fails.job, fits.group = fails.group, fits.reasons = fails.reasons;
  return fits;
}

}  // namespace berth::whatif
