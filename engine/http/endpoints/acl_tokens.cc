// Bootstrap, tokens and one-time tokens (R-STORE-71 to 84, 118).
#include <algorithm>
#include <tuple>

#include "base/text.h"
#include "base/uuid.h"
#include "http/endpoints/acl.h"
#include "http/endpoints/endpoints.h"
#include "http/endpoints/id_prefix.h"
#include "http/endpoints/objects.h"
#include "http/stores/fresh.h"
#include "io/json_parse.h"

namespace berth::http {

namespace {

using base::kSecond;

constexpr std::int64_t kTokenTtlLeast = 60 * kSecond, kTokenTtlMost = 24 * 3600 * kSecond;
constexpr std::int64_t kOneTimeTtl = 600 * kSecond;
constexpr std::size_t kNameMost = 256;
constexpr const char* kNotAnId = "index error: UUID must be 36 characters";

std::uint64_t tokens_index(Simulation& simulation, const Request&) {
  return simulation.stores().table_index(StoreTable::acl_tokens);
}

Shared<AclToken> token_of(Simulation& simulation, const std::string& accessor) {
  const auto& tokens = simulation.stores().access().tokens();
  const auto at = tokens.find(accessor);
  return at == tokens.end() ? nullptr : at->second;
}

StoreEvent token_event(Simulation& simulation, const AclToken& token) {
  json::Value shown = token_json(token, simulation.stores().access(), true), payload = json::Value::object();
  shown.set("SecretID", "");
  payload.set("ACLToken", std::move(shown));
  return {"ACLToken", token.accessor, "", {}, std::move(payload)};
}

void bootstrap(Simulation& simulation, const Request& request, Reply& reply) {  // R-STORE-71, 72
  std::string secret;
  if (!request.body.empty()) {
    const auto body = io::parse_json(request.body, "request");
    if (!body || !body->is_object())
      return reply.fail(400, "failed to decode request body: " +
                                 (body ? std::string("the body is no object") : body.error().problem));
    secret = body_member(*body, "BootstrapSecret").as_string();
  }
  if (!secret.empty() && !base::parse_uuid(secret)) return reply.fail(400, "invalid acl token");
  Access& access = simulation.stores().access();
  if (access.bootstrap_index() != 0)
    return reply.fail(400,
                      "ACL bootstrap already done (reset index: " + std::to_string(access.bootstrap_index()) + ")");
  const std::uint64_t index = simulation.take_index();
  AclToken token;
  token.accessor = fresh_uuid(), token.secret = secret.empty() ? fresh_uuid() : secret;
  token.name = "Bootstrap Token", token.type = "management", token.global = true;
  token.create_time = simulation.now(), token.create_index = token.modify_index = index;
  set_hash(token);
  access.set_bootstrapped(index);
  access.put(token);
  simulation.stores().touch(StoreTable::acl_tokens, index);  // and no event (R-STORE-125)
  reply.index(index);
  reply.json(token_json(token, access, true));
}

// ---------------------------------------------------------------- writing

/// A token as given in a body, with roles as named there.
struct GivenToken {
  AclToken token;
  std::vector<std::string> roles;
};

std::optional<GivenToken> given_token(const Request& request, Reply& reply) {
  const auto body = object_body(request, "ACLToken", reply);
  if (!body) return std::nullopt;
  const Expected expected{*body, "ACLToken", reply};
  const auto accessor = expected.text("AccessorID"), secret = expected.text("SecretID"), name = expected.text("Name"),
             type = expected.text("Type"), expires = expected.text("ExpirationTime");
  const auto policies = expected.texts("Policies");
  const auto global = expected.boolean("Global");
  if (!accessor || !secret || !name || !type || !expires || !policies || !global) return std::nullopt;
  const auto ttl = body_duration(*body, "ExpirationTTL", reply);
  if (!ttl) return std::nullopt;
  GivenToken out;
  out.token.accessor = *accessor, out.token.secret = *secret, out.token.name = *name, out.token.type = *type;
  out.token.policies = *policies, out.token.global = *global, out.token.ttl_ns = *ttl;
  if (!expires->empty()) {
    const auto time = base::parse_rfc3339(*expires);
    if (!time)
      return reply.fail(400, "parsing time " + base::go_quote(*expires) + ": it is no RFC 3339 time"), std::nullopt;
    if (!time->is_zero() && *expires != "0001-01-01T00:00:00Z") out.token.expires = time->ns;
  }
  for (const json::Value& link : body_member(*body, "Roles").items()) {
    const std::string& id = body_member(link, "ID").as_string();
    out.roles.push_back(id.empty() ? body_member(link, "Name").as_string() : id);
  }
  return out;
}

/// Errors of a token (R-STORE-78). `before`: the stored one, null for a new one.
model::ErrorList token_errors(const GivenToken& given, const AclToken* before, std::int64_t now) {
  model::ErrorList errors;
  const AclToken& token = given.token;
  const bool grants = !token.policies.empty() || !given.roles.empty();
  if (token.name.size() > kNameMost) errors.add("token name too long");
  if (token.type == "client") {
    if (!grants) errors.add("client token missing policies or roles");
  } else if (token.type == "management") {
    if (grants) errors.add("management token cannot be associated with policies or roles");
  } else {
    errors.add("token type must be client or management");
  }
  if (before) {
    if (token.global != before->global) errors.add("cannot toggle global mode");
    if (token.ttl_ns != 0 && token.ttl_ns != before->ttl_ns) errors.add("cannot update expiration TTL");
    if (token.expires && token.expires != before->expires) errors.add("cannot update expiration time");
    return errors;
  }
  if (token.ttl_ns < 0)
    errors.add("token expiration TTL '" + base::duration_text(token.ttl_ns) + "' should not be negative");
  std::optional<std::int64_t> expires = token.expires;
  if (!expires && token.ttl_ns > 0)
    expires = token.ttl_ns > std::numeric_limits<std::int64_t>::max() - now ? std::numeric_limits<std::int64_t>::max()
                                                                            : now + token.ttl_ns;
  if (!expires) return errors;
  const std::int64_t left = *expires - now;
  if (left < 0)
    errors.add("expiration time cannot be before create time");
  else if (left > kTokenTtlMost)
    errors.add("expiration time cannot be more than 24h0m0s in the future (was " + base::duration_text(left) + ")");
  else if (left < kTokenTtlLeast)
    errors.add("expiration time cannot be less than 1m0s in the future (was " + base::duration_text(left) + ")");
  return errors;
}

/// IDs of the roles; nullopt if one does not exist: the reply contains the error.
std::optional<std::vector<std::string>> role_ids(const Access& access, const std::vector<std::string>& given,
                                                 Reply& reply) {
  std::vector<std::string> out;
  std::set<std::string> seen;
  for (const std::string& name : given) {
    std::string id = access.roles().contains(name) ? name : "";
    if (id.empty())
      if (const auto role = access.role_named(name)) id = role->id;
    if (id.empty()) return reply.fail(400, "cannot find role " + name), std::nullopt;
    if (seen.insert(id).second) out.push_back(std::move(id));
  }
  return out;
}

void write_token(Simulation& simulation, const Request& request, Reply& reply) {
  if (!request.captures.empty() && request.captures[0].empty()) return reply.fail(400, "Missing Token Accessor");
  auto given = given_token(request, reply);
  if (!given) return;
  AclToken& token = given->token;
  if (!request.captures.empty() && request.captures[0] != token.accessor)
    return reply.fail(400, "ACL token accessor does not match request path");
  Access& access = simulation.stores().access();
  const auto before = token.accessor.empty() ? nullptr : token_of(simulation, token.accessor);
  const bool uploads = !before && base::parse_uuid(token.accessor) && base::parse_uuid(token.secret) &&
                       token.type != "management";  // R-STORE-76
  if (!token.accessor.empty() && !before && !uploads) return reply.fail(400, "cannot find token " + token.accessor);
  if (uploads && access.is_secret(token.secret)) return reply.fail(400, "cannot find token " + token.accessor);
  if (refuse_invalid("token 0 invalid: ", token_errors(*given, before.get(), simulation.now()), reply)) return;
  auto roles = role_ids(access, given->roles, reply);
  if (!roles || refuse_full(simulation, 1024 + 2 * request.body.size(), reply)) return;
  token.role_ids = std::move(*roles);
  token.modify_index = simulation.take_index();
  if (before) {
    token.secret = before->secret, token.create_time = before->create_time, token.ttl_ns = before->ttl_ns;
    token.expires = before->expires, token.create_index = before->create_index;
  } else {
    if (!uploads) token.accessor = fresh_uuid(), token.secret = fresh_uuid();
    token.create_time = simulation.now(), token.create_index = token.modify_index;
    if (!token.expires && token.ttl_ns > 0) token.expires = token.create_time + token.ttl_ns;
  }
  store_token(simulation, std::move(token), reply);
}

void delete_token(Simulation& simulation, const Request& request, Reply& reply) {  // R-STORE-83
  const std::string& accessor = request.captures[0];
  if (accessor.empty()) return reply.fail(400, "Missing Token Accessor");
  if (accessor.size() != 36)
    return reply.fail(400, std::string("token lookup failed: acl token lookup failed: ") + kNotAnId);
  const auto token = token_of(simulation, accessor);
  if (!token) return reply.fail(400, "Cannot delete nonexistent tokens: " + accessor);
  const std::uint64_t index = simulation.take_index();
  StoreEvent event = token_event(simulation, *token);
  simulation.stores().access().remove_token(accessor);
  acl_written(simulation, StoreTable::acl_tokens, index, "ACLTokenDeleted", std::move(event));
  reply.index(index);
}

// ---------------------------------------------------------------- reading

void read_token(Simulation& simulation, const Request& request, Reply& reply) {  // R-STORE-81
  const std::string& accessor = request.captures[0];
  if (accessor.empty()) return reply.fail(400, "Missing Token Accessor");
  const bool is_own = request.asker.token && request.asker.token->accessor == accessor;
  if (!request.asker.is_management() && !is_own) return reply.fail(403, "Permission denied");
  if (accessor.size() != 36) return reply.fail(500, std::string("acl token lookup failed: ") + kNotAnId);
  const auto token = token_of(simulation, accessor);
  if (!token) return reply.fail(404, "ACL token not found");
  reply.json(token_json(*token, simulation.stores().access(), true));
}

std::uint64_t token_index(Simulation& simulation, const Request& request) {
  const auto token = token_of(simulation, request.captures[0]);
  return token ? token->modify_index : tokens_index(simulation, request);
}

json::Value made_up_token(const char* accessor, const char* name, json::Value policies) {
  json::Value out = json::Value::object();
  out.set("AccessorID", accessor), out.set("SecretID", ""), out.set("Name", name);
  out.set("Type", "client"), out.set("Policies", std::move(policies)), out.set("Roles", nullptr);
  out.set("Global", false), out.set("Hash", nullptr), out.set("CreateTime", "0001-01-01T00:00:00Z");
  out.set("ExpirationTime", nullptr), out.set("ExpirationTTL", ""), out.set("CreateIndex", 0);
  out.set("ModifyIndex", 0);
  return out;
}

void read_own_token(Simulation& simulation, const Request& request, Reply& reply) {  // R-STORE-82, R-API-469
  switch (request.asker.kind) {
    case Asker::Kind::everybody:
      return reply.json(made_up_token("acls-disabled", "ACLs disabled token", nullptr));
    case Asker::Kind::anonymous:
      return reply.json(made_up_token("anonymous", "Anonymous Token", json::Array{json::Value("anonymous")}));
    case Asker::Kind::token: {
      const AclToken& token = *request.asker.token;
      reply.header("X-Nomad-Index", std::to_string(token.modify_index));
      reply.header("X-Nomad-Knownleader", "true"), reply.header("X-Nomad-Lastcontact", "0");
      return reply.json(token_json(token, simulation.stores().access(), true));
    }
    case Asker::Kind::expired:
      return reply.fail(500, "ACL token expired");
    case Asker::Kind::identity:
      return reply.fail(404, "ACL token not found");
    case Asker::Kind::unknown:
      return reply.fail(403, "Permission denied");
    case Asker::Kind::garbage:
      break;
  }
  const bool has_parts = std::count(request.secret.begin(), request.secret.end(), '.') == 2;
  reply.fail(500, has_parts
                      ? "failed to parse signed token: go-jose/go-jose: error in cryptographic primitive"
                      : "failed to parse signed token: go-jose/go-jose: compact JWS format must have three parts");
}

void list_tokens(Simulation& simulation, const Request& request, Reply& reply) {  // R-STORE-84
  const auto prefix = IdPrefix::parse(request.prefix);
  if (!prefix) return reply.fail("acl token lookup failed: " + prefix.error());
  const Access& access = simulation.stores().access();
  std::vector<Shared<AclToken>> rows;
  for (const auto& [accessor, token] : access.tokens())
    if (const auto id = base::parse_uuid(accessor); id && prefix->matches(*id)) rows.push_back(token);
  const bool by_id = !request.prefix.empty();
  if (!by_id)
    std::sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) {
      return std::tie(a->create_index, a->accessor) < std::tie(b->create_index, b->accessor);
    });
  std::vector<json::Value> values;
  std::vector<std::string> page_tokens;
  for (const auto& token : rows) {
    values.push_back(token_json(*token, access, false));
    page_tokens.push_back(by_id ? token->accessor : std::to_string(token->create_index) + "." + token->accessor);
  }
  send_values(simulation, request, reply, std::move(values), std::move(page_tokens),
              by_id ? TokenKind::text : TokenKind::creation);
}

