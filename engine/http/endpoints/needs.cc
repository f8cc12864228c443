// The rights that a token needs for each endpoint (R-STORE-130 to 169), one row per route. A route without a row is
// open only to management tokens, and the test `serve` reports it. Handlers of lists over several namespaces, of
// searches and of event streams also filter for what the sender may see.
#include <algorithm>
#include <map>

#include "http/endpoints/answers.h"
#include "http/endpoints/endpoints.h"
#include "http/endpoints/entities.h"
#include "http/endpoints/objects.h"
#include "http/stores/stores.h"
#include "io/json_parse.h"

namespace berth::http {

namespace {

using Level = Rights::Level;

struct Row {
  std::uint8_t methods;
  std::vector<const char*> patterns;
  Need need;
};

Capabilities caps(std::initializer_list<std::string_view> names) {
  Capabilities out = 0;
  for (const std::string_view name : names) out |= namespace_capability(name);
  return out;
}

/// A test of only the rights.
template <class Test>
Need rights(Test test) {
  return {false, [test](Simulation&, Request& request, Reply&) { return request.may(test); }};
}

Need anybody() { return {true, nullptr}; }
/// Always allowed; the handler filters for what the sender may see.
Need filtered() {
  return rights([](const Rights&) { return true; });
}
Need management() { return {}; }

Need node(Level level) {
  return rights([level](const Rights& has) { return has.node(level); });
}
Need agent(Level level) {
  return rights([level](const Rights& has) { return has.agent(level); });
}
Need of_operator(Level level) {
  return rights([level](const Rights& has) { return has.operators(level); });
}
Need operator_may(std::string_view name) {
  return rights([wanted = http::operator_capability(name)](const Rights& has) { return has.on_operator(wanted); });
}

/// One of the capabilities in the request's namespace; for "*" in any.
Need in_namespace(std::initializer_list<std::string_view> names) {
  return {false, [wanted = caps(names)](Simulation&, Request& request, Reply&) {
            return request.may([&](const Rights& has) { return has.in_namespace(request.name_space, wanted); });
          }};
}

/// The namespaces of the cluster in which one of the capabilities is granted.
std::shared_ptr<const std::set<std::string, std::less<>>> visible_namespaces(Simulation& simulation,
                                                                             const Rights& rights,
                                                                             Capabilities wanted) {
  auto out = std::make_shared<std::set<std::string, std::less<>>>();
  for (std::string& name : namespace_names(simulation.state()))
    if (rights.in_namespace(name, wanted)) out->insert(std::move(name));
  return out;
}

/// A list: a request for all namespaces gets the rows that the token may see. `or_empty`: even if it may see none.
Need list_of(std::initializer_list<std::string_view> names, bool or_empty = false) {
  return {false, [wanted = caps(names), or_empty](Simulation& simulation, Request& request, Reply&) {
            const Rights& has = *request.asker.rights;
            if (!request.all_namespaces()) return has.in_namespace(request.name_space, wanted);
            request.visible = visible_namespaces(simulation, has, wanted);
            return or_empty || has.in_namespace("*", wanted);
          }};
}

/// The namespace of the query or, if it has none, of the body, for a job named in the path.
Need in_namespace_of_body(std::initializer_list<std::string_view> names) {
  return {false, [wanted = caps(names)](Simulation&, Request& request, Reply&) {
            const auto body = io::parse_json(request.body, "request");
            if (!body) return true;  // the handler refuses the body before it does anything
            const std::string name_space = namespace_of(request, *body);
            return request.may([&](const Rights& has) { return has.in_namespace(name_space, wanted); });
          }};
}

/// True if the rights cover the volumes that a job mounts (R-STORE-132).
bool may_mount(const json::Value& job, const std::string& name_space, const Rights& has) {
  for (const json::Value& group : body_member(job, "TaskGroups").items()) {
    for (const json::Member& member : body_member(group, "Volumes").members()) {
      const std::string& type = body_member(member.value, "Type").as_string();
      if (type == "csi" && !has.in_namespace(name_space, caps({"csi-mount-volume"}))) return false;
      if (type != "host") continue;
      const bool reads = body_member(member.value, "ReadOnly").as_bool();
      const Capabilities wanted = host_volume_capability("mount-readwrite") |
                                  (reads ? host_volume_capability("mount-readonly") : Capabilities{0});
      if (!has.host_volume(body_member(member.value, "Source").as_string(), wanted)) return false;
    }
    for (const json::Value& task : body_member(group, "Tasks").items())
      if (!body_member(task, "CSIPluginConfig").is_null() &&
          !has.in_namespace(name_space, caps({"csi-register-plugin"})))
        return false;
  }
  return true;
}

/// A job in the body. The namespace is that of the query, else of the body, else of the job, as at registration.
Need registers(std::initializer_list<std::string_view> names, bool mounts) {
  return {false, [wanted = caps(names), mounts](Simulation&, Request& request, Reply&) {
            const auto body = io::parse_json(request.body, "request");
            if (!body) return true;  // the handler refuses the body before it does anything
            const json::Value& job = body_member(*body, "Job");
            std::string name_space = request.find("namespace") ? request.name_space : "";
            if (name_space.empty()) name_space = body_member(*body, "Namespace").as_string();
            if (name_space.empty()) name_space = body_member(job, "Namespace").as_string();
            if (name_space.empty()) name_space = "default";
            return request.may([&](const Rights& has) {
              if (!has.in_namespace(name_space, wanted)) return false;
              if (mounts && !may_mount(job, name_space, has)) return false;
              return !mounts || !body_member(*body, "PolicyOverride").as_bool() ||
                     has.in_namespace(name_space, caps({"sentinel-override"}));
            });
          }};
}

// Objects by ID: the namespace is the object's own. For an unknown object any namespace suffices (R-STORE-141).

using NamespaceOf = std::optional<std::string> (*)(Simulation&, const Request&);

std::optional<std::string> alloc_namespace(Simulation& simulation, const Request& request) {
  const tables::AllocRow row = simulation.store().find_alloc(request.captures[0]);
  if (row == tables::kNoRow) return std::nullopt;
  const tables::Snapshot& state = simulation.state();
  return std::string(state.text(state.jobs.keys[state.allocs.job_key[row]].job_namespace));
}
std::optional<std::string> eval_namespace(Simulation& simulation, const Request& request) {
  const auto eval = simulation.log().eval(request.captures[0]);
  return eval ? std::optional(eval->namespace_) : std::nullopt;
}
std::optional<std::string> deployment_namespace(Simulation& simulation, const Request& request) {
  const auto deployment = simulation.log().deployment(request.captures[0]);
  return deployment ? std::optional(deployment->namespace_) : std::nullopt;
}

/// `status` and `text` of the refusal; status 0: 403. `%` in the text is the ID.
Need of_object(NamespaceOf namespace_of_object, std::initializer_list<std::string_view> names, int status = 0,
               std::string text = "") {
  return {false, [namespace_of_object, wanted = caps(names), status, text](Simulation& simulation, Request& request,
                                                                           Reply& reply) {
            const auto name_space = namespace_of_object(simulation, request);
            if (request.may([&](const Rights& has) { return has.in_namespace(name_space.value_or("*"), wanted); }))
              return true;
            if (status == 0 || !name_space) return false;
            std::string shown = text;
            if (const std::size_t at = shown.find('%'); at != std::string::npos)
              shown.replace(at, 1, request.captures[0]);
            reply.fail(status, shown);
            return false;
          }};
}

Need of_pool(std::string_view name) {
  return {false, [wanted = node_pool_capability(name)](Simulation&, Request& request, Reply&) {
            return request.may([&](const Rights& has) { return has.node_pool(request.captures[0], wanted); });
          }};
}

/// Pools by the name of the path, else of the body.
Need writes_pool() {
  return {false, [](Simulation&, Request& request, Reply&) {
            std::string name = request.captures.empty() ? "" : request.captures[0];
            if (name.empty()) {
              const auto body = io::parse_json(request.body, "request");
              if (!body) return true;  // the handler refuses the body before it does anything
              name = body_member(*body, "Name").as_string();
            }
            return request.may([&](const Rights& has) { return has.node_pool(name, node_pool_capability("write")); });
          }};
}

Need both(Need first, Need second) {
  return {false, [first = std::move(first), second = std::move(second)](Simulation& simulation, Request& request,
                                                                        Reply& reply) {
            return first.allows(simulation, request, reply) && second.allows(simulation, request, reply);
          }};
}

/// For a route with several methods: GET needs the first, every other method the second.
Need by_method(Need reads, Need writes) {
  return {false, [reads = std::move(reads), writes = std::move(writes)](Simulation& simulation, Request& request,
                                                                        Reply& reply) {
            return (request.method == "GET" ? reads : writes).allows(simulation, request, reply);
          }};
}

Need sees_namespace() {
  return {false, [](Simulation&, Request& request, Reply&) {
            return request.may([&](const Rights& has) { return has.sees_namespace(request.captures[0]); });
          }};
}

std::vector<Row> make_rows() {
  constexpr std::uint8_t kWrite = kPut | kPost;
  std::vector<Row> out;
  const auto add = [&](std::uint8_t methods, std::vector<const char*> patterns, Need need) {
    out.push_back({methods, std::move(patterns), std::move(need)});
  };
  // R-STORE-130
  add(kAnyMethod,
      {"/v1/status/leader", "/v1/status/peers", "/v1/regions", "/v1/agent/health", "/v1/metrics",
       "/.well-known/jwks.json", "/.well-known/openid-configuration", "/v1/acl/auth-methods", "/v1/acl/bootstrap",
       "/v1/acl/token/self", "/v1/acl/token/onetime/exchange", "/v1/acl/login", "/v1/acl/oidc/auth-url",
       "/v1/acl/oidc/complete-auth"},
      anybody());
  add(kAnyMethod,
      {"/v1/quotas", "/v1/quota-usages", "/v1/quota", "/v1/quota/*", "/v1/sentinel/*", "/v1/recommendations",
       "/v1/recommendations/*", "/v1/recommendation", "/v1/recommendation/*", "/v1/operator/utilization",
       "/v1/operator/license"},
      anybody());
  // Redirects, and the page, which contains no data.
  add(kAnyMethod,
      {"/", "/ui", "/ui/", "/ui/*", "/ui/files/*", "/v1/job", "/v1/node", "/v1/allocation", "/v1/evaluation",
       "/v1/deployment", "/v1/var"},
      anybody());
  // Jobs (R-STORE-131 to 140).
  add(kGet, {"/v1/jobs"}, list_of({"list-jobs"}));
  add(kGet | kPost, {"/v1/jobs/statuses"}, list_of({"list-jobs"}));
  add(kWrite, {"/v1/jobs", "/v1/job/*"}, registers({"submit-job", "register-job"}, true));
  add(kWrite, {"/v1/validate/job"}, registers({"read-job"}, false));
  add(kWrite, {"/v1/job/*/plan"}, registers({"submit-job", "plan-job"}, false));
  add(kWrite, {"/v1/jobs/parse"}, in_namespace({"parse-job", "submit-job"}));
  add(kAnyMethod, {"/v1/job/*/summary", "/v1/job/*/versions"}, in_namespace({"read-job"}));
  add(kGet,
      {"/v1/job/*", "/v1/job/*/submission", "/v1/job/*/allocations", "/v1/job/*/evaluations", "/v1/job/*/deployments",
       "/v1/job/*/deployment", "/v1/job/*/actions", "/v1/job/*/services"},
      in_namespace({"read-job"}));
  add(kWrite, {"/v1/job/*/revert"}, in_namespace_of_body({"submit-job", "revert-job"}));
  add(kWrite, {"/v1/job/*/stable"}, in_namespace_of_body({"submit-job", "stable-job"}));
  add(kWrite, {"/v1/job/*/evaluate"}, in_namespace_of_body({"submit-job", "evaluate-job"}));
  add(kWrite, {"/v1/job/*/versions/*/tag"}, in_namespace_of_body({"submit-job", "tag-job-version"}));
  add(kDelete, {"/v1/job/*/versions/*/tag"}, in_namespace({"submit-job", "tag-job-version"}));
  add(kAnyMethod, {"/v1/job/*/tag"}, in_namespace_of_body({"submit-job", "tag-job-version"}));
  add(kDelete, {"/v1/job/*"},
      {false, [](Simulation&, Request& request, Reply&) {
         const Capabilities wanted = is_true(request, "purge") ? caps({"submit-job", "purge-job"})
                                                               : caps({"submit-job", "purge-job", "deregister-job"});
         return request.may([&](const Rights& has) { return has.in_namespace(request.name_space, wanted); });
       }});
  add(kWrite, {"/v1/job/*/dispatch", "/v1/job/*/dispatch/payload"}, in_namespace({"dispatch-job"}));
  add(kWrite, {"/v1/job/*/periodic/force"}, in_namespace({"dispatch-job", "submit-job", "force-periodic-job"}));
  add(kWrite, {"/v1/job/*/scale"}, in_namespace_of_body({"scale-job", "submit-job"}));
  add(kGet, {"/v1/job/*/scale"}, in_namespace({"read-job", "read-job-scaling"}));
  add(kAnyMethod, {"/v1/job/*/action"}, in_namespace({"alloc-exec"}));
  add(kGet, {"/v1/scaling/policies"}, {false, [](Simulation& simulation, Request& request, Reply&) {
                                         const Rights& has = *request.asker.rights;
                                         const Capabilities lists = caps({"list-scaling-policies"});
                                         const auto passes = [&](std::string_view name_space) {
                                           return has.in_namespace(name_space, lists) ||
                                                  (has.in_namespace(name_space, caps({"list-jobs"})) &&
                                                   has.in_namespace(name_space, caps({"read-job"})));
                                         };
                                         if (!request.all_namespaces()) return passes(request.name_space);
                                         auto seen = std::make_shared<std::set<std::string, std::less<>>>();
                                         for (std::string& name : namespace_names(simulation.state()))
                                           if (passes(name)) seen->insert(std::move(name));
                                         request.visible = std::move(seen);
                                         return true;
                                       }});
  add(kGet, {"/v1/scaling/policy/*"}, in_namespace({"read-scaling-policy"}));
  // Allocations, evaluations, deployments (R-STORE-141 to 147).
  add(kGet, {"/v1/allocations", "/v1/evaluations", "/v1/evaluations/count", "/v1/deployments"}, list_of({"read-job"}));
  add(kGet, {"/v1/allocation/*"}, of_object(alloc_namespace, {"read-job"}, 500, "Unknown allocation \"%\""));
  add(kAnyMethod, {"/v1/allocation/*/services", "/v1/allocation/*/checks"}, of_object(alloc_namespace, {"read-job"}));
  add(kGet, {"/v1/evaluation/*", "/v1/evaluation/*/allocations"}, of_object(eval_namespace, {"read-job"}));
  add(kGet, {"/v1/deployment/*"}, of_object(deployment_namespace, {"read-job"}, 404, "deployment not found"));
  add(kGet, {"/v1/deployment/allocations/*"}, of_object(deployment_namespace, {"read-job"}));
  add(kDelete, {"/v1/evaluations"}, management());
  add(kWrite, {"/v1/deployment/fail/*"}, of_object(deployment_namespace, {"submit-job", "fail-deployment"}));
  add(kWrite, {"/v1/deployment/pause/*"}, of_object(deployment_namespace, {"submit-job", "pause-deployment"}));
  add(kWrite, {"/v1/deployment/promote/*"}, of_object(deployment_namespace, {"submit-job", "promote-deployment"}));
  add(kWrite, {"/v1/deployment/unblock/*"}, of_object(deployment_namespace, {"submit-job", "unblock-deployment"}));
  add(kWrite, {"/v1/deployment/allocation-health/*"},
      of_object(deployment_namespace, {"submit-job", "set-alloc-health-deployment"}));
  add(kWrite, {"/v1/allocation/*/stop"}, of_object(alloc_namespace, {"alloc-lifecycle"}));
  add(kAnyMethod, {"/v1/client/allocation/*/restart", "/v1/client/allocation/*/signal"},
      of_object(alloc_namespace, {"alloc-lifecycle"}));
  add(kAnyMethod, {"/v1/client/allocation/*/stats", "/v1/client/allocation/*/checks", "/v1/client/allocation/*"},
      of_object(alloc_namespace, {"read-job"}));
  add(kAnyMethod, {"/v1/client/allocation/*/gc"}, of_object(alloc_namespace, {"submit-job", "gc-allocation"}));
  add(kAnyMethod, {"/v1/client/allocation/*/pause"}, of_object(alloc_namespace, {"submit-job", "pause-allocation"}));
  add(kAnyMethod, {"/v1/client/allocation/*/exec"}, of_object(alloc_namespace, {"alloc-exec"}));
  add(kAnyMethod, {"/v1/client/allocation/*/snapshot"}, of_object(alloc_namespace, {"read-fs"}));
  add(kAnyMethod,
      {"/v1/client/fs/ls/*", "/v1/client/fs/stat/*", "/v1/client/fs/cat/*", "/v1/client/fs/readat/*",
       "/v1/client/fs/stream/*"},
      of_object(alloc_namespace, {"read-fs"}));
  add(kAnyMethod, {"/v1/client/fs/*"}, filtered());
  add(kAnyMethod, {"/v1/client/fs/logs/*"}, of_object(alloc_namespace, {"read-logs", "read-fs"}));
  // Nodes and agents (R-STORE-148 to 152).
  add(kGet, {"/v1/nodes", "/v1/node/*", "/v1/client/metadata"}, node(Level::read));
  add(kGet, {"/v1/node/*/allocations"},
      both(node(Level::read), {false, [](Simulation& simulation, Request& request, Reply&) {
                                 request.visible =
                                     visible_namespaces(simulation, *request.asker.rights, caps({"read-job"}));
                                 return true;
                               }}));
  add(kAnyMethod, {"/v1/client/stats", "/v1/client/identity"}, node(Level::read));
  add(kWrite | kDelete,
      {"/v1/node/*/drain", "/v1/node/*/eligibility", "/v1/node/*/purge", "/v1/node/*/evaluate", "/v1/client/metadata",
       "/v1/client/identity/renew", "/v1/acl/identity/client-introduction-token"},
      node(Level::write));
  add(kAnyMethod, {"/v1/client/gc"}, node(Level::write));
  add(kAnyMethod, {"/v1/agent/members"}, node(Level::read));
  add(kAnyMethod, {"/v1/agent/servers", "/v1/agent/schedulers/config"},
      by_method(agent(Level::read), agent(Level::write)));
  add(kAnyMethod,
      {"/v1/agent/self", "/v1/agent/host", "/v1/agent/monitor", "/v1/agent/monitor/export", "/v1/agent/schedulers",
       "/v1/agent/pprof/*"},
      agent(Level::read));
  add(kAnyMethod, {"/v1/agent/join", "/v1/agent/force-leave", "/v1/agent/keyring/*", "/v1/agent/reload"},
      agent(Level::write));
  // Operators (R-STORE-153 to 156).
  add(kAnyMethod, {"/v1/operator/scheduler/configuration", "/v1/operator/autopilot/configuration"},
      by_method(of_operator(Level::read), of_operator(Level::write)));
  add(kAnyMethod, {"/v1/operator/autopilot/health", "/v1/operator/upgrade-check/vault-workload-identity"},
      of_operator(Level::read));
  add(kAnyMethod,
      {"/v1/operator/raft/*", "/v1/operator/raft/configuration", "/v1/operator/raft/peer",
       "/v1/operator/raft/transfer-leadership", "/v1/system/gc", "/v1/system/reconcile/summaries"},
      management());
  add(kGet, {"/v1/operator/snapshot"}, operator_may("snapshot-save"));
  add(kAnyMethod, {"/v1/operator/snapshot"}, management());
  add(kGet, {"/v1/operator/keyring/keys"}, operator_may("keyring-read"));
  add(kWrite, {"/v1/operator/keyring/rotate"}, operator_may("keyring-rotate"));
  add(kDelete, {"/v1/operator/keyring/key/*"}, operator_may("keyring-delete"));
  add(kAnyMethod, {"/v1/operator/keyring/*"}, filtered());
  // Namespaces and pools (R-STORE-157 to 160).
  add(kGet, {"/v1/namespaces", "/v1/node/pools"}, filtered());
  add(kGet, {"/v1/namespace/*"}, sees_namespace());
  add(kWrite | kDelete, {"/v1/namespace", "/v1/namespaces", "/v1/namespace/*"}, management());
  add(kGet, {"/v1/node/pool/*"}, of_pool("read"));
  add(kGet, {"/v1/node/pool/*/jobs"}, both(of_pool("read"), list_of({"list-jobs"})));
  add(kGet, {"/v1/node/pool/*/nodes"}, both(of_pool("read"), node(Level::read)));
  add(kWrite, {"/v1/node/pools", "/v1/node/pool/*"}, writes_pool());
  add(kDelete, {"/v1/node/pool/*"}, of_pool("delete"));
  // Variables: the handlers check the path (R-STORE-161).
  add(kAnyMethod, {"/v1/vars", "/v1/var/*"}, filtered());
  // Volumes (R-STORE-162 to 166): handlers check the namespace, which bodies may name, and the kind.
  add(kAnyMethod,
      {"/v1/volumes", "/v1/plugins", "/v1/volume/host/create", "/v1/volume/host/register", "/v1/volume/host/*",
       "/v1/volumes/claims", "/v1/volumes/claim/*", "/v1/volume/csi/*", "/v1/volume/*", "/v1/volumes/external",
       "/v1/volumes/snapshot"},
      filtered());
  add(kAnyMethod, {"/v1/plugin/csi/*", "/v1/plugin/*"}, rights([](const Rights& has) { return has.plugin_read(); }));
  // Services and search (R-STORE-167, 168).
  add(kGet, {"/v1/services"}, list_of({"read-job"}, true));
  add(kGet, {"/v1/service/*"}, in_namespace({"read-job"}));
  add(kAnyMethod, {"/v1/service/*"}, in_namespace({"submit-job", "delete-service-registration"}));
  add(kWrite, {"/v1/search", "/v1/search/fuzzy"}, {false, [](Simulation& simulation, Request& request, Reply&) {
                                                     if (request.all_namespaces())
                                                       request.visible = visible_namespaces(
                                                           simulation, *request.asker.rights, caps({"read-job"}));
                                                     return true;
                                                   }});
  add(kGet, {"/v1/event/stream"}, filtered());
  // Access control (R-STORE-169).
  add(kGet,
      {"/v1/acl/policies", "/v1/acl/policy/self", "/v1/acl/policy/*", "/v1/acl/roles", "/v1/acl/role/*",
       "/v1/acl/role/name/*", "/v1/acl/token/*"},
      filtered());
  add(kWrite, {"/v1/acl/token/onetime"}, filtered());
  add(kAnyMethod,
      {"/v1/acl/tokens", "/v1/acl/token", "/v1/acl/token/*", "/v1/acl/token/onetime", "/v1/acl/policy/*",
       "/v1/acl/role", "/v1/acl/role/*", "/v1/acl/auth-method", "/v1/acl/auth-method/*", "/v1/acl/binding-rules",
       "/v1/acl/binding-rule", "/v1/acl/binding-rule/*", "/v1/acl/*"},
      management());
  // berth's own endpoints, which show and change the whole cluster.
  add(kAnyMethod,
      {"/v1/berth/advance", "/v1/berth/speed", "/v1/berth/fault", "/v1/berth/explain", "/v1/berth/counterfactual",
       "/v1/berth/run", "/v1/berth/snapshot", "/v1/berth/restore", "/v1/berth/live"},
      management());
  return out;
}

}  // namespace

const Need* need_of(const Route& route) {
  static const std::vector<Row> kRows = make_rows();
  static const auto kRowsOf = [] {  // by pattern, in the order of the rows
    std::multimap<std::string_view, const Row*> out;
    for (const Row& row : kRows)
      for (const char* pattern : row.patterns) out.emplace(pattern, &row);
    return out;
  }();
  for (auto [at, end] = kRowsOf.equal_range(route.pattern); at != end; ++at)
    if ((at->second->methods & route.methods) == route.methods) return &at->second->need;
  return nullptr;
}

}  // namespace berth::http
