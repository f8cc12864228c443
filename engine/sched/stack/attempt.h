// The attempt under way, as all parts of a stack see it: which state, which plan, which versions of the job.
//
//   snapshot, plan   set by start(); the scheduler appends to the plan
//   job, config      the version given last; `given` are all of them (R-FEAS-310)
//   names, numbers   names of the groups of all versions, by number; numbers of the groups of `job`
//   spread_job       the version whose job-level spreads are in force (R-RANK-215)
//   enabled, needs   sources that may answer; what all Selects require (needs.h)
//   error            why processing must end (R-FEAS-933, R-RANK-618); written by whoever meets it, empty until then
// Threads: one worker's, as every part of a stack.
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
  const model::Quirks& quirks;  ///< of Nomad, that the worker's options leave in
  const tables::Snapshot* snapshot = nullptr;
  PlanRows* plan = nullptr;
  bool system = false;  ///< of a system or sysbatch job
  const tables::CompiledJob* job = nullptr;
  const tables::CompiledJob* spread_job = nullptr;
  StackConfig config;
  EnabledSources enabled;  ///< for the Select under way
  Needs needs;             ///< that every Select of `job` has: of mode, state and quirks
  std::vector<const tables::CompiledJob*> given;
  std::vector<tables::Symbol> names;
  std::vector<std::uint32_t> numbers;
  std::string error;

  void start(const tables::Snapshot& state, PlanRows& rows, bool of_system);
  /// Whether the version was given before in this attempt.
  bool set_job(const tables::CompiledJob& version, const StackConfig& its_config);

  std::uint32_t number_of(tables::Symbol name);
  [[nodiscard]] std::uint32_t number_in_plan(const PlannedAlloc& alloc);
  /// Whether numeric columns may tell what fits on a node that holds ports, devices or cores.
  [[nodiscard]] bool by_amounts() const { return enabled.has(Switch::amounts); }
  /// One of the job's existing allocations, which property sets and spreads count (R-FEAS-1405, 1406, R-RANK-813).
  [[nodiscard]] bool is_existing(tables::AllocRow alloc) const;

 private:
  void find_needs();

  /// Kept by attempt, which each entry names: number of a group's name.
  struct Numbered {
    std::uint64_t attempt = 0;
    std::uint32_t number = 0;
  };
  tsl::robin_map<tables::Symbol, Numbered, base::BitHash> numbered_;
  std::uint64_t attempts_ = 0;
  std::uint32_t last_number_ = 0;  // that was asked for last
};

}  // namespace berth::sched
