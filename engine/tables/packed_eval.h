// PackedEval: a finished evaluation with usual contents, as numbers: 88 bytes instead of an API object of 1.3 KB.
//
// Nomad keeps evaluations for an hour, and those of live jobs as long as their allocations run. Nearly all of them
// concern one group, are complete, and have no successors. ID, job, priority, status and indexes are in the columns of
// EvalTable. An evaluation with more contents keeps its API object: pack() then returns false. unpack() makes the
// object again, field by field.
#pragma once

#include <array>
#include <cstdint>

#include "base/uuid.h"
#include "model/eval.h"
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
  std::uint8_t type = 0;  ///< index into kPackedTypes
  bool present : 1 = false;
  bool has_queued : 1 = false, queued_entry : 1 = false;   ///< the map exists; it has an entry
  bool has_updates : 1 = false, update_entry : 1 = false;  ///< the same for the annotations
};
static_assert(sizeof(PackedEval) == 88);

/// The evaluation's values in EvalTable's other columns.
struct EvalColumns {
  base::Uuid id;
  const std::string& job_namespace;
  const std::string& job_id;
  std::int32_t priority = 0;
  const char* status = "";
  std::uint64_t create_index = 0, modify_index = 0;
};

/// False: the columns and `out` cannot hold all contents of the evaluation.
[[nodiscard]] bool pack(const model::Evaluation& eval, const EvalColumns& columns, SymbolTable& symbols,
                        PackedEval& out);
[[nodiscard]] model::Evaluation unpack(const PackedEval& packed, const EvalColumns& columns,
                                       const SymbolTable& symbols);

}  // namespace berth::tables
