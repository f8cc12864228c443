// TaskJournal: the events of tasks that clients record. A report contains the newest ten events of every task
// (R-API-355). No rule reads them, so they are stored only for clusters that are observed.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tables/alloc_table.h"

namespace berth::client {

using tables::TaskLogEvent;

class TaskJournal {
 public:
  static constexpr std::size_t kEventsMax = 10;

  void begin(tables::AllocRow alloc, std::size_t tasks);
  /// Starts with earlier events; null: none.
  void begin(tables::AllocRow alloc, std::size_t tasks, const tables::TaskLogRef& before);
  void add(tables::AllocRow alloc, std::size_t task, TaskLogEvent event);
  /// A report with all events so far is sent.
  void sent(tables::AllocRow alloc);
  /// The events in the last report that was sent; null: none was.
  [[nodiscard]] tables::TaskLogRef told(tables::AllocRow alloc) const;
  /// The row may be reused by another allocation.
  void forget(tables::AllocRow alloc);

  /// Texts for the events of a run of the task (Outcome).
  struct Texts {
    std::int32_t exit_signal = 0;
    std::string exit_message, start_message;
  };
  void set_texts(tables::AllocRow alloc, std::size_t task, Texts texts);
  [[nodiscard]] const Texts& texts(tables::AllocRow alloc, std::size_t task) const;

 private:
  struct Log {
    tables::TaskLog events;
    std::vector<Texts> texts;
    tables::TaskLogRef told;
  };
  [[nodiscard]] Log* find(tables::AllocRow alloc) const {
    return alloc < by_alloc_.size() ? by_alloc_[alloc].get() : nullptr;
  }
  std::vector<std::unique_ptr<Log>> by_alloc_;  // by AllocRow
};

}  // namespace berth::client
