// The free workers of a server; internal to this folder.
#pragma once

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

}  // namespace berth::server
