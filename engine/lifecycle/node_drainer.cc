#include "lifecycle/node_drainer.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/assert.h"
#include "lifecycle/alloc_facts.h"
#include "model/job.h"
#include "model/predicates.h"

namespace berth::lifecycle {

using tables::AllocRow;
using tables::JobKeyRow;
using tables::kNoRow;
using tables::NodeRow;

namespace {

bool is_plugin_job(const model::Job& job) {
  for (const model::TaskGroup& group : job.task_groups)
    for (const model::Task& task : group.tasks)
      if (!task.csi_plugin_config.is_null()) return true;
  return false;
}

/// True if drains move the job's allocations group by group: not for system and plugin jobs (R-CTRL-1011, 1012).
bool is_drained_by_group(const model::Job& job) { return job.type != "system" && !is_plugin_job(job); }

}  // namespace

// ---------------------------------------------------------------- changes

void NodeDrainer::become_leader() {
  deadlines_ = DrainDeadlines(config_.coalesce_ns);
  tracked_.clear(), to_follow_.clear(), jobs_.clear();
  queue_.clear(), migrated_.clear(), to_report_.clear();
  last_handled_ = 1, look_ = waiting_ = false, batch_at_ = kNever;
  const tables::NodeTable& nodes = log_.store().current().nodes;
  for (NodeRow row = 0; row < nodes.size(); ++row)
    if (is_draining(log_.store().current(), row)) to_follow_.push_back(row);
}

void NodeDrainer::changed(const tables::Changes& changes) {
  const tables::Snapshot& state = log_.store().current();
  for (const NodeRow node : changes.nodes) {  // duplicates do no harm
    if (!is_draining(state, node) && !tracked(node)) continue;
    to_follow_.push_back(node);
    mark_stale_on(node);
  }
  if (jobs_.empty()) return;
  bool unhandled = false, removed = false;
  for (const JobKeyRow key : changes.jobs)
    if (Watched* const job = watched(key)) job->stale = unhandled = true;
  for (const AllocRow row : changes.allocs) {
    if (!state.allocs.exists(row)) {
      removed = true;
    } else if (Watched* const job = watched(state.allocs.job_key[row])) {
      job->stale = true;
      unhandled = unhandled || state.allocs.modify_index[row] > last_handled_;
    }
  }
  if (removed) mark_all_stale();
  // While the job watcher waits for a commit it receives no changes, and then treats all up to that commit as handled.
  if (!waiting_) look_ = look_ || unhandled;
}

void NodeDrainer::advance(std::int64_t now, Outbox& out) {
  if (!to_follow_.empty()) {
    const NodeRow node = to_follow_.front();
    to_follow_.pop_front();
    return follow_node(node, now, out);
  }
  if (batch_at_ <= now) return finish_work(now, out);
  Work work;
  if (deadlines_.take_due(now, work.nodes)) {
    work.deadline = true;
    sort_by_id(work.nodes);
    queue_.push_back(std::move(work));
  }
  if (batch_at_ == kNever) {
    if (!queue_.empty()) return start_work(now, out);
    if (!to_report_.empty()) {  // R-CTRL-1027
      std::vector<NodeRow> nodes;
      nodes.swap(to_report_);
      std::erase_if(nodes, [&](NodeRow node) { return !tracked(node) || !is_done(node); });
      sort_by_id(nodes);
      nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
      return finish_nodes(nodes, now, out);
    }
  }
  if (look_ && !waiting_) look_at_jobs(now);
}

// ---------------------------------------------------------------- nodes

NodeDrainer::Tracked* NodeDrainer::tracked(NodeRow node) {
  const auto at = std::lower_bound(tracked_.begin(), tracked_.end(), node,
                                   [](const Tracked& entry, NodeRow row) { return entry.node < row; });
  return at == tracked_.end() || at->node != node ? nullptr : &*at;
}

void NodeDrainer::untrack(NodeRow node) {
  mark_stale_on(node);
  std::erase_if(tracked_, [&](const Tracked& entry) { return entry.node == node; });
  deadlines_.remove(node);
}

void NodeDrainer::follow_node(NodeRow node, std::int64_t now, Outbox& out) {  // R-CTRL-1010
  const tables::Snapshot& state = log_.store().current();
  if (!is_draining(state, node)) return untrack(node);
  const auto stored = log_.node(base::to_text(state.nodes.id(node)));
  const model::DrainStrategy& strategy = *stored->drain_strategy;
  if (Tracked* known = tracked(node)) {
    const model::DrainStrategy& before = known->strategy;
    if (before.deadline == strategy.deadline && before.force_deadline == strategy.force_deadline &&
        before.ignore_system_jobs == strategy.ignore_system_jobs)
      return;
    known->strategy = strategy;
  } else {
    const auto at = std::lower_bound(tracked_.begin(), tracked_.end(), node,
                                     [](const Tracked& entry, NodeRow row) { return entry.node < row; });
    tracked_.insert(at, {node, strategy});
  }
  const model::DrainDeadline deadline = model::drain_deadline(&strategy);  // R-CTRL-1011
  if (deadline.infinite)
    deadlines_.remove(node);
  else if (deadline.at.is_zero())
    deadlines_.watch_forced(node);
  else
    deadlines_.watch(node, deadline.at.ns);
  register_jobs(node);
  if (is_done(node)) finish_nodes({node}, now, out);
}

void NodeDrainer::register_jobs(NodeRow node) {
  const tables::Snapshot& state = log_.store().current();
  bool begins = false;
  for_each_on_node(state, node, [&](AllocRow row) {
    const model::Job* job = embedded_job(state, row);
    if (state.allocs.terminal(row) || !job || !is_drained_by_group(*job)) return;
    const JobKeyRow key = state.allocs.job_key[row];
    if (watched(key)) return;
    jobs_.insert(std::ranges::lower_bound(jobs_, key, {}, &Watched::key), {key});
    begins = true;
  });
  if (!begins || waiting_) return;  // the next change of an allocation after the commit triggers the check
  last_handled_ = 1;                // R-CTRL-1020
  mark_all_stale();
  look_ = true;
}

/// The node begins or ends to drain.
void NodeDrainer::mark_stale_on(NodeRow node) {
  const tables::Snapshot& state = log_.store().current();
  if (jobs_.empty()) return;
  if (!state.nodes.exists(node)) return mark_all_stale();
  for_each_on_node(state, node, [&](AllocRow row) {
    if (Watched* const job = watched(state.allocs.job_key[row])) job->stale = true;
  });
}

NodeDrainer::Watched* NodeDrainer::watched(JobKeyRow job) {
  const auto at = std::ranges::lower_bound(jobs_, job, {}, &Watched::key);
  return at == jobs_.end() || at->key != job ? nullptr : &*at;
}

bool NodeDrainer::is_done(NodeRow node) const {
  const tables::Snapshot& state = log_.store().current();
  for (AllocRow row = state.nodes.use[node].alloc_head; row != kNoRow; row = state.allocs.next_on_node[row]) {
    const model::Job* job = embedded_job(state, row);
    if (job && is_drained_by_group(*job)) return false;
  }
  return true;
}

void NodeDrainer::add_remaining(const Tracked& node, std::vector<AllocRow>& allocs) const {  // R-CTRL-1013
  const tables::Snapshot& state = log_.store().current();
  const std::size_t begin = allocs.size();
  for_each_on_node(state, node.node, [&](AllocRow row) {
    if (state.allocs.terminal(row)) return;
    const model::Job* job = embedded_job(state, row);
    if (node.strategy.ignore_system_jobs && job && job->type == "system") return;
    allocs.push_back(row);
  });
  std::sort(allocs.begin() + static_cast<std::ptrdiff_t>(begin), allocs.end(),
            [&](AllocRow a, AllocRow b) { return state.allocs.id[a] < state.allocs.id[b]; });
}

void NodeDrainer::sort_by_id(std::vector<NodeRow>& nodes) const {
  const tables::NodeTable& table = log_.store().current().nodes;
  std::sort(nodes.begin(), nodes.end(), [&](NodeRow a, NodeRow b) { return table.id(a) < table.id(b); });
}

void NodeDrainer::finish_nodes(const std::vector<NodeRow>& nodes, std::int64_t now, Outbox& out) {
  if (nodes.empty()) return;
  std::vector<AllocRow> remaining;
  for (const NodeRow node : nodes) add_remaining(*tracked(node), remaining);
  mark(remaining, now, out);
  complete(nodes, false, now, out);
}

void NodeDrainer::complete(const std::vector<NodeRow>& nodes, bool deadline_reached, std::int64_t now, Outbox& out) {
  fsm::NodeDrainEntry entry;
  entry.updated_at = now;
  for (const NodeRow node : nodes) {
    fsm::NodeDrainEntry::Update& update = entry.updates.emplace_back();
    update.node_id = base::to_text(log_.store().current().nodes.id(node));
    update.complete = true;
    update.event = fsm::NodeEvent{"Node drain complete", "Drain", now, {}};  // R-CTRL-1004
    if (deadline_reached) update.event->details.emplace_back("deadline_reached", "true");
    untrack(node);
  }
  if (!entry.updates.empty()) out.write(log_, now, "node_drain_batch", entry);
}

// ---------------------------------------------------------------- jobs

bool NodeDrainer::has_nothing_to_do(JobKeyRow key) const {
  const tables::Snapshot& state = log_.store().current();
  const tables::JobKey& names = state.jobs.keys[key];
  const auto job = log_.job(state.text(names.job_namespace), state.text(names.job_id));
  if (!job || job->type == "system") return false;
  JobDrain found;
  look_at_job(state, *job, key, last_handled_, log_.quirks(), found);
  return !found.done && found.drain.empty() && found.migrated.empty();
}

void NodeDrainer::look_at_jobs(std::int64_t) {
  const tables::Snapshot& state = log_.store().current();
  look_ = false;
  Work work;
  migrated_.clear();
  std::erase_if(jobs_, [&](Watched& watched) {
    if (!std::exchange(watched.stale, false)) {
      BERTH_DEBUG_ASSERT(has_nothing_to_do(watched.key));
      return false;
    }
    const tables::JobKey& names = state.jobs.keys[watched.key];
    const auto job = log_.job(state.text(names.job_namespace), state.text(names.job_id));
    const bool gone = !job || job->type == "system";  // R-CTRL-1021
    if (gone) return true;
    look_at_job(state, *job, watched.key, last_handled_, log_.quirks(), scratch_);
    work.allocs.insert(work.allocs.end(), scratch_.drain.begin(), scratch_.drain.end());
    for (const AllocRow row : scratch_.migrated) migrated_.push_back(state.allocs.node[row]);
    watched.stale = !scratch_.drain.empty();
    return scratch_.done;
  });
  last_handled_ = log_.table_index(fsm::Table::allocs);
  if (!work.allocs.empty()) {
    work.hold = log_.store().hold_rows();
    waiting_ = true;
    queue_.push_back(std::move(work));
  } else {
    to_report_.insert(to_report_.end(), migrated_.begin(), migrated_.end());
  }
}

// ---------------------------------------------------------------- the queue

void NodeDrainer::start_work(std::int64_t now, Outbox& out) {
  Work& work = queue_.front();
  if (work.deadline) {  // R-CTRL-1042
    std::erase_if(work.nodes, [&](NodeRow node) { return !tracked(node); });
    for (const NodeRow node : work.nodes) add_remaining(*tracked(node), work.allocs);
    work.hold = log_.store().hold_rows();
  }
  if (config_.batch_ns <= 0) return finish_work(now, out);
  batch_at_ = now + config_.batch_ns;
}

void NodeDrainer::finish_work(std::int64_t now, Outbox& out) {
  const Work work = std::move(queue_.front());
  queue_.pop_front();
  batch_at_ = kNever;
  mark(work.allocs, now, out);
  if (work.deadline) return complete(work.nodes, true, now, out);
  waiting_ = false;
  last_handled_ = log_.table_index(fsm::Table::allocs);
  to_report_.insert(to_report_.end(), migrated_.begin(), migrated_.end());
}

void NodeDrainer::mark(std::span<const AllocRow> allocs, std::int64_t now, Outbox& out) {  // R-CTRL-1030 to 1032
  const tables::Snapshot& state = log_.store().current();
  std::map<std::pair<std::string, std::string>, model::Evaluation> evals;
  fsm::TransitionEntry entry;
  const auto write = [&] { out.write(log_, now, "alloc_transition", entry), entry = {}; };
  for (const AllocRow row : allocs) {
    const model::Job* job = embedded_job(state, row);
    if (!state.allocs.exists(row) || !job) continue;
    model::DesiredTransition transition;
    transition.migrate = true;
    if (job->type == "batch") transition.migrate_disable_placement = true;
    const tables::JobKey& names = state.jobs.keys[state.allocs.job_key[row]];
    model::Evaluation& eval = evals[{state.text(names.job_namespace), state.text(names.job_id)}];
    eval.type = job->type, eval.priority = job->priority;  // those of the last allocation listed
    entry.allocs.emplace_back(base::to_text(state.allocs.id[row]), transition);
    if (entry.allocs.size() >= config_.ids_per_entry_max) write();
  }
  for (auto& [names, eval] : evals) {
    eval.id = next_id_();
    eval.namespace_ = names.first, eval.job_id = names.second;
    eval.triggered_by = "node-drain";  // R-CTRL-217
    eval.status = "pending";
    eval.create_time = eval.modify_time = now;
    entry.evals.push_back(std::move(eval));
    if (entry.allocs.size() + entry.evals.size() >= config_.ids_per_entry_max) write();
  }
  if (!entry.allocs.empty() || !entry.evals.empty()) write();
}

}  // namespace berth::lifecycle
