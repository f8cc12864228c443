// Masks of the rows that can take a task, for worlds that a caller packs step by step (api/packing_worlds.cc).
//
//   columns   int32, one entry per row, copy by copy, each copy padded to kLanes rows: free cpu, memory, disk, GPU
//             thousandths, the most that one device has free, the number of unused devices; 24 B per row. The cpu of a
//             padding row, and of a node with its most tasks, is INT32_MIN: it takes nothing
//   eligible  per class a byte per node, by content: filled when the class is first seen
//
// Cost of a mask: 25 B per node, whatever the task is; only a task with parts of several GPUs examines devices.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "berth/strategy.h"

namespace berth::strategy {

class MaskColumns {
 public:
  /// The rows of `fleet`, which must outlive this, are `copies` times the same nodes.
  MaskColumns(const Fleet& fleet, std::size_t copies);

  /// Reads a row again. Call it for each row that has changed.
  void refresh(Row row);
  /// Sets mask[r] to 1 if row r of the copy can take the task and `without` lacks r, else to 0. Returns true if any
  /// can.
  bool fill(std::size_t copy, ClassId task, Exclusion without, std::span<std::uint8_t> mask);

 private:
  static constexpr std::size_t kLanes = 16, kColumns = 6;
  using Needs = std::array<std::int32_t, kColumns>;
  [[nodiscard]] const std::uint8_t* eligible(ClassId task);
  bool fill_by_amounts(std::size_t first, const Needs& needs, const std::uint8_t* eligible,
                       std::span<std::uint8_t> mask) const;

  const Fleet* fleet_;
  std::size_t nodes_, stride_;  ///< of a copy: rows, and rows with padding
  std::array<std::vector<std::int32_t>, kColumns> columns_;
  std::vector<std::vector<std::uint8_t>> eligible_;  ///< by class
};

}  // namespace berth::strategy
