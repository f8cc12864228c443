// TaskJournal: what clients write down of their tasks' lives. A report takes the newest ten events of every task along
// (R-API-355). No rule reads them, so that they are kept only for a cluster that somebody looks at.
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
  /// With what is known of before; null: nothing.
  void begin(tables::AllocRow alloc, std::size_t tasks, const tables::TaskLogRef& before);
  void add(tables::AllocRow alloc, std::size_t task, TaskLogEvent event);
  /// A report that tells of everything so far leaves.
  void sent(tables::AllocRow alloc);
  /// What the last report that left told of; null: none did.
  [[nodiscard]] tables::TaskLogRef told(tables::AllocRow alloc) const;
  /// The row may become another allocation's.
  void forget(tables::AllocRow alloc);

  /// What the events of a run of the task say (Outcome).
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