// ---------------------------------------------------------------- one-time tokens

void make_one_time(Simulation& simulation, const Request& request, Reply& reply) {  // R-STORE-118
  if (!request.asker.token) return reply.fail(500, "acl token lookup failed: missing secret id");
  if (refuse_full(simulation, 512, reply)) return;
  OneTimeToken token{fresh_uuid(), request.asker.token->accessor, simulation.now() + kOneTimeTtl,
                     simulation.take_index()};
  json::Value out = json::Value::object(), shown = json::Value::object();
  shown.set("OneTimeSecretID", token.secret), shown.set("AccessorID", token.accessor);
  shown.set("ExpiresAt", base::to_rfc3339(base::Time{token.expires})), shown.set("CreateIndex", token.index);
  shown.set("ModifyIndex", token.index);
  out.set("OneTimeToken", std::move(shown)), out.set("Index", token.index);
  reply.index(token.index);
  simulation.stores().access().put(std::move(token));
  reply.json(out);
}

void exchange_one_time(Simulation& simulation, const Request& request, Reply& reply) {
  const auto body = object_body(request, "OneTimeTokenExchangeRequest", reply);
  if (!body) return;
  const auto secret = Expected{*body, "OneTimeTokenExchangeRequest", reply}.text("OneTimeSecretID");
  if (!secret) return;
  if (secret->empty()) return reply.fail(500, "one-time token lookup failed: missing secret");
  if (secret->size() != 36) return reply.fail(500, std::string("one-time token lookup failed: ") + kNotAnId);
  const auto taken = simulation.stores().access().take(*secret, simulation.now());
  const auto token = taken ? token_of(simulation, taken->accessor) : nullptr;
  if (!token || token->is_expired(simulation.now())) return reply.fail(403, "Permission denied");
  const std::uint64_t index = simulation.take_index();
  json::Value out = json::Value::object();
  out.set("Token", token_json(*token, simulation.stores().access(), true)), out.set("Index", index);
  reply.index(index);
  reply.json(out);
}

}  // namespace

