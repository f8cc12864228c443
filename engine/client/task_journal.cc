#include "client/task_journal.h"

namespace berth::client {

void TaskJournal::begin(tables::AllocRow alloc, std::size_t tasks) {
  if (alloc >= by_alloc_.size()) by_alloc_.resize(alloc + 1);
  by_alloc_[alloc] = std::make_unique<Log>();
  by_alloc_[alloc]->events.resize(tasks);
  by_alloc_[alloc]->texts.resize(tasks);
}

void TaskJournal::begin(tables::AllocRow alloc, std::size_t tasks, const tables::TaskLogRef& before) {
  begin(alloc, tasks);
  if (before && before->size() == tasks) by_alloc_[alloc]->events = *before;
}

void TaskJournal::add(tables::AllocRow alloc, std::size_t task, TaskLogEvent event) {
  Log* log = find(alloc);
  if (!log) return;
  std::vector<TaskLogEvent>& events = log->events[task];
  if (events.size() == kEventsMax) events.erase(events.begin());
  events.push_back(std::move(event));
}

void TaskJournal::sent(tables::AllocRow alloc) {
  if (Log* log = find(alloc)) log->told = std::make_shared<const tables::TaskLog>(log->events);
}

tables::TaskLogRef TaskJournal::told(tables::AllocRow alloc) const {
  const Log* log = find(alloc);
  return log ? log->told : nullptr;
}

void TaskJournal::forget(tables::AllocRow alloc) {
  if (alloc < by_alloc_.size()) by_alloc_[alloc].reset();
}

void TaskJournal::set_texts(tables::AllocRow alloc, std::size_t task, Texts texts) {
  if (Log* log = find(alloc)) log->texts[task] = std::move(texts);
}

const TaskJournal::Texts& TaskJournal::texts(tables::AllocRow alloc, std::size_t task) const {
  static const Texts kNone;
  const Log* log = find(alloc);
  return log ? log->texts[task] : kNone;
}

}  // namespace berth::client
