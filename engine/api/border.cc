// Input of both kinds of clusters: converts nodes and jobs from JSON to their stored form.
#include "api/impl.h"
#include "io/json_parse.h"
#include "model/codec/codec.h"
#include "model/computed_class.h"
#include "model/job.h"
#include "model/registration/node_canonical.h"
#include "model/registration/register_job.h"
#include "sim/datasets.h"
#include "sim/inputs.h"
#include "sim/load_store.h"
#include "sim/workload.h"
#include "tables/export.h"

namespace berth {

model::ClusterState empty_state() {
  model::ClusterState state;
  state.index = 1;
  for (const char* pool : {"all", "default"}) state.node_pools.emplace_back().name = pool;
  state.namespaces.emplace_back().name = "default";
  state.scheduler_config.emplace().scheduler_algorithm = "binpack";  // as in a new Nomad cluster (R-MODEL-210)
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

Result<model::ClusterState> workload_state(const std::string& name, const std::string& label, std::uint64_t seed) {
  std::string path = name;
  if (!name.ends_with(".toml")) {
    auto found = sim::find_workload(name);
    if (!found) return tl::unexpected(found.error());
    path = std::move(*found);
  }
  auto workload = sim::read_workload(path, label);
  if (!workload) return tl::unexpected(workload.error());
  if (workload->cluster.source == sim::Source::nomad_grid)
    return tl::unexpected(InputError{path, "cluster", "is a grid of clusters, not one", "name another workload"});
  if (seed != 0) workload->seed = seed;
  auto inputs = sim::make_inputs(*workload);
  if (!inputs) return tl::unexpected(inputs.error());
  if (inputs->cluster.imported) return *inputs->cluster.imported;
  tables::StateStore store;
  sim::load_store(store, inputs->cluster);
  model::ClusterState state = tables::to_cluster(store.current());
  model::ClusterState around = empty_state();
  std::swap(state.namespaces, around.namespaces);
  std::swap(state.scheduler_config, around.scheduler_config);
  for (model::NodePool& pool : around.node_pools) state.node_pools.push_back(std::move(pool));
  state.index = std::max<std::uint64_t>(state.index, 1);
  for (model::Node& node : state.nodes)
    if (node.computed_class.empty()) node.computed_class = model::computed_class(node);
  return state;
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
