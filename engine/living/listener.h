// Listener: receives the events of a simulated cluster, for a report or a test. Each call reports one event, in order.
// A call that is not overridden does nothing. Without a listener the changed rows are not examined at all.
#pragma once

#include "lifecycle/timers.h"
#include "living/events.h"
#include "server/config.h"
#include "tables/job_table.h"

namespace berth::living {

struct WrittenEntry {
  std::int64_t at = 0;  ///< unix ns
  std::uint64_t index = 0;
  const char* kind = "";  ///< as recorded logs name them: "job_register", "plan", "eval_update", ...
  std::string_view error;
};

struct DecidedEval {
  const server::Lane& lane;  ///< record, result, last plan and its apply result
  std::string_view trigger;
  std::int64_t waited_ns = 0;  ///< on the virtual clock, since it could have run
};

struct AllocChange {
  tables::AllocRow row = 0;
  bool is_new = false, removed = false;  ///< removed: the row can no longer be read
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
  bool completed = false;  ///< ended by the drainer, not by an operator
};

/// Extends server::Listener, which reports evaluations.
class Listener : public server::Listener {
 public:
  virtual void event_applied(const Event&) {}  ///< an event from outside that was not refused
  virtual void entry_written(const WrittenEntry&) {}
  virtual void evaluation_decided(const DecidedEval&) {}
  virtual void evaluation_over() {}  ///< after the step that decided it; its result is written
  virtual void alloc_changed(const AllocChange&) {}
  /// The allocation will probably change soon: a listener may prefetch its own data about it.
  virtual void alloc_expected(tables::AllocRow) {}
  virtual void node_changed(const NodeChange&) {}
  virtual void job_changed(tables::JobKeyRow) {}  ///< new current version, or purged
  virtual void deployment_ended(const model::Deployment&) {}
  virtual void drain_ended(const DrainEnd&) {}
};

}  // namespace berth::living
