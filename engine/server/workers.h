// The free workers of a server; internal to this folder.
#pragma once

#include "server/lane.h"
#include "server/server.h"
#include "server/team.h"

namespace berth::server {

struct alignas(64) Server::Worker {
  std::unique_ptr<Lane> lane;
  std::atomic<std::int64_t> busy_ns{0};
};

struct Server::Workers {
  std::vector<std::unique_ptr<Worker>> workers;
  std::optional<Team> threads;
};

/// Fills the view of one of `workers` threads before its first evaluation, which would wait for it: 5 to 12 ms for
/// 10,000 nodes, most of them for new pages. If that fails, the first attempt does it.
inline void fill_view(const tables::StateStore& store, std::size_t workers, tables::WorkerView& view) noexcept try {
  static_cast<void>(store.bring_up(view, kViewBytes / workers));
  view.release();
} catch (...) {
}

}  // namespace berth::server
