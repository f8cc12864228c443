// Variables (R-STORE-1 to 50): reading, writing with check-and-set, locks.
#include <algorithm>

#include "base/duration.h"
#include "base/text.h"
#include "http/endpoints/acl.h"
#include "http/endpoints/endpoints.h"
#include "http/endpoints/lists.h"
#include "http/endpoints/objects.h"
#include "http/stores/stores.h"
#include "model/registration/error_list.h"

namespace berth::http {

namespace {

using Outcome = Variables::Outcome;

constexpr const char* kCoded = "RPC Error:: 400,";  // prefix for errors of checks after the handler (R-STORE-12)
constexpr const char* kPlainText = "text/plain; charset=utf-8";
constexpr std::int64_t kTtlLeast = 10 * base::kSecond, kTtlMost = 24 * 3600 * base::kSecond;

std::uint64_t vars_index(Simulation& simulation, const Request&) {
  return std::max<std::uint64_t>(simulation.stores().table_index(StoreTable::variables), 1);
}

std::uint64_t var_index(Simulation& simulation, const Request& request) {
  const VariableRef found = simulation.stores().variables().find(request.name_space, request.captures[0]);
  return found ? found->modify_index : vars_index(simulation, request);
}

/// A stored variable in the form for filters (R-STORE-15).
json::Value stored_json(const Variable& variable) {
  json::Value out = json::Value::object(), data = json::Value::object(),
              metadata = variable_json(variable, false, true);
  if (!variable.lock) metadata.set("Lock", nullptr);
  data.set("KeyID", variable.key_id);
  out.set("VariableMetadata", std::move(metadata)), out.set("VariableData", std::move(data));
  return out;
}

bool may(const Request& request, const std::string& name_space, const std::string& path, std::string_view what) {
  return request.may([&](const Rights& has) { return has.variable(name_space, path, variable_capability(what)); });
}

/// False if the sender may not do this: the reply contains the error (R-STORE-161).
bool allowed(const Request& request, const std::string& name_space, std::string_view what, Reply& reply) {
  if (may(request, name_space, request.captures[0], what)) return true;
  reply.fail(403, "Permission denied");
  return false;
}

void list_variables(Simulation& simulation, const Request& request, Reply& reply) {
  std::vector<VariableRef> all = simulation.stores().variables().list(request.name_space, request.prefix);
  std::erase_if(all, [&](const VariableRef& one) { return !may(request, one->name_space, one->path, "list"); });
  const bool shows_lock = request.asker.is_management();  // R-STORE-47
  auto rows = std::make_shared<const std::vector<VariableRef>>(std::move(all));
  send_list(simulation, request, reply, Where::readers, [rows, shows_lock, reverse = request.reverse] {
    ListRows list;
    for (std::uint32_t row = 0; row < rows->size(); ++row) list.rows.push_back(row);
    if (reverse) std::reverse(list.rows.begin(), list.rows.end());
    list.write = [rows, shows_lock](std::uint32_t row, std::string& out) {
      json::append_text(out, variable_json(*(*rows)[row], false, shows_lock));
    };
    list.token = [rows](std::uint32_t row) { return (*rows)[row]->name_space + "." + (*rows)[row]->path; };
    list.passes = [rows](std::uint32_t row, const Filter& filter) {
      return filter.matches(Record{stored_json(*(*rows)[row])});
    };
    return list;
  });
}

/// False if the path is missing: the reply contains the error (R-STORE-4).
bool has_path(const Request& request, Reply& reply) {
  if (!request.captures[0].empty()) return true;
  reply.fail(400, "missing variable path");
  return false;
}

void read_variable(Simulation& simulation, const Request& request, Reply& reply) {
  if (!has_path(request, reply) || !allowed(request, request.name_space, "read", reply)) return;
  const VariableRef found = simulation.stores().variables().find(request.name_space, request.captures[0]);
  if (!found) return reply.fail(404, "variable not found");
  reply.json(variable_json(*found, true, request.asker.is_management()));
}

// ---------------------------------------------------------------- parsing of writes

enum class Operation : std::uint8_t { plain, acquire, renew, release };

/// The operation of a request; nullopt: the reply contains the error (R-STORE-33).
std::optional<Operation> operation_of(const Request& request, Reply& reply) {
  std::optional<Operation> out;
  for (const auto& [word, operation] :
       {std::pair("lock-acquire", Operation::acquire), std::pair("lock-renew", Operation::renew),
        std::pair("lock-release", Operation::release)}) {
    if (!request.find(word)) continue;
    if (out) return reply.fail(400, "multiple lock operations"), std::nullopt;
    out = operation;
  }
  const std::string* check = request.find("cas");
  if (out && check && !check->empty()) return reply.fail(400, "CAS can't be used with lock operations"), std::nullopt;
  return out.value_or(Operation::plain);
}

/// Reads the index that the stored variable must have; false if it is no number: the reply contains the error.
bool read_check(const Request& request, std::optional<std::uint64_t>& out, Reply& reply) {
  const std::string* text = request.find("cas");
  if (!text || text->empty()) return true;
  out = base::parse_uint64(*text);
  if (!out)
    reply.fail(400, "can not parse cas: strconv.ParseUint: parsing " + base::go_quote(*text) + ": invalid syntax");
  return out.has_value();
}

/// A duration as text or in ns; an empty text is zero (R-STORE-2).
std::optional<std::int64_t> duration_of(const json::Value& value, Reply& reply) {
  if (value.is_null() || (value.is_string() && value.as_string().empty())) return 0;
  if (value.is_int64()) return value.as_int();
  if (value.is_string())
    if (const auto ns = base::parse_duration(value.as_string())) return ns;
  reply.fail(400, value.is_string() ? "time: invalid duration " + base::go_quote(value.as_string())
                                    : "json: cannot unmarshal " + std::string(value.is_bool() ? "bool" : "value") +
                                          " into Go struct field VariableLock.Lock of type time.Duration");
  return std::nullopt;
}

/// The variable of the body; nullopt: the reply contains the error. Ignores indexes and times of the body.
std::optional<Variable> variable_of(const Request& request, Reply& reply) {
  const auto body = object_body(request, "Variable", reply);
  if (!body) return std::nullopt;
  const Expected expected{*body, "Variable", reply};
  const auto name_space = expected.text("Namespace");
  const auto items = expected.object("Items"), lock = expected.object("Lock");
  if (!name_space || !items || !lock) return std::nullopt;
  Variable out;
  out.name_space = name_space->empty() ? request.name_space : *name_space;
  out.path = request.captures[0];
  for (const json::Member& item : items->members()) {
    if (item.value.is_null()) {
      out.items[item.key];
      continue;
    }
    const auto value = Expected{*items, "Variable.Items", reply}.text(item.key);
    if (!value) return std::nullopt;
    out.items[item.key] = *value;
  }
  if (lock->is_null()) return out;
  const auto id = Expected{*lock, "VariableLock", reply}.text("ID");
  if (!id) return std::nullopt;
  const auto ttl = duration_of(body_member(*lock, "TTL"), reply);
  if (!ttl) return std::nullopt;
  const auto delay = duration_of(body_member(*lock, "LockDelay"), reply);
  if (!delay) return std::nullopt;
  out.lock = VariableLock{*id, *ttl, *delay};
  return out;
}

/// Why the times of a lock are invalid; "" if valid (R-STORE-33).
std::string lock_problem(const VariableLock& lock) {
  model::ErrorList errors;
  if (lock.ttl_ns < 0 || lock.delay_ns < 0) errors.add("Lock delay and TTL must be positive");
  if (lock.ttl_ns < kTtlLeast || lock.ttl_ns > kTtlMost) errors.add("TTL must be between 10 seconds and 24 hours");
  return errors.text();
}

/// Why the variable cannot be stored; "" if it can (R-STORE-20 to 22).
std::string problem(const Variable& variable, Operation operation) {
  if (operation == Operation::plain && variable.lock && (variable.lock->ttl_ns != 0 || variable.lock->delay_ns != 0))
    return std::string(kCoded) + "variable should not contain lock definition";
  if (variable.name_space == "*") return "can not target wildcard (\"*\")namespace";
  std::size_t bytes = 0;
  for (const auto& [key, value] : variable.items) bytes += key.size() + value.size();
  if (bytes > Variables::kItemBytesMost) return "variables are limited to 64KiB in total size";
  if (std::string path = variable_path_problem(variable.path); !path.empty()) return path;
  if (operation != Operation::acquire) return "";
  VariableLock lock = variable.lock.value_or(VariableLock{});
  if (lock.ttl_ns == 0) lock.ttl_ns = Variables::kLockDefault;
  if (lock.delay_ns == 0) lock.delay_ns = Variables::kLockDefault;
  return lock_problem(lock);
}

// ---------------------------------------------------------------- answers

/// 409 with the stored variable, or a zero one: JSON with content type text (R-STORE-25 to 32). A sender without read
/// rights gets only the metadata.
void send_conflict(const Request& request, const Variables::Written& written, const std::string& name_space,
                   Reply& reply) {
  const std::string& path = request.captures[0];
  const bool reads = may(request, name_space, path, "read");
  reply.index(written.variable ? written.variable->modify_index : 0);
  reply.text(409,
             json::to_text(written.variable ? variable_json(*written.variable, reads, reads)
                                            : no_variable_json(name_space, path)),
             kPlainText);
}

/// The same for lock operations, which show no index (R-STORE-36).
void send_lock_conflict(const Variable& asked, Reply& reply) {
  reply.text(409, json::to_text(no_variable_json(asked.name_space, asked.path)), kPlainText);
  reply.without_index();
}

void write_plain(Simulation& simulation, const Request& request, Variable variable, Reply& reply) {
  std::optional<std::uint64_t> check;
  if (variable.items.empty()) return reply.fail(400, "variable missing required Items object");
  if (!read_check(request, check, reply) || !allowed(request, variable.name_space, "write", reply)) return;
  if (const std::string why = problem(variable, Operation::plain); !why.empty()) return reply.fail(400, kCoded + why);
  Stores& stores = simulation.stores();
  if (refuse_full(simulation, variable.bytes(), reply)) return;
  const std::string name_space = variable.name_space;
  variable.key_id = stores.keyring().active().id;
  const Variables::Now now{simulation.take_index(), simulation.now()};
  const auto written = stores.variables().write(std::move(variable), check, now);
  if (written.outcome != Outcome::done) return send_conflict(request, written, name_space, reply);
  stores.variable_written(*written.variable, now.index, false);
  reply.index(now.index);
  reply.json(variable_json(*written.variable, true, true));
}

void acquire(Simulation& simulation, Variable variable, Reply& reply) {
  if (const std::string why = problem(variable, Operation::acquire); !why.empty()) return reply.fail(400, kCoded + why);
  Stores& stores = simulation.stores();
  if (refuse_full(simulation, variable.bytes(), reply)) return;
  variable.key_id = stores.keyring().active().id;
  const Variable asked = variable;
  const Variables::Now now{simulation.take_index(), simulation.now()};
  const auto written = stores.variables().acquire(std::move(variable), now);
  if (written.outcome != Outcome::done) return send_lock_conflict(asked, reply);
  stores.variable_written(*written.variable, now.index, false);
  reply.index(now.index);
  reply.json(variable_json(*written.variable, true, true));
}

void renew(Simulation& simulation, const Request& request, const Variable& asked, Reply& reply) {  // R-STORE-40, 45
  if (!asked.lock || asked.lock->id.empty()) return reply.fail(500, "1 error occurred:\n\t* missing lock ID\n\n");
  const auto renewed =
      simulation.stores().variables().renew(request.name_space, asked.path, asked.lock->id, simulation.now());
  switch (renewed.outcome) {
    case Outcome::absent:
      return reply.fail(404, "variable doesn't exist");
    case Outcome::unlocked:
      return reply.fail(409, "variable doesn't hold a lock");
    case Outcome::done:
      reply.json(variable_json(*renewed.variable, false, true));
      return reply.without_index();
    default:
      return reply.fail(409, "attempting to modify locked variable");
  }
}

void release(Simulation& simulation, const Variable& asked, Reply& reply) {  // R-STORE-41, 44
  if (!asked.lock || asked.lock->id.empty()) return reply.fail(400, std::string(kCoded) + "missing lock information");
  if (!asked.items.empty())
    return reply.fail(400, std::string(kCoded) + "lock release operation doesn't take variable items");
  const Variables::Now now{simulation.take_index(), simulation.now()};
  const auto released = simulation.stores().variables().release(asked.name_space, asked.path, asked.lock->id, now);
  switch (released.outcome) {
    case Outcome::absent:
      return reply.fail(500, "variable doesn't exist");
    case Outcome::unlocked:
      return reply.fail(500, "variable doesn't hold a lock");
    case Outcome::done:
      simulation.stores().variable_written(*released.variable, now.index, false);
      reply.index(now.index);
      return reply.json(variable_json(*released.variable, false, true));
    default:
      return send_lock_conflict(asked, reply);
  }
}

void write_variable(Simulation& simulation, const Request& request, Reply& reply) {
  if (!has_path(request, reply)) return;
  const auto operation = operation_of(request, reply);
  if (!operation) return;
  auto variable = variable_of(request, reply);
  if (!variable) return;
  const std::string& name_space = *operation == Operation::renew ? request.name_space : variable->name_space;
  if (*operation != Operation::plain && !allowed(request, name_space, "write", reply)) return;
  switch (*operation) {
    case Operation::plain:
      return write_plain(simulation, request, std::move(*variable), reply);
    case Operation::acquire:
      return acquire(simulation, std::move(*variable), reply);
    case Operation::renew:
      return renew(simulation, request, *variable, reply);
    case Operation::release:
      return release(simulation, *variable, reply);
  }
}

void delete_variable(Simulation& simulation, const Request& request, Reply& reply) {  // R-STORE-29 to 31, 39
  if (!has_path(request, reply)) return;
  std::optional<std::uint64_t> check;
  if (!read_check(request, check, reply) || !allowed(request, request.name_space, "destroy", reply)) return;
  if (request.name_space == "*")
    return reply.fail(400, std::string(kCoded) + "can not target wildcard (\"*\")namespace");
  const std::uint64_t index = simulation.take_index();
  const auto removed = simulation.stores().variables().remove(request.name_space, request.captures[0], check);
  if (removed.outcome == Outcome::done)
    simulation.stores().variable_written(*removed.variable, index, true);
  else if (removed.outcome != Outcome::nothing_done)
    return send_conflict(request, removed, request.name_space, reply);
  reply.index(index);
  reply.text(204, "", "");
}

}  // namespace

void add_variable_routes(Router& router) {
  const TableSet table = tables_of(StoreTable::variables);
  router.read("/v1/vars", list_variables, {vars_index, table});
  router.read("/v1/var/*", read_variable, {var_index, table});
  router.write("/v1/var/*", write_variable);
  router.remove("/v1/var/*", delete_variable);
  router.add({"/v1/var/*", kOtherMethods, RouteKind::plain, refusal(400, "Invalid method"), {}});
}

}  // namespace berth::http
