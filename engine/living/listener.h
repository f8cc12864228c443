// Who looks on while a cluster lives: a report of it, a test. Each call tells of one thing that has just happened, in
// the order in which it did; nothing has to be asked for. What is not overridden costs a call that does nothing, and
// without a listener the rows that changed are not even looked at.
#pragma once

#include "lifecycle/timers.h"
#include "server/config.h"
#include "tables/state.h"

namespace berth::living {

struct WrittenEntry {
  std::int64_t at = 0;  ///< unix ns
  std::uint64_t index = 0;
  const char* kind = "";  ///< as recorded logs name them: "job_register", "plan", "eval_update", ...
  std::string_view error;
};

struct DecidedEval {
  const server::Lane& lane;  ///< record, result, and its last plan with what was applied
  std::string_view trigger;
  std::int64_t waited_ns = 0;  ///< on the virtual clock, from when it could have run
};

struct AllocChange {
  tables::AllocRow row = 0;
  bool is_new = false, removed = false;  ///< removed: nothing of the row is left to read
  tables::Desired desired_before = tables::Desired::run;
  tables::Client client_before = tables::Client::pending;
};

struct NodeChange {
  tables::NodeRow row = 0;
  bool is_new = false, removed = false;
  tables::NodeStatus status_before = tables::NodeStatus::initializing;
  bool eligible_before = false, draining_before = false;
};

struct DrainEnd {
  tables::NodeRow node = 0;
  std::int64_t began_at = 0;
  bool completed = false;  ///< by the drainer, not by an operator
};

/// Also what a server tells of its evaluations (server::Listener).
class Listener : public server::Listener {
 public:
  virtual void entry_written(const WrittenEntry&) {}
  virtual void evaluation_decided(const DecidedEval&) {}
  virtual void evaluation_over() {}  ///< what it came to is written, too
  virtual void alloc_changed(const AllocChange&) {}
  /// It will change soon, most likely: who keeps a row of it may ask the cache for it.
  virtual void alloc_expected(tables::AllocRow) {}
  virtual void node_changed(const NodeChange&) {}
  virtual void job_changed(tables::JobKeyRow) {}  ///< another current version, or purged
  virtual void deployment_ended(const model::Deployment&) {}
  virtual void drain_ended(const DrainEnd&) {}
};

}  // namespace berth::living
