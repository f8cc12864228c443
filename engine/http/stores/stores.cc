#include "http/stores/stores.h"

#include "base/duration.h"

namespace berth::http {

void Stores::variable_written(const Variable& variable, std::uint64_t index, bool deleted) {
  touch(StoreTable::variables, index);
  StoreEvent event{"Variable", variable.path, variable.name_space, {}, json::Value::object()};
  event.payload.set("Metadata", variable_json(variable, false, true)), event.payload.set("Deleted", deleted);
  publish(index, "VariableUpdated", {std::move(event)});
}

void Stores::run_due(std::int64_t now, const std::function<std::uint64_t()>& next_index) {
  variables_.run_due(now, next_index,
                     [this](const VariableRef& free) { variable_written(*free, free->modify_index, false); });
  if (access_.next_due() <= now) collect(now, next_index);
  if (keyring_.next_due() <= now) {
    const std::uint64_t index = next_index();
    keyring_.publish_due(now, index);
    touch(StoreTable::root_keys, index);
  }
}

/// Removes tokens and one-time tokens that expired long ago (R-STORE-84).
void Stores::collect(std::int64_t now, const std::function<std::uint64_t()>& next_index) {
  const auto gone = access_.collect(now);
  if (gone.empty()) return;
  const std::uint64_t index = next_index();
  touch(StoreTable::acl_tokens, index);
  std::vector<StoreEvent> events;
  for (const Shared<AclToken>& token : gone) {
    json::Value payload = json::Value::object(), shown = token_json(*token, access_, true);
    shown.set("SecretID", "");
    payload.set("ACLToken", std::move(shown));
    events.push_back({"ACLToken", token->accessor, "", {}, std::move(payload)});
  }
  publish(index, "ACLTokenDeleted", std::move(events));
}

std::function<json::Value()> Stores::copy() const {
  return [access = access_.copy(), keys = keyring_.copy(), variables = variables_.list("*", ""), tables = tables_] {
    json::Value out = json::Value::object(), rows = json::Value::array(), indexes = json::Value::object();
    for (const VariableRef& variable : variables) {
      json::Value row = variable_json(*variable, true, true);
      row.set("KeyID", variable->key_id);
      rows.push(std::move(row));
    }
    for (std::size_t table = 0; table < kStoreTables; ++table) indexes.set(kStoreTableNames[table], tables[table]);
    out.set("Tables", std::move(indexes)), out.set("Variables", std::move(rows));
    out.set("Access", access()), out.set("Keys", keys());
    return out;
  };
}

void Stores::restore(const json::Value& stored, std::int64_t now) {
  access_.restore(stored["Access"]), keyring_.restore(stored["Keys"]);
  for (std::size_t table = 0; table < kStoreTables; ++table)
    tables_[table] = stored["Tables"][kStoreTableNames[table]].as_uint();
  for (const json::Value& row : stored["Variables"].items()) {
    Variable variable;
    variable.name_space = row["Namespace"].as_string(), variable.path = row["Path"].as_string();
    for (const json::Member& item : row["Items"].members()) variable.items[item.key] = item.value.as_string();
    variable.create_index = row["CreateIndex"].as_uint(), variable.create_time = row["CreateTime"].as_int();
    variable.modify_index = row["ModifyIndex"].as_uint(), variable.modify_time = row["ModifyTime"].as_int();
    variable.key_id = row["KeyID"].as_string();
    if (const json::Value& lock = row["Lock"]; !lock.is_null())
      variable.lock = VariableLock{lock["ID"].as_string(), base::parse_duration(lock["TTL"].as_string()).value_or(0),
                                   base::parse_duration(lock["LockDelay"].as_string()).value_or(0)};
    variables_.restore(std::move(variable), now);
  }
}

}  // namespace berth::http
