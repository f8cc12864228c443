// Common parts of the answers of writes (R-API-32, 216).
#pragma once

#include <optional>
#include <string>

#include "fsm/requests.h"
#include "http/endpoint.h"
#include "http/simulation.h"

namespace berth::http {

/// Adds the metadata of reads.
void set_read_meta(json::Value& out, std::uint64_t index, bool known_leader);
/// The answer of writes on jobs.
[[nodiscard]] json::Value job_answer(const fsm::Answer& answer, std::string warnings = "", bool known_leader = false);
/// A list of IDs, null if there are none.
[[nodiscard]] json::Value ids_or_null(const std::vector<std::string>& ids);
/// Sends the answer with its index, or its error.
void send_answer(Reply& reply, const fsm::Answer& answer, json::Value body);

/// A member of the body, ignoring the case of its key; JSON null if absent.
[[nodiscard]] const json::Value& body_member(const json::Value& body, std::string_view key);
/// The body as an object; nullopt: the reply contains the error. `type`: its name in the message.
[[nodiscard]] std::optional<json::Value> object_body(const Request& request, std::string_view type, Reply& reply);
/// The same; a missing body is an empty object.
[[nodiscard]] std::optional<json::Value> optional_body(const Request& request, std::string_view type, Reply& reply);

// Reads members of the body. nullopt for a wrong type: the reply contains the error. Absent members are null, 0, false
// or "".
struct Expected {
  const json::Value& body;
  std::string_view type;
  Reply& reply;
  [[nodiscard]] std::optional<std::string> text(std::string_view key) const;
  [[nodiscard]] std::optional<bool> boolean(std::string_view key) const;
  [[nodiscard]] std::optional<std::int64_t> integer(std::string_view key) const;
  /// A non-negative integer.
  [[nodiscard]] std::optional<std::uint64_t> index(std::string_view key) const;
  [[nodiscard]] std::optional<std::vector<std::string>> texts(std::string_view key) const;
  /// An object, or null.
  [[nodiscard]] std::optional<json::Value> object(std::string_view key) const;

 private:
  void wrong(std::string_view key, const json::Value& value, std::string_view wanted) const;
};

/// The namespace of a request on a job: its query parameter, else that of the body (R-API-49).
[[nodiscard]] std::string namespace_of(const Request& request, const json::Value& body);

/// The row of an allocation whose client can be reached (R-API-362); kNoRow: the reply contains the error.
[[nodiscard]] tables::AllocRow asked_alloc(Simulation& simulation, const std::string& id, Reply& reply);

}  // namespace berth::http
