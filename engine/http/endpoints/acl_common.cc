#include <algorithm>

#include "base/duration.h"
#include "base/text.h"
#include "http/endpoints/acl.h"

namespace berth::http {

Handler with_acl(Handler handler) {
  return [handler = std::move(handler)](Simulation& simulation, const Request& request, Reply& reply) {
    if (!simulation.options().acl) return reply.fail(400, "ACL support disabled");
    handler(simulation, request, reply);
  };
}

std::optional<std::int64_t> body_duration(const json::Value& body, std::string_view key, Reply& reply) {
  const json::Value& value = body_member(body, key);
  if (value.is_null() || (value.is_string() && value.as_string().empty())) return 0;
  if (value.is_int64()) return value.as_int();
  if (value.is_string()) {
    if (const auto ns = base::parse_duration(value.as_string())) return ns;
    reply.fail(400, "time: invalid duration " + base::go_quote(value.as_string()));
  } else {
    reply.fail(400,
               "json: cannot unmarshal value into Go struct field ." + std::string(key) + " of type time.Duration");
  }
  return std::nullopt;
}

bool refuse_invalid(const std::string& prefix, const model::ErrorList& errors, Reply& reply) {
  if (errors.empty()) return false;
  reply.fail(400, prefix + errors.text());
  return true;
}

bool refuse_full(Simulation& simulation, std::size_t more, Reply& reply) {
  if (simulation.stores().has_room(more)) return false;
  reply.fail("the stores of this server are full: delete objects, or start it with a larger --held-memory");
  return true;
}

bool is_acl_name(std::string_view name) {
  return !name.empty() && name.size() <= 128 && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-';
  });
}

void acl_written(Simulation& simulation, StoreTable table, std::uint64_t index, const char* type, StoreEvent event) {
  simulation.stores().touch(table, index);
  std::vector<StoreEvent> events;
  events.push_back(std::move(event));
  simulation.stores().publish(index, type, std::move(events));
}

void send_values(Simulation& simulation, const Request& request, Reply& reply, std::vector<json::Value> values,
                 std::vector<std::string> tokens, TokenKind kind) {
  struct Shown {
    std::vector<json::Value> values;
    std::vector<std::string> tokens;
  };
  auto shown = std::make_shared<const Shown>(Shown{std::move(values), std::move(tokens)});
  send_list(simulation, request, reply, Where::readers, [shown, kind, reverse = request.reverse] {
    ListRows list;
    for (std::uint32_t row = 0; row < shown->values.size(); ++row) list.rows.push_back(row);
    if (reverse) std::reverse(list.rows.begin(), list.rows.end());
    list.write = [shown](std::uint32_t row, std::string& out) { json::append_text(out, shown->values[row]); };
    list.token = [shown](std::uint32_t row) { return shown->tokens[row]; };
    list.tokens = kind;
    list.passes = [shown](std::uint32_t row, const Filter& filter) {
      return filter.matches(Record{shown->values[row]});
    };
    return list;
  });
}

}  // namespace berth::http
