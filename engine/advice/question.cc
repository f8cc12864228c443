#include "advice/question.h"

#include <fmt/format.h>

#include "base/text.h"
#include "model/job.h"
#include "tables/state.h"

namespace berth::advice {

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
  const json::Value* region = job.find_ignoring_case("Region");
  const std::string wanted_region = region ? region->as_string() : "";
  const std::string* other_region = nullptr;
  bool is_elsewhere = !wanted_region.empty();
  for (const auto& stored : state.jobs) {
    if (id && stored->id == id->as_string() && stored->namespace_ == in) request.stored = stored.get();
    if (stored->region == wanted_region)
      is_elsewhere = false;
    else if (!stored->region.empty())
      other_region = &*stored->region;
  }
  // All jobs of a cluster have its region; Nomad's answer for another one is "No path to region" (R-REG-312).
  if (is_elsewhere && other_region)
    return tl::unexpected(InputError{path, wrapped ? "/Job/Region" : "/Region",
                                     fmt::format("the job is for region '{}', the cluster is region '{}'",
                                                 base::shown(wanted_region), base::shown(*other_region)),
                                     "take the cluster of that region, or leave out the region"});
  return model::register_job(document, request);
}

}  // namespace berth::advice
