// One entry while it is applied; only for the files of this folder.
#pragma once

#include "fsm/state_log.h"

namespace berth::fsm {

inline bool is_eligible(const model::Node& node) { return node.scheduling_eligibility == "eligible"; }

struct StateLog::Change {
  tables::Commit& commit;
  StateLog* log = nullptr;  ///< the log whose listener is notified at the end; null: none
  EntryKind kind = EntryKind::silent;
  const std::uint64_t index = commit.index();

  ~Change() {
    if (log) log->notify(*this);
  }
  template <class Rows, class Row>
  void note(Rows EntryRows::*rows, Row&& row) const {
    if (log && log->entry_listener_) (log->entry_rows_.*rows).push_back(std::forward<Row>(row));
  }
};

}  // namespace berth::fsm
