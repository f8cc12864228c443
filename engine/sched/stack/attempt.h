// State of the current attempt, shared by all parts of a stack: snapshot, plan, job versions.
//
//   snapshot, plan   set by start(); the scheduler appends to the plan
//   job, config      the current version; `given` lists all versions of the attempt (R-FEAS-310)
//   names, numbers   names of the groups of all versions, by number; numbers of the groups of `job`
//   spread_job       the version whose job-level spreads apply (R-RANK-215)
//   enabled, needs   sources that may answer; needs that every Select has (needs.h)
//   error            why processing must end (R-FEAS-933, R-RANK-618); empty if there is no error
// Threads: one worker, like every part of a stack.
#pragma once

#include <tsl/robin_map.h>

#include <string>
#include <vector>

#include "base/bit_hash.h"
#include "sched/scratch.h"
#include "sched/stack/select.h"

namespace berth::sched {

struct Attempt {
  explicit Attempt(Scratch& worker) : scratch(worker), quirks(worker.options.quirks) {}

  Scratch& scratch;
  const model::Quirks& quirks;  ///< Nomad's quirks, according to the worker's options
  const tables::Snapshot* snapshot = nullptr;
  PlanRows* plan = nullptr;
  bool system = false;  ///< for a system or sysbatch job
  const tables::CompiledJob* job = nullptr;
  const tables::CompiledJob* spread_job = nullptr;
  StackConfig config;
  EnabledSources enabled;  ///< for the current Select
  Needs needs;             ///< of every Select of `job`: from mode, state and quirks
  std::vector<const tables::CompiledJob*> given;
  std::vector<tables::Symbol> names;
  std::vector<std::uint32_t> numbers;
  std::string error;

  void start(const tables::Snapshot& state, PlanRows& rows, bool of_system);
  /// Sets the current version. True if it was set before in this attempt.
  bool set_job(const tables::CompiledJob& version, const StackConfig& its_config);

  std::uint32_t number_of(tables::Symbol name);
  [[nodiscard]] std::uint32_t number_in_plan(const PlannedAlloc& alloc);
  /// True if numeric columns may decide the fit on a node that holds ports, devices or cores.
  [[nodiscard]] bool by_amounts() const { return enabled.has(Switch::amounts); }
  /// True for the job's existing allocations, which property sets and spreads count (R-FEAS-1405, 1406, R-RANK-813).
  [[nodiscard]] bool is_existing(tables::AllocRow alloc) const;

 private:
  void find_needs();

  /// Cache by attempt: number of a group's name, with the attempt that assigned it.
  struct Numbered {
    std::uint64_t attempt = 0;
    std::uint32_t number = 0;
  };
  tsl::robin_map<tables::Symbol, Numbered, base::BitHash> numbered_;
  std::uint64_t attempts_ = 0;
  std::uint32_t last_number_ = 0;  // result of the last lookup
};

}  // namespace berth::sched
