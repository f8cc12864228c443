// Output of a watcher: the log entries in order, each with its time, and the resulting actions of broker and tracker.
#pragma once

#include "fsm/requests.h"

namespace berth::lifecycle {

struct Outbox {
  struct Entry {
    std::int64_t at = 0;  ///< unix ns
    std::uint64_t index = 0;
    const char* kind = "";
    std::string error;
  };
  std::vector<Entry> entries;
  fsm::Hooks hooks;

  void add(std::int64_t at, const fsm::Answer& answer) {
    for (const fsm::Answer::Entry& entry : answer.entries)
      entries.push_back({at, entry.index, entry.kind, entry.error});
    hooks.insert(hooks.end(), answer.hooks.begin(), answer.hooks.end());
  }
  template <class Payload>
  std::string write(fsm::StateLog& log, std::int64_t at, const char* kind, const Payload& payload) {
    const std::uint64_t index = log.next_index();
    std::string error = log.apply(index, payload, hooks);
    entries.push_back({at, index, kind, error});
    return error;
  }
  void clear() { entries.clear(), hooks.clear(); }
};

}  // namespace berth::lifecycle
