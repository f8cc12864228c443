#include "http/stores/variables.h"

#include <algorithm>

#include "base/later.h"
#include "base/text.h"
#include "http/stores/fresh.h"

namespace berth::http {

namespace {

json::Value lock_json(const VariableLock& lock) {
  const auto text = [](std::int64_t ns) { return ns == 0 ? std::string() : base::duration_text(ns); };
  json::Value out = json::Value::object();
  out.set("ID", lock.id), out.set("TTL", text(lock.ttl_ns)), out.set("LockDelay", text(lock.delay_ns));
  return out;
}

bool is_path_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
         c == '~' || c == '/';
}

}  // namespace

std::size_t Variable::bytes() const {
  std::size_t out = sizeof(Variable) + 2 * (name_space.size() + path.size()) + 128;  // including its key in the table
  for (const auto& [key, value] : items) out += key.size() + value.size() + 128;
  return out;
}

json::Value variable_json(const Variable& variable, bool items, bool lock) {
  json::Value out = json::Value::object();
  out.set("Namespace", variable.name_space), out.set("Path", variable.path);
  out.set("CreateIndex", variable.create_index), out.set("CreateTime", variable.create_time);
  out.set("ModifyIndex", variable.modify_index), out.set("ModifyTime", variable.modify_time);
  if (items && !variable.items.empty()) {
    json::Value all = json::Value::object();
    for (const auto& [key, value] : variable.items) all.members().push_back({key, value});
    out.set("Items", std::move(all));
  }
  if (lock && variable.lock) out.set("Lock", lock_json(*variable.lock));
  return out;
}

json::Value no_variable_json(const std::string& name_space, const std::string& path) {
  Variable none;
  none.name_space = name_space, none.path = path;
  return variable_json(none, false, false);
}

std::string variable_path_problem(std::string_view path) {
  if (path.empty() || path.size() > 128 || !std::all_of(path.begin(), path.end(), is_path_letter))
    return "invalid path \"" + std::string(path) + "\"";
  const auto parts = base::split(path, '/');
  if (parts[0] != "nomad") return "";
  if (parts.size() == 1)
    return "\"nomad\" is a reserved top-level directory path, but you may write variables to \"nomad/jobs\", "
           "\"nomad/job-templates\", \"nomad/sentinel\", or below";
  if (parts[1] == "jobs" || parts[1] == "sentinel") return "";
  if (parts[1] != "job-templates")
    return "only paths at \"nomad/jobs\" or \"nomad/job-templates\" and below are valid paths under the top-level "
           "\"nomad\" directory";
  if (parts.size() == 3) return "";
  return "\"nomad/job-templates\" is a reserved directory path, but you may write variables at the level below it, for "
         "example, \"nomad/job-templates/template-name\"";
}

// ---------------------------------------------------------------- reading

VariableRef Variables::find(const std::string& name_space, const std::string& path) const {
  const auto at = rows_.find({name_space, path});
  return at == rows_.end() ? nullptr : at->second;
}

std::vector<VariableRef> Variables::list(const std::string& name_space, const std::string& prefix) const {
  std::vector<VariableRef> out;
  if (name_space == "*") {
    for (const auto& [key, variable] : rows_)
      if (key.second.starts_with(prefix)) out.push_back(variable);
    return out;
  }
  for (auto at = rows_.lower_bound({name_space, prefix});
       at != rows_.end() && at->first.first == name_space && at->first.second.starts_with(prefix); ++at)
    out.push_back(at->second);
  return out;
}

bool Variables::any_in(const std::string& name_space) const {
  const auto at = rows_.lower_bound({name_space, ""});
  return at != rows_.end() && at->first.first == name_space;
}

// ---------------------------------------------------------------- writing

VariableRef Variables::store(Variable variable) {
  auto row = std::make_shared<const Variable>(std::move(variable));
  VariableRef& place = rows_[{row->name_space, row->path}];
  if (place) bytes_ -= place->bytes();
  bytes_ += row->bytes();
  return place = std::move(row);
}

Variables::Written Variables::write(Variable variable, std::optional<std::uint64_t> check, Now now) {
  const VariableRef stored = find(variable.name_space, variable.path);
  if (check && *check != (stored ? stored->modify_index : 0)) return {Outcome::conflict, stored};
  if (stored && stored->lock && (!variable.lock || variable.lock->id != stored->lock->id)) return {Outcome::locked, {}};
  if (variable.lock) {  // R-STORE-20, 38
    if (variable.lock->id.empty()) variable.lock->id = fresh_uuid();
    variable.lock->ttl_ns = variable.lock->delay_ns = kLockDefault;
  }
  variable.create_index = stored ? stored->create_index : now.index;
  variable.create_time = stored ? stored->create_time : now.ns;
  variable.modify_index = now.index, variable.modify_time = now.ns;
  return {Outcome::done, store(std::move(variable))};
}

