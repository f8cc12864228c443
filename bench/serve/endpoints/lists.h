// Lists: rows in their order, as a stream, or one page of them (R-API-70 to 73).
#pragma once

#include <functional>
#include <vector>

#include "serve/serve.h"
#include "serve/simulation.h"

namespace berth::serve {

/// What a list is made of. Functions hold what they read (a SnapshotRef), as they may run on another thread.
struct ListRows {
  std::vector<std::uint32_t> rows;                                 ///< in the list's order
  std::function<void(std::uint32_t row, std::string& out)> write;  ///< appends the stub
  std::function<std::string(std::uint32_t row)> token;             ///< R-API-72; null: no pages
  std::function<json::Value(std::uint32_t row)> object;            ///< what `filter` reads; null: no filter
};

/// `make` finds the rows, where the list is made.
void send_list(Simulation& simulation, const Request& request, Reply& reply, Where where,
               std::function<ListRows()> make);

}  // namespace berth::serve