void store_token(Simulation& simulation, AclToken token, Reply& reply) {
  const std::string accessor = token.accessor;
  const std::uint64_t index = token.modify_index;
  set_hash(token);
  simulation.stores().access().put(std::move(token));
  const AclToken& stored = *token_of(simulation, accessor);
  acl_written(simulation, StoreTable::acl_tokens, index, "ACLTokenUpserted", token_event(simulation, stored));
  reply.index(index);
  reply.json(token_json(stored, simulation.stores().access(), true));
}

void add_acl_token_routes(Router& router) {
  router.write("/v1/acl/bootstrap", with_acl(bootstrap));
  router.read("/v1/acl/tokens", with_acl(list_tokens), {tokens_index, tables_of(StoreTable::acl_tokens)});
  router.write("/v1/acl/token", with_acl(write_token));
  router.plain("/v1/acl/token/self", read_own_token);
  router.write("/v1/acl/token/onetime", with_acl(make_one_time));
  router.write("/v1/acl/token/onetime/exchange", with_acl(exchange_one_time));
  router.read("/v1/acl/token/*", with_acl(read_token), {token_index, tables_of(StoreTable::acl_tokens)});
  router.write("/v1/acl/token/*", with_acl(write_token));
  router.remove("/v1/acl/token/*", with_acl(delete_token));
  router.add({"/v1/acl/*",
              kAnyMethod,
              RouteKind::plain,
              with_acl([](Simulation&, const Request&, Reply& reply) { reply.text(404, "", ""); }),
              {}});
}

}  // namespace berth::http
