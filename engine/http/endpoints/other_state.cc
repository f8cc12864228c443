// Objects that do not exist here or only in Nomad's paid edition (R-API-466 to 469): lists are empty, writes refused.
#include <algorithm>

#include "base/sha256.h"
#include "base/text.h"
#include "http/endpoints/endpoints.h"
#include "http/endpoints/entities.h"
#include "http/endpoints/objects.h"

namespace berth::http {

namespace {

constexpr const char* kEnterprise = "Nomad Enterprise only endpoint";
constexpr const char* kNoServices = "not available: services are those of running allocations";

void license(Simulation&, const Request& request, Reply& reply) {  // R-API-468
  if (request.method == "GET") return reply.text(204, "", "");
  reply.fail(501, kEnterprise);
}

}  // namespace

void add_other_routes(Router& router) {
  router.add({"/v1/service/*", kPut | kPost | kDelete, RouteKind::plain, refusal(501, kNoServices), {}});
  for (const char* path :
       {"/v1/quotas", "/v1/quota-usages", "/v1/quota", "/v1/quota/*", "/v1/sentinel/*", "/v1/recommendations",
        "/v1/recommendations/*", "/v1/recommendation", "/v1/recommendation/*"})
    router.add({path, kAnyMethod, RouteKind::plain, refusal(501, kEnterprise), {}});
  router.add({"/v1/operator/license", kGet | kPut, RouteKind::plain, license, {}});
}

}  // namespace berth::http
