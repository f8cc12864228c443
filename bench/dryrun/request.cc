#include "dryrun/request.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/later.h"
#include "base/text.h"
#include "model/codec/api_keys.h"
#include "model/computed_class.h"
#include "run/runner.h"
#include "sim/datasets.h"
#include "sim/workload.h"
#include "tables/state.h"

namespace berth::dryrun {
namespace {

Result<Cluster> generated(const std::string& path, std::int64_t at_ns) {
  auto workload = sim::read_workload(path);
  if (!workload) return tl::unexpected(workload.error());
  auto state = run::state_at(*workload, at_ns);
  if (!state) return tl::unexpected(state.error());
  Cluster out{std::move(*state), {}, {}, true};
  for (model::Node& node : out.state.nodes)
    if (node.computed_class.empty()) node.computed_class = model::computed_class(node);
  return out;
}

}  // namespace

Result<Cluster> read_cluster(const std::string& name, const model::Options& options, std::optional<std::int64_t> at_ns,
                             agent::SourceOptions sources) {
  const auto slash = name.find('/'), dot = name.find('.');
  if (name.ends_with(".toml")) return generated(name, at_ns.value_or(-1));
  std::error_code error;
  const bool file = name == "-" || std::filesystem::is_directory(name, error);
  const bool address = agent::is_address(name);
  if (!file && !address && slash == std::string::npos && dot == std::string::npos)
    if (const auto workload = sim::find_workload(name)) return generated(*workload, at_ns.value_or(-1));
  if (at_ns)
    return tl::unexpected(InputError{name, "", "is not a workload, so it has no state at another time",
                                     "leave out --at, or name a workload"});
  sources.import.remote_tasks = options.remote_tasks;
  sources.import.legacy_disconnect_fields = options.legacy_disconnect_fields;
  auto imported = agent::import_sources({name}, sources);
  if (!imported) return tl::unexpected(imported.error());
  return Cluster{std::move(imported->state), std::move(imported->warnings), std::move(imported->notes)};
}

bool is_job(const json::Value& document) {
  const json::Value* wrapped = document.find_ignoring_case("Job");
  const json::Value& job = wrapped ? *wrapped : document;
  return job.find_ignoring_case("TaskGroups") != nullptr;
}

bool is_cluster(const json::Value& document) {
  if (is_job(document)) return false;
  const json::Object& members = document.members();
  return document.has("Nodes") || std::any_of(members.begin(), members.end(), [](const json::Member& member) {
           return member.key.starts_with("/v1/");
         });
}

namespace {

/// Adds fields that Nomad accepts but no longer reads (R-SEED-70, R-MODEL-496).
void add_dead_fields(const json::Value& job, const std::string& place, const model::Options& options,
                     std::vector<std::string>& out) {
  struct Dead {
    const char *key, *instead;
  };
  static constexpr Dead kDisconnect[] = {
      {"MaxClientDisconnect", "write disconnect { lost_after = ... }, as Disconnect.LostAfter"},
      {"StopAfterClientDisconnect", "write disconnect { stop_on_client_after = ... }, as Disconnect.StopOnClientAfter"},
      {"PreventRescheduleOnLost", "write disconnect { replace = false }, as Disconnect.Replace"}};
  const json::Value* groups = job.find_ignoring_case("TaskGroups");
  if (!groups || !groups->is_array()) return;
  for (std::size_t g = 0; g < groups->items().size(); ++g) {
    const json::Value& group = groups->items()[g];
    const std::string at = fmt::format("{}/TaskGroups/{}", place, g);
    if (!options.legacy_disconnect_fields)
      for (const Dead& dead : kDisconnect)
        if (const json::Value* value = group.find_ignoring_case(dead.key);
            value && !value->is_null() && !(value->is_bool() && !value->as_bool()))
          out.push_back(
              fmt::format("{}/{}: Nomad 1.10 and later ignore it: allocations on a lost client are lost at "
                          "once; {}",
                          at, dead.key, dead.instead));
    const json::Value* networks = group.find_ignoring_case("Networks");
    if (!networks || !networks->is_array()) continue;
    for (std::size_t n = 0; n < networks->items().size(); ++n)
      if (const json::Value* mbits = networks->items()[n].find_ignoring_case("MBits"); mbits && mbits->as_int() > 0)
        out.push_back(fmt::format(
            "{}/Networks/{}/MBits: the bandwidth of a group's network limits nothing; leave it out", at, n));
  }
}

}  // namespace

std::vector<std::string> key_warnings(const json::Value& document, const std::string& path,
                                      const model::Options& options) {
  const json::Value* wrapped = document.find_ignoring_case("Job");
  const json::Value& job = wrapped ? *wrapped : document;
  const std::string place = wrapped ? "/Job" : "";
  std::vector<std::string> out = model::job_key_warnings(job, place);
  add_dead_fields(job, place, options, out);
  for (std::string& warning : out) warning = path + ":" + warning;
  return out;
}

Result<void, std::string> change_scheduler(model::ClusterState& state, const std::string& algorithm,
                                           const std::vector<std::string>& preemption) {
  if (algorithm.empty() && preemption.empty()) return {};
  model::SchedulerConfiguration to = state.scheduler_config.value_or(model::SchedulerConfiguration());
  model::PreemptionConfig& kinds = to.preemption_config;
  if (!state.scheduler_config)  // without a record preemption is on for all job types (R-PREEMPT-103)
    kinds.system_scheduler_enabled = kinds.sysbatch_scheduler_enabled = kinds.batch_scheduler_enabled =
        kinds.service_scheduler_enabled = true;
  if (!algorithm.empty() && algorithm != "binpack" && algorithm != "spread")
    return tl::unexpected("'" + base::shown(algorithm) + "' is no algorithm; write binpack or spread");
  if (!algorithm.empty()) to.scheduler_algorithm = algorithm;
  for (const std::string& text : preemption) {
    const std::size_t equals = text.find('=');
    const std::string kind = text.substr(0, equals), value = equals == std::string::npos ? "" : text.substr(equals + 1);
    bool* const enabled = kind == "service"    ? &kinds.service_scheduler_enabled
                          : kind == "batch"    ? &kinds.batch_scheduler_enabled
                          : kind == "system"   ? &kinds.system_scheduler_enabled
                          : kind == "sysbatch" ? &kinds.sysbatch_scheduler_enabled
                                               : nullptr;
    if (!enabled || (value != "on" && value != "off"))
      return tl::unexpected("'" + base::shown(text) +
                            "' is no kind of job and on or off; write service, batch, system or sysbatch, for example "
                            "service=on");
    *enabled = value == "on";
  }
  state.scheduler_config = std::move(to);
  return {};
}

Newest newest_time(const model::ClusterState& state) {
  Newest out;
  const auto at = [&](std::int64_t ns, const char* kind, const std::string& id, const char* field) {
    if (ns > out.ns && ns <= base::kLatestStartNs) out = {ns, kind, id, field};
  };
  for (const model::Node& node : state.nodes)
    at(base::instant_ns(node.status_updated_at), "node", node.id, "StatusUpdatedAt");
  for (const model::Allocation& alloc : state.allocs) at(alloc.modify_time, "allocation", alloc.id, "ModifyTime");
  for (const model::Evaluation& eval : state.evals) at(eval.modify_time, "evaluation", eval.id, "ModifyTime");
  return out;
}

}  // namespace berth::dryrun
