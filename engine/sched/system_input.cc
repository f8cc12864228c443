#include "sched/system_input.h"

#include <algorithm>

#include "model/job.h"
#include "model/names.h"
#include "sched/stack/job_allocs.h"
#include "tables/export.h"

namespace berth::sched {

using reconcile::NodeAlloc;
using reconcile::NodeTaint;
using tables::AllocRow;
using tables::kNoRow;
using tables::NodeRow;
using tables::Snapshot;

void SystemInput::rank_nodes(const Snapshot& snapshot) {
  if (ranked_ == snapshot.nodes.fixed->by_id) return;
  ranked_ = snapshot.nodes.fixed->by_id;
  place_.assign(snapshot.nodes.size(), kNoRow);
  for (std::uint32_t place = 0; place < ranked_->size(); ++place) place_[(*ranked_)[place]] = place;
}

const SystemInput::Version& SystemInput::version(tables::VersionRow job) {
  for (const Version& known : versions_)
    if (known.job == job) return known;
  Version& out = versions_.emplace_back(Version{job, 0, false});
  if (job == kNoRow || !job_) return out;
  const tables::CompiledJob& own = *snapshot_->jobs.versions[job];
  const model::Job& current = *job_->spec;
  if (own.spec->job_modify_index == current.job_modify_index) out.flags |= NodeAlloc::kSameSpec;
  if (own.spec->id == current.id && own.version == job_->version && own.spec->create_index == current.create_index)
    out.flags |= NodeAlloc::kSameVersion;
  if (own.type == model::JobType::sysbatch) out.flags |= NodeAlloc::kSysbatchJob;
  out.same_name = own.name_base() == job_->name_base();
  return out;
}

std::uint32_t SystemInput::required_of(AllocRow row, const Version& version) {
  if (required_.empty()) return kNoRow;
  const tables::AllocTable& allocs = snapshot_->allocs;
  const std::uint32_t index = allocs.name_index[row];
  if (index != tables::kOddName && version.same_name) {
    for (std::size_t g = 0; g < job_->groups.size(); ++g)
      if (job_->groups[g].name == allocs.group[row])
        return static_cast<std::int64_t>(index) < job_->groups[g].count ? first_required_[g] + index : kNoRow;
    // Names of different groups may be equal: `a.b` + `c` and `a` + `b.c`.
  }
  if (required_texts_.empty())
    for (const reconcile::RequiredName& name : required_)
      required_texts_.push_back(model::alloc_name(job_->name_base(), job_->groups[name.group].spec->name, name.index));
  const std::string name = tables::alloc_name(*snapshot_, row);
  const auto found = std::find(required_texts_.begin(), required_texts_.end(), name);
  return found == required_texts_.end() ? kNoRow : static_cast<std::uint32_t>(found - required_texts_.begin());
}

NodeAlloc SystemInput::read(AllocRow row, bool live) {
  const tables::AllocTable& allocs = snapshot_->allocs;
  const Version& own = version(allocs.job[row]);
  NodeAlloc out;
  out.handle = row;
  out.desired = widened(allocs.desired[row]);
  out.client = widened(allocs.client[row]);
  out.flags = own.flags;
  if (live)
    if (const auto& cold = allocs.cold[row]) out.flags |= reconcile::flags_of(*cold, out.client, now_);
  out.required = required_of(row, own);
  return out;
}

void SystemInput::add_visit(NodeRow row, bool candidate, NodeTaint taint, std::span<const AllocRow> rows) {
  const tables::AllocTable& allocs = snapshot_->allocs;
  reconcile::NodeVisit visit;
  visit.handle = row;
  visit.taint = taint;
  visit.candidate = candidate;
  visit.live_begin = static_cast<std::uint32_t>(allocs_.size());
  const bool lost = taint == NodeTaint::gone || taint == NodeTaint::down;
  for (const AllocRow a : rows) {
    if (!allocs.terminal(a)) allocs_.push_back(read(a, true));
    if (lost && tables::server_terminal(allocs.desired[a]) &&
        (allocs.client[a] == tables::Client::running || allocs.client[a] == tables::Client::pending))
      finish_lost_.push_back(a);
  }
  visit.live_end = static_cast<std::uint32_t>(allocs_.size());
  if (visit.live_end == visit.live_begin && !candidate) return;
  // The newest terminal allocation of every name (R-MODEL-306).
  for (const AllocRow a : rows) {
    if (!allocs.terminal(a)) continue;
    const NodeAlloc entry = read(a, false);
    const auto same = std::find_if(allocs_.begin() + visit.live_end, allocs_.end(), [&](const NodeAlloc& known) {
      return known.required == entry.required &&
             (entry.required != kNoRow ||
              tables::alloc_name(*snapshot_, known.handle) == tables::alloc_name(*snapshot_, a));
    });
    if (same == allocs_.end())
      allocs_.push_back(entry);
    else if (allocs.create_index[a] > allocs.create_index[same->handle])
      *same = entry;
  }
  visit.terminal_end = static_cast<std::uint32_t>(allocs_.size());
  if (row != kNoRow && snapshot_->nodes.exists(row) && job_) {  // R-SCHED-31: no datacenter test
    const std::string& pool = job_->spec->node_pool;
    visit.not_ready = !snapshot_->nodes.ready(row) &&
                      (pool == "all" || pool.empty() || *snapshot_->value_text(tables::kPoolColumn, row) == pool);
  }
  visits_.push_back(visit);
}

/// Sorts the job's allocations by the place of their node in ID order. Those whose node is not in the state come last.
void SystemInput::sort_by_node(tables::JobKeyRow key) {
  const tables::AllocTable& allocs = snapshot_->allocs;
  const auto nodes = static_cast<std::uint32_t>(ranked_->size());
  entries_.clear();
  for (AllocRow row = snapshot_->jobs.keys[key].alloc_head; row != kNoRow; row = allocs.next_of_job[row]) {
    const NodeRow node = allocs.node[row];
    const std::uint32_t place = node == kNoRow ? kNoRow : place_[node];
    entries_.push_back({place == kNoRow ? nodes : place, row});
  }
  rows_.resize(entries_.size());
  if (entries_.empty()) return;
  ends_.assign(nodes + 2, 0);
  for (const Entry& entry : entries_) ++ends_[entry.place + 1];
  for (std::uint32_t place = 0; place <= nodes; ++place) ends_[place + 1] += ends_[place];  // the start of place + 1
  for (const Entry& entry : entries_) rows_[ends_[entry.place]++] = entry.row;
}

std::span<AllocRow> SystemInput::rows_at(std::uint32_t place) {
  const std::uint32_t begin = place == 0 ? 0 : ends_[place - 1];
  return std::span(rows_).subspan(begin, ends_[place] - begin);
}

/// ID of the node of an allocation that sort_by_node() put last.
base::Uuid SystemInput::former_node(AllocRow row) const {
  if (snapshot_->allocs.node[row] != kNoRow) return snapshot_->nodes.id(snapshot_->allocs.node[row]);
  const auto& cold = snapshot_->allocs.cold[row];
  return cold ? base::parse_uuid(cold->node_id).value_or(base::Uuid{}) : base::Uuid{};
}

/// Visits the former nodes with IDs below `before` (null: all), which are taken from the front of `gone`.
void SystemInput::visit_gone(std::span<const AllocRow>& gone, const base::Uuid* before) {
  while (!gone.empty() && (!before || former_node(gone.front()) < *before)) {
    std::size_t count = 1;
    while (count < gone.size() && former_node(gone[count]) == former_node(gone.front())) ++count;
    add_visit(kNoRow, false, NodeTaint::gone, gone.first(count));
    gone = gone.subspan(count);
  }
}

/// Visits all candidates and all nodes with allocations of the job, in ID order.
void SystemInput::visit_nodes(const ReadyNodes* ready) {
  const auto& ids = snapshot_->allocs.id;
  const auto nodes = static_cast<std::uint32_t>(ranked_->size());
  const std::span<AllocRow> last = rows_at(nodes);
  std::sort(last.begin(), last.end(), [&](AllocRow a, AllocRow b) {
    const base::Uuid left = former_node(a), right = former_node(b);
    return left == right ? ids[a] < ids[b] : left < right;
  });
  std::span<const AllocRow> gone = last;
  std::size_t next_ready = 0;
  for (std::uint32_t place = 0; place < nodes; ++place) {
    const NodeRow row = (*ranked_)[place];
    const bool candidate = ready && next_ready < ready->size() && ready->candidates[next_ready].row == row;
    next_ready += candidate;
    const std::span<AllocRow> rows = rows_at(place);
    if (rows.empty() && !candidate) continue;
    if (!gone.empty()) {
      const base::Uuid id = snapshot_->nodes.id(row);
      visit_gone(gone, &id);
    }
    if (rows.empty()) {
      visits_.push_back({.handle = row, .candidate = true});
      visits_.back().live_begin = visits_.back().live_end = visits_.back().terminal_end =
          static_cast<std::uint32_t>(allocs_.size());
      continue;
    }
    if (rows.size() > 1) std::sort(rows.begin(), rows.end(), [&](AllocRow a, AllocRow b) { return ids[a] < ids[b]; });
    add_visit(row, candidate, taint_of(*snapshot_, row), rows);
  }
  visit_gone(gone, nullptr);
}

reconcile::NodeInput& SystemInput::gather(const Snapshot& snapshot, tables::JobKeyRow key,
                                          const tables::CompiledJob* job, const ReadyNodes* ready, std::int64_t now) {
  snapshot_ = &snapshot;
  job_ = job;
  now_ = now;
  visits_.clear();
  allocs_.clear();
  finish_lost_.clear();
  versions_.clear();
  required_texts_.clear();
  reconcile::required_names(job ? job->spec.get() : nullptr, required_);
  first_required_.assign(job ? job->groups.size() : 0, 0);
  for (std::uint32_t r = static_cast<std::uint32_t>(required_.size()); r-- > 0;)
    first_required_[required_[r].group] = r;
  rank_nodes(snapshot);
  sort_by_node(key);
  if (!rows_.empty())
    visit_nodes(ready);
  else if (ready)
    for (const ReadyNodes::Candidate& c : ready->candidates) visits_.push_back({.handle = c.row, .candidate = true});
  input_ = {};
  input_.job = snapshot.jobs.objects[key].get();
  input_.required = required_;
  input_.visits = visits_;
  input_.allocs = allocs_;
  input_.now = now;
  return input_;
}

bool SystemInput::has_old_server(const Snapshot& snapshot, const ReadyNodes& ready) {
  const tables::NodeTable& nodes = snapshot.nodes;
  if (old_servers_.epoch != nodes.static_epoch) {
    old_servers_.epoch = nodes.static_epoch;
    old_servers_.column = tables::kNoColumn;
    old_servers_.codes.clear();
    old_servers_.any = false;
    for (tables::ColumnId id = tables::kFirstKeyColumn; id < nodes.fixed->columns.size(); ++id)
      if (nodes.column(id).kind == tables::KeyKind::attribute && snapshot.text(nodes.column(id).key) == "nomad.version")
        old_servers_.column = id;
    if (old_servers_.column == tables::kNoColumn) return false;
    const tables::KeyedColumn& column = nodes.column(old_servers_.column);
    old_servers_.codes.push_back(0);
    for (std::uint32_t code = 1; code <= column.values.size(); ++code) {
      old_servers_.codes.push_back(reconcile::is_before_deployments(snapshot.text(column.value(code))));
      old_servers_.any = old_servers_.any || old_servers_.codes.back() != 0;
    }
  }
  if (!old_servers_.any) return false;
  return std::any_of(ready.candidates.begin(), ready.candidates.end(), [&](const ReadyNodes::Candidate& c) {
    return old_servers_.codes[nodes.code(old_servers_.column, c.row)] != 0;
  });
}

}  // namespace berth::sched
