// Logins (R-STORE-117). The tokens of auth methods with public keys are verified, and binding rules decide what the new
// token may do. No provider of identities is contacted.
#include <algorithm>

#include "http/endpoints/acl.h"
#include "http/endpoints/endpoints.h"
#include "http/endpoints/objects.h"
#include "http/filter/filter.h"
#include "http/stores/fresh.h"
#include "http/stores/web_token.h"

namespace berth::http {

namespace {

/// A login's body with all required members. `members`: pairs of key and error text if it is missing.
std::optional<json::Value> login_body(const Request& request, const std::string& what,
                                      std::initializer_list<std::pair<const char*, const char*>> members,
                                      Reply& reply) {
  auto body = object_body(request, "ACLLoginRequest", reply);
  if (!body) return std::nullopt;
  model::ErrorList errors;
  for (const auto& [key, missing] : members)
    if (body_member(*body, key).as_string().empty()) errors.add(missing);
  if (refuse_invalid("invalid " + what + " request: ", errors, reply)) return std::nullopt;
  return body;
}

/// The method that a login names; null: the reply contains the error.
Shared<AclMethod> login_method(Simulation& simulation, const json::Value& body, Reply& reply) {
  const std::string& name = body_member(body, "AuthMethodName").as_string();
  const auto& methods = simulation.stores().access().methods();
  const auto found = methods.find(name);
  if (found != methods.end()) return found->second;
  return reply.fail(400, "auth-method \"" + name + "\" not found"), nullptr;
}

/// Texts of a claim: one, or the elements of a list; numbers and booleans as JSON.
std::vector<std::string> claim_texts(const json::Value& claim) {
  const auto text = [](const json::Value& one) { return one.is_string() ? one.as_string() : json::to_text(one); };
  std::vector<std::string> out;
  if (claim.is_array())
    for (const json::Value& one : claim.items()) out.push_back(text(one));
  else if (!claim.is_null() && !claim.is_object())
    out.push_back(text(claim));
  return out;
}

/// What selectors and names of binding rules see of the claims: {"value": {name: text}, "list": {name: [texts]}}, the
/// names by the mappings of the method.
json::Value mapped_claims(const json::Value& claims, const json::Value& config) {
  json::Value values = json::Value::object(), lists = json::Value::object(), out = json::Value::object();
  for (const json::Member& mapping : config["ClaimMappings"].members()) {
    const auto texts = claim_texts(claims[mapping.key]);
    values.set(mapping.value.as_string(), texts.empty() ? "" : texts.front());
  }
  for (const json::Member& mapping : config["ListClaimMappings"].members()) {
    json::Value list = json::Value::array();
    for (std::string& text : claim_texts(claims[mapping.key])) list.push(std::move(text));
    lists.set(mapping.value.as_string(), std::move(list));
  }
  out.set("value", std::move(values)), out.set("list", std::move(lists));
  return out;
}

/// Replaces `${NAME}` by its value; nullopt: a name is unknown. `more`: names that are no claims.
std::optional<std::string> with_values(std::string_view text, const json::Value& claims,
                                       std::initializer_list<std::pair<std::string_view, std::string_view>> more = {}) {
  std::string out;
  for (std::size_t begin; (begin = text.find("${")) != text.npos;) {
    const std::size_t end = text.find('}', begin);
    if (end == text.npos) break;
    out += text.substr(0, begin);
    const std::string_view name = text.substr(begin + 2, end - begin - 2);
    const auto* const known =
        std::find_if(more.begin(), more.end(), [&](const auto& one) { return one.first == name; });
    const json::Value* claim = name.starts_with("value.") ? claims["value"].find(name.substr(6)) : nullptr;
    if (known != more.end())
      out += known->second;
    else if (claim)
      out += claim->as_string();
    else
      return std::nullopt;
    text.remove_prefix(end + 1);
  }
  return out.append(text);
}

/// What the method's binding rules grant; false: nothing. Rules with a selector that does not fit the claims, and those
/// that name a role or policy that does not exist, grant nothing.
bool bind_rules(const Access& access, const AclMethod& method, const json::Value& claims, AclToken& token) {
  token.type = "client";
  for (const auto& [id, rule] : access.rules()) {
    if (rule->method != method.name) continue;
    if (!rule->selector.empty()) {
      const auto selector = Filter::parse(rule->selector);
      if (!selector || !selector->matches(Record{claims}).value_or(false)) continue;
    }
    if (rule->bind_type == "management") {
      token.type = "management";
      continue;
    }
    const auto name = with_values(rule->bind_name, claims);
    if (!name) continue;
    if (rule->bind_type == "policy" && access.policies().contains(*name) &&
        std::find(token.policies.begin(), token.policies.end(), *name) == token.policies.end())
      token.policies.push_back(*name);
    const auto role = rule->bind_type == "role" ? access.role_named(*name) : nullptr;
    if (role && std::find(token.role_ids.begin(), token.role_ids.end(), role->id) == token.role_ids.end())
      token.role_ids.push_back(role->id);
  }
  if (token.type == "management") token.policies.clear(), token.role_ids.clear();
  return token.type == "management" || !token.policies.empty() || !token.role_ids.empty();
}

void log_in(Simulation& simulation, const Request& request, Reply& reply) {
  const auto body = login_body(
      request, "login", {{"AuthMethodName", "missing auth method name"}, {"LoginToken", "missing login token"}}, reply);
  if (!body) return;
  const auto method = login_method(simulation, *body, reply);
  if (!method) return;
  if (method->type != "JWT") return reply.fail(400, "unsupported auth-method type: " + method->type);
  const auto claims = verified_claims(body_member(*body, "LoginToken").as_string(), method->config, simulation.now());
  if (!claims) return reply.fail(401, "unable to validate provided token: " + claims.error());
  const json::Value mapped = mapped_claims(*claims, method->config);
  AclToken token;
  if (!bind_rules(simulation.stores().access(), *method, mapped, token))
    return reply.fail(400, "no role or policy bindings matched");
  const auto name = with_values(method->name_format, mapped,
                                {{"auth_method_type", method->type}, {"auth_method_name", method->name}});
  if (!name)
    return reply.fail(500, "failed to generate token name: " + method->name_format + " has an unknown variable");
  if (refuse_full(simulation, 1024 + 2 * request.body.size(), reply)) return;
  token.accessor = fresh_uuid(), token.secret = fresh_uuid();
  token.name = *name, token.global = method->locality == "global";
  token.create_time = simulation.now(), token.ttl_ns = method->ttl_ns;
  token.expires = token.create_time + token.ttl_ns;
  token.create_index = token.modify_index = simulation.take_index();
  store_token(simulation, std::move(token), reply);
}

constexpr const char* kNoProvider =
    "failed to generate OIDC provider: this server is simulated and asks no provider of identities";

void auth_url(Simulation& simulation, const Request& request, Reply& reply) {
  const auto body = login_body(request, "OIDC auth-url",
                               {{"AuthMethodName", "missing auth method name"},
                                {"ClientNonce", "missing client nonce"},
                                {"RedirectURI", "missing redirect URI"}},
                               reply);
  if (body && login_method(simulation, *body, reply)) reply.fail(500, kNoProvider);
}

void complete_auth(Simulation& simulation, const Request& request, Reply& reply) {
  const auto body = login_body(request, "OIDC complete-auth",
                               {{"AuthMethodName", "missing auth method name"},
                                {"ClientNonce", "missing client nonce"},
                                {"State", "missing state"},
                                {"Code", "missing code"},
                                {"RedirectURI", "missing redirect URI"}},
                               reply);
  if (body && login_method(simulation, *body, reply)) reply.fail(500, kNoProvider);
}

}  // namespace

void add_acl_login_routes(Router& router) {
  router.write("/v1/acl/login", with_acl(log_in));
  router.write("/v1/acl/oidc/auth-url", with_acl(auth_url));
  router.write("/v1/acl/oidc/complete-auth", with_acl(complete_auth));
}

}  // namespace berth::http
