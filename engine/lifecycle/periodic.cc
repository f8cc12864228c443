#include "lifecycle/periodic.h"

#include <algorithm>
#include <utility>

#include "base/heap.h"
#include "lifecycle/alloc_facts.h"
#include "model/job.h"
#include "model/periodic/cron.h"
#include "model/predicates.h"

namespace berth::lifecycle {

using tables::JobKeyRow;
using tables::kNoRow;

namespace {

std::int64_t instant_of(base::Time time) { return time.is_zero() ? kNever : time.ns; }

}  // namespace

std::shared_ptr<const model::Job> PeriodicDispatcher::job_of(JobKeyRow key) const {
  const fsm::JobRecord* record = log_.record(key);
  return record ? record->current : nullptr;
}

/// Keeps the children of each parent. A job whose parent was purged belongs to none.
void PeriodicDispatcher::follow_child(JobKeyRow key, const model::Job* job) {
  const bool is_child = job && !job->parent_id.empty() && !job->dispatched;
  const JobKeyRow parent = is_child ? log_.store().find_job_key(job->namespace_, *job->parent_id) : kNoRow;
  if (key >= parent_of_.size()) parent_of_.resize(key + 1, kNoRow);
  const JobKeyRow before = std::exchange(parent_of_[key], parent);
  if (before == parent) return;
  if (before != kNoRow) children_[before].erase(key);
  if (parent != kNoRow) children_[parent].insert(key);
}

std::size_t PeriodicDispatcher::place_of(JobKeyRow job) const {
  if (job >= is_tracked_.size() || !is_tracked_[job]) return heap_.size();
  const auto at = std::find_if(heap_.begin(), heap_.end(), [&](const Launch& launch) { return launch.job == job; });
  return static_cast<std::size_t>(at - heap_.begin());
}

void PeriodicDispatcher::remove(JobKeyRow key) {
  if (const std::size_t place = place_of(key); place < heap_.size()) base::heap_remove(heap_, place, earlier);
  if (key < is_tracked_.size()) is_tracked_[key] = false;
}

void PeriodicDispatcher::follow(JobKeyRow key, std::int64_t now) {  // R-CTRL-1301
  const auto job = job_of(key);
  follow_child(key, job.get());
  if (!job) last_launch_.erase(key);
  if (!job || !model::is_active_periodic(*job)) return remove(key);
  const Launch next{instant_of(model::next_launch(*job->periodic, base::Time{now})), key};
  last_launch_.try_emplace(key, now);  // R-CTRL-1306
  const std::size_t place = place_of(key);
  if (place == heap_.size()) {
    if (key >= is_tracked_.size()) is_tracked_.resize(key + 1);
    is_tracked_[key] = true;
    return base::heap_push(heap_, next, earlier);
  }
  heap_[place] = next;
  if (!base::heap_down(heap_, place, heap_.size(), earlier)) base::heap_up(heap_, place, earlier);
}

void PeriodicDispatcher::become_leader(std::int64_t now, Outbox& out) {
  heap_.clear(), is_tracked_.clear();
  children_.clear(), parent_of_.clear();
  std::vector<JobKeyRow> missed;
  for (JobKeyRow key = 0; key < log_.store().current().jobs.keys.size(); ++key) {
    const auto last = last_launch_.find(key);
    const std::int64_t since = last == last_launch_.end() ? now : last->second;
    follow(key, now);
    const std::size_t place = place_of(key);
    if (place == heap_.size()) continue;
    const std::int64_t due = instant_of(model::next_launch(*job_of(key)->periodic, base::Time{since}));
    if (due <= now) missed.push_back(key);
  }
  for (const JobKeyRow key : missed)  // R-CTRL-1308
    if (!(job_of(key)->periodic->prohibit_overlap && child_runs(key))) out.add(now, launch(key, now, now));
}

void PeriodicDispatcher::changed(const tables::Changes& changes, std::int64_t now) {
  for (const JobKeyRow key : changes.jobs) follow(key, now);
}

void PeriodicDispatcher::advance(std::int64_t now, Outbox& out) {
  while (next_deadline() <= now) {
    const Launch due = heap_.front();
    const auto job = job_of(due.job);
    heap_.front().at = instant_of(model::next_launch(*job->periodic, base::Time{due.at}));  // R-CTRL-1304
    base::heap_down(heap_, 0, heap_.size(), earlier);
    if (job->periodic->prohibit_overlap && child_runs(due.job)) continue;
    out.add(now, launch(due.job, due.at, now));
  }
}

bool PeriodicDispatcher::child_runs(JobKeyRow parent) {
  const tables::Snapshot& state = log_.store().current();
  const auto known = children_.find(parent);
  if (known == children_.end()) return false;
  const tables::JobKey& names = state.jobs.keys[parent];
  return std::any_of(known->second.begin(), known->second.end(), [&](JobKeyRow child) {
    const auto job = job_of(child);  // the parent's row may belong to another job by now
    if (!job || job->parent_id != state.text(names.job_id) || job->namespace_ != state.text(names.job_namespace))
      return false;
    const tables::History::Job& own = log_.store().history()->jobs[child];
    if (own.open_evals != 0) return true;
    if (own.live_allocs == 0) return false;
    for (tables::AllocRow row = state.jobs.keys[child].alloc_head; row != kNoRow; row = state.allocs.next_of_job[row]) {
      if (state.allocs.terminal(row)) continue;
      const auto& object = state.allocs.cold[row];
      if (!object) return true;  // placed by an evaluation of its own job
      const auto eval = log_.eval(object->eval_id);
      if (eval && eval->namespace_ == object->namespace_ && eval->job_id == object->job_id) return true;
    }
    return false;
  });
}

fsm::Answer PeriodicDispatcher::launch(JobKeyRow key, std::int64_t instant, std::int64_t now) {  // R-CTRL-1305
  const auto parent = job_of(key);
  auto child = std::make_shared<model::Job>(model::untagged(*parent));
  const std::int64_t instant_s = instant / base::kSecond;
  child->id = child->name = parent->id + "/periodic-" + std::to_string(instant_s);
  child->parent_id = parent->id;
  child->periodic.reset();
  child->status.clear();
  child->status_description.clear();
  child->submit_time = now;
  last_launch_[key] = instant_s * base::kSecond;
  fsm::JobRegisterEntry entry;
  model::Evaluation& eval = entry.eval.emplace();  // R-CTRL-215
  eval.id = next_id_();
  eval.namespace_ = child->namespace_, eval.job_id = child->id;
  eval.type = child->type, eval.priority = child->priority;
  eval.triggered_by = "periodic-job";
  eval.status = "pending";
  eval.create_time = eval.modify_time = now;
  entry.job = child;
  fsm::Answer answer;
  answer.index = log_.next_index();
  answer.error = log_.apply(answer.index, entry, answer.hooks);
  answer.entries.push_back({answer.index, "job_register", answer.error});
  if (answer.error.empty()) answer.eval_id = eval.id, answer.eval_create_index = answer.index;
  return answer;
}

fsm::Answer PeriodicDispatcher::force(const std::string& name_space, const std::string& job_id, std::int64_t now) {
  fsm::Answer answer;
  const auto job = log_.job(name_space, job_id);
  if (!job) {
    answer.error = "job not found";
  } else if (!model::is_periodic(*job)) {
    answer.error = "can't force launch non-periodic job";
  } else if (const JobKeyRow key = log_.store().find_job_key(name_space, job_id); place_of(key) == heap_.size()) {
    answer.error = "force launch for job \"" + job_id + "\" failed: can't force run non-tracked job \"" + job_id +
                   "\" (" + name_space + ")";
  } else {
    answer = launch(key, now, now);
  }
  return answer;
}

}  // namespace berth::lifecycle
