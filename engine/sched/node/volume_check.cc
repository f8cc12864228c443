#include "sched/node/volume_check.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "base/text.h"
#include "model/job.h"
#include "tables/export.h"
#include "tables/state.h"

namespace berth::sched {

using tables::kNoRow;
using tables::NodeRow;

/// Returns a view without IDs and name, which would have to be formatted as text.
feasible::AllocView VolumeCheck::bare_view(tables::AllocRow row, const model::TaskGroup* group) const {
  const tables::Snapshot& state = *attempt_.snapshot;
  const tables::AllocTable& allocs = state.allocs;
  const tables::JobKey& key = state.jobs.keys[allocs.job_key[row]];
  feasible::AllocView out;
  out.namespace_ = state.text(key.job_namespace);
  out.job_id = state.text(key.job_id);
  out.task_group = state.text(allocs.group[row]);
  out.desired_run = allocs.desired[row] == tables::Desired::run;
  out.client_running = allocs.client[row] == tables::Client::running;
  out.is_terminal = allocs.terminal(row);
  out.group = group;
  return out;
}

feasible::AllocView VolumeCheck::alloc_view(tables::AllocRow row) {
  const tables::Snapshot& state = *attempt_.snapshot;
  const tables::AllocTable& allocs = state.allocs;
  feasible::AllocView out = bare_view(row, nullptr);
  out.id = keep(base::to_text(allocs.id[row]));
  if (const auto& cold = allocs.cold[row])
    out.name = cold->name;
  else
    out.name = keep(tables::alloc_name(state, row));
  if (allocs.node[row] != kNoRow) out.node_id = keep(base::to_text(state.nodes.id(allocs.node[row])));
  if (allocs.job[row] != kNoRow)
    out.group = state.jobs.versions[allocs.job[row]]->spec->group(std::string(out.task_group));
  return out;
}

feasible::AllocView VolumeCheck::planned_view(const PlannedAlloc& planned) {
  const tables::Snapshot& state = *attempt_.snapshot;
  const tables::CompiledJob& of = *state.jobs.versions[planned.job == kNoRow ? attempt_.plan->job : planned.job];
  const tables::CompiledGroup& group = of.groups[planned.group];
  feasible::AllocView out;
  out.id = keep(base::to_text(planned.id));
  out.namespace_ = of.spec->namespace_;
  out.job_id = of.spec->id;
  out.task_group = group.spec->name;
  out.name = keep(of.name_base() + "." + group.spec->name + "[" + std::to_string(planned.name_index) + "]");
  out.node_id = keep(base::to_text(state.nodes.id(planned.node)));
  out.desired_run = true;
  out.group = group.spec;
  return out;
}

void VolumeCheck::sort_by_id(std::vector<tables::AllocRow>& rows) const {
  const tables::AllocTable& allocs = attempt_.snapshot->allocs;
  std::sort(rows.begin(), rows.end(),
            [&](tables::AllocRow a, tables::AllocRow b) { return allocs.id[a] < allocs.id[b]; });
}

/// Returns the allocation's group in its job version if the group requests CSI volumes; otherwise null.
const model::TaskGroup* VolumeCheck::csi_group(tables::AllocRow row) const {
  const tables::Snapshot& state = *attempt_.snapshot;
  const tables::VersionRow version = state.allocs.job[row];
  if (version == kNoRow) return nullptr;
  for (const tables::CompiledGroup& group : state.jobs.versions[version]->groups)
    if (group.has_csi_volumes && group.name == state.allocs.group[row]) return group.spec;
  return nullptr;
}

/// Returns the state's allocations on the node, ended or not, that may use CSI volumes.
std::span<const feasible::AllocView> VolumeCheck::csi_views(NodeRow row) {
  csi_rows_.clear(), csi_views_.clear();
  if (row == kNoRow) return csi_views_;
  const tables::AllocTable& allocs = attempt_.snapshot->allocs;
  const tables::NodeUse& use = attempt_.snapshot->nodes.use[row];
  for (const tables::AllocRow head : {use.alloc_head, use.ended_head})
    for (tables::AllocRow a = head; a != kNoRow; a = allocs.next_on_node[a])
      if (csi_group(a)) csi_rows_.push_back(a);
  sort_by_id(csi_rows_);
  for (const tables::AllocRow a : csi_rows_) csi_views_.push_back(bare_view(a, csi_group(a)));
  return csi_views_;
}

std::vector<feasible::AllocView> VolumeCheck::proposed_views(NodeRow row) {
  std::vector<feasible::AllocView> out;
  keys_.clear();
  if (row == kNoRow) return out;
  const tables::AllocTable& allocs = attempt_.snapshot->allocs;
  std::vector<tables::AllocRow> rows;
  const auto add = [&](feasible::AllocView view, tables::JobKeyRow key) {
    keys_.try_emplace({view.namespace_, view.job_id}, key);
    out.push_back(view);
  };
  for (tables::AllocRow a = attempt_.snapshot->nodes.use[row].alloc_head; a != kNoRow; a = allocs.next_on_node[a])
    if (effects_.stays(attempt_.scratch.overlay(row), a)) rows.push_back(a);
  sort_by_id(rows);
  for (const tables::AllocRow a : rows) add(alloc_view(a), allocs.job_key[a]);
  effects_.each_relisted(row, [&](tables::AllocRow a) { add(alloc_view(a), allocs.job_key[a]); });
  if (const NodeOverlay* overlay = attempt_.scratch.overlay(row))
    for (std::uint32_t i = overlay->first_alloc; i != kNoRow; i = attempt_.plan->allocs[i].next_on_node) {
      const PlannedAlloc& planned = attempt_.plan->allocs[i];
      const tables::VersionRow version = planned.job == kNoRow ? attempt_.plan->job : planned.job;
      add(planned_view(planned), attempt_.snapshot->jobs.versions[version]->key);
    }
  return out;
}

/// The job of an allocation that the last call of proposed_views() returned; null: it was purged.
const model::Job* VolumeCheck::current_job(std::string_view job_namespace, std::string_view id) const {
  const auto key = keys_.find({job_namespace, id});
  if (key == keys_.end()) return nullptr;
  const tables::JobTable& jobs = attempt_.snapshot->jobs;
  const tables::VersionRow current = jobs.keys[key->second].current;
  return current == kNoRow ? nullptr : jobs.versions[current]->spec.get();
}

/// Returns the row of an allocation with a claim, mostly one of the job's own. Other IDs, also of removed allocations,
/// are searched among all rows: by a scan the first few times, then by an index of all rows.
tables::AllocRow VolumeCheck::find_row(base::Uuid id) {
  constexpr std::uint32_t kScans = 4;
  const tables::AllocTable& allocs = attempt_.snapshot->allocs;
  if (own_rows_.empty())
    for (tables::AllocRow row = attempt_.snapshot->jobs.keys[attempt_.job->key].alloc_head; row != kNoRow;
         row = allocs.next_of_job[row])
      own_rows_.emplace(allocs.id[row], row);
  if (const auto own = own_rows_.find(id); own != own_rows_.end()) return own->second;
  if (scans_ < kScans) {
    ++scans_;
    for (tables::AllocRow row = 0; row < allocs.size(); ++row)
      if (allocs.id[row] == id && allocs.exists(row)) return row;  // the row of a removed allocation still has its ID
    return kNoRow;
  }
  if (all_rows_.empty()) {
    all_rows_.reserve(allocs.size());
    for (tables::AllocRow row = 0; row < allocs.size(); ++row)
      if (allocs.exists(row)) all_rows_.emplace(allocs.id[row], row);
  }
  const auto found = all_rows_.find(id);
  return found == all_rows_.end() ? kNoRow : found->second;
}

std::optional<feasible::AllocView> VolumeCheck::find_alloc(std::string_view id) {
  const auto wanted = base::parse_uuid(id);
  const tables::AllocRow row = wanted ? find_row(*wanted) : kNoRow;
  return row == kNoRow ? std::nullopt : std::optional(alloc_view(row));
}

void VolumeCheck::begin_select(const GroupView& v, const SelectOptions& options) {
  view_ = v.group->has_host_volumes || v.group->has_csi_volumes ? &v : nullptr;
  options_ = &options;
  follows_known_ = false;
  if (begun_for_ == v.group) return;
  begun_for_ = nullptr;
  host_.reset();
  csi_.reset();
  csi_missing_ = kReasonNone;
}

void VolumeCheck::bind_state() {
  if (std::exchange(bound_, true)) return;
  const tables::ColdState& cold = *attempt_.snapshot->cold;
  feasible::bind_volume_lists(state_, cold.host_volumes, cold.csi_volumes, cold.csi_plugins);
  state_.job = [this](std::string_view job_namespace, std::string_view id) { return current_job(job_namespace, id); };
  state_.alloc = [this](std::string_view id) { return find_alloc(id); };
  state_.csi_allocs = [this](std::string_view id) { return csi_views(find_node(*attempt_.snapshot, id)); };
  state_.proposed = [this](std::string_view id) { return proposed_views(find_node(*attempt_.snapshot, id)); };
}

void VolumeCheck::begin_checks() {
  if (host_ || csi_) return;
  const GroupView& v = *view_;
  const SelectOptions& options = *options_;
  kept_texts_.clear();
  // The checks depend on neither the plan nor the allocation's name.
  if (!v.needs.has(Need::own_volumes) && !v.needs.has(Need::registered_volumes)) begun_for_ = v.group;
  bind_state();
  state_.claims = attempt_.snapshot->jobs.claims_of(attempt_.job->key);
  const model::Job& job = *attempt_.job->spec;
  const std::string_view name = !options.name.empty() ? options.name
                                                      : keep(attempt_.job->name_base() + "." + v.group->spec->name +
                                                             "[" + std::to_string(options.name_index) + "]");
  if (v.group->has_host_volumes) host_.emplace(job, *v.group->spec, name, state_, attempt_.quirks);
  if (v.group->has_csi_volumes) csi_.emplace(job, *v.group->spec, name, state_);
}

bool VolumeCheck::passes(const Position& position) {  // R-FEAS-305
  if (!view_) return true;
  begin_checks();
  const model::Node& node = attempt_.snapshot->nodes.spec(position.row).node;
  if (host_ && !host_->passes(node)) {
    counts_.filter(position.node_class, kReasonHostVolumes);
    return false;
  }
  if (csi_ && !csi_->passes(node)) {  // a missing volume fails every node
    counts_.filter(position.node_class, csi_reason(position.row));
    return false;
  }
  return true;
}

/// Returns the id of the reason why the node fails the CSI check. Missing volumes are the reason on every node, and are
/// listed once.
std::uint32_t VolumeCheck::csi_reason(NodeRow row) {
  if (csi_missing_ != kReasonNone) return csi_missing_;
  const std::uint32_t reason = attempt_.scratch.reasons.id(*csi_->failure(attempt_.snapshot->nodes.spec(row).node));
  if (csi_->missing_resources().empty()) return reason;
  std::unordered_set<std::string_view> named(missing_resources.begin(), missing_resources.end());
  std::vector<std::string> added;
  for (const std::string& missing : csi_->missing_resources())  // R-FEAS-1203: only when a node gets here
    if (named.insert(missing).second) added.push_back(missing);
  missing_resources.insert(missing_resources.end(), added.begin(), added.end());
  return csi_missing_ = reason;
}

std::string VolumeCheck::requested(const tables::CompiledGroup& group) {
  std::string out;
  for (const auto& [alias, volume] : group.spec->volumes)
    if (volume && volume->type == "host") base::append_sized(out, volume->source), out += volume->read_only ? 'r' : 'w';
  return out;
}

bool VolumeCheck::node_has(NodeRow row) {
  const tables::NodeTable& nodes = attempt_.snapshot->nodes;
  auto& known = attempt_.scratch.by_state.volume_answers;
  if (!follows_known_) {
    follows_known_ = true;
    std::string asked = requested(*view_->group);
    if (known.epoch != nodes.static_epoch || known.asked != asked || known.of_row.size() != nodes.size()) {
      known.epoch = nodes.static_epoch;
      known.asked = std::move(asked);
      known.of_row.assign(nodes.size(), kUnknown);
    }
  }
  std::uint8_t& answer = known.of_row[row];
  if (answer == kUnknown) {
    begin_checks();
    answer = host_->passes(nodes.spec(row).node) ? kPass : kFail;
  }
  return answer == kPass;
}

}  // namespace berth::sched
