#include "dryrun/request.h"

#include <algorithm>

#include "io/export_import.h"
#include "model/computed_class.h"
#include "sim/cluster_generator.h"
#include "sim/datasets.h"
#include "sim/workload.h"

namespace berth::dryrun {
namespace {

Result<Cluster> generated(const std::string& path) {
  auto workload = sim::read_workload(path);
  if (!workload) return tl::unexpected(workload.error());
  if (workload->cluster.source != sim::Source::mix)
    return tl::unexpected(InputError{path, "cluster", "does not come from the generator of shapes",
                                     "name a workload with [[cluster.shapes]], or a cluster file"});
  const sim::GeneratedCluster cluster = sim::generate_cluster(workload->cluster, workload->seed);
  Cluster out;
  model::ClusterState& state = out.state;
  state.index = 1;
  for (std::size_t i = 0; i < cluster.nodes.size(); ++i) {
    model::Node node = cluster.node(i);
    if (node.computed_class.empty()) node.computed_class = model::computed_class(node);
    state.nodes.push_back(std::move(node));
  }
  std::sort(state.nodes.begin(), state.nodes.end(), [](const auto& a, const auto& b) { return a.id < b.id; });
  state.node_pools = cluster.pools;
  state.jobs = state.job_versions = cluster.load_jobs;
  for (std::size_t i = 0; i < cluster.load.size(); ++i) state.allocs.push_back(cluster.load_alloc(i));
  return out;
}

}  // namespace

Result<Cluster> read_cluster(const std::string& name, const model::Options& options) {
  const auto slash = name.find('/'), dot = name.find('.');
  if (name.ends_with(".toml")) return generated(name);
  if (slash == std::string::npos && dot == std::string::npos)
    if (const auto workload = sim::find_workload(name)) return generated(*workload);
  auto imported = io::import_cluster(
      name, {.remote_tasks = options.remote_tasks, .legacy_disconnect_fields = options.legacy_disconnect_fields});
  if (!imported) return tl::unexpected(imported.error());
  return Cluster{std::move(imported->state), std::move(imported->warnings)};
}

Result<model::Registration> read_job(const model::ClusterState& state, const json::Value& document,
                                     const std::string& path, const std::string& name_space,
                                     const model::Options& options) {
  model::RegistrationRequest request;
  request.path = path;
  request.options = options;
  request.name_space = name_space;
  std::vector<model::Namespace> namespaces = state.namespaces;
  if (namespaces.empty()) namespaces.emplace_back().name = "default";
  request.namespaces = &namespaces;
  request.pools = &state.node_pools;
  if (state.scheduler_config) {
    request.limits.memory_oversubscription = state.scheduler_config->memory_oversubscription_enabled;
    request.limits.reject_jobs = false;  // a dry run registers nothing
  }
  const json::Value* wrapped = document.find_ignoring_case("Job");
  const json::Value& job = wrapped ? *wrapped : document;
  const json::Value* id = job.find_ignoring_case("ID");
  const json::Value* own = job.find_ignoring_case("Namespace");
  std::string in = !name_space.empty() ? name_space : own ? own->as_string() : "";
  if (in.empty()) in = "default";
  for (const auto& stored : state.jobs)
    if (id && stored->id == id->as_string() && stored->namespace_ == in) request.stored = stored.get();
  return model::register_job(document, request);
}

std::int64_t newest_time(const model::ClusterState& state) {
  std::int64_t out = 0;
  for (const model::Node& node : state.nodes) out = std::max(out, node.status_updated_at * base::kSecond);
  for (const model::Allocation& alloc : state.allocs) out = std::max(out, alloc.modify_time);
  for (const model::Evaluation& eval : state.evals) out = std::max(out, eval.modify_time);
  return out;
}

}  // namespace berth::dryrun
