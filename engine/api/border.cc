// What both kinds of clusters take in: nodes and jobs as JSON, made into what is stored.
#include "api/impl.h"
#include "io/json_parse.h"
#include "model/codec/codec.h"
#include "model/computed_class.h"
#include "model/registration/node_canonical.h"
#include "model/registration/register_job.h"

namespace berth {

model::ClusterState empty_state() {
  model::ClusterState state;
  state.index = 1;
  for (const char* pool : {"all", "default"}) state.node_pools.emplace_back().name = pool;
  state.namespaces.emplace_back().name = "default";
  state.scheduler_config.emplace().scheduler_algorithm = "binpack";  // what a new Nomad cluster has (R-MODEL-210)
  return state;
}

Result<model::Node> read_node(std::string_view json) {
  auto value = io::parse_json(json);
  if (!value) return tl::unexpected(value.error());
  model::Node node;
  if (auto done = model::from_json(*value, node, {}); !done) return tl::unexpected(done.error());
  if (!base::parse_uuid(node.id))
    return tl::unexpected(
        InputError{"-", "/ID", json::to_text(json::Value(node.id)) + " is no node ID", "give a UUID"});
  model::canonicalize(node);
  if (auto done = model::check_node(node); !done) return tl::unexpected(done.error());
  node.computed_class = model::computed_class(node);
  return node;
}

Result<std::shared_ptr<model::Job>> register_against(const json::Value& input, const std::string& path,
                                                     const tables::Snapshot& state, const model::Job* stored) {
  model::RegistrationRequest request;
  request.path = path;
  request.namespaces = &state.cold->namespaces;
  request.pools = &state.cold->node_pools;
  request.stored = stored;
  if (const auto& config = state.cold->scheduler_config)
    request.limits.memory_oversubscription = config->memory_oversubscription_enabled;
  auto registered = model::register_job(input, request);
  if (!registered) return tl::unexpected(registered.error());
  if (!registered->job) return tl::unexpected(InputError{path, "", registered->error, "correct the job"});
  return std::move(registered->job);
}

}  // namespace berth
