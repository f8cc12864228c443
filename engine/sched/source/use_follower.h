// Who keeps something by node goes from one state to the next without looking at the nodes whose use stayed as it was.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "tables/state.h"

namespace berth::sched {

class UseFollower {
 public:
  /// Goes on to the snapshot. The nodes whose use changed since the last one, some of them twice; null: any may have,
  /// as it is of another store, an older one, or too much has changed.
  [[nodiscard]] const std::vector<tables::NodeRow>* advance(const tables::Snapshot& snapshot) {
    const tables::NodeTable& nodes = snapshot.nodes;
    changed_.clear();
    const bool known = follows(snapshot) && log_->read(changes_, nodes.use_changes, changed_);
    if (!known) log_ = nodes.fixed->use_log;
    changes_ = nodes.use_changes;
    return known ? &changed_ : nullptr;
  }
  /// Whether advance() was there already.
  [[nodiscard]] bool is_at(const tables::Snapshot& snapshot) const {
    return follows(snapshot) && changes_ == snapshot.nodes.use_changes;
  }
  /// Whether advance() may cost what changed since the last one, not the whole cluster.
  [[nodiscard]] bool follows(const tables::Snapshot& snapshot) const { return log_ == snapshot.nodes.fixed->use_log; }

 private:
  std::uint64_t changes_ = 0;  // of the log, that are in
  std::shared_ptr<const tables::RowLog> log_;
  std::vector<tables::NodeRow> changed_;
};

}  // namespace berth::sched
