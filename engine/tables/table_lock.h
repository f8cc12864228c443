// Locks the tables' mutex, and counts the time spent waiting for it on the thread's stage clock.
#pragma once

#include <mutex>

#include "base/relax.h"
#include "base/stages.h"

namespace berth::tables {

[[nodiscard]] inline std::unique_lock<base::SpinningMutex> lock_tables(base::SpinningMutex& mutex) {
  std::unique_lock lock(mutex, std::try_to_lock);
  if (lock) return lock;
  const bool in_turn = base::stage_clock && base::stage_clock->locks() == base::Locks::turn;
  const base::LocksScope waiting(in_turn ? base::Locks::turn_table_wait : base::Locks::table_wait);
  lock.lock();
  return lock;
}

}  // namespace berth::tables
