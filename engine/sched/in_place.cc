#include "sched/in_place.h"

#include <algorithm>

#include "base/json.h"
#include "base/text.h"
#include "model/codec/codec.h"
#include "model/job.h"
#include "model/predicates.h"
#include "model/update/tasks_updated.h"
#include "sched/node/set_keys.h"

namespace berth::sched {

using tables::AllocRow;
using tables::kNoRow;
using tables::NodeRow;

bool InPlaceCheck::same_spec(AllocRow alloc) {
  const tables::VersionRow version = snapshot_.allocs.job[alloc];
  if (version == kNoRow) return true;  // import refuses such allocations (R-RECON-40)
  if (version != last_version_) {
    last_version_ = version;
    last_same_ = snapshot_.jobs.versions[version]->spec->job_modify_index == job_.spec->job_modify_index;
  }
  return last_same_;
}

const InPlaceCheck::Verdict& InPlaceCheck::verdict(AllocRow alloc) {
  const tables::VersionRow version = snapshot_.allocs.job[alloc];
  const tables::Symbol group = snapshot_.allocs.group[alloc];
  const auto is_it = [&](const Verdict& v) { return v.version == version && v.group == group; };
  if (last_verdict_ < verdicts_.size() && is_it(verdicts_[last_verdict_])) return verdicts_[last_verdict_];
  auto found = std::find_if(verdicts_.begin(), verdicts_.end(), is_it);
  if (found == verdicts_.end()) {
    if (version == kNoRow) {  // no job to compare with; import refuses such allocations (R-RECON-40)
      last_verdict_ = verdicts_.size();
      verdicts_.push_back({version, group, true, false, kNoRow});
      return verdicts_[last_verdict_];
    }
    const auto& theirs = snapshot_.jobs.versions[version]->spec;
    Verdict v{version, group, model::tasks_updated(*theirs, *job_.spec, snapshot_.text(group), quirks_), false, kNoRow};
    model::Allocation of;
    of.job = theirs;
    of.task_group = snapshot_.text(group);
    const auto limit = model::max_run_duration(of);
    v.run_limited = limit.has_value();
    if (!quirks_.max_run_skips_test) {  // then only a changed duration skips the test
      of.job = job_.spec;
      v.run_limited = limit && model::max_run_duration(of) != limit;
    }
    for (std::uint32_t g = 0; g < job_.groups.size() && v.position == kNoRow; ++g)
      if (job_.groups[g].name == group) v.position = g;
    found = verdicts_.insert(verdicts_.end(), v);
  }
  last_verdict_ = static_cast<std::size_t>(found - verdicts_.begin());
  return *found;
}

bool InPlaceCheck::on_target(NodeRow node) {
  if (node == kNoRow || !snapshot_.nodes.exists(node)) return false;
  const auto known = [&](std::vector<std::int8_t>& answers, tables::ColumnId id, auto decide) {
    const tables::KeyedColumn& column = snapshot_.nodes.column(id);
    answers.resize(column.values.size() + 1, -1);
    const std::uint32_t code = column.code(node);
    if (answers[code] < 0) answers[code] = decide(code == 0 ? std::string() : snapshot_.text(column.value(code)));
    return answers[code] != 0;
  };
  return known(datacenter_fits_, tables::kDatacenterColumn,
               [&](const std::string& text) {
                 return std::any_of(job_.spec->datacenters.begin(), job_.spec->datacenters.end(),
                                    [&](const std::string& pattern) { return base::glob_match(pattern, text); });
               }) &&
         known(pool_fits_, tables::kPoolColumn,
               [&](const std::string& text) { return job_.spec->node_pool == "all" || job_.spec->node_pool == text; });
}

InPlaceCheck::Answer InPlaceCheck::judge(AllocRow alloc, GenericStack& stack, PlanRows& plan) {
  held_ = nullptr;
  shape_.reset();
  const Verdict& v = verdict(alloc);
  if (v.must_replace) return Answer::destructive;
  if (snapshot_.allocs.terminal(alloc)) return Answer::ignore;
  const NodeRow node = snapshot_.allocs.node[alloc];
  if (!on_target(node)) return Answer::destructive;
  if (v.run_limited) return Answer::in_place;  // R-SCHED-111
  const std::uint32_t group = v.position;
  plan::PlannedStop& probe = plan.stops.emplace_back();  // R-SCHED-112, 113
  probe.alloc = alloc;
  stack.stopped(static_cast<std::uint32_t>(plan.stops.size() - 1));
  SelectOptions options;
  options.name_index = snapshot_.allocs.name_index[alloc];
  const auto& cold = snapshot_.allocs.cold[alloc];
  if (cold) options.name = cold->name;
  auto selected = stack.select_one(node, group, options);
  stack.pop_stop(alloc);
  stack.forget_last_stop();
  if (!selected) return Answer::destructive;
  merge(alloc, group, std::move(*selected), true);
  return Answer::in_place;
}

void InPlaceCheck::merge(AllocRow alloc, std::uint32_t group, Selected selected, bool keeps_cores) {
  const tables::ResourceShape& before = snapshot_.allocs.shape_of(alloc);
  const tables::CompiledGroup& compiled = job_.groups[group];
  const bool plain = !before.special() && before.resources && !selected.held->special() && !compiled.has_network &&
                     !compiled.has_task_network && !compiled.has_devices && !compiled.has_cores;
  if (plain) {
    held_ = selected.held;
    shape_ = std::move(selected.shape);
    return;
  }
  const model::AllocatedResources& chosen = *selected.held->resources;
  const model::AllocatedResources* const old = before.resources.get();
  const std::uint8_t kind = NodeFit::kind_of(compiled);
  model::AllocatedResources& out = shapes_.next(kind);  // reused: every field is overwritten
  const auto name = [](const auto& entry) -> const std::string& { return entry.first; };
  set_keys(out.tasks, chosen.tasks, name);
  for (auto& [key, task] : out.tasks) {
    const model::AllocatedTask& offered = chosen.tasks.find(key)->second;
    const auto entry = old ? old->tasks.find(key) : chosen.tasks.end();
    const model::AllocatedTask* const theirs = old && entry != old->tasks.end() ? &entry->second : nullptr;
    task.memory = offered.memory;
    task.cpu.cpu_shares = offered.cpu.cpu_shares;
    if (!keeps_cores)
      task.cpu.reserved_cores = offered.cpu.reserved_cores;
    else if (theirs)
      task.cpu.reserved_cores = theirs->cpu.reserved_cores;
    else
      task.cpu.reserved_cores.clear();
    if (theirs) {
      task.networks = theirs->networks;
      task.devices = theirs->devices;
      continue;
    }
    task.networks.clear();
    task.devices.clear();
    const auto& cold = snapshot_.allocs.cold[alloc];
    if (old || !cold) continue;
    if (const json::Value* legacy = cold->task_resources.find(key))
      for (const json::Value& network : (*legacy)["Networks"].items()) {
        model::NetworkResource read;
        if (model::from_json(network, read)) task.networks.push_back(std::move(read));
      }
  }
  set_keys(out.task_lifecycles, chosen.task_lifecycles, name);
  for (auto& [key, lifecycle] : out.task_lifecycles) lifecycle = chosen.task_lifecycles.find(key)->second;
  if (old) {
    out.shared.networks = old->shared.networks;
    out.shared.ports = old->shared.ports;
  } else {
    out.shared.networks.clear();
    out.shared.ports.clear();
  }
  out.shared.disk_mb = compiled.disk_mb;
  shape_ = shapes_.share(kind);
  held_ = shape_.get();
}

}  // namespace berth::sched
