#include "tables/commit.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "tables/export.h"
#include "tables/table_lock.h"
#include "tables/whole_row.h"

namespace berth::tables {

Commit::Commit(StateStore& store, std::uint64_t index)
    : store_(store), lock_(lock_tables(store.mutex_)), index_(index) {
  store.noted_key_ = kNoRow;
}

Commit::~Commit() {
  if (!changed_) return;
  store_.current_.index = std::max(store_.current_.index, index_);
  if (store_.history_) store_.settle();
}

// ---------------------------------------------------------------- nodes

NodeRow Commit::upsert_node(const model::Node& node) {
  const auto id = base::parse_uuid(node.id);
  if (!id) return kNoRow;
  touch();
  NodeRow row = store_.find_node(*id);
  if (row == kNoRow) row = store_.new_node_row(*id);
  const bool listed = store_.current_.nodes.exists(row);
  store_.fill_node(row, StateStore::make_spec(node, false), nullptr);
  if (!listed) store_.list_node(row);
  store_.note_ready(row);
  store_.current_.nodes.index = std::max(store_.current_.nodes.index, index_);
  note_node(row);
  BERTH_ASSERT(store_.find_node(*id) == row && store_.current_.nodes.exists(row));
  return row;
}

void Commit::remove_node(NodeRow row) {
  NodeTable& nodes = store_.current_.nodes;
  if (!nodes.exists(row)) return;
  touch();
  store_.count_kind(nodes.capacity(row), -1);
  nodes.state.edit(row) = kGone;
  store_.unlist_node(row);
  store_.note_ready(row);
  ++nodes.static_epoch;  // the node's values no longer count
  nodes.index = std::max(nodes.index, index_);
  note_node(row);
  store_.give_up_node(row);
}

void Commit::set_node_state(NodeRow row, NodeStatus status, bool eligible, bool draining) {
  NodeTable& nodes = store_.current_.nodes;
  BERTH_ASSERT(nodes.exists(row));
  touch();
  nodes.state.edit(row) = state_bits(status, eligible, draining);
  store_.note_ready(row);
  nodes.index = std::max(nodes.index, index_);
  note_node(row);
}

// ---------------------------------------------------------------- jobs

VersionRow Commit::upsert_job(const std::shared_ptr<const model::Job>& job, bool current) {
  touch();
  const VersionRow row = store_.job_row(job, current, current);
  BERTH_ASSERT(store_.current_.jobs.versions[row]);
  if (!current) return row;
  const JobKeyRow key = store_.current_.jobs.versions[row]->key;
  BERTH_ASSERT(store_.current_.jobs.keys[key].current == row);
  note_job(key);
  return row;
}

void Commit::alias_job(const std::shared_ptr<const model::Job>& job, VersionRow row) {
  BERTH_ASSERT(store_.current_.jobs.versions[row]);
  if (!store_.job_rows_.emplace(job.get(), row).second) return;
  const JobKeyRow key = store_.current_.jobs.versions[row]->key;
  if (store_.current_.jobs.keys[key].current == row) {
    touch();
    store_.set_object(key, job);
  } else {
    store_.keep_alias(row, job);
  }
}

void Commit::alias_version(const std::shared_ptr<const model::Job>& job, const model::Job& known) {
  if (const auto row = store_.job_rows_.find(&known); row != store_.job_rows_.end()) alias_job(job, row->second);
}

void Commit::forget_version(const model::Job& job) {
  const auto known = store_.job_rows_.find(&job);
  if (known == store_.job_rows_.end()) return;
  touch();
  store_.current_.jobs.stored.edit(known->second) = 0;
  store_.give_up_version(known->second);
}

void Commit::purge_job(JobKeyRow key) {
  touch();
  const VersionRow before = std::exchange(store_.edit_key(key).current, kNoRow);
  store_.set_object(key, nullptr);
  if (!store_.current_.jobs.claims_of(key).empty()) store_.current_.jobs.claims.edit(key) = nullptr;
  BERTH_ASSERT(before == kNoRow || store_.current_.jobs.versions[before]->key == key);
  if (before != kNoRow) store_.give_up_version(before);
  note_job(key);
}

JobKeyRow Commit::job_key(std::string_view job_namespace, std::string_view job_id) {
  if (const JobKeyRow known = store_.find_job_key(job_namespace, job_id); known != kNoRow) return known;
  touch();
  return store_.key_row(job_namespace, job_id);
}

// ---------------------------------------------------------------- allocations

AllocRow Commit::insert_plain(const PlainAlloc& alloc) { return insert_plain(alloc, alloc.shape); }

AllocRow Commit::insert_plain(const PlainAlloc& alloc, const std::shared_ptr<const ResourceShape>& shape) {
  touch_allocs();
  const CompiledJob& job = *store_.current_.jobs.versions[alloc.job];
  BERTH_ASSERT(alloc.group < job.groups.size() && !alloc.id.is_nil());
  BERTH_ASSERT(alloc.node == kNoRow || alloc.node < store_.current_.nodes.size());
  const CompiledGroup& group = job.groups[alloc.group];
  const ResourceShape* held = shape ? shape.get() : group.shape.get();
  ShapeId id;
  if (held == group.shape.get())
    id = group.shape_id;
  else if (held == group.shape_oversubscribed.get())
    id = group.shape_oversubscribed_id;
  else
    id = store_.shape_id(shape);
  return note_alloc(store_.append_alloc({alloc.id, alloc.node, alloc.job, job.key, group.name, alloc.name_index,
                                         Desired::run, alloc.client, id, index_, index_, alloc.eval, alloc.modify_time},
                                        alloc.links, alloc.cold));
}

AllocRow Commit::insert_alloc(const model::Allocation& alloc) {
  const auto id = base::parse_uuid(alloc.id);
  if (!id) return kNoRow;
  touch_allocs();
  const auto cold = std::make_shared<model::Allocation>(alloc);
  const VersionRow job = alloc.job ? store_.job_row(alloc.job, false, false) : kNoRow;
  const JobKeyRow key = store_.key_row(alloc.namespace_, alloc.job_id);
  std::shared_ptr<const ResourceShape> shape;
  if (alloc.allocated_resources) {
    // The shape points into the cold object and keeps it alive.
    shape = make_shape(std::shared_ptr<const model::AllocatedResources>(cold, &*cold->allocated_resources));
  } else {
    static const auto kNothing = std::make_shared<const ResourceShape>();
    shape = kNothing;
  }
  const std::string& base = job == kNoRow ? alloc.job_id : store_.current_.jobs.versions[job]->name_base();
  const std::uint32_t name_index = standard_index(alloc.name, base, alloc.task_group);
  const Symbol group = store_.symbols_.intern(alloc.task_group);
  const NodeRow node = store_.find_node(alloc.node_id);
  return note_alloc(store_.append_alloc(
      {*id, node, job, key, group, name_index, parse_desired(alloc.desired_status).value_or(Desired::run),
       parse_client(alloc.client_status).value_or(Client::pending), store_.shape_id(shape), alloc.create_index,
       alloc.modify_index, store_.history_ ? store_.find_eval(alloc.eval_id) : kNoRow},
      {}, cold));
}

void Commit::update_in_place(AllocRow row, VersionRow job, const std::shared_ptr<const ResourceShape>& shape) {
  touch_allocs();
  AllocTable& a = store_.current_.allocs;
  BERTH_ASSERT(row < a.size() && a.exists(row));
  note_alloc(row);
  const NodeRow node = a.node[row];
  BERTH_ASSERT(store_.current_.jobs.versions[job]);
  BERTH_ASSERT(store_.current_.jobs.versions[job]->key == a.job_key[row]);  // a version of the allocation's own job
  const bool counts = node != kNoRow && !client_terminal(a.client[row]);
  const StateStore::AllocRefs before = store_.refs_of(row);
  NodeUse* use = counts ? &store_.current_.nodes.use.edit(node) : nullptr;
  if (use) store_.count_use(*use, row, -1);
  a.job.edit(row) = job;
  if (shape) a.shape.edit(row) = store_.shape_id(shape);
  note_server_change(row);
  store_.move_refs(row, before, before.eval, before.deployment);
  if (!use) return;
  store_.count_use(*use, row, 1);
  store_.refresh_free(node, *use);
}

void Commit::set_links(AllocRow row, const AllocLinks& links) {
  touch_allocs();
  note_alloc(row);
  BERTH_ASSERT(store_.current_.allocs.exists(row) && !store_.current_.allocs.cold[row]);  // an object has its own links
  const StateStore::AllocRefs before = store_.refs_of(row);
  store_.current_.allocs.set_links(row, links);
  store_.move_refs(row, before, before.eval, links.deployment);
}

void Commit::set_modified(AllocRow row, std::int64_t at_ns) {
  if (store_.history_) store_.current_.allocs.stamp.edit(row).modify_time = at_ns;
}

void Commit::set_metrics(AllocRow row, std::shared_ptr<const model::AllocMetric> metrics) {
  BERTH_ASSERT(row < store_.current_.allocs.size());
  touch_allocs();
  auto& details = store_.current_.allocs.details;
  if (row >= details.size()) details.resize(row + 1);
  details.edit(row) = std::move(metrics);
}

void Commit::set_eval(AllocRow row, StoredEvalRow eval) {
  BERTH_ASSERT(eval == kNoRow || store_.current_.evals.exists(eval));
  if (store_.history_) store_.set_alloc_eval(row, eval);
}

void Commit::set_modify_index(AllocRow row) {
  touch_allocs();
  note_alloc(row);
  if (index_ != 0) store_.current_.allocs.modify_index.edit(row) = index_;
}

void Commit::replace_alloc(AllocRow row, std::shared_ptr<const model::Allocation> alloc) {
  touch_allocs();
  AllocTable& a = store_.current_.allocs;
  BERTH_ASSERT(row < a.size() && a.exists(row));
  note_alloc(row);
  const NodeRow node = a.node[row];
  // Rows of allocations from before their node, as in an import without it, do not refer to that node.
  BERTH_DEBUG_ASSERT(node == kNoRow || node == store_.find_node(alloc->node_id));
  BERTH_ASSERT(base::parse_uuid(alloc->id) == a.id[row]);
  const StateStore::AllocRefs before = store_.refs_of(row);
  const VersionRow job = alloc->job ? store_.job_row(alloc->job, false, false) : a.job[row];
  const ResourceShape& held = a.shape_of(row);
  ShapeId shape = a.shape[row];
  const bool same = alloc->allocated_resources ? held.resources && *held.resources == *alloc->allocated_resources
                                               : held.resources == nullptr;
  if (!same)
    shape = store_.shape_id(alloc->allocated_resources ? make_shape(std::shared_ptr<const model::AllocatedResources>(
                                                             alloc, &*alloc->allocated_resources))
                                                       : std::make_shared<const ResourceShape>());
  const Client client = parse_client(alloc->client_status).value_or(Client::pending);
  const bool ended = client_terminal(a.client[row]), ends = client_terminal(client);
  NodeUse* use = node == kNoRow ? nullptr : &store_.current_.nodes.use.edit(node);
  if (use && !ended) store_.count_use(*use, row, -1);
  a.job.edit(row) = job;
  a.shape.edit(row) = shape;
  a.client.edit(row) = client;
  if (use) {
    if (ended != ends) {
      store_.unlink_on_node(*use, row);
      store_.link_on_node(*use, row, ends);
    }
    if (!ends) store_.count_use(*use, row, 1);
    store_.refresh_free(node, *use);
  }
  a.desired.edit(row) = parse_desired(alloc->desired_status).value_or(Desired::run);
  a.create_index.edit(row) = alloc->create_index;
  a.modify_index.edit(row) = alloc->modify_index;
  forget_report(row);
  if (!store_.history_) {
    a.cold.edit(row) = std::move(alloc);
    return;
  }
  const model::Allocation* old = a.cold[row].get();  // usually with the same evaluation and deployment
  const StoredEvalRow eval = old && old->eval_id == alloc->eval_id ? before.eval : store_.find_eval(alloc->eval_id);
  const DeploymentRow deployment = old && old->deployment_id == alloc->deployment_id
                                       ? before.deployment
                                       : store_.find_deployment(alloc->deployment_id);
  if (!old) a.set_links(row, {});  // the object has them from now on
  a.stamp.edit(row).modify_time = alloc->modify_time;
  a.cold.edit(row) = std::move(alloc);
  store_.move_refs(row, before, eval, deployment);
}

std::shared_ptr<model::Allocation> Commit::take_object(AllocRow row) {
  touch_allocs();
  AllocTable& a = store_.current_.allocs;
  BERTH_ASSERT(a.exists(row));
  if (a.cold[row]) {
    // After edit() no snapshot shares the cell: a snapshot that sees this object has its own reference.
    auto& cell = a.cold.edit(row);
    if (cell.use_count() == 1) {
      auto object = std::const_pointer_cast<model::Allocation>(std::move(cell));
      cell = nullptr;
      lay_over(a, row, *object);
      return object;
    }
  }
  return std::make_shared<model::Allocation>(to_alloc(row));
}

void Commit::rewrite_alloc(AllocRow row, std::shared_ptr<const model::Allocation> alloc) {
  touch_allocs();
  AllocTable& a = store_.current_.allocs;
  BERTH_ASSERT(row < a.size() && a.exists(row));
  note_alloc(row);
  BERTH_DEBUG_ASSERT(base::parse_uuid(alloc->id) == a.id[row]);
  const bool live = !a.terminal(row);
  if (const Client client = parse_client(alloc->client_status).value_or(Client::pending); client != a.client[row])
    write_client(row, client);
  if (const Desired desired = parse_desired(alloc->desired_status).value_or(Desired::run); desired != a.desired[row])
    a.desired.edit(row) = desired;
  count_live(row, live);
  a.create_index.edit(row) = alloc->create_index;
  a.modify_index.edit(row) = alloc->modify_index;
  set_modified(row, alloc->modify_time);
  put_object(row, std::move(alloc));
}

void Commit::put_object(AllocRow row, std::shared_ptr<const model::Allocation> object) {
  AllocTable& a = store_.current_.allocs;
  forget_report(row);
  if (const AllocLinks links = a.links_of(row);
      store_.history_ && (links.previous != kNoRow || links.next != kNoRow || links.preempted_by != kNoRow ||
                          links.deployment != kNoRow)) {
    const StateStore::AllocRefs before = store_.refs_of(row);
    a.set_links(row, {});
    store_.move_refs(row, before, before.eval, before.deployment);
  }
  a.cold.edit(row) = std::move(object);
}

void Commit::remove_alloc(AllocRow row) {
  touch_allocs();
  AllocTable& a = store_.current_.allocs;
  BERTH_ASSERT(row < a.size() && a.exists(row));
  note_alloc(row);
  const NodeRow node = a.node[row];
  if (node != kNoRow) {
    NodeUse& use = store_.current_.nodes.use.edit(node);
    const bool counts = !client_terminal(a.client[row]);
    BERTH_ASSERT(counts ? use.alloc_head != kNoRow : use.ended_head != kNoRow);  // one of them is this row
    if (counts) store_.count_use(use, row, -1);
    store_.unlink_on_node(use, row);
    if (counts)
      store_.refresh_free(node, use);
    else  // an ended allocation held nothing
      store_.note_ended(node);
  }
  const AllocRow older = a.next_of_job[row];
  if (AllocRow& head = store_.edit_key(a.job_key[row]).alloc_head; head == row) {
    head = older;
    if (store_.history_ && older != kNoRow) store_.history_->allocs[older].prev_of_job = kNoRow;
  } else {
    AllocRow newer = kNoRow;
    if (store_.history_)
      newer = store_.history_->allocs[row].prev_of_job;
    else
      for (newer = head; a.next_of_job[newer] != row;) newer = a.next_of_job[newer];
    BERTH_ASSERT(newer != kNoRow);  // every allocation is in the list of its job
    a.next_of_job.edit(newer) = older;
    if (store_.history_ && older != kNoRow) store_.history_->allocs[older].prev_of_job = newer;
  }
  const StateStore::AllocRefs before = store_.refs_of(row);
  a.node.edit(row) = kNoRow;
  a.job_key.edit(row) = kNoRow;  // AllocTable::exists()
  a.cold.set(row, nullptr);
  forget_report(row);
  if (row < a.logs.size() && a.logs[row]) a.logs.edit(row) = nullptr;
  if (!store_.history_) return;
  a.job.edit(row) = kNoRow;
  store_.alloc_rows_.forget(row);
  store_.move_refs(row, before, kNoRow, kNoRow);
  store_.give_up_alloc(row);
  if (node != kNoRow) store_.give_up_node(node);
}

void Commit::count_live(AllocRow row, bool before) {
  if (!store_.history_) return;
  const AllocTable& a = store_.current_.allocs;
  const bool live = !a.terminal(row);
  if (live == before) return;
  BERTH_ASSERT(live || store_.history_->jobs[a.job_key[row]].live_allocs > 0);
  store_.history_->jobs[a.job_key[row]].live_allocs += static_cast<std::uint32_t>(live) - before;
  if (const StoredEvalRow eval = a.stamp[row].eval; eval != kNoRow) store_.count_ended(eval, !before, !live);
}

void Commit::set_desired_status(AllocRow row, Desired status) {
  touch_allocs();
  AllocTable& a = store_.current_.allocs;
  BERTH_ASSERT(row < a.size() && a.exists(row));
  note_alloc(row);
  const bool live = !a.terminal(row);
  a.desired.edit(row) = status;
  count_live(row, live);
  note_server_change(row);
}

void Commit::set_client_status(AllocRow row, Client status) {
  touch_allocs();
  AllocTable& a = store_.current_.allocs;
  BERTH_ASSERT(row < a.size() && a.exists(row));
  note_alloc(row);
  const bool live = !a.terminal(row);
  write_client(row, status);
  count_live(row, live);
  note_server_change(row);
}

void Commit::write_report(AllocRow row, Client status, const Reported& said, std::uint8_t health,
                          std::int64_t modified_ns) {
  touch_allocs();
  AllocTable& a = store_.current_.allocs;
  BERTH_ASSERT(row < a.size() && a.exists(row));
  note_alloc(row);
  BERTH_ASSERT(!a.cold[row]);  // a row with an object gets its report there
  if (status != a.client[row]) {
    const bool live = !a.terminal(row);
    write_client(row, status);
    count_live(row, live);
  }
  if (health != a.links[row].health) a.links.edit(row).health = health;
  Reported kept = said;
  kept.alloc_modify_index = a.has_report(row) ? a.reported[row].alloc_modify_index : a.modify_index[row];
  a.set_report(row, kept);
  a.clear_reported_rest(row);
  if (index_ != 0) a.modify_index.edit(row) = index_;
  set_modified(row, modified_ns);
}

void Commit::set_task_log(AllocRow row, TaskLogRef log) {
  AllocTable& a = store_.current_.allocs;
  BERTH_ASSERT(row < a.size() && a.exists(row));
  if (row >= a.logs.size()) a.logs.resize(a.size());
  a.logs.edit(row) = std::move(log);
}

void Commit::set_planned_job(AllocRow row, std::shared_ptr<const model::Job> job) {
  AllocTable& a = store_.current_.allocs;
  BERTH_ASSERT(row < a.size() && a.exists(row));
  if (row >= a.planned_jobs.size()) a.planned_jobs.resize(a.size());
  a.planned_jobs.edit(row) = std::move(job);
}

void Commit::note_server_change(AllocRow row) {
  if (index_ == 0) return;
  AllocTable& a = store_.current_.allocs;
  a.modify_index.edit(row) = index_;
  if (a.has_report(row)) a.reported.edit(row).alloc_modify_index = index_;
}

void Commit::forget_report(AllocRow row) {
  AllocTable& a = store_.current_.allocs;
  a.clear_report(row);
  if (a.metrics_of(row)) a.details.edit(row) = nullptr;
  if (a.rest[row]) a.rest.set(row, nullptr);
}

void Commit::write_client(AllocRow row, Client status) {
  AllocTable& a = store_.current_.allocs;
  const bool before = client_terminal(a.client[row]), after = client_terminal(status);
  a.client.edit(row) = status;
  const NodeRow node = a.node[row];
  if (before == after || node == kNoRow) return;
  NodeUse& use = store_.current_.nodes.use.edit(node);
  store_.unlink_on_node(use, row);
  store_.link_on_node(use, row, after);
  store_.count_use(use, row, after ? -1 : 1);
  store_.refresh_free(node, use);
}

std::uint32_t Commit::stop_job(JobKeyRow key) {
  std::uint32_t stopped = 0;
  const AllocTable& a = store_.current_.allocs;
  for (AllocRow row = store_.current_.jobs.keys[key].alloc_head; row != kNoRow; row = a.next_of_job[row])
    if (!a.terminal(row)) set_desired_status(row, Desired::stop), ++stopped;
  BERTH_ASSERT(!store_.history_ || store_.history_->jobs[key].live_allocs == 0);
  return stopped;
}

std::uint32_t Commit::end_job(JobKeyRow key, Client status) {
  BERTH_ASSERT(client_terminal(status));
  std::uint32_t ended = 0;
  const AllocTable& a = store_.current_.allocs;
  for (AllocRow row = store_.current_.jobs.keys[key].alloc_head; row != kNoRow; row = a.next_of_job[row])
    if (!client_terminal(a.client[row])) set_client_status(row, status), ++ended;
  return ended;
}

// ---------------------------------------------------------------- the rest

void Commit::set_table_index(bool nodes, std::uint64_t index) {
  touch();
  (nodes ? store_.current_.nodes.index : store_.current_.allocs.index) = index;
}

void Commit::set_index(std::uint64_t index) {
  touch();
  store_.current_.index = index;
}

}  // namespace berth::tables
