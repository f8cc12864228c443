#include "http/endpoints/answers.h"

#include "http/endpoints/objects.h"
#include "http/go_shape.h"

namespace berth::http {

namespace {

std::optional<json::Value> checked_object(json::Value body, std::string_view type, Reply& reply) {
  if (body.is_null()) return json::Value::object();
  if (body.is_object()) {
    if (const auto problem = go_shape_problem(body, type)) return reply.fail(400, *problem), std::nullopt;
    return body;
  }
  reply.fail(
      400, "json: cannot unmarshal " + std::string(go_kind(body)) + " into Go value of type api." + std::string(type));
  return std::nullopt;
}

}  // namespace

void set_read_meta(json::Value& out, std::uint64_t index, bool known_leader) {
  out.set("Index", index), out.set("LastContact", 0), out.set("KnownLeader", known_leader), out.set("NextToken", "");
}

json::Value job_answer(const fsm::Answer& answer, std::string warnings, bool known_leader) {
  json::Value out = json::Value::object();
  out.set("EvalID", answer.eval_id), out.set("EvalCreateIndex", answer.eval_create_index);
  out.set("JobModifyIndex", answer.job_modify_index), out.set("Warnings", std::move(warnings));
  set_read_meta(out, answer.index, known_leader);
  return out;
}

json::Value ids_or_null(const std::vector<std::string>& ids) {
  if (ids.empty()) return {};
  json::Value out = json::Value::array();
  for (const std::string& id : ids) out.push(id);
  return out;
}

void send_answer(Reply& reply, const fsm::Answer& answer, json::Value body) {
  if (answer.error.empty()) {
    reply.index(answer.index);
    return reply.json(body);
  }
  constexpr std::string_view kCoded = "RPC Error:: ";  // followed by a status: "RPC Error:: 404,text"
  if (!answer.error.starts_with(kCoded)) return reply.fail(answer.error);
  const std::string rest = answer.error.substr(kCoded.size());
  reply.fail(std::stoi(rest.substr(0, 3)), rest.substr(4));
}

const json::Value& body_member(const json::Value& body, std::string_view key) {
  static const json::Value kNull;
  const json::Value* found = body.find_ignoring_case(key);
  return found ? *found : kNull;
}

std::optional<json::Value> object_body(const Request& request, std::string_view type, Reply& reply) {
  auto body = json_body(request, reply);
  return body ? checked_object(std::move(*body), type, reply) : std::nullopt;
}

std::optional<json::Value> optional_body(const Request& request, std::string_view type, Reply& reply) {
  return request.body.empty() ? json::Value::object() : object_body(request, type, reply);
}

void Expected::wrong(std::string_view key, const json::Value& value, std::string_view wanted) const {
  reply.fail(400, "json: cannot unmarshal " + std::string(go_kind(value)) + " into Go struct field " +
                      std::string(type) + "." + std::string(key) + " of type " + std::string(wanted));
}

std::optional<std::string> Expected::text(std::string_view key) const {
  const json::Value& value = body_member(body, key);
  if (value.is_null()) return "";
  if (value.is_string()) return value.as_string();
  wrong(key, value, "string");
  return std::nullopt;
}

std::optional<bool> Expected::boolean(std::string_view key) const {
  const json::Value& value = body_member(body, key);
  if (value.is_null() || value.is_bool()) return value.as_bool();
  wrong(key, value, "bool");
  return std::nullopt;
}

std::optional<std::int64_t> Expected::integer(std::string_view key) const {
  const json::Value& value = body_member(body, key);
  if (value.is_null() || value.is_int64()) return value.as_int();
  wrong(key, value, "int64");
  return std::nullopt;
}

std::optional<std::uint64_t> Expected::index(std::string_view key) const {
  const json::Value& value = body_member(body, key);
  if (value.is_null() || value.is_uint64() || (value.is_int64() && value.as_int() >= 0)) return value.as_uint();
  wrong(key, value, "uint64");
  return std::nullopt;
}

std::optional<std::vector<std::string>> Expected::texts(std::string_view key) const {
  const json::Value& value = body_member(body, key);
  std::vector<std::string> out;
  if (!value.is_null() && !value.is_array()) {
    wrong(key, value, "[]string");
    return std::nullopt;
  }
  for (const json::Value& item : value.items()) {
    if (!item.is_string()) {
      wrong(key, item, "string");
      return std::nullopt;
    }
    out.push_back(item.as_string());
  }
  return out;
}

std::optional<json::Value> Expected::object(std::string_view key) const {
  const json::Value& value = body_member(body, key);
  if (value.is_null() || value.is_object()) return value;
  wrong(key, value, "map[string]string");
  return std::nullopt;
}

std::string namespace_of(const Request& request, const json::Value& body) {
  if (request.find("namespace")) return request.name_space;
  const std::string& own = body_member(body, "Namespace").as_string();
  return own.empty() ? "default" : own;
}

tables::AllocRow asked_alloc(Simulation& simulation, const std::string& id, Reply& reply) {
  if (!is_whole_id(id, "alloc lookup failed: ", reply)) return tables::kNoRow;
  const tables::AllocRow row = simulation.store().find_alloc(id);
  if (row == tables::kNoRow) return reply.fail(404, "Unknown allocation \"" + id + "\""), tables::kNoRow;
  const tables::NodeRow node = simulation.state().allocs.node[row];
  if (node == tables::kNoRow || !simulation.state().nodes.exists(node))
    return reply.fail(404, "Unknown node \"" + simulation.log().stored_alloc(row).node_id + "\""), tables::kNoRow;
  const tables::NodeStatus status = simulation.state().nodes.status(node);
  if (status != tables::NodeStatus::down && status != tables::NodeStatus::disconnected) return row;
  return reply.fail(404, "No path to node"), tables::kNoRow;
}

}  // namespace berth::http
