#include "http/refused.h"

#include <algorithm>
#include <string_view>

#include "http/endpoints/objects.h"

namespace berth::http {

namespace {

/// Routes that refuse only some requests. Routes that refuse all are detected by their handlers.
struct Partly {
  std::string_view pattern;
  std::uint8_t methods;
  std::string_view when, answer;
};
constexpr Partly kPartly[] = {
    {"/v1/acl/login", kPut, "a method whose keys a provider of identities has",
     "401 `unable to validate provided token: ...`"},
    {"/v1/acl/oidc/auth-url", kPut, "a complete request: no provider of identities is asked",
     "500 `failed to generate OIDC provider: ...`"},
    {"/v1/acl/oidc/complete-auth", kPut, "a complete request: no provider of identities is asked",
     "500 `failed to generate OIDC provider: ...`"},
    {"/v1/agent/join", kPut, "an address that is not this server's", "200, with `error`"},
    {"/v1/agent/monitor/export", kGet, "always: no log is kept",
     "501 `not available: the log of this server is not kept; use \"nomad monitor\"`"},
    {"/v1/agent/pprof/*", kGet, "without access control, as by an agent without debugging", "403 `Permission denied`"},
    {"/v1/agent/servers", kGet, "without a local node", "501 `Invalid method`"},
    {"/v1/client/allocation/*/exec", kGet, "always: there are no processes",
     "websocket, closed with 1008 `not available: allocations of this cluster are simulated`"},
    {"/v1/client/allocation/*/gc", kPut, "always: nothing is collected",
     "500 `No such allocation on client, or allocation not eligible for GC`"},
    {"/v1/client/allocation/*/pause", kPut, "always", "500 `Enterprise only`"},
    {"/v1/job/*/action", kGet, "always: there are no processes",
     "websocket, closed with 1008 `not available: allocations of this cluster are simulated`"},
    {"/v1/namespace/*", kPut, "Vault, Consul or node pool configuration, a quota",
     "500 `Invalid namespace ...: ... is unlicensed.`, `... using non-existent quota ...`"},
    {"/v1/node/pool/*", kPut, "a scheduler configuration of the pool",
     "500 `Feature \"Node Pools Governance\" is unlicensed`"},
    {"/v1/operator/raft/peer", kDelete, "the only server", "500 `need at least one voter in configuration: ...`"},
    {"/v1/operator/raft/transfer-leadership", kPut, "to the only server",
     "500 `cannot transfer leadership to itself: ...`"},
};

std::string methods_text(std::uint8_t methods) {
  if (methods == kAnyMethod) return "any";
  std::string out;
  for (const auto& [bit, name] :
       {std::pair(kGet, "GET"), std::pair(kPut, "PUT"), std::pair(kPost, "POST"), std::pair(kDelete, "DELETE")})
    if ((methods & bit) != 0) out += (out.empty() ? "" : ", ") + std::string(name);
  return out.empty() ? "others" : out;
}

}  // namespace

std::string refused_table(const Router& router) {
  std::vector<std::string> rows;
  for (const Route* route : router.routes()) {
    if (const Refusal* refusal = route->handler.target<Refusal>())
      rows.push_back("| `" + route->pattern + "` | " + methods_text(route->methods) + " | always | " +
                     std::to_string(refusal->status) + " `" + refusal->text + "` |\n");
    for (const Partly& partly : kPartly)
      if (partly.pattern == route->pattern && (partly.methods & route->methods) != 0 &&
          !route->handler.target<Refusal>())
        rows.push_back("| `" + route->pattern + "` | " + methods_text(route->methods) + " | " +
                       std::string(partly.when) + " | " + std::string(partly.answer) + " |\n");
  }
  std::sort(rows.begin(), rows.end());
  std::string out = "| endpoint | methods | refused | answer |\n|---|---|---|---|\n";
  for (const std::string& row : rows) out += row;
  return out;
}

}  // namespace berth::http
