// AllocTable: one row per allocation, by column. Rows never move; with a history (history.h), rows of removed
// allocations are reused.
//
//   column         bytes  content                                          written by
//   id                16  UUID                                             insert
//   node, job          8  node row; job version row (kNoRow = none)        insert; in-place update
//   job_key            4  row of the job's key; kNoRow = removed           insert; removal
//   group              4  symbol of the task group                         insert
//   name_index         4  index in the standard name, kOddName = see cold  insert
//   desired, client    2  statuses                                         plan applier; client updates
//   shape              4  resource shape (what it holds)                   insert; in-place update
//   next_on_node       4  chain of the node's live or ended allocations    insert; end of the allocation
//   next_of_job        4  chain of the job's allocations, newest first     insert
//   links             16  deployment, description, health, score; see AllocLink
//   relations          -  replaced and replacing allocation, evictor       insert; plan applier
//   create_index       8  index of the commit that made it                 insert
//   modify_index       8  index of the last change                         every change
//   cold               -  rest of the API object, null for plain rows      insert, updates
//   rest               -  data of imported rows that no rule reads         loading; dropped by changes
//   stamp             20  times of creation and last change, evaluation    with a history only: insert; every change
//   logs              16  events of tasks; empty unless they are stored    client reports
//   planned_jobs      16  the job as the last plan had it                  plan applier, if requested
//   reported          32  its client's last report, see ReportRow          client reports
//   reported_more      -  rare parts of the report, see ReportMore         client reports
//   details           16  metrics of its placement                         plan applier, if requested
//
// Columns without a number of bytes are sparse (sparse_column.h): only rows with an entry cost memory.
//
// The resources that an allocation holds are a *resource shape*: allocations of one group without ports, devices or
// cores share one. 10,000,000 plain allocations take about 90 bytes each without client reports: the column `reported`
// ends after the last row with a report, and `details` after the last row with metrics. Threads as in NodeTable.
//
// A row with a cold object is described by that object, except for statuses, indexes, node and shape, which are always
// in the columns. `links` and `reported` apply only to rows without one. Data without a column (alloc states, trackers,
// states of several tasks) makes a row cold.
#pragma once

#include "model/alloc.h"
#include "tables/node_table.h"
#include "tables/sparse_column.h"
#include "tables/task_log.h"
#include "tables/task_status.h"

