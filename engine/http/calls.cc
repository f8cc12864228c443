#include "http/calls.h"

#include <algorithm>
#include <array>

namespace berth::http {

namespace {

struct Call {
  std::string_view method;  // "W": PUT and POST
  std::string_view pattern;
  std::string_view endpoint, kind;
  std::string_view sample;  // below `nomad.nomad.`
};

constexpr Call kCalls[] = {
    {"DELETE", "/v1/evaluations", "eval", "write", "eval.delete"},
    {"DELETE", "/v1/job/*", "job", "write", "job.deregister"},
    {"DELETE", "/v1/job/*/versions/*/tag", "job", "write", "job.tag_version"},
    {"DELETE", "/v1/namespace/*", "namespace", "write", "namespace.delete_namespaces"},
    {"DELETE", "/v1/node/pool/*", "node_pool", "write", "node_pool.delete_node_pools"},
    {"DELETE", "/v1/operator/raft/peer", "operator", "write", "operator.raft_remove_by_id"},
    {"DELETE", "/v1/service/*/*", "service_registration", "write", "service_registration.delete_id"},
    {"DELETE", "/v1/var/*", "variables", "write", "variables.apply.delete"},
    {"GET", "/v1/acl/auth-methods", "acl", "list", "acl.list_auth_methods"},
    {"GET", "/v1/acl/binding-rules", "acl", "list", "acl.list_binding_rules"},
    {"GET", "/v1/acl/policies", "acl", "list", "acl.list_policies"},
    {"GET", "/v1/acl/policy/*", "acl", "read", "acl.get_policy"},
    {"GET", "/v1/acl/roles", "acl", "list", "acl.list_roles"},
    {"GET", "/v1/acl/token/*", "acl", "read", "acl.get_token"},
    {"GET", "/v1/acl/tokens", "acl", "list", "acl.list_tokens"},
    {"GET", "/v1/allocation/*", "alloc", "read", "alloc.get_alloc"},
    {"GET", "/v1/allocations", "alloc", "list", "alloc.list"},
    {"GET", "/v1/deployment/*", "deployment", "read", "deployment.get_deployment"},
    {"GET", "/v1/deployment/allocations/*", "deployment", "list", "deployment.allocations"},
    {"GET", "/v1/deployments", "deployment", "list", "deployment.list"},
    {"GET", "/v1/evaluation/*", "eval", "read", "eval.get_eval"},
    {"GET", "/v1/evaluation/*/allocations", "eval", "list", "eval.allocations"},
    {"GET", "/v1/evaluations", "eval", "list", "eval.list"},
    {"GET", "/v1/evaluations/count", "eval", "list", "eval.count"},
    {"GET", "/v1/event/stream", "event", "read", "event.stream"},
    {"GET", "/v1/job/*", "job", "read", "job.get_job"},
    {"GET", "/v1/job/*/allocations", "job", "list", "job.allocations"},
    {"GET", "/v1/job/*/deployment", "job", "read", "job.latest_deployment"},
    {"GET", "/v1/job/*/deployments", "job", "list", "job.deployments"},
    {"GET", "/v1/job/*/evaluations", "job", "list", "job.evaluations"},
    {"GET", "/v1/job/*/scale", "job", "read", "job.scale_status"},
    {"GET", "/v1/job/*/services", "job", "list", "job.get_service_registrations"},
    {"GET", "/v1/job/*/submission", "job", "read", "job.get_job_submission"},
    {"GET", "/v1/job/*/summary", "job", "read", "job_summary.get_job_summary"},
    {"GET", "/v1/job/*/versions", "job", "list", "job.get_job_versions"},
    {"GET", "/v1/jobs", "job", "list", "job.list"},
    {"GET", "/v1/jobs/statuses", "job", "list", "jobs.statuses"},
    {"GET", "/v1/namespace/*", "namespace", "read", "namespace.get_namespace"},
    {"GET", "/v1/namespaces", "namespace", "list", "namespace.list_namespace"},
    {"GET", "/v1/node/*", "node", "read", "client.get_node"},
    {"GET", "/v1/node/*/allocations", "node", "list", "client.get_allocs"},
    {"GET", "/v1/node/pool/*", "node_pool", "read", "node_pool.get_node_pool"},
    {"GET", "/v1/node/pool/*/jobs", "node_pool", "list", "node_pool.list_jobs"},
    {"GET", "/v1/node/pool/*/nodes", "node_pool", "list", "node_pool.list_nodes"},
    {"GET", "/v1/node/pools", "node_pool", "list", "node_pool.list"},
    {"GET", "/v1/nodes", "node", "list", "client.list"},
    {"GET", "/v1/operator/autopilot/configuration", "operator", "read", "operator.autopilot_get_configuration"},
    {"GET", "/v1/operator/autopilot/health", "operator", "read", "operator.server_health"},
    {"GET", "/v1/operator/keyring/keys", "keyring", "list", "keyring.list"},
    {"GET", "/v1/operator/raft/configuration", "operator", "read", "operator.raft_get_configuration"},
    {"GET", "/v1/operator/scheduler/configuration", "operator", "read", "operator.scheduler_get_configuration"},
    {"GET", "/v1/plugin/csi/*", "csi_plugin", "read", "plugin.get"},
    {"GET", "/v1/plugins", "csi_plugin", "list", "plugin.list"},
    {"GET", "/v1/regions", "status", "list", "status.regions"},
    {"GET", "/v1/scaling/policies", "scaling", "list", "scaling.list_policies"},
    {"GET", "/v1/scaling/policy/*", "scaling", "read", "scaling.get_policy"},
    {"GET", "/v1/service/*", "service_registration", "read", "service_registration.get_service"},
    {"GET", "/v1/services", "service_registration", "list", "service_registration.list"},
    {"GET", "/v1/status/leader", "status", "read", "status.leader"},
    {"GET", "/v1/status/peers", "status", "read", "status.peers"},
    {"GET", "/v1/var/*", "variables", "read", "variables.read"},
    {"GET", "/v1/vars", "variables", "list", "variables.list"},
    {"GET", "/v1/volume/csi/*", "csi_volume", "read", "volume.get"},
    {"GET", "/v1/volumes", "csi_volume", "list", "volume.list"},
    {"W", "/v1/allocation/*/stop", "alloc", "write", "alloc.stop"},
    {"W", "/v1/deployment/allocation-health/*", "deployment", "write", "deployment.set_alloc_health"},
    {"W", "/v1/deployment/fail/*", "deployment", "write", "deployment.fail"},
    {"W", "/v1/deployment/pause/*", "deployment", "write", "deployment.pause"},
    {"W", "/v1/deployment/promote/*", "deployment", "write", "deployment.promote"},
    {"W", "/v1/deployment/unblock/*", "deployment", "write", "deployment.unblock"},
    {"W", "/v1/job/*", "job", "write", "job.register"},
    {"W", "/v1/job/*/dispatch", "job", "write", "job.dispatch"},
    {"W", "/v1/job/*/evaluate", "job", "write", "job.evaluate"},
    {"W", "/v1/job/*/periodic/force", "periodic", "write", "periodic.force"},
    {"W", "/v1/job/*/plan", "job", "write", "job.plan"},
    {"W", "/v1/job/*/revert", "job", "write", "job.revert"},
    {"W", "/v1/job/*/scale", "job", "write", "job.scale"},
    {"W", "/v1/job/*/stable", "job", "write", "job.stable"},
    {"W", "/v1/job/*/versions/*/tag", "job", "write", "job.tag_version"},
    {"W", "/v1/jobs", "job", "write", "job.register"},
    {"W", "/v1/jobs/statuses", "job", "list", "jobs.statuses"},
    {"W", "/v1/namespace", "namespace", "write", "namespace.upsert_namespaces"},
    {"W", "/v1/namespace/*", "namespace", "write", "namespace.upsert_namespaces"},
    {"W", "/v1/node/*/drain", "node", "write", "client.update_drain"},
    {"W", "/v1/node/*/eligibility", "node", "write", "client.update_eligibility"},
    {"W", "/v1/node/*/evaluate", "node", "write", "client.evaluate"},
    {"W", "/v1/node/*/purge", "node", "write", "client.deregister"},
    {"W", "/v1/node/pool/*", "node_pool", "write", "node_pool.upsert_node_pools"},
    {"W", "/v1/node/pools", "node_pool", "write", "node_pool.upsert_node_pools"},
    {"W", "/v1/operator/autopilot/configuration", "operator", "write", "operator.autopilot_set_configuration"},
    {"W", "/v1/operator/scheduler/configuration", "operator", "write", "operator.scheduler_set_configuration"},
    {"W", "/v1/search", "search", "list", "search.prefix_search"},
    {"W", "/v1/search/fuzzy", "search", "list", "search.fuzzy_search"},
    {"W", "/v1/system/gc", "system", "write", "system.garbage_collect"},
    {"W", "/v1/system/reconcile/summaries", "system", "write", "system.reconcile_summaries"},
    {"W", "/v1/validate/job", "job", "read", "job.validate"},
    {"W", "/v1/var/*", "variables", "write", "variables.apply.set"},
};

constexpr auto kKey = [](const Call& call) { return std::pair(call.method, call.pattern); };
static_assert(std::is_sorted(std::begin(kCalls), std::end(kCalls),
                             [](const Call& a, const Call& b) { return kKey(a) < kKey(b); }));

}  // namespace

void note_call(Telemetry& telemetry, const Route& route, std::string_view method, double milliseconds) {
  const bool writes = method == "PUT" || method == "POST";
  const std::pair key(writes ? std::string_view("W") : method, std::string_view(route.pattern));
  const auto* const call = std::lower_bound(std::begin(kCalls), std::end(kCalls), key,
                                            [](const Call& a, const auto& wanted) { return kKey(a) < wanted; });
  if (call == std::end(kCalls) || kKey(*call) != key) return;
  telemetry.count("nomad.nomad.rpc.request");
  if (route.blocking.index) telemetry.count("nomad.nomad.rpc.query");
  telemetry.count("nomad.nomad.rpc." + std::string(call->endpoint) + "." + std::string(call->kind));
  telemetry.sample("nomad.nomad." + std::string(call->sample), milliseconds);
}

}  // namespace berth::http
