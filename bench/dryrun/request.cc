#include "dryrun/request.h"

#include <algorithm>
#include <filesystem>

#include "io/export_import.h"
#include "model/codec/api_keys.h"
#include "model/computed_class.h"
#include "run/runner.h"
#include "sim/datasets.h"
#include "sim/workload.h"

namespace berth::dryrun {
namespace {

Result<Cluster> generated(const std::string& path, std::int64_t at_ns) {
  auto workload = sim::read_workload(path);
  if (!workload) return tl::unexpected(workload.error());
  auto state = run::state_at(*workload, at_ns);
  if (!state) return tl::unexpected(state.error());
  Cluster out{std::move(*state), {}, true};
  for (model::Node& node : out.state.nodes)
    if (node.computed_class.empty()) node.computed_class = model::computed_class(node);
  return out;
}

}  // namespace

Result<Cluster> read_cluster(const std::string& name, const model::Options& options,
                             std::optional<std::int64_t> at_ns) {
  const auto slash = name.find('/'), dot = name.find('.');
  if (name.ends_with(".toml")) return generated(name, at_ns.value_or(-1));
  std::error_code error;
  const bool file = name == "-" || std::filesystem::is_directory(name, error);
  if (!file && slash == std::string::npos && dot == std::string::npos)
    if (const auto workload = sim::find_workload(name)) return generated(*workload, at_ns.value_or(-1));
  if (at_ns)
    return tl::unexpected(InputError{name, "", "is not a workload, so it has no state at another time",
                                     "leave out --at, or name a workload"});
  auto imported = io::import_cluster(
      name, {.remote_tasks = options.remote_tasks, .legacy_disconnect_fields = options.legacy_disconnect_fields});
  if (!imported) return tl::unexpected(imported.error());
  return Cluster{std::move(imported->state), std::move(imported->warnings)};
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

std::vector<std::string> key_warnings(const json::Value& document, const std::string& path) {
  const json::Value* wrapped = document.find_ignoring_case("Job");
  std::vector<std::string> out;
  if (wrapped)
    out = model::job_key_warnings(*wrapped, "/Job");
  else
    out = model::job_key_warnings(document, "");
  for (std::string& warning : out) warning = path + ":" + warning;
  return out;
}

Newest newest_time(const model::ClusterState& state) {
  Newest out;
  const auto at = [&](std::int64_t ns, const char* kind, const std::string& id, const char* field) {
    if (ns > out.ns) out = {ns, kind, id, field};
  };
  for (const model::Node& node : state.nodes) {
    std::int64_t ns = 0;  // a time past the end of time is none
    if (!__builtin_mul_overflow(node.status_updated_at, base::kSecond, &ns)) at(ns, "node", node.id, "StatusUpdatedAt");
  }
  for (const model::Allocation& alloc : state.allocs) at(alloc.modify_time, "allocation", alloc.id, "ModifyTime");
  for (const model::Evaluation& eval : state.evals) at(eval.modify_time, "evaluation", eval.id, "ModifyTime");
  return out;
}

}  // namespace berth::dryrun
