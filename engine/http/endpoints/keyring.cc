// Root keys, the public keys for identities, and identities of nodes (R-STORE-180 to 190).
#include <algorithm>

#include "base/text.h"
#include "http/endpoints/acl.h"
#include "http/endpoints/endpoints.h"
#include "http/endpoints/objects.h"
#include "http/stores/fresh.h"

namespace berth::http {

namespace {

using base::kSecond;

constexpr std::int64_t kRotateAfter = 30 * 24 * 3600 * kSecond;  // the default of a server (R-STORE-184)
constexpr std::int64_t kAgeLeast = 900;                          // seconds
constexpr std::int64_t kIntroductionTtl = 300 * kSecond, kIntroductionMost = 1800 * kSecond;
constexpr const char* kAudience = "nomadproject.io";

void list_keys(Simulation& simulation, const Request&, Reply& reply) {
  json::Value out = json::Value::array();
  for (const auto& [id, key] : simulation.stores().keyring().keys()) out.push(root_key_json(key));
  reply.json(out);
}

void rotate_key(Simulation& simulation, const Request& request, Reply& reply) {  // R-STORE-181
  const bool full = request.find("full") != nullptr;
  std::int64_t publish_time = 0;
  if (const std::string* given = request.find("publish_time"); given && !given->empty()) {
    const auto value = base::parse_int64(*given);
    if (!value)
      return reply.fail(
          500, "invalid publish_time: strconv.ParseInt: parsing " + base::go_quote(*given) + ": invalid syntax");
    publish_time = *value;
  }
  if (full && publish_time != 0)
    return reply.fail(500, "keyring cannot be prepublished and full rotated at the same time");
  Keyring& keyring = simulation.stores().keyring();
  if (keyring.keys().size() >= Keyring::kMost)
    return reply.fail(500, "the keyring holds " + std::to_string(Keyring::kMost) + " keys; delete some of them");
  const std::uint64_t index = simulation.take_index();
  const RootKey& key = keyring.rotate(index, simulation.now(), publish_time);
  simulation.stores().touch(StoreTable::root_keys, index);
  if (full) simulation.stores().variables().set_key(key.id);
  json::Value out = json::Value::object(), shown = root_key_json(key);
  shown.set("CreateIndex", 0), shown.set("ModifyIndex", 0);
  out.set("Index", index), out.set("Key", std::move(shown));
  reply.index(index);
  reply.json(out);
}

/// True if a live allocation was placed while the key was active: its tasks' identities are signed by it.
bool signs_allocation(Simulation& simulation, const RootKey& key) {
  const tables::AllocTable& allocs = simulation.state().allocs;
  for (tables::AllocRow row = 0; row < allocs.size(); ++row)
    if (allocs.exists(row) && !allocs.terminal(row) && allocs.create_index[row] >= key.create_index &&
        allocs.create_index[row] < key.modify_index)
      return true;
  return false;
}

void delete_key(Simulation& simulation, const Request& request, Reply& reply) {  // R-STORE-182
  const std::string& id = request.captures[0];
  bool force = false;
  if (const std::string* given = request.find("force"); given && !given->empty()) {
    const auto value = base::parse_bool(*given);
    if (!value) return reply.fail(422, "invalid force parameter");
    force = *value;
  }
  if (id.empty()) return reply.fail(500, "root key ID is required");
  Keyring& keyring = simulation.stores().keyring();
  const auto found = keyring.keys().find(id);
  if (found == keyring.keys().end()) return reply.fail(500, "root key not found");
  const RootKey& key = found->second;
  if (key.state == "active") return reply.fail(500, "active root key cannot be deleted - call rotate first");
  if (!force && (simulation.stores().variables().any_with_key(id) ||
                 (key.state != "prepublished" && signs_allocation(simulation, key))))
    return reply.fail(500, "root key in use, cannot delete");
  const std::uint64_t index = simulation.take_index();
  keyring.remove(std::string(id));
  simulation.stores().touch(StoreTable::root_keys, index);
  json::Value out = json::Value::object();
  out.set("Index", index);
  reply.index(index);
  reply.json(out);
}

/// Made on another thread, because missing key pairs are generated at first use (R-STORE-184).
void read_jwks(Simulation& simulation, const Request&, Reply& reply) {
  std::vector<RootKey> keys;
  std::int64_t newest = 0;
  for (const auto& [id, key] : simulation.stores().keyring().keys())
    keys.push_back(key), newest = std::max(newest, key.create_time);
  const std::int64_t age = (newest + kRotateAfter - simulation.now()) / kSecond;
  reply.header("Cache-Control", "max-age=" + std::to_string(std::max(age, kAgeLeast)));
  reply.stream(Where::questions, [keys = std::move(keys)](std::string& out) {
    json::Value list = json::Value::array(), all = json::Value::object();
    for (const RootKey& key : keys) {
      json::Value one = json::Value::object();
      one.set("use", "sig"), one.set("kty", "RSA"), one.set("kid", key.id), one.set("alg", "RS256");
      one.set("n", key.signing->modulus()), one.set("e", "AQAB");
      list.push(std::move(one));
    }
    all.set("keys", std::move(list));
    json::append_text(out, all);
    return false;
  });
}

// ---------------------------------------------------------------- identities

/// Claims that all identities have, with times in seconds.
json::Value identity_claims(std::string subject, std::int64_t from_ns, std::int64_t ttl_ns) {
  json::Value out = json::Value::object();
  out.set("aud", kAudience), out.set("exp", (from_ns + ttl_ns) / kSecond), out.set("iat", from_ns / kSecond);
  out.set("jti", fresh_uuid()), out.set("nbf", from_ns / kSecond), out.set("sub", std::move(subject));
  return out;
}

/// The claims of clients' introduction tokens, signed on another thread (R-STORE-189).
void make_introduction(Simulation& simulation, const Request& request, Reply& reply) {
  const auto body = optional_body(request, "ACLIdentityClientIntroductionTokenRequest", reply);
  if (!body) return;
  const Expected expected{*body, "ACLIdentityClientIntroductionTokenRequest", reply};
  const auto name = expected.text("NodeName"), pool = expected.text("NodePool");
  if (!name || !pool) return;
  const auto given = body_duration(*body, "TTL", reply);
  if (!given) return;
  const std::int64_t ttl = *given <= 0 ? kIntroductionTtl : std::min(*given, kIntroductionMost);
  const std::string pool_name = pool->empty() ? "default" : *pool;
  json::Value claims =
      identity_claims("node-introduction:global:" + pool_name + ":" + *name + ":default", simulation.now(), ttl);
  claims.set("nomad_node_name", *name), claims.set("nomad_node_pool", pool_name);
  reply.stream(Where::questions, [key = simulation.stores().keyring().active(), claims](std::string& out) {
    json::Value answer = json::Value::object();
    answer.set("JWT", Keyring::signed_token(key, claims));
    json::append_text(out, answer);
    return false;
  });
}

}  // namespace

void add_keyring_routes(Router& router) {
  const Blocking keys = blocks_on_store<StoreTable::root_keys>();
  const auto refuse = [](Simulation&, const Request&, Reply& reply) { reply.fail(405, "Invalid method"); };
  router.read("/v1/operator/keyring/keys", list_keys, keys);
  router.write("/v1/operator/keyring/rotate", rotate_key);
  router.remove("/v1/operator/keyring/key/*", delete_key);
  router.add({"/v1/operator/keyring/*", kAnyMethod, RouteKind::plain, refuse, {}});
  router.read("/.well-known/jwks.json", read_jwks, keys);
  router.plain("/.well-known/openid-configuration", refusal(404, "OIDC Discovery endpoint disabled"));
  router.add({"/v1/acl/identity/client-introduction-token", kPut | kPost, RouteKind::plain, make_introduction, {}});
}

}  // namespace berth::http
