// Which allocations of a loaded state need no API object: their row's columns hold all of them.
//
// tables::to_alloc() gives back exactly the object that was read, so an import, an export and the API show no
// difference. Rows are smaller, and schedulers, plans and reports read and write them without copying an object. A
// history must be kept: without one the columns for times and the evaluation are empty.
#pragma once

#include <optional>

#include "tables/state.h"

namespace berth::tables {

/// The values of an allocation's columns.
struct WholeRow {
  base::Uuid id;
  NodeRow node = kNoRow;
  JobKeyRow key = kNoRow;
  Symbol group = kEmptySymbol;
  std::uint32_t name_index = kOddName;
  Desired desired = Desired::run;
  Client client = Client::pending;
  std::shared_ptr<const ResourceShape> shape;
  AllocStamp stamp;
  AllocLinks links;  ///< without the allocations that it replaced and that replaced it
  std::optional<Reported> report;
  std::shared_ptr<const model::AllocMetric> metrics;
  std::shared_ptr<const AllocRest> rest;
};

/// The columns of an allocation whose job is in row `job`; nullopt: it has data without a column. Its evaluation and
/// its deployment must be loaded. The caller sets its relations by alloc.previous_allocation and alloc.next_allocation.
[[nodiscard]] std::optional<WholeRow> whole_row(StateStore& store, const model::Allocation& alloc, VersionRow job);

/// Sets the row's relations to the allocations that replaced it and that it replaced. False: one of them is not stored.
[[nodiscard]] bool relate(StateStore& store, const model::Allocation& alloc, AllocLinks& links);

/// The reported part of a task, without its event: what write_task() writes.
[[nodiscard]] TaskStatus status_of(const model::TaskState& state);

/// Index in the standard name `<name_base>.<group>[<index>]`; kOddName: the name is another one.
[[nodiscard]] std::uint32_t standard_index(std::string_view name, std::string_view name_base, std::string_view group);

}  // namespace berth::tables
