// What the endpoints of access control have in common (R-STORE-60 to 126).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model/registration/error_list.h"
#include "serve/endpoints/answers.h"
#include "serve/endpoints/lists.h"
#include "serve/stores/stores.h"

namespace berth::serve {

/// A handler that is only there with access control: else 400 (R-API-469).
[[nodiscard]] Handler with_acl(Handler handler);

/// A duration of a body, text or ns; absent: 0. Nothing: the reply says what is wrong.
[[nodiscard]] std::optional<std::int64_t> body_duration(const json::Value& body, std::string_view key, Reply& reply);

/// `prefix` + the errors, status 400; true: there were some.
[[nodiscard]] bool refuse_invalid(const std::string& prefix, const model::ErrorList& errors, Reply& reply);
/// True: the stores have no room for that much more, and the reply says so.
[[nodiscard]] bool refuse_full(Simulation& simulation, std::size_t more, Reply& reply);
/// 1 to 128 letters, digits and hyphens, as names of policies, roles and methods are.
[[nodiscard]] bool is_acl_name(std::string_view name);

/// Moves the table and tells the stream: one object under `topic`'s payload key.
void acl_written(Simulation& simulation, StoreTable table, std::uint64_t index, const char* type, StoreEvent event);

/// A list of objects that are printed already, filtered as JSON; `token` gives the page token.
void send_values(Simulation& simulation, const Request& request, Reply& reply, std::vector<json::Value> values,
                 std::vector<std::string> tokens, TokenKind kind = TokenKind::text);

template <StoreTable kTable>
[[nodiscard]] std::uint64_t store_index(Simulation& simulation, const Request&) {
  return std::max<std::uint64_t>(simulation.stores().table_index(kTable), 1);
}
template <StoreTable kTable>
[[nodiscard]] constexpr Blocking blocks_on_store() {
  return {store_index<kTable>, tables_of(kTable)};
}

}  // namespace berth::serve
