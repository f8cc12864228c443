// PackedEval: an evaluation that is over and says what most do, as numbers: 88 bytes instead of an API object of 1.3
// KB.
//
// Nomad keeps evaluations for an hour, and those of jobs that live for as long as their allocations run. Nearly all of
// them are of one group, completed, and lead nowhere. ID, job, priority, status and indexes stand in the columns of
// EvalTable. What says more keeps its API object: pack() is false then. unpack() makes the object again, field by
// field.
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
  Symbol queued_group = kEmptySymbol;  ///< its only entry of queued allocations, and how many
  Symbol update_group = kEmptySymbol;  ///< its only entry of desired updates, and these in the order of their fields
  std::uint16_t queued = 0;
  std::array<std::uint16_t, 12> updates{};
  std::uint8_t type = 0;  ///< of kPackedTypes
  bool present : 1 = false;
  bool has_queued : 1 = false, queued_entry : 1 = false;   ///< the map is there; it has an entry
  bool has_updates : 1 = false, update_entry : 1 = false;  ///< likewise the annotations
};
static_assert(sizeof(PackedEval) == 88);

/// What EvalTable's other columns say of the evaluation.
struct EvalColumns {
  base::Uuid id;
  const std::string& job_namespace;
  const std::string& job_id;
  std::int32_t priority = 0;
  const char* status = "";
  std::uint64_t create_index = 0, modify_index = 0;
};

/// False: the columns and `out` cannot say all that the evaluation says.
[[nodiscard]] bool pack(const model::Evaluation& eval, const EvalColumns& columns, SymbolTable& symbols,
                        PackedEval& out);
[[nodiscard]] model::Evaluation unpack(const PackedEval& packed, const EvalColumns& columns,
                                       const SymbolTable& symbols);

}  // namespace berth::tables
