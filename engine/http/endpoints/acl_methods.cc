// Auth methods and binding rules (R-STORE-111 to 116).
#include <algorithm>

#include "http/endpoints/acl.h"
#include "http/endpoints/endpoints.h"
#include "http/endpoints/objects.h"
#include "http/filter/filter.h"
#include "http/stores/fresh.h"
#include "http/stores/texts.h"

namespace berth::http {

namespace {

constexpr std::int64_t kMethodTtlLeast = 60 * base::kSecond, kMethodTtlMost = 24 * 3600 * base::kSecond;

// ---------------------------------------------------------------- auth methods

StoreEvent method_event(const AclMethod& method) {
  json::Value payload = json::Value::object();
  payload.set("AuthMethod", method_json(method));
  return {"ACLAuthMethod", method.name, "", {}, std::move(payload)};
}

/// The configuration with all keys, as printed (R-STORE-112); nullopt: the reply contains the error.
std::optional<json::Value> full_config(const json::Value& given, Reply& reply) {
  if (given.is_null()) return json::Value();
  const Expected expected{given, "ACLAuthMethodConfig", reply};
  json::Value out = json::Value::object();
  for (const char* key : {"ExpirationLeeway", "NotBeforeLeeway", "ClockSkewLeeway"}) {
    const auto ns = body_duration(given, key, reply);
    if (!ns) return std::nullopt;
    out.set(key, *ns == 0 ? "" : base::duration_text(*ns));
  }
  const auto set_text = [&](const char* key) {
    const auto text = expected.text(key);
    if (text) out.set(key, *text);
    return text.has_value();
  };
  const auto set_texts = [&](const char* key) {
    const auto texts = expected.texts(key);
    if (texts) out.set(key, texts_or_null(*texts));
    return texts.has_value();
  };
  const auto set_bool = [&](const char* key) {
    const auto value = expected.boolean(key);
    if (value) out.set(key, *value);
    return value.has_value();
  };
  const auto set_object = [&](const char* key) {
    const auto value = expected.object(key);
    if (value) out.set(key, value->size() == 0 ? json::Value() : *value);
    return value.has_value();
  };
  if (!set_texts("JWTValidationPubKeys") || !set_text("JWKSURL") || !set_text("JWKSCACert") ||
      !set_text("OIDCDiscoveryURL") || !set_text("OIDCClientID") || !set_text("OIDCClientSecret") ||
      !set_object("OIDCClientAssertion") || !set_bool("OIDCEnablePKCE") || !set_bool("OIDCDisableUserInfo") ||
      !set_texts("OIDCScopes") || !set_texts("BoundAudiences") || !set_texts("BoundIssuer") ||
      !set_texts("AllowedRedirectURIs") || !set_texts("DiscoveryCaPem") || !set_texts("SigningAlgs") ||
      !set_object("ClaimMappings") || !set_object("ListClaimMappings") || !set_bool("VerboseLogging"))
    return std::nullopt;
  return out;
}

model::ErrorList method_errors(const AclMethod& method) {  // R-STORE-113
  model::ErrorList errors;
  const auto has = [&](const char* key) { return !method.config[key].as_string().empty(); };
  if (!is_acl_name(method.name)) errors.add("invalid name '" + method.name + "'");
  if (method.locality != "local" && method.locality != "global")
    errors.add("invalid token locality '" + method.locality + "'");
  if (method.type != "OIDC" && method.type != "JWT") errors.add("invalid token type '" + method.type + "'");
  if (method.config.is_null()) {
    errors.add("invalid config: missing auth method Config");
  } else if (method.type == "OIDC") {
    if (!has("OIDCDiscoveryURL")) errors.add("invalid config: missing OIDCDiscoveryURL");
    if (!has("OIDCClientID")) errors.add("invalid config: missing OIDCClientID");
  } else if (method.type == "JWT" && !has("OIDCDiscoveryURL") && !has("JWKSURL") &&
             method.config["JWTValidationPubKeys"].size() == 0) {
    errors.add(
        "invalid config: JWT auth method requires either OIDCDiscoveryURL, or JWKS URL, or JWTValidationPubKeys set");
  }
  if (method.ttl_ns < kMethodTtlLeast || method.ttl_ns > kMethodTtlMost)
    errors.add("invalid MaxTokenTTL value '" + base::duration_text(method.ttl_ns) +
               "' (should be between 1m0s and 24h0m0s)");
  return errors;
}

void write_method(Simulation& simulation, const Request& request, Reply& reply) {  // R-STORE-111
  if (!request.captures.empty() && request.captures[0].empty()) return reply.fail(400, "missing ACL auth-method name");
  const auto body = object_body(request, "ACLAuthMethod", reply);
  if (!body) return;
  const Expected expected{*body, "ACLAuthMethod", reply};
  const auto name = expected.text("Name"), type = expected.text("Type"), locality = expected.text("TokenLocality"),
             format = expected.text("TokenNameFormat");
  const auto is_default = expected.boolean("Default");
  const auto config = expected.object("Config");
  if (!name || !type || !locality || !format || !is_default || !config) return;
  const auto ttl = body_duration(*body, "MaxTokenTTL", reply);
  if (!ttl) return;
  auto full = full_config(*config, reply);
  if (!full) return;
  if (!request.captures.empty() && request.captures[0] != *name)
    return reply.fail(400, "ACL auth-method name does not match request path");
  AclMethod method;
  method.name = *name, method.type = *type, method.locality = *locality, method.name_format = *format;
  method.ttl_ns = *ttl, method.is_default = *is_default, method.config = std::move(*full);
  Access& access = simulation.stores().access();
  const auto found = access.methods().find(method.name);
  const AclMethod* before = found == access.methods().end() ? nullptr : found->second.get();
  if (before) {
    if (method.type.empty()) method.type = before->type;
    if (method.locality.empty()) method.locality = before->locality;
    if (method.name_format.empty()) method.name_format = before->name_format;
    if (method.ttl_ns == 0) method.ttl_ns = before->ttl_ns;
    if (method.config.is_null()) method.config = before->config;
  } else if (method.name_format.empty()) {
    method.name_format = "${auth_method_type}-${auth_method_name}";
  }
  if (refuse_invalid("auth method 0 invalid: ", method_errors(method), reply)) return;
  if (method.is_default)
    for (const auto& [other, stored] : access.methods())
      if (stored->is_default && other != method.name) return reply.fail(400, "default method already exists: " + other);
  if (refuse_full(simulation, 2048 + 4 * request.body.size(), reply)) return;
  method.modify_index = simulation.take_index(), method.modify_time = simulation.now();
  method.create_index = before ? before->create_index : method.modify_index;
  method.create_time = before ? before->create_time : method.modify_time;
  set_hash(method);
  access.put(method);
  acl_written(simulation, StoreTable::acl_auth_methods, method.modify_index, "ACLAuthMethodUpserted",
              method_event(method));
  reply.index(method.modify_index);
  reply.json(method_json(method));
}

void delete_method(Simulation& simulation, const Request& request, Reply& reply) {  // R-STORE-114
  const std::string name = request.captures[0];
  if (name.empty()) return reply.fail(400, "missing ACL auth-method name");
  Access& access = simulation.stores().access();
  const auto found = access.methods().find(name);
  if (found == access.methods().end()) return reply.fail(500, "ACL auth method not found");
  const std::uint64_t index = simulation.take_index();
  StoreEvent event = method_event(*found->second);
  access.remove_method(name);
  acl_written(simulation, StoreTable::acl_auth_methods, index, "ACLAuthMethodDeleted", std::move(event));
  reply.index(index);
}

std::uint64_t method_index(Simulation& simulation, const Request& request) {
  const auto& methods = simulation.stores().access().methods();
  const auto found = methods.find(request.captures[0]);
  return found == methods.end() ? store_index<StoreTable::acl_auth_methods>(simulation, request)
                                : found->second->modify_index;
}

void read_method(Simulation& simulation, const Request& request, Reply& reply) {
  if (request.captures[0].empty()) return reply.fail(400, "missing ACL auth-method name");
  const auto& methods = simulation.stores().access().methods();
  const auto found = methods.find(request.captures[0]);
  if (found == methods.end()) return reply.fail(404, "ACL auth-method not found");
  reply.json(method_json(*found->second));
}

void list_methods(Simulation& simulation, const Request& request, Reply& reply) {
  std::vector<json::Value> values;
  std::vector<std::string> tokens;
  for (const auto& [name, method] : simulation.stores().access().methods())
    if (name.starts_with(request.prefix)) values.push_back(method_stub(*method)), tokens.push_back(name);
  send_values(simulation, request, reply, std::move(values), std::move(tokens));
}

// ---------------------------------------------------------------- binding rules

StoreEvent rule_event(const BindingRule& rule) {
  json::Value payload = json::Value::object();
  payload.set("ACLBindingRule", rule_json(rule));
  return {"ACLBindingRule", rule.id, "", {rule.method}, std::move(payload)};
}

model::ErrorList rule_errors(const BindingRule& rule) {  // R-STORE-116
  model::ErrorList errors;
  if (rule.method.empty()) errors.add("auth method is missing");
  if (rule.description.size() > 256) errors.add("description longer than 256");
  if (rule.bind_type.empty())
    errors.add("bind type is missing");
  else if (rule.bind_type == "management") {
    if (!rule.bind_name.empty()) errors.add("bind name should be empty");
  } else if (rule.bind_type == "role" || rule.bind_type == "policy") {
    if (rule.bind_name.empty()) errors.add("bind name is missing");
  } else {
    errors.add("unsupported bind type: \"" + rule.bind_type + "\"");
  }
  if (!rule.selector.empty())
    if (const auto selector = Filter::parse(rule.selector); !selector)
      errors.add("selector is invalid: " + selector.error());
  return errors;
}

void write_rule(Simulation& simulation, const Request& request, Reply& reply) {  // R-STORE-115
  const auto body = object_body(request, "ACLBindingRule", reply);
  if (!body) return;
  const Expected expected{*body, "ACLBindingRule", reply};
  const auto id = expected.text("ID"), description = expected.text("Description"), method = expected.text("AuthMethod"),
             selector = expected.text("Selector"), type = expected.text("BindType"), name = expected.text("BindName");
  if (!id || !description || !method || !selector || !type || !name) return;
  if (!request.captures.empty() && request.captures[0] != *id)
    return reply.fail(400, "ACL binding rule ID does not match request path");
  BindingRule rule;
  rule.id = *id, rule.description = *description, rule.method = *method, rule.selector = *selector;
  rule.bind_type = *type, rule.bind_name = *name;
  Access& access = simulation.stores().access();
  const auto found = access.rules().find(rule.id);
  const BindingRule* before = found == access.rules().end() ? nullptr : found->second.get();
  if (!rule.id.empty() && !before) return reply.fail(400, "cannot find binding rule " + rule.id);
  if (before) {
    if (rule.bind_name.empty()) rule.bind_name = before->bind_name;
    if (rule.bind_type.empty()) rule.bind_type = before->bind_type;
    if (rule.method.empty()) rule.method = before->method;
  }
  if (refuse_invalid("binding rule 0 invalid: ", rule_errors(rule), reply)) return;
  if (!access.methods().contains(rule.method)) return reply.fail(400, "ACL auth method " + rule.method + " not found");
  if (refuse_full(simulation, 2048 + 2 * request.body.size(), reply)) return;
  rule.modify_index = simulation.take_index(), rule.modify_time = simulation.now();
  rule.create_index = before ? before->create_index : rule.modify_index;
  rule.create_time = before ? before->create_time : rule.modify_time;
  if (rule.id.empty()) rule.id = fresh_uuid();
  set_hash(rule);
  access.put(rule);
  acl_written(simulation, StoreTable::acl_binding_rules, rule.modify_index, "ACLBindingRuleUpserted", rule_event(rule));
  reply.index(rule.modify_index);
  reply.json(rule_json(rule));
}

void delete_rule(Simulation& simulation, const Request& request, Reply& reply) {
  const std::string id = request.captures[0];
  Access& access = simulation.stores().access();
  const auto found = access.rules().find(id);
  if (found == access.rules().end()) return reply.fail(500, "ACL binding rule not found");
  const std::uint64_t index = simulation.take_index();
  StoreEvent event = rule_event(*found->second);
  access.remove_rule(id);
  acl_written(simulation, StoreTable::acl_binding_rules, index, "ACLBindingRuleDeleted", std::move(event));
  reply.index(index);
}

std::uint64_t rule_index(Simulation& simulation, const Request& request) {
  const auto& rules = simulation.stores().access().rules();
  const auto found = rules.find(request.captures[0]);
  return found == rules.end() ? store_index<StoreTable::acl_binding_rules>(simulation, request)
                              : found->second->modify_index;
}

void read_rule(Simulation& simulation, const Request& request, Reply& reply) {
  const auto& rules = simulation.stores().access().rules();
  const auto found = rules.find(request.captures[0]);
  if (found == rules.end()) return reply.fail(404, "ACL binding rule not found");
  reply.json(rule_json(*found->second));
}

void list_rules(Simulation& simulation, const Request& request, Reply& reply) {
  std::vector<json::Value> values;
  std::vector<std::string> tokens;
  for (const auto& [id, rule] : simulation.stores().access().rules())
    if (id.starts_with(request.prefix)) values.push_back(rule_stub(*rule)), tokens.push_back(id);
  send_values(simulation, request, reply, std::move(values), std::move(tokens));
}

}  // namespace

void add_acl_method_routes(Router& router) {
  const Blocking methods = blocks_on_store<StoreTable::acl_auth_methods>(),
                 rules = blocks_on_store<StoreTable::acl_binding_rules>();
  router.read("/v1/acl/auth-methods", with_acl(list_methods), methods);
  router.write("/v1/acl/auth-method", with_acl(write_method));
  router.read("/v1/acl/auth-method/*", with_acl(read_method), {method_index, methods.tables});
  router.write("/v1/acl/auth-method/*", with_acl(write_method));
  router.remove("/v1/acl/auth-method/*", with_acl(delete_method));
  router.read("/v1/acl/binding-rules", with_acl(list_rules), rules);
  router.write("/v1/acl/binding-rule", with_acl(write_rule));
  router.read("/v1/acl/binding-rule/*", with_acl(read_rule), {rule_index, rules.tables});
  router.write("/v1/acl/binding-rule/*", with_acl(write_rule));
  router.remove("/v1/acl/binding-rule/*", with_acl(delete_rule));
}

}  // namespace berth::http