namespace berth::tables {

struct Snapshot;  // state.h
class StateStore;

using base::DeploymentRow;
using base::JobKeyRow;
using base::StoredEvalRow;
using base::VersionRow;
using ShapeId = std::uint32_t;

enum class Desired : std::uint8_t { run, stop, evict };
enum class Client : std::uint8_t { pending, running, complete, failed, lost, unknown };

/// The reason why the server ended an allocation: the desired descriptions that schedulers write (R-MODEL-44).
enum class Description : std::uint8_t {
  none,
  not_needed,
  reconnected,
  migrating,
  updating,
  lost,
  rescheduled,
  node_tainted,
};
[[nodiscard]] std::string_view to_text(Description description);

[[nodiscard]] constexpr bool server_terminal(Desired d) { return d != Desired::run; }  // R-MODEL-300
[[nodiscard]] constexpr bool client_terminal(Client c) { return c >= Client::complete && c <= Client::lost; }

inline constexpr std::uint32_t kOddName = ~0u;

/// Relations of an allocation without an API object to others: a row of AllocTable::relations.
struct AllocRelations {
  AllocRow previous = kNoRow, next = kNoRow;  ///< the one it replaces, and the one that replaces it
  AllocRow preempted_by = kNoRow;
  friend bool operator==(const AllocRelations&, const AllocRelations&) = default;
};

/// Deployment, health, score and stop reason of an allocation: a row of AllocTable::links.
struct AllocLink {
  double score = 0;  ///< final score of its node when it was placed; 0 = unknown
  DeploymentRow deployment = kNoRow;
  Description description = Description::none;
  std::uint8_t health = 0;  ///< bits below
  static constexpr std::uint8_t kHasStatus = 1, kCanary = 2, kHealthy = 4, kUnhealthy = 8;
};
static_assert(sizeof(AllocLink) == 16);

/// Relations and link together.
struct AllocLinks : AllocRelations, AllocLink {};

/// Data that schedulers do not use, for every allocation. Clients limit its run time by `create_time` (R-REG-480),
/// garbage collection uses the rest.
#pragma pack(push, 4)  // no gap behind the row
struct AllocStamp {
  std::int64_t modify_time = 0;  ///< unix ns
  std::int64_t create_time = 0;  ///< unix ns; 0: unknown
  StoredEvalRow eval = kNoRow;   ///< the evaluation that placed it or updated it last
};
#pragma pack(pop)
static_assert(sizeof(AllocStamp) == 20);

/// Data of an imported allocation without a column. No rule reads it; exports and the API give it back unchanged.
struct AllocRest {
  json::Retained resources, shared_resources, task_resources, extra;
  json::Retained network_status, events;  ///< of the client's last report; `events` of the only task
};

struct AllocTable {
  CowVector<base::Uuid, 1024> id;
  CowVector<NodeRow, 1024> node;
  CowVector<VersionRow, 1024> job;
  CowVector<JobKeyRow, 1024> job_key;
  CowVector<Symbol, 1024> group;
  CowVector<std::uint32_t, 1024> name_index;
  CowVector<Desired, 1024> desired;
  CowVector<Client, 1024> client;
  CowVector<ShapeId, 1024> shape;
  CowVector<AllocRow, 1024> next_on_node, next_of_job;
  CowVector<AllocLink, 1024> links;
  SparseColumn<AllocRelations> relations;
  CowVector<std::uint64_t, 1024> create_index, modify_index;
  SparseColumn<std::shared_ptr<const model::Allocation>> cold;
  SparseColumn<std::shared_ptr<const AllocRest>> rest;  ///< only of rows without an API object
  CowVector<AllocStamp, 1024> stamp;                    ///< empty without a history
  CowVector<ReportRow, 512> reported;                   ///< rows past its end: nothing reported
  SparseColumn<ReportMore> reported_more;
  /// Metrics of placements, if stored; null or past its end: none.
  CowVector<std::shared_ptr<const model::AllocMetric>> details;
  CowVector<TaskLogRef, 1024> logs;  ///< events of tasks, if stored; rows past its end: none
  /// The job as its last plan had it, with its status at that time, if stored; null or past its end: unknown.
  CowVector<std::shared_ptr<const model::Job>, 1024> planned_jobs;
  CowVector<std::shared_ptr<const ResourceShape>> shapes;
  std::uint32_t port_count_max = 0;  ///< maximum over all shapes
  std::uint64_t index = 0;           ///< of the last commit that changed an allocation (R-CTRL-617)

  [[nodiscard]] std::size_t size() const { return id.size(); }
  /// False for a row whose allocation was removed by a purge or garbage collection.
  [[nodiscard]] bool exists(AllocRow row) const { return job_key[row] != ~0u; }
  [[nodiscard]] bool terminal(AllocRow row) const {
    return server_terminal(desired[row]) || client_terminal(client[row]);
  }
  [[nodiscard]] AllocLinks links_of(AllocRow row) const { return {relations[row], links[row]}; }
  void set_links(AllocRow row, const AllocLinks& to) {
    links.edit(row) = to;
    relations.set(row, to);
  }
  /// True if the client of a row without an API object has reported.
  [[nodiscard]] bool has_report(AllocRow row) const { return row < reported.size() && reported[row].present; }
  /// The client's last report.
  [[nodiscard]] std::optional<Reported> report_of(AllocRow row) const {
    if (!has_report(row)) return std::nullopt;
    return to_report(reported[row], reported[row].has_more ? reported_more[row] : ReportMore());
  }
  void set_report(AllocRow row, const Reported& said);
  void clear_report(AllocRow row);
  /// Drops the data that a client's new report replaces.
  void clear_reported_rest(AllocRow row);
  /// Metrics of the placement of a row without an API object; null: not stored.
  [[nodiscard]] const model::AllocMetric* metrics_of(AllocRow row) const {
    return row < details.size() ? details[row].get() : nullptr;
  }
  [[nodiscard]] AllocStamp stamp_of(AllocRow row) const { return row < stamp.size() ? stamp[row] : AllocStamp(); }
  [[nodiscard]] const ResourceShape& shape_of(AllocRow row) const { return *shapes[shape[row]]; }
};

[[nodiscard]] const char* to_text(Desired desired);
[[nodiscard]] const char* to_text(Client client);
[[nodiscard]] std::optional<Desired> parse_desired(std::string_view text);
[[nodiscard]] std::optional<Client> parse_client(std::string_view text);

}  // namespace berth::tables
