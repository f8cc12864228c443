// What a cluster of this kind has none of, or only an edition that is paid for (R-API-466 to 469): lists are empty,
// writes are refused.
#include <algorithm>

#include "base/sha256.h"
#include "base/text.h"
#include "serve/endpoints/endpoints.h"
#include "serve/endpoints/entities.h"
#include "serve/endpoints/objects.h"

namespace berth::serve {

namespace {

constexpr const char* kEnterprise = "Nomad Enterprise only endpoint";
constexpr const char* kNoVolumes = "not available: this server keeps no volumes, plugins, services and variables";

void empty_list(Simulation&, const Request&, Reply& reply) {
  reply.index(1);
  reply.json(json::Value::array());
}

/// Headers only where a type is asked for (R-API-28); CSI's table was never written.
void empty_typed_list(Simulation&, const Request& request, Reply& reply) {
  if (const std::string* type = request.find("type"); type && !type->empty()) {
    reply.header("X-Nomad-Index", *type == "host" ? "1" : "0");
    reply.header("X-Nomad-Knownleader", "true"), reply.header("X-Nomad-Lastcontact", "0");
  }
  reply.json(json::Value::array());
}

Handler missing(const char* what, std::uint64_t index) {
  return [what = std::string(what) + " not found", index](Simulation&, const Request&, Reply& reply) {
    reply.index(index);
    reply.fail(404, what);
  };
}

void license(Simulation&, const Request& request, Reply& reply) {  // R-API-468
  if (request.method == "GET") return reply.text(204, "", "");
  reply.fail(501, kEnterprise);
}

void own_token(Simulation&, const Request&, Reply& reply) {  // R-API-469
  json::Value out = json::Value::object();
  out.set("AccessorID", "acls-disabled"), out.set("SecretID", ""), out.set("Name", "ACLs disabled token");
  out.set("Type", "client"), out.set("Policies", nullptr), out.set("Roles", nullptr), out.set("Global", false);
  out.set("Hash", nullptr), out.set("CreateTime", "0001-01-01T00:00:00Z"), out.set("ExpirationTime", nullptr);
  out.set("ExpirationTTL", ""), out.set("CreateIndex", 0), out.set("ModifyIndex", 0);
  reply.json(out);
}

}  // namespace

void add_other_routes(Router& router) {
  router.plain("/v1/volumes", empty_typed_list);
  router.plain("/v1/plugins", empty_typed_list);
  router.read("/v1/vars", empty_list);
  router.read("/v1/volume/*", missing("volume", 0));
  router.read("/v1/plugin/*", missing("plugin", 0));
  router.read("/v1/var/*", missing("variable", 1));
  for (const char* path : {"/v1/volumes", "/v1/volume/*", "/v1/var/*", "/v1/service/*"})
    router.add({path, kPut | kPost | kDelete, RouteKind::plain, refusal(501, kNoVolumes), {}});
  for (const char* path :
       {"/v1/quotas", "/v1/quota-usages", "/v1/quota", "/v1/quota/*", "/v1/sentinel/*", "/v1/recommendations",
        "/v1/recommendations/*", "/v1/recommendation", "/v1/recommendation/*", "/v1/operator/utilization"})
    router.add({path, kAnyMethod, RouteKind::plain, refusal(501, kEnterprise), {}});
  router.add({"/v1/operator/license", kGet | kPut, RouteKind::plain, license, {}});
  router.plain("/v1/acl/token/self", own_token);
  router.add({"/v1/acl/*", kAnyMethod, RouteKind::plain, refusal(400, "ACL support disabled"), {}});
}

}  // namespace berth::serve
