// Shared functions of the access control endpoints (R-STORE-60 to 126).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "http/endpoints/answers.h"
#include "http/endpoints/lists.h"
#include "http/stores/stores.h"
#include "model/registration/error_list.h"

namespace berth::http {

/// Wraps a handler that needs access control; without it the reply is 400 (R-API-469).
[[nodiscard]] Handler with_acl(Handler handler);

/// A duration in a body, as text or in ns; 0 if absent. nullopt: the reply contains the error.
[[nodiscard]] std::optional<std::int64_t> body_duration(const json::Value& body, std::string_view key, Reply& reply);

/// Replies 400 with `prefix` and the errors; false if there are no errors.
[[nodiscard]] bool refuse_invalid(const std::string& prefix, const model::ErrorList& errors, Reply& reply);
/// Replies with an error if the stores have no room for `more` bytes; false if they have.
[[nodiscard]] bool refuse_full(Simulation& simulation, std::size_t more, Reply& reply);
/// True for 1 to 128 letters, digits and hyphens: a valid name of a policy, role or method.
[[nodiscard]] bool is_acl_name(std::string_view name);

/// Sets the index of the table and adds the event to the event stream. `type`: of the log entry, a string literal.
void acl_written(Simulation& simulation, StoreTable table, std::uint64_t index, const char* type, StoreEvent event);

/// Stores the token, whose indexes and secrets are set, and replies with it, including its secret.
void store_token(Simulation& simulation, AclToken token, Reply& reply);

/// Sends a list of objects given as JSON, after applying the request's filter. `tokens`: the page token of each.
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

}  // namespace berth::http
