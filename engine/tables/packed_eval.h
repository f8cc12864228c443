// PackedEval and EvalMore: an evaluation as a row instead of an API object of 1.3 KB.
//
// Nomad keeps evaluations for an hour, and those of live jobs as long as their allocations run. Nearly all of them
// concern one group, are complete, and have no successors: they are 88 bytes of numbers. ID, job, priority, status and
// indexes are in the columns of EvalTable. An EvalMore exists only for an evaluation with other contents, such as
// failures, links to other evaluations, or a wait. pack() and unpack() convert without loss.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/uuid.h"
#include "model/eval.h"
#include "tables/class_verdict.h"
#include "tables/symbols.h"

namespace berth::tables {

struct PackedEval {
  std::uint64_t job_modify_index = 0, snapshot_index = 0;
  std::int64_t create_time = 0, modify_time = 0;  ///< unix ns
  base::Uuid deployment_id;                       ///< nil: none
  Symbol trigger = kEmptySymbol;
  Symbol queued_group = kEmptySymbol;  ///< the only entry of queued allocations; its number is `queued`
  Symbol update_group = kEmptySymbol;  ///< the only entry of desired updates; its numbers are `updates`, in field order
  std::uint16_t queued = 0;
  std::array<std::uint16_t, 12> updates{};
  std::uint8_t type = 0;                                   ///< index into kEvalTypes
  bool has_queued : 1 = false, queued_entry : 1 = false;   ///< the map exists; it has an entry
  bool has_updates : 1 = false, update_entry : 1 = false;  ///< the same for the annotations
  bool annotate : 1 = false, escaped : 1 = false;
  bool failed_groups : 1 = false;  ///< groups of it could not be placed
};
static_assert(sizeof(PackedEval) == 88);

inline constexpr const char* kEvalTypes[] = {"service", "batch", "system", "sysbatch", "_core"};
inline constexpr std::uint8_t kEvalBatch = 1;
/// The last one is any other status.
inline constexpr const char* kEvalStatuses[] = {"blocked", "pending", "complete", "failed", "canceled", ""};
inline constexpr std::uint8_t kEvalBlocked = 0, kEvalPending = 1, kEvalComplete = 2, kEvalFailed = 3, kEvalCanceled = 4,
                              kEvalOther = 5;
[[nodiscard]] constexpr bool is_open(std::uint8_t status) { return status <= kEvalPending || status == kEvalOther; }
[[nodiscard]] std::uint8_t eval_status(std::string_view text);

// The only entry of the queued allocations or of the desired updates; false: the numbers cannot hold it.
[[nodiscard]] bool set_queued(PackedEval& eval, Symbol group, std::int64_t count);
[[nodiscard]] bool set_updates(PackedEval& eval, Symbol group, const model::DesiredUpdates& updates);

/// Contents that few evaluations have.
struct EvalMore {
  std::int64_t wait_ns = 0;
  base::Time wait_until;
  base::Uuid previous, next, blocked, node;  ///< IDs; nil: none
  std::uint64_t node_modify_index = 0;
  std::string status_description, quota_limit_reached, leader_acl;
  std::map<std::string, model::AllocMetric> failed_tg_allocs;
  std::optional<ClassVerdicts> class_eligibility;
  std::vector<std::string> missing_non_node_resources;
  json::Retained related_evals, extra;
  // What the numbers have no place for: several groups or large counts, and texts like an ID in capitals.
  std::optional<std::map<std::string, std::int64_t>> queued_allocations;
  std::optional<model::PlanAnnotations> plan_annotations;
  std::optional<std::int64_t> priority;
  std::vector<std::pair<std::string model::Evaluation::*, std::string>> texts;
};
using EvalMoreRef = std::shared_ptr<const EvalMore>;

/// The evaluation's values in EvalTable's other columns.
struct EvalColumns {
  base::Uuid id;
  const std::string& job_namespace;
  const std::string& job_id;
  std::int32_t priority = 0;
  std::uint8_t status = kEvalPending;  ///< index into kEvalStatuses
  std::uint64_t create_index = 0, modify_index = 0;
};

struct EvalContents {
  PackedEval packed;
  EvalMoreRef more;  ///< null: the numbers are all
};
/// `columns` has the evaluation's indexes and the number of its status. Moves from `eval`.
[[nodiscard]] EvalContents pack(model::Evaluation&& eval, const EvalColumns& columns, SymbolTable& symbols);
[[nodiscard]] model::Evaluation unpack(const PackedEval& packed, const EvalMore* more, const EvalColumns& columns,
                                       const SymbolTable& symbols);

}  // namespace berth::tables
