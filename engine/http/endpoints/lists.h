// Lists: rows in order, as a stream, or one page of those that pass a filter (R-API-70 to 79).
#pragma once

#include <functional>
#include <tl/expected.hpp>
#include <vector>

#include "http/endpoint.h"
#include "http/filter/filter.h"
#include "http/simulation.h"

namespace berth::http {

/// How page tokens are compared (R-API-72).
enum class TokenKind : std::uint8_t {
  text,
  index,     ///< a number
  creation,  ///< `<CreateIndex>.<ID>`; one without a dot as text
};

/// The rows and functions of a list. Functions own what they read (a SnapshotRef), as they may run on another thread.
struct ListRows {
  std::vector<std::uint32_t> rows;                                 ///< in the list's order, unless `before` is set
  std::function<bool(std::uint32_t a, std::uint32_t b)> before;    ///< true if a's token is less
  std::function<void(std::uint32_t row, std::string& out)> write;  ///< appends the stub
  std::function<std::string(std::uint32_t row)> token;             ///< null: no pages
  TokenKind tokens = TokenKind::text;
  bool descends = false;  ///< from the largest token to the smallest
  using Passes = tl::expected<bool, std::string>;
  std::function<Passes(std::uint32_t row, const Filter& filter)> passes;  ///< filters a stored object; null: no filters
};

/// Sends a list. `make` and all functions but `write` are called at `where`, `write` at `writes`.
void send_list(Simulation& simulation, const Request& request, Reply& reply, Where where, Where writes,
               std::function<ListRows()> make);
inline void send_list(Simulation& simulation, const Request& request, Reply& reply, Where where,
                      std::function<ListRows()> make) {
  send_list(simulation, request, reply, where, where, std::move(make));
}

/// Removes filter and paging, which lists of one object's parts do not have (R-API-48, 70).
[[nodiscard]] inline Request whole(Request request) {
  request.filter.clear(), request.next_token.clear();
  request.per_page = 0;
  return request;
}

/// Filter of a request, nullopt if none; the error is a reply's text with status 400 (R-API-79).
[[nodiscard]] tl::expected<std::optional<Filter>, std::string> filter_of(const Request& request);
/// Text of the error if a filter cannot be applied to an object.
[[nodiscard]] std::string filter_failure(const std::string& error);

}  // namespace berth::http
