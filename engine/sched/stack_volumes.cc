// Volumes of a Select: host and CSI volume checks over the tables (R-FEAS-305, 1101 to 1223). Only groups that ask for
// volumes come here.
#include <algorithm>

#include "sched/stack.h"
#include "tables/export.h"

namespace berth::sched {

using tables::kNoRow;
using tables::NodeRow;

std::string_view GenericStack::keep(std::string text) { return kept_texts_.emplace_back(std::move(text)); }

feasible::AllocView GenericStack::alloc_view(tables::AllocRow row) {
  const tables::AllocTable& allocs = snapshot_->allocs;
  const tables::JobKey& key = snapshot_->jobs.keys[allocs.job_key[row]];
  feasible::AllocView out;
  out.id = keep(base::to_text(allocs.id[row]));
  out.namespace_ = snapshot_->text(key.job_namespace);
  out.job_id = snapshot_->text(key.job_id);
  out.task_group = snapshot_->text(allocs.group[row]);
  if (const auto& cold = allocs.cold[row])
    out.name = cold->name;
  else
    out.name = keep(tables::alloc_name(*snapshot_, row));
  if (allocs.node[row] != kNoRow) out.node_id = keep(base::to_text(snapshot_->nodes.id(allocs.node[row])));
  out.desired_run = allocs.desired[row] == tables::Desired::run;
  out.client_running = allocs.client[row] == tables::Client::running;
  out.is_terminal = allocs.terminal(row);
  if (allocs.job[row] != kNoRow)
    out.group = snapshot_->jobs.versions[allocs.job[row]]->spec->group(std::string(out.task_group));
  return out;
}

NodeRow GenericStack::row_of(std::string_view node_id) const {
  const auto id = base::parse_uuid(node_id);
  if (!id) return kNoRow;
  const auto& by_id = *snapshot_->nodes.fixed->by_id;
  const auto at = std::lower_bound(by_id.begin(), by_id.end(), *id,
                                   [&](NodeRow row, base::Uuid wanted) { return snapshot_->nodes.id(row) < wanted; });
  return at != by_id.end() && snapshot_->nodes.id(*at) == *id ? *at : kNoRow;
}

std::vector<feasible::AllocView> GenericStack::node_views(NodeRow row, bool proposed_only) {
  std::vector<feasible::AllocView> out;
  if (row == kNoRow) return out;
  const tables::AllocTable& allocs = snapshot_->allocs;
  std::vector<tables::AllocRow> rows;
  const tables::NodeUse& use = snapshot_->nodes.use[row];
  for (tables::AllocRow a = use.alloc_head; a != kNoRow; a = allocs.next_on_node[a])
    if (!proposed_only || stays(scratch_.overlay(row), a)) rows.push_back(a);
  if (!proposed_only)
    for (tables::AllocRow a = use.ended_head; a != kNoRow; a = allocs.next_on_node[a]) rows.push_back(a);
  std::sort(rows.begin(), rows.end(),
            [&](tables::AllocRow a, tables::AllocRow b) { return allocs.id[a] < allocs.id[b]; });
  for (const tables::AllocRow a : rows) out.push_back(alloc_view(a));
  if (!proposed_only) return out;
  each_relisted(row, [&](tables::AllocRow a) { out.push_back(alloc_view(a)); });
  if (const NodeOverlay* overlay = scratch_.overlay(row))
    for (std::uint32_t i = overlay->first_alloc; i != kNoRow; i = plan_->allocs[i].next_on_node) {
      const PlannedAlloc& planned = plan_->allocs[i];
      const tables::CompiledJob& of = *snapshot_->jobs.versions[planned.job == kNoRow ? plan_->job : planned.job];
      const tables::CompiledGroup& group = of.groups[planned.group];
      feasible::AllocView& view = out.emplace_back();
      view.id = keep(base::to_text(planned.id));
      view.namespace_ = of.spec->namespace_;
      view.job_id = of.spec->id;
      view.task_group = group.spec->name;
      view.name = keep(of.name_base() + "." + group.spec->name + "[" + std::to_string(planned.name_index) + "]");
      view.node_id = keep(base::to_text(snapshot_->nodes.id(row)));
      view.desired_run = true;
      view.group = group.spec;
    }
  return out;
}

void GenericStack::prepare_volumes(const GroupView& v) {
  host_volumes_.reset();
  csi_volumes_.reset();
  if (!v.group->has_host_volumes && !v.group->has_csi_volumes) return;
  kept_texts_.clear();
  const tables::ColdState& cold = *snapshot_->cold;
  feasible::bind_volume_lists(volume_state_, cold.host_volumes, cold.host_volume_claims, cold.csi_volumes,
                              cold.csi_plugins);
  volume_state_.job = [this](std::string_view job_namespace, std::string_view id) -> const model::Job* {
    for (std::size_t i = 0; i < snapshot_->jobs.keys.size(); ++i) {
      const tables::JobKey& key = snapshot_->jobs.keys[i];
      if (key.current != kNoRow && snapshot_->text(key.job_id) == id &&
          snapshot_->text(key.job_namespace) == job_namespace)
        return snapshot_->jobs.versions[key.current]->spec.get();
    }
    return nullptr;
  };
  volume_state_.alloc = [this](std::string_view id) -> std::optional<feasible::AllocView> {
    const auto wanted = base::parse_uuid(id);
    if (!wanted) return std::nullopt;
    for (tables::AllocRow row = 0; row < snapshot_->allocs.size(); ++row)
      if (snapshot_->allocs.id[row] == *wanted) return alloc_view(row);
    return std::nullopt;
  };
  volume_state_.node_allocs = [this](std::string_view node_id) { return node_views(row_of(node_id), false); };
  volume_state_.proposed = [this](std::string_view node_id) { return node_views(row_of(node_id), true); };
  const std::string_view name =
      !options_.name.empty()
          ? options_.name
          : keep(job_->name_base() + "." + v.group->spec->name + "[" + std::to_string(options_.name_index) + "]");
  if (v.group->has_host_volumes)
    host_volumes_.emplace(*job_->spec, *v.group->spec, name, volume_state_, scratch_.options.quirks);
  if (v.group->has_csi_volumes) csi_volumes_.emplace(*job_->spec, *v.group->spec, name, volume_state_);
}

bool GenericStack::available(const Position& position) {  // R-FEAS-305
  if (!host_volumes_ && !csi_volumes_) return true;
  const model::Node& node = snapshot_->nodes.spec(position.row).node;
  if (host_volumes_ && !host_volumes_->passes(node)) {
    filter(position, kReasonHostVolumes);
    return false;
  }
  if (csi_volumes_) {
    for (const std::string& missing : csi_volumes_->missing_resources())  // R-FEAS-1203: only when a node gets here
      if (std::find(missing_resources_.begin(), missing_resources_.end(), missing) == missing_resources_.end())
        missing_resources_.push_back(missing);
    if (const auto reason = csi_volumes_->failure(node)) {
      filter(position, scratch_.reasons.id(*reason));
      return false;
    }
  }
  return true;
}

}  // namespace berth::sched
