#include "plan/node_check.h"

#include <algorithm>

#include "base/assert.h"
#include "model/job.h"
#include "model/predicates.h"
#include "tables/state.h"

namespace berth::plan {

using tables::AllocRow;
using tables::Client;
using tables::kNoRow;
using tables::NodeStatus;

/// Lists what the rules count on the node: its rows, then the plan's entries.
void NodeCheck::list(const tables::Snapshot& state, std::span<const NodeEntry> entries) {
  const tables::AllocTable& allocs = state.allocs;
  fit_entries_.clear();
  for (const AllocRow a : rows_) {
    const tables::VersionRow version = allocs.job[a];
    const model::TaskGroup* group = nullptr;
    if (version != kNoRow)
      for (const tables::CompiledGroup& one : state.jobs.versions[version]->groups)
        if (!group && one.name == allocs.group[a]) group = one.spec;
    fit_entries_.push_back({allocs.shape_of(a).resources.get(), {}, group});
  }
  for (const NodeEntry& entry : entries)
    fit_entries_.push_back({entry.consumes ? entry.resources : nullptr, {}, entry.consumes ? entry.group : nullptr});
}

NodeVerdict NodeCheck::check(const tables::Snapshot& state, tables::NodeRow row, std::span<const NodeEntry> entries,
                             std::span<const base::Uuid> leaving) {
  BERTH_ASSERT(!entries.empty());  // a node without entries would accept "all" of them, whatever its status
  const auto reject = [](std::string reason) { return NodeVerdict{false, std::move(reason), {}}; };
  const auto all = [&](auto accepts) { return std::all_of(entries.begin(), entries.end(), accepts); };
  if (row == kNoRow || !state.nodes.exists(row)) return reject("node does not exist");
  switch (state.nodes.status(row)) {
    case NodeStatus::disconnected:
      if (all([](const NodeEntry& e) { return e.client == Client::unknown; })) return {};
      return reject("node is disconnected and contains invalid updates");
    case NodeStatus::down:
      if (all([](const NodeEntry& e) {
            return e.client == Client::lost ||
                   (e.client == Client::unknown && !model::replaces_on_disconnect(e.group));  // R-CTRL-611
          }))
        return {};
      return reject("node is down and contains invalid updates");
    case NodeStatus::initializing:
      return reject("node is not ready for placements");
    case NodeStatus::ready:
      break;
  }
  const tables::AllocTable& allocs = state.allocs;
  const tables::NodeUse& use = state.nodes.use[row];
  rows_.clear();
  std::uint32_t running = 0;
  for (AllocRow a = use.alloc_head; a != kNoRow; a = allocs.next_on_node[a], ++running)
    if (!allocs.terminal(a)) rows_.push_back(a);
  BERTH_ASSERT(running == use.alloc_count);  // the columns count what the list holds
  const bool only_updates = all([&](const NodeEntry& e) {
    return std::any_of(rows_.begin(), rows_.end(), [&](AllocRow a) { return allocs.id[a] == e.id; });
  });
  if (only_updates) return {};
  if (!(state.nodes.state[row] & tables::kEligible)) return reject("node is not eligible");

  std::erase_if(rows_, [&](AllocRow a) {  // R-CTRL-612
    return std::find(leaving.begin(), leaving.end(), allocs.id[a]) != leaving.end() ||
           std::any_of(entries.begin(), entries.end(), [&](const NodeEntry& e) { return e.id == allocs.id[a]; });
  });
  std::sort(rows_.begin(), rows_.end(), [&](AllocRow a, AllocRow b) { return allocs.id[a] < allocs.id[b]; });
  list(state, entries);
  BERTH_ASSERT(fit_entries_.size() == rows_.size() + entries.size());
  const tables::NodeSpec& spec = state.nodes.spec(row);
  rank::Fit fit = rank::allocs_fit(spec.node, spec.ports, fit_entries_, true, network_index_);
  if (fit.dimension == rank::Dimension::alloc_ports) {  // only this text names an ID
    ids_.clear();
    for (const AllocRow a : rows_) ids_.push_back(base::to_text(allocs.id[a]));
    for (const NodeEntry& entry : entries) ids_.push_back(base::to_text(entry.id));
    for (std::size_t i = 0; i < ids_.size(); ++i) fit_entries_[i].id = ids_[i];
    fit = rank::allocs_fit(spec.node, spec.ports, fit_entries_, true, network_index_);
    BERTH_ASSERT(fit.dimension == rank::Dimension::alloc_ports);  // IDs change the text alone
  }
  if (fit.fits()) return {};
  NodeVerdict out = reject(fit.text());
  if (fit.dimension == rank::Dimension::max_allocs) out.error = "plan exceeds max allocation";
  return out;
}

NodeEntry entry_of(const model::Allocation& alloc, const model::Job* job) {
  if (alloc.job) job = alloc.job.get();
  NodeEntry entry;
  entry.id = base::parse_uuid(alloc.id).value_or(base::Uuid{});
  entry.client = tables::parse_client(alloc.client_status).value_or(Client::pending);
  entry.consumes = !model::is_client_terminal(alloc);
  entry.resources = alloc.allocated_resources ? &*alloc.allocated_resources : nullptr;
  entry.group = job ? job->group(alloc.task_group) : nullptr;
  return entry;
}

}  // namespace berth::plan