Variables::Written Variables::remove(const std::string& name_space, const std::string& path,
                                     std::optional<std::uint64_t> check) {
  const auto at = rows_.find({name_space, path});
  if (at == rows_.end()) {
    if (check && *check != 0) return {Outcome::conflict, {}};
    return {Outcome::nothing_done, {}};
  }
  const VariableRef stored = at->second;
  if (check && *check != stored->modify_index) return {Outcome::conflict, stored};
  if (stored->lock) return {Outcome::locked, {}};
  bytes_ -= stored->bytes();
  rows_.erase(at);
  return {Outcome::done, stored};
}

Variables::Written Variables::acquire(Variable variable, Now now) {
  const VariableRef stored = find(variable.name_space, variable.path);
  const bool holds = stored && stored->lock;
  VariableLock& lock = variable.lock ? *variable.lock : variable.lock.emplace();
  if (holds && lock.id != stored->lock->id) return {Outcome::locked, {}};
  if (lock.id.empty()) lock.id = fresh_uuid();
  if (lock.ttl_ns == 0) lock.ttl_ns = kLockDefault;
  if (lock.delay_ns == 0) lock.delay_ns = kLockDefault;
  variable.create_index = stored ? stored->create_index : now.index;
  variable.create_time = stored ? stored->create_time : now.ns;
  variable.modify_index = now.index, variable.modify_time = now.ns;
  const Key key{variable.name_space, variable.path};
  if (!expiry_of_.contains(key)) start_ttl(key, now.ns + 2 * lock.ttl_ns);
  return {Outcome::done, store(std::move(variable))};
}

Variables::Written Variables::renew(const std::string& name_space, const std::string& path, const std::string& lock_id,
                                    std::int64_t now) {
  const VariableRef stored = find(name_space, path);
  if (!stored) return {Outcome::absent, {}};
  if (!stored->lock) return {Outcome::unlocked, {}};
  const Key key{name_space, path};
  if (stored->lock->id != lock_id || !expiry_of_.contains(key)) return {Outcome::locked, {}};
  stop_ttl(key);
  start_ttl(key, now + 2 * stored->lock->ttl_ns);
  return {Outcome::done, stored};
}

Variables::Written Variables::release(const std::string& name_space, const std::string& path,
                                      const std::string& lock_id, Now now) {
  const VariableRef stored = find(name_space, path);
  if (!stored) return {Outcome::absent, {}};
  if (!stored->lock) return {Outcome::unlocked, {}};
  if (stored->lock->id != lock_id) return {Outcome::locked, {}};
  stop_ttl({name_space, path});
  return {Outcome::done, write_unlocked(*stored, now.index)};
}

VariableRef Variables::write_unlocked(const Variable& held, std::uint64_t index) {  // ModifyTime stays (R-STORE-41)
  Variable free = held;
  free.lock.reset();
  free.modify_index = index;
  return store(std::move(free));
}

void Variables::set_key(const std::string& key_id) {
  for (auto& [key, variable] : rows_) {
    Variable rewritten = *variable;
    rewritten.key_id = key_id;
    variable = std::make_shared<const Variable>(std::move(rewritten));
  }
}

bool Variables::any_with_key(const std::string& key_id) const {
  for (const auto& [key, variable] : rows_)
    if (variable->key_id == key_id) return true;
  return false;
}

void Variables::restore(Variable variable, std::int64_t now) {
  if (variable.lock) start_ttl({variable.name_space, variable.path}, now + 2 * variable.lock->ttl_ns);
  store(std::move(variable));
}

// ---------------------------------------------------------------- timers

void Variables::start_ttl(const Key& key, std::int64_t at) {
  expiry_of_[key] = at;
  timers_.insert({at, false, key});
}

void Variables::stop_ttl(const Key& key) {
  const auto at = expiry_of_.find(key);
  if (at == expiry_of_.end()) return;
  timers_.erase({at->second, false, key});
  expiry_of_.erase(at);
}

void Variables::start_delay(const Key& key, std::int64_t at) {
  if (const auto before = removal_of_.find(key); before != removal_of_.end())
    timers_.erase({before->second, true, key});
  removal_of_[key] = at;
  timers_.insert({at, true, key});
}

/// Ends the first timer. Returns a variable if its delay has ended: it must be released, even if it now has another
/// lock.
VariableRef Variables::end_timer() {
  const Timer timer = *timers_.begin();
  const VariableRef stored = find(timer.key.first, timer.key.second);
  if (!timer.removes) {
    stop_ttl(timer.key);
    if (stored && stored->lock) start_delay(timer.key, base::later(timer.at, stored->lock->delay_ns));
    return nullptr;
  }
  timers_.erase(timers_.begin());
  removal_of_.erase(timer.key);
  if (!stored || !stored->lock) return nullptr;
  stop_ttl(timer.key);
  return stored;
}

}  // namespace berth::http
