// Which job of a replay starts when, for comparisons with a slow simulation.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "server/lane.h"
#include "server/server.h"

namespace berth::run {

using Start = std::pair<std::int64_t, std::size_t>;  ///< time in ns, arrival

struct Starts final : server::Listener {
  std::vector<Start> started;
  void settled(server::Lane& lane) override {
    if (lane.placed > 0) started.emplace_back(lane.record->due_ns, lane.record->tag - 1);
  }
};

}  // namespace berth::run
