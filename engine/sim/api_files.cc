// Reads nodes and jobs from files in the JSON of Nomad's API.
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <unordered_map>

#include "io/files.h"
#include "io/json_parse.h"
#include "model/codec/codec.h"
#include "model/job.h"
#include "sim/cluster_generator.h"
#include "sim/job_generator.h"

namespace berth::sim {
namespace {

/// A file that is a list, or an object that contains one.
struct ListFile {
  json::Value document;
  std::string prefix;  ///< JSON pointer to the list
  [[nodiscard]] const json::Value& list() const {
    return prefix.empty() ? document : *document.find(std::string_view(prefix).substr(1));
  }
};

/// Reads the list, or the one under `key` of an object. A missing or empty list is an error with this problem and
/// remedy.
Result<ListFile> read_list(const std::string& path, const std::string& key, std::string problem, std::string remedy) {
  auto text = io::read_file(path);
  if (!text) return tl::unexpected(text.error());
  auto parsed = io::parse_json(*text, path);
  if (!parsed) return tl::unexpected(parsed.error());
  const json::Value* const list = parsed->is_array() ? &*parsed : parsed->find(key);
  std::string prefix = parsed->is_array() ? "" : "/" + key;
  if (!list || !list->is_array() || list->size() == 0)
    return tl::unexpected(InputError{path, std::move(prefix), std::move(problem), std::move(remedy)});
  return ListFile{std::move(*parsed), std::move(prefix)};
}

}  // namespace

Result<GeneratedCluster> read_cluster_file(const std::string& path) {
  const auto file =
      read_list(path, "Nodes", "holds no list of nodes", "write a JSON list of nodes as Nomad's API shows them");
  if (!file) return tl::unexpected(file.error());
  const json::Value& list = file->list();
  GeneratedCluster out;
  std::unordered_map<base::Uuid, std::size_t, base::UuidHash> seen;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const std::string place = file->prefix + "/" + std::to_string(i);
    model::Node node;
    if (auto read = model::from_json(list[i], node, {.path = path, .place = place}); !read)
      return tl::unexpected(read.error());
    const auto id = base::parse_uuid(node.id);
    if (!id) return tl::unexpected(InputError{path, place + "/ID", "is not a UUID", "give every node its ID"});
    if (!seen.emplace(*id, i).second)
      return tl::unexpected(InputError{path, place + "/ID", "is the ID of an earlier node", "remove one of them"});
    if (!node.node_resources)
      return tl::unexpected(InputError{path, place + "/NodeResources", "is missing",
                                       "export nodes one by one (GET /v1/node/ID), the list leaves resources out"});
    if (node.node_pool.empty()) node.node_pool = "default";
    NodeRecord record{.id = *id, .shape = static_cast<std::uint32_t>(i)};
    const auto dc = std::find(out.datacenters.begin(), out.datacenters.end(), node.datacenter);
    record.datacenter = static_cast<std::uint32_t>(dc - out.datacenters.begin());
    if (dc == out.datacenters.end()) out.datacenters.push_back(node.datacenter);
    out.names.push_back(node.name);
    if (node.node_pool != "default" &&
        std::none_of(out.pools.begin(), out.pools.end(), [&](const auto& pool) { return pool.name == node.node_pool; }))
      out.pools.push_back({.name = node.node_pool});
    node.id.clear(), node.name.clear();
    // Equal nodes share a shape. Files list them in runs, so comparing with the last shape finds most.
    if (!out.shapes.empty() && out.shapes.back() == node)
      record.shape = static_cast<std::uint32_t>(out.shapes.size() - 1);
    else
      record.shape = static_cast<std::uint32_t>(out.shapes.size()), out.shapes.push_back(std::move(node));
    out.nodes.push_back(record);
  }
  return out;
}

namespace {

/// The first rule of a job that Nomad would refuse: its place within the job, and the problem.
std::optional<std::pair<std::string, std::string>> bad_rule(const model::Job& job) {
  std::optional<std::pair<std::string, std::string>> out;
  const auto look = [&](const auto& rules, const std::string& place) {
    for (std::size_t i = 0; i < rules.size() && !out; ++i)
      if (std::string problem = rule_problem({rules[i].ltarget, rules[i].rtarget, rules[i].operand}); !problem.empty())
        out.emplace(fmt::format("{}/{}", place, i), std::move(problem));
  };
  const auto look_at = [&](const auto& part, const std::string& place) {
    look(part.constraints, place + "/Constraints");
    look(part.affinities, place + "/Affinities");
  };
  look_at(job, "");
  for (std::size_t g = 0; g < job.task_groups.size(); ++g) {
    const std::string group = fmt::format("/TaskGroups/{}", g);
    look_at(job.task_groups[g], group);
    for (std::size_t t = 0; t < job.task_groups[g].tasks.size(); ++t)
      look_at(job.task_groups[g].tasks[t], fmt::format("{}/Tasks/{}", group, t));
  }
  return out;
}

}  // namespace

Result<JobStream> read_jobs_file(const std::string& path) {
  const auto file =
      read_list(path, "Jobs", "holds no list of jobs", "write a JSON list of jobs in registered form (GET /v1/job/ID)");
  if (!file) return tl::unexpected(file.error());
  const json::Value& list = file->list();
  JobStream out;
  std::set<std::pair<std::string, std::string>> seen;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const std::string place = file->prefix + "/" + std::to_string(i);
    auto job = std::make_shared<model::Job>();
    if (auto read = model::from_json(list[i], *job, {.path = path, .place = place}); !read)
      return tl::unexpected(read.error());
    if (job->id.empty()) return tl::unexpected(InputError{path, place + "/ID", "is missing", "give every job its ID"});
    if (job->type.empty() || job->task_groups.empty() || job->datacenters.empty() || job->priority == 0)
      return tl::unexpected(InputError{path, place, "is not in registered form",
                                       "export it from Nomad (GET /v1/job/ID), which fills in the defaults"});
    if (job->namespace_.empty()) job->namespace_ = "default";
    if (job->node_pool.empty()) job->node_pool = "default";
    if (!seen.emplace(job->namespace_, job->id).second)
      return tl::unexpected(InputError{path, place + "/ID", "is the ID of an earlier job", "remove one of them"});
    if (auto bad = bad_rule(*job))
      return tl::unexpected(InputError{path, place + bad->first, std::move(bad->second), "Nomad refuses such a job"});
    for (std::size_t g = 0; g < job->task_groups.size(); ++g) {
      const model::TaskGroup& group = job->task_groups[g];
      const std::string at = fmt::format("{}/TaskGroups/{}", place, g);
      if (group.count < 0 || group.count > 10'000'000)
        return tl::unexpected(InputError{path, at + "/Count", "is out of range", "use 0 to 10000000"});
      if (group.tasks.empty()) return tl::unexpected(InputError{path, at + "/Tasks", "is empty", "add a task"});
      for (std::size_t t = 0; t < group.tasks.size(); ++t)
        if (!group.tasks[t].resources)
          return tl::unexpected(InputError{path, fmt::format("{}/Tasks/{}/Resources", at, t), "is missing",
                                           "export the job from Nomad, which fills in the defaults"});
    }
    out.arrivals.push_back({.template_index = static_cast<std::uint32_t>(i), .number = static_cast<std::uint32_t>(i)});
    out.templates.push_back(std::move(job));
  }
  out.single.assign(out.templates.size(), true);
  return out;
}

}  // namespace berth::sim
