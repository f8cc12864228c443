#include "http/stores/access.h"

#include <algorithm>

#include "base/duration.h"
#include "base/uuid.h"
#include "http/stores/texts.h"

namespace berth::http {

namespace {

constexpr std::int64_t kCollectEvery = 300 * base::kSecond, kCollectAfter = 3600 * base::kSecond;

std::size_t memory_of(const std::vector<std::string>& texts) {
  std::size_t out = 0;
  for (const std::string& text : texts) out += text.size() + 40;
  return out;
}

// Approximate memory; for a policy including its parsed rules.
std::size_t memory_of(const AclPolicy& policy) {
  return 512 + policy.name.size() + policy.description.size() + 8 * policy.rules.size() +
         json::to_text(policy.job_acl).size();
}
std::size_t memory_of(const AclToken& token) {
  return 768 + token.name.size() + memory_of(token.policies) + memory_of(token.role_ids);
}
std::size_t memory_of(const AclRole& role) {
  return 512 + role.name.size() + role.description.size() + memory_of(role.policies);
}
std::size_t memory_of(const AclMethod& method) {
  return 512 + method.name.size() + method.name_format.size() + 4 * json::to_text(method.config).size();
}
std::size_t memory_of(const BindingRule& rule) {
  return 512 + rule.description.size() + rule.method.size() + rule.selector.size() + rule.bind_name.size();
}

std::string ttl_text(std::int64_t ns) { return ns == 0 ? "" : base::duration_text(ns); }

template <class T>
void set_indexes(json::Value& out, const T& object) {
  out.set("CreateIndex", object.create_index), out.set("ModifyIndex", object.modify_index);
}
template <class T>
void set_times(json::Value& out, const T& object) {
  out.set("CreateTime", base::to_rfc3339(base::Time{object.create_time}));
  out.set("ModifyTime", base::to_rfc3339(base::Time{object.modify_time}));
}

}  // namespace

// ---------------------------------------------------------------- senders

bool Asker::is_management() const { return !rights || rights->is_management(); }

Asker Access::who(const std::string& secret, std::int64_t now, const std::function<bool(std::string_view)>& verify) {
  Asker out;
  if (secret.empty()) {
    out.kind = Asker::Kind::anonymous;
    if (!anonymous_) {
      std::vector<const AclRules*> own;
      if (const auto found = policies_.find("anonymous"); found != policies_.end())
        own.push_back(&found->second->parsed);
      anonymous_ = std::make_shared<const Rights>(Rights::of(own));
    }
    out.rights = anonymous_;
    return out;
  }
  static const Shared<Rights> kNothing = std::make_shared<const Rights>(Rights::of({}));
  out.rights = kNothing;
  if (!base::parse_uuid(secret)) {
    out.kind = verify(secret) ? Asker::Kind::identity : Asker::Kind::garbage;
    return out;
  }
  const auto accessor = accessor_of_.find(secret);
  if (accessor == accessor_of_.end()) {
    out.kind = Asker::Kind::unknown;
    return out;
  }
  out.token = tokens_.at(accessor->second);
  out.kind = out.token->is_expired(now) ? Asker::Kind::expired : Asker::Kind::token;
  if (out.kind == Asker::Kind::token) out.rights = rights_of(*out.token);
  return out;
}

Shared<Rights> Access::rights_of(const AclToken& token) {
  Shared<Rights>& out = rights_[token.accessor];
  if (out) return out;
  if (token.is_management()) return out = std::make_shared<const Rights>(Rights::management());
  std::vector<const AclRules*> all;
  for (const std::string& name : policy_names(token))
    if (const auto found = policies_.find(name); found != policies_.end()) all.push_back(&found->second->parsed);
  return out = std::make_shared<const Rights>(Rights::of(all));
}

std::set<std::string> Access::policy_names(const AclToken& token) const {
  std::set<std::string> out(token.policies.begin(), token.policies.end());
  for (const std::string& id : token.role_ids)
    if (const auto role = roles_.find(id); role != roles_.end())
      out.insert(role->second->policies.begin(), role->second->policies.end());
  return out;
}

bool Access::has_role(const AclToken& token, const std::string& role_id) const {
  return std::find(token.role_ids.begin(), token.role_ids.end(), role_id) != token.role_ids.end();
}

Shared<AclRole> Access::role_named(const std::string& name) const {
  const auto id = role_ids_.find(name);
  return id == role_ids_.end() ? nullptr : roles_.at(id->second);
}

// ---------------------------------------------------------------- writing

template <class T>
void Access::store(std::map<std::string, Shared<T>>& rows, const std::string& key, T object) {
  Shared<T>& place = rows[key];
  if (place) bytes_ -= memory_of(*place);
  bytes_ += memory_of(object);
  place = std::make_shared<const T>(std::move(object));
  rights_.clear(), anonymous_.reset();
}

template <class T>
bool Access::erase(std::map<std::string, Shared<T>>& rows, const std::string& key) {
  const auto at = rows.find(key);
  if (at == rows.end()) return false;
  bytes_ -= memory_of(*at->second);
  rows.erase(at);
  rights_.clear(), anonymous_.reset();
  return true;
}

void Access::put(AclPolicy policy) {
  const std::string key = policy.name;
  store(policies_, key, std::move(policy));
}
void Access::put(AclToken token) {
  const std::string key = token.accessor;
  remove_token(key);
  accessor_of_[token.secret] = key;
  if (token.expires) expiries_.emplace(*token.expires, key);
  store(tokens_, key, std::move(token));
}
void Access::put(AclRole role) {
  const std::string key = role.id;
  if (const auto before = roles_.find(key); before != roles_.end()) role_ids_.erase(before->second->name);
  role_ids_[role.name] = key;
  store(roles_, key, std::move(role));
}
void Access::put(AclMethod method) {
  const std::string key = method.name;
  store(methods_, key, std::move(method));
}
void Access::put(BindingRule rule) {
  const std::string key = rule.id;
  store(rules_, key, std::move(rule));
}
void Access::put(OneTimeToken token) {
  bytes_ += 512;
  one_time_ends_.emplace(token.expires, token.secret);
  const std::string key = token.secret;
  one_time_[key] = std::move(token);
}

bool Access::remove_policy(const std::string& name) { return erase(policies_, name); }
bool Access::remove_token(const std::string& accessor) {
  if (const auto at = tokens_.find(accessor); at != tokens_.end()) {
    accessor_of_.erase(at->second->secret);
    if (at->second->expires) expiries_.erase({*at->second->expires, accessor});
  }
  return erase(tokens_, accessor);
}
bool Access::remove_role(const std::string& id) {
  if (const auto at = roles_.find(id); at != roles_.end()) role_ids_.erase(at->second->name);
  return erase(roles_, id);
}
bool Access::remove_method(const std::string& name) { return erase(methods_, name); }
bool Access::remove_rule(const std::string& id) { return erase(rules_, id); }

std::optional<OneTimeToken> Access::take(const std::string& secret, std::int64_t now) {
  const auto at = one_time_.find(secret);
  if (at == one_time_.end() || at->second.expires <= now) return std::nullopt;
  OneTimeToken out = at->second;
  one_time_ends_.erase({out.expires, secret});
  one_time_.erase(at);
  bytes_ -= 512;
  return out;
}

std::int64_t Access::next_due() const {
  std::int64_t first = kNever;
  if (!expiries_.empty()) first = std::min(first, expiries_.begin()->first + kCollectAfter);
  if (!one_time_ends_.empty()) first = std::min(first, one_time_ends_.begin()->first);
  return first == kNever ? kNever : (first / kCollectEvery + 1) * kCollectEvery;
}

std::vector<Shared<AclToken>> Access::collect(std::int64_t now) {
  std::vector<Shared<AclToken>> out;
  while (!expiries_.empty() && expiries_.begin()->first + kCollectAfter < now) {
    const std::string accessor = expiries_.begin()->second;
    out.push_back(tokens_.at(accessor));
    remove_token(accessor);
  }
  while (!one_time_ends_.empty() && one_time_ends_.begin()->first < now) {
    one_time_.erase(one_time_ends_.begin()->second);
    one_time_ends_.erase(one_time_ends_.begin());
    bytes_ -= 512;
  }
  return out;
}

// ---------------------------------------------------------------- output

json::Value policy_json(const AclPolicy& policy) {
  json::Value out = json::Value::object();
  out.set("Name", policy.name), out.set("Description", policy.description), out.set("Rules", policy.rules);
  out.set("RulesJSON", policy_rules_json(policy.parsed, policy.rules)), out.set("JobACL", policy.job_acl);
  out.set("Hash", policy.hash);
  set_indexes(out, policy);
  return out;
}

json::Value policy_stub(const AclPolicy& policy) {
  json::Value out = json::Value::object();
  out.set("Name", policy.name), out.set("Description", policy.description), out.set("JobACL", policy.job_acl);
  out.set("Hash", policy.hash);
  set_indexes(out, policy);
  return out;
}

json::Value token_json(const AclToken& token, const Access& access, bool secret) {
  json::Value out = json::Value::object(), roles;
  if (!token.role_ids.empty()) roles = json::Value::array();
  for (const std::string& id : token.role_ids) {
    const auto role = access.roles().find(id);
    if (role == access.roles().end()) continue;
    json::Value link = json::Value::object();
    link.set("ID", id), link.set("Name", role->second->name);
    roles.push(std::move(link));
  }
  if (secret) out.set("ExpirationTTL", ttl_text(token.ttl_ns));
  out.set("AccessorID", token.accessor);
  if (secret) out.set("SecretID", token.secret);
  out.set("Name", token.name), out.set("Type", token.type), out.set("Policies", texts_or_null(token.policies));
  out.set("Roles", std::move(roles)), out.set("Global", token.global), out.set("Hash", token.hash);
  out.set("CreateTime", base::to_rfc3339(base::Time{token.create_time}));
  out.set("ExpirationTime", token.expires ? json::Value(base::to_rfc3339(base::Time{*token.expires})) : json::Value());
  set_indexes(out, token);
  return out;
}

json::Value role_json(const AclRole& role) {
  json::Value out = json::Value::object(), policies = json::Value::array();
  for (const std::string& name : role.policies) {
    json::Value link = json::Value::object();
    link.set("Name", name);
    policies.push(std::move(link));
  }
  out.set("ID", role.id), out.set("Name", role.name), out.set("Description", role.description);
  out.set("Policies", std::move(policies)), out.set("Hash", role.hash);
  set_indexes(out, role);
  return out;
}

json::Value method_json(const AclMethod& method) {
  json::Value out = json::Value::object(), config = method.config;
  if (!config["OIDCClientSecret"].as_string().empty()) config.set("OIDCClientSecret", "redacted");
  out.set("Name", method.name), out.set("Type", method.type), out.set("TokenLocality", method.locality);
  out.set("TokenNameFormat", method.name_format), out.set("MaxTokenTTL", ttl_text(method.ttl_ns));
  out.set("Default", method.is_default), out.set("Config", std::move(config)), out.set("Hash", method.hash);
  set_times(out, method);
  set_indexes(out, method);
  return out;
}

json::Value method_stub(const AclMethod& method) {
  json::Value out = json::Value::object();
  out.set("Name", method.name), out.set("Type", method.type), out.set("Default", method.is_default);
  out.set("Hash", method.hash);
  set_indexes(out, method);
  return out;
}

json::Value rule_json(const BindingRule& rule) {
  json::Value out = json::Value::object();
  out.set("ID", rule.id), out.set("Description", rule.description), out.set("AuthMethod", rule.method);
  out.set("Selector", rule.selector), out.set("BindType", rule.bind_type), out.set("BindName", rule.bind_name);
  out.set("Hash", rule.hash);
  set_times(out, rule);
  set_indexes(out, rule);
  return out;
}

json::Value rule_stub(const BindingRule& rule) {
  json::Value out = json::Value::object();
  out.set("ID", rule.id), out.set("Description", rule.description), out.set("AuthMethod", rule.method);
  out.set("Hash", rule.hash);
  set_indexes(out, rule);
  return out;
}

// ---------------------------------------------------------------- hashes

void set_hash(AclPolicy& policy) {
  std::string text = policy.name + policy.description + policy.rules;
  for (const char* key : {"Namespace", "JobID", "Group", "Task"}) text += policy.job_acl[key].as_string();
  policy.hash = hash_text(text);
}

void set_hash(AclToken& token) {
  std::string text = token.name + token.type;
  for (const std::string& policy : token.policies) text += policy;
  text += token.global ? "global" : "local";
  for (const std::string& id : token.role_ids) text += id;
  token.hash = hash_text(text);
}

void set_hash(AclRole& role) {
  std::string text = role.name + role.description;
  for (const std::string& policy : role.policies) text += policy;
  role.hash = hash_text(text);
}

void set_hash(AclMethod& method) {
  const json::Value& config = method.config;
  std::string text = method.name + method.type + method.locality + method.name_format +
                     base::duration_text(method.ttl_ns) + (method.is_default ? "true" : "false");
  for (const char* key : {"JWKSURL", "JWKSCACert", "OIDCDiscoveryURL", "OIDCClientID", "OIDCClientSecret"})
    text += config[key].as_string();
  for (const char* key : {"OIDCEnablePKCE", "OIDCDisableUserInfo", "VerboseLogging"})
    text += config[key].as_bool() ? "true" : "false";
  for (const char* key : {"ExpirationLeeway", "NotBeforeLeeway", "ClockSkewLeeway"})
    text += config[key].as_string().empty() ? "0s" : config[key].as_string();
  const auto add_list = [&](const char* key) {
    for (const json::Value& item : config[key].items()) text += item.as_string();
  };
  add_list("BoundAudiences");
  for (const char* key :
       {"BoundIssuer", "AllowedRedirectURIs", "DiscoveryCaPem", "OIDCScopes", "SigningAlgs", "JWTValidationPubKeys"})
    add_list(key);
  for (const char* key : {"ClaimMappings", "ListClaimMappings"}) {
    std::vector<std::pair<std::string, std::string>> pairs;
    for (const json::Member& member : config[key].members()) pairs.emplace_back(member.key, member.value.as_string());
    std::sort(pairs.begin(), pairs.end());
    for (const auto& [name, value] : pairs) text += name + value;
  }
  method.hash = hash_text(text);
}

void set_hash(BindingRule& rule) {
  rule.hash = hash_text(rule.id + rule.description + rule.method + rule.selector + rule.bind_type + rule.bind_name);
}

// ---------------------------------------------------------------- snapshots

std::function<json::Value()> Access::copy() const {
  const auto values = [](const auto& map) {
    std::vector<typename std::decay_t<decltype(map)>::mapped_type> out;
    for (const auto& [key, object] : map) out.push_back(object);
    return out;
  };
  return [policies = values(policies_), tokens = values(tokens_), roles = values(roles_), methods = values(methods_),
          rules = values(rules_), one_time = values(one_time_), bootstrap = bootstrap_index_] {
    json::Value out = json::Value::object();
    const auto write = [&](const char* key, const auto& objects, const auto& print) {
      json::Value list = json::Value::array();
      for (const auto& object : objects) list.push(print(object));
      out.set(key, std::move(list));
    };
    write("Policies", policies, [](const auto& policy) {
      json::Value row = policy_stub(*policy);
      row.set("Rules", policy->rules);
      return row;
    });
    write("Tokens", tokens, [](const auto& token) {
      json::Value row = json::Value::object();
      row.set("AccessorID", token->accessor), row.set("SecretID", token->secret), row.set("Name", token->name);
      row.set("Type", token->type), row.set("Policies", texts_or_null(token->policies));
      row.set("Roles", texts_or_null(token->role_ids)), row.set("Global", token->global);
      row.set("CreateTime", token->create_time), row.set("TTL", token->ttl_ns);
      row.set("Expires", token->expires ? json::Value(*token->expires) : json::Value());
      set_indexes(row, *token);
      return row;
    });
    write("Roles", roles, [](const auto& role) { return role_json(*role); });
    write("Methods", methods, [](const auto& method) {
      json::Value row = method_json(*method);
      row.set("Config", method->config), row.set("CreateTime", method->create_time);
      row.set("ModifyTime", method->modify_time), row.set("MaxTokenTTL", method->ttl_ns);
      return row;
    });
    write("Rules", rules, [](const auto& rule) {
      json::Value row = rule_json(*rule);
      row.set("CreateTime", rule->create_time), row.set("ModifyTime", rule->modify_time);
      return row;
    });
    write("OneTime", one_time, [](const OneTimeToken& token) {
      json::Value row = json::Value::object();
      row.set("Secret", token.secret), row.set("AccessorID", token.accessor), row.set("Expires", token.expires);
      row.set("Index", token.index);
      return row;
    });
    out.set("Bootstrap", bootstrap);
    return out;
  };
}

void Access::restore(const json::Value& stored) {
  const auto indexes = [](const json::Value& row, auto& out) {
    out.create_index = row["CreateIndex"].as_uint(), out.modify_index = row["ModifyIndex"].as_uint();
  };
  for (const json::Value& row : stored["Policies"].items()) {
    AclPolicy policy;
    policy.name = row["Name"].as_string(), policy.description = row["Description"].as_string();
    policy.rules = row["Rules"].as_string(), policy.job_acl = row["JobACL"];
    policy.parsed = AclRules::parse(policy.rules).value_or(AclRules{});
    indexes(row, policy), set_hash(policy), put(std::move(policy));
  }
  for (const json::Value& row : stored["Roles"].items()) {
    AclRole role;
    role.id = row["ID"].as_string(), role.name = row["Name"].as_string();
    role.description = row["Description"].as_string();
    for (const json::Value& link : row["Policies"].items()) role.policies.push_back(link["Name"].as_string());
    indexes(row, role), set_hash(role), put(std::move(role));
  }
  for (const json::Value& row : stored["Tokens"].items()) {
    AclToken token;
    token.accessor = row["AccessorID"].as_string(), token.secret = row["SecretID"].as_string();
    token.name = row["Name"].as_string(), token.type = row["Type"].as_string();
    token.policies = texts_of(row["Policies"]), token.role_ids = texts_of(row["Roles"]);
    token.global = row["Global"].as_bool(), token.create_time = row["CreateTime"].as_int();
    token.ttl_ns = row["TTL"].as_int();
    if (!row["Expires"].is_null()) token.expires = row["Expires"].as_int();
    indexes(row, token), set_hash(token), put(std::move(token));
  }
  for (const json::Value& row : stored["Methods"].items()) {
    AclMethod method;
    method.name = row["Name"].as_string(), method.type = row["Type"].as_string();
    method.locality = row["TokenLocality"].as_string(), method.name_format = row["TokenNameFormat"].as_string();
    method.ttl_ns = row["MaxTokenTTL"].as_int(), method.is_default = row["Default"].as_bool();
    method.config = row["Config"];
    method.create_time = row["CreateTime"].as_int(), method.modify_time = row["ModifyTime"].as_int();
    indexes(row, method), set_hash(method), put(std::move(method));
  }
  for (const json::Value& row : stored["Rules"].items()) {
    BindingRule rule;
    rule.id = row["ID"].as_string(), rule.description = row["Description"].as_string();
    rule.method = row["AuthMethod"].as_string(), rule.selector = row["Selector"].as_string();
    rule.bind_type = row["BindType"].as_string(), rule.bind_name = row["BindName"].as_string();
    rule.create_time = row["CreateTime"].as_int(), rule.modify_time = row["ModifyTime"].as_int();
    indexes(row, rule), set_hash(rule), put(std::move(rule));
  }
  for (const json::Value& row : stored["OneTime"].items())
    put(OneTimeToken{row["Secret"].as_string(), row["AccessorID"].as_string(), row["Expires"].as_int(),
                     row["Index"].as_uint()});
  bootstrap_index_ = stored["Bootstrap"].as_uint();
}

}  // namespace berth::http
