// Lists: rows in their order, as a stream, or one page of those that pass (R-API-70 to 79).
#pragma once

#include <functional>
#include <tl/expected.hpp>
#include <vector>

#include "serve/filter/filter.h"
#include "serve/serve.h"
#include "serve/simulation.h"

namespace berth::serve {

/// How tokens are compared (R-API-72).
enum class TokenKind : std::uint8_t {
  text,
  index,     ///< a number
  creation,  ///< `<CreateIndex>.<ID>`; one without a dot as text
};

/// What a list is made of. Functions hold what they read (a SnapshotRef), as they may run on another thread.
struct ListRows {
  std::vector<std::uint32_t> rows;                                 ///< in the list's order, or `before` orders them
  std::function<bool(std::uint32_t a, std::uint32_t b)> before;    ///< a's token is less
  std::function<void(std::uint32_t row, std::string& out)> write;  ///< appends the stub
  std::function<std::string(std::uint32_t row)> token;             ///< null: no pages
  TokenKind tokens = TokenKind::text;
  bool descends = false;  ///< the order is from the greatest token to the least
  using Passes = tl::expected<bool, std::string>;
  std::function<Passes(std::uint32_t row, const Filter& filter)> passes;  ///< of the stored object; null: no filter
};

/// `make` finds the rows, at `where`, and all but `write` is called there. Pieces are written at `writes`.
void send_list(Simulation& simulation, const Request& request, Reply& reply, Where where, Where writes,
               std::function<ListRows()> make);
inline void send_list(Simulation& simulation, const Request& request, Reply& reply, Where where,
                      std::function<ListRows()> make) {
  send_list(simulation, request, reply, where, where, std::move(make));
}

/// A request for a list under one object, which has neither filter nor pages (R-API-48, 70).
[[nodiscard]] inline Request whole(Request request) {
  request.filter.clear(), request.next_token.clear();
  request.per_page = 0;
  return request;
}

/// Filter of a request, none if it has none; the error is a reply's text, status 400 (R-API-79).
[[nodiscard]] tl::expected<std::optional<Filter>, std::string> filter_of(const Request& request);
/// What a filter says of an object that it cannot be asked of.
[[nodiscard]] std::string filter_failure(const std::string& error);

}  // namespace berth::serve
