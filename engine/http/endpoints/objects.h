// Objects by the ID in a path (R-API-16), and lists by prefix of IDs (R-API-80 to 84).
#pragma once

#include <algorithm>
#include <cctype>
#include <string>
#include <string_view>

#include "base/text.h"
#include "base/uuid.h"
#include "http/endpoint.h"
#include "http/simulation.h"

namespace berth::http {

/// False if the length is not that of a UUID: the reply contains the error. `what`: e.g. "node lookup failed: ".
[[nodiscard]] inline bool is_whole_id(std::string_view id, std::string_view what, Reply& reply) {
  if (id.size() == 36) return true;
  reply.fail(500, std::string(what) + "index error: UUID must be 36 characters");
  return false;
}

/// True if the parameter is true. For handlers that treat invalid booleans as false.
[[nodiscard]] inline bool is_true(const Request& request, std::string_view name) {
  const std::string* value = request.find(name);
  return value && base::parse_bool(*value).value_or(false);
}

/// True if the text of an ID begins with `prefix`, ignoring case.
[[nodiscard]] inline bool begins_with(base::Uuid id, std::string_view prefix) {
  if (prefix.empty()) return true;
  const std::string text = base::to_text(id);
  return prefix.size() <= text.size() && std::equal(prefix.begin(), prefix.end(), text.begin(), [](char a, char b) {
           return std::tolower(static_cast<unsigned char>(a)) == b;
         });
}

/// The token of lists in order of creation (R-API-72).
[[nodiscard]] inline std::string creation_token(std::uint64_t create_index, base::Uuid id) {
  return std::to_string(create_index) + "." + base::to_text(id);
}

/// The handler of a route that always refuses with the same text; refused.h lists them.
struct Refusal {
  int status = 0;
  std::string text;
  void operator()(Simulation&, const Request&, Reply& reply) const { reply.fail(status, text); }
};
[[nodiscard]] inline Handler refusal(int status, std::string text) { return Refusal{status, std::move(text)}; }

/// Index function of R-API-52 for one table.
template <fsm::Table kTable>
[[nodiscard]] std::uint64_t table_index(Simulation& simulation, const Request&) {
  return simulation.log().table_index(kTable);
}
template <fsm::Table kTable>
[[nodiscard]] constexpr Blocking blocks_on() {
  return {table_index<kTable>, tables_of(kTable)};
}

}  // namespace berth::http
