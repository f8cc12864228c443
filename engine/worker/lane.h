// What one worker decides an evaluation in. The caller derives from it and adds scratch memory, scheduler and plan; a
// lane is reused from evaluation to evaluation, so that the steady state allocates nothing. Threads: one owner at a
// time.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "base/stages.h"
#include "plan/apply.h"

namespace berth::worker {

struct Lane {
  virtual ~Lane() = default;
  plan::ApplyResult applied;
  std::int64_t started_ns = 0, decided_ns = 0;  ///< of the attempt, on the caller's clock
  std::uint64_t snapshot_index = 0;             ///< of the state it was decided on
  std::uint32_t attempts = 0;                   ///< of this evaluation, the present one included
  base::StageClock* stages = nullptr;           ///< marked by whoever decides in the lane; null: nobody measures
};

using MakeLane = std::function<std::unique_ptr<Lane>()>;

}  // namespace berth::worker
