// CLUSTER.json: a cluster state as one object.
//
//   Index            latest index of the state
//   SchedulerConfig  scheduler configuration, absent when there is no record (R-MODEL-210)
//   Nodes            full nodes (R-MODEL-60)
//   NodePools, Namespaces
//   Jobs             the current version of every job, in the registered form
//   JobVersions      the stored older versions
//   AllocJobs        versions that are no longer stored but that an allocation still refers to
//   Allocs           allocations without their job: JobVersion is the version of (Namespace, JobID). JobCreateIndex is
//                    the registration, present if a version number exists more than once. `Job` is present in full
//                    only where it differs from every listed version
//   Evals, Deployments, HostVolumes, HostVolumeClaims, CSIVolumes, CSIPlugins
//
// Entries have the keys of Nomad's API. Zero, empty and absent values are omitted, except the three fields that mark a
// job as registered.
#include <algorithm>
#include <set>

#include "io/cluster_parts.h"
#include "model/registration/job_canonical.h"
#include "model/registration/register_job.h"
#include "model/update/spec_changed.h"

namespace berth::io {
namespace {

using model::Allocation;
using model::Job;
using JobPtr = std::shared_ptr<const Job>;

template <class T>
json::Value write_list(const std::vector<T>& list) {
  json::Array out;
  out.reserve(list.size());
  for (const T& item : list) out.push_back(model::to_json(item, model::WriteMode::sparse));
  return json::Value(std::move(out));
}

json::Value write_jobs(const std::vector<JobPtr>& jobs) {
  json::Array out;
  for (const JobPtr& job : jobs) out.push_back(write_registered_job(*job));
  return json::Value(std::move(out));
}

/// The list under `key`, null if absent; an error if it is not a list.
Result<const json::Array*> list_at(const json::Value& document, const char* key, const std::string& path) {
  const json::Value* list = document.find(key);
  if (!list || list->is_null()) return nullptr;
  if (!list->is_array())
    return tl::unexpected(InputError{path, std::string("/") + key, std::string("expected a list, got ") + list->kind(),
                                     "correct the value"});
  return &list->items();
}

model::ReadOptions options_at(const std::string& path, const char* key, std::size_t index) {
  model::ReadOptions options;
  options.path = path;
  options.place = std::string("/") + key + "/" + std::to_string(index);
  return options;
}

template <class T>
Result<void> read_entry(const json::Value& value, T& out, const model::ReadOptions& options) {
  if (auto done = model::from_json(value, out, options); !done) return done;
  if constexpr (requires { take_id(out, options); }) return take_id(out, options);
  return {};
}

template <class T>
Result<void> read_values(const json::Value& document, const char* key, const std::string& path, std::vector<T>& out) {
  auto list = list_at(document, key, path);
  if (!list) return tl::unexpected(list.error());
  if (!*list) return {};
  out.resize((*list)->size());
  for (std::size_t i = 0; i < out.size(); ++i)
    if (auto done = read_entry((**list)[i], out[i], options_at(path, key, i)); !done) return done;
  return {};
}

Result<void> read_jobs(const json::Value& document, const char* key, const std::string& path,
                       std::vector<JobPtr>& out) {
  auto list = list_at(document, key, path);
  if (!list) return tl::unexpected(list.error());
  if (!*list) return {};
  for (std::size_t i = 0; i < (*list)->size(); ++i) {
    auto job = read_stored_job((**list)[i], options_at(path, key, i));
    if (!job) return tl::unexpected(job.error());
    if ((*job)->id.empty()) return refuse_job_without_id(path, options_at(path, key, i).place);
    out.push_back(std::move(*job));
  }
  return {};
}

/// Looks up versions by the number in an allocation.
class JobIndex {
 public:
  void add(const std::vector<JobPtr>& jobs) {
    for (const JobPtr& job : jobs) by_version_[{job->namespace_, job->id, job->version}].push_back(job);
  }
  /// `create_index` absent: the latest registration.
  [[nodiscard]] JobPtr find(const std::string& name_space, const std::string& id, std::uint64_t version,
                            std::optional<std::uint64_t> create_index) const {
    const auto found = by_version_.find({name_space, id, version});
    if (found == by_version_.end()) return nullptr;
    JobPtr best;
    for (const JobPtr& job : found->second)
      if (create_index ? job->create_index == *create_index : !best || job->create_index > best->create_index)
        best = job;
    return best;
  }
  [[nodiscard]] std::size_t count(const Job& job) const {
    const auto found = by_version_.find({job.namespace_, job.id, job.version});
    return found == by_version_.end() ? 0 : found->second.size();
  }

 private:
  std::map<std::tuple<std::string, std::string, std::uint64_t>, std::vector<JobPtr>> by_version_;
};

Result<void> read_allocs(const json::Value& document, const std::string& path, const JobIndex& jobs,
                         std::vector<Allocation>& out) {
  auto list = list_at(document, "Allocs", path);
  if (!list) return tl::unexpected(list.error());
  if (!*list) return {};
  out.resize((*list)->size());
  for (std::size_t i = 0; i < out.size(); ++i) {
    Allocation& alloc = out[i];
    const json::Value& entry = (**list)[i];
    const model::ReadOptions here = options_at(path, "Allocs", i);
    if (auto done = read_entry(entry, alloc, here); !done) return done;
    if (alloc.job && alloc.job->id.empty()) return refuse_job_without_id(path, here.place + "/Job");
    alloc.extra.erase("JobVersion");
    alloc.extra.erase("JobCreateIndex");
    if (alloc.extra.size() == 0) alloc.extra = json::Value();
    if (alloc.namespace_.empty()) alloc.namespace_ = "default";
    const auto version = read_number(entry, "JobVersion", here), create = read_number(entry, "JobCreateIndex", here);
    for (const auto* number : {&version, &create})
      if (!*number) return tl::unexpected(number->error());
    if (!alloc.job && *version) alloc.job = jobs.find(alloc.namespace_, alloc.job_id, **version, *create);
  }
  return {};
}

}  // namespace

json::Value write_registered_job(const Job& job) {
  json::Value out = model::to_json(job, model::WriteMode::sparse);
  out.set("Version", job.version);
  out.set("CreateIndex", job.create_index);
  out.set("JobModifyIndex", job.job_modify_index);
  return out;
}

Result<std::optional<std::uint64_t>> read_number(const json::Value& object, const char* key,
                                                 const model::ReadOptions& options) {
  const json::Value* value = object.find(key);
  if (!value || value->is_null()) return std::nullopt;
  const auto refuse = [&](std::string problem, const char* remedy) {
    return tl::unexpected(InputError{options.path, options.place + "/" + key, std::move(problem), remedy});
  };
  if (!value->is_int()) return refuse(std::string("expected an integer, got ") + value->kind(), "correct the value");
  if (!value->is_uint64() && value->as_int() < 0)
    return refuse(json::to_text(*value) + " is outside 0..18446744073709551615", "use a value in that range");
  return value->as_uint();
}

bool is_cluster_file(const json::Value& document) {
  return document["Nodes"].is_array() || document["Jobs"].is_array() || document["Allocs"].is_array();
}

Result<model::ClusterState> read_cluster_file(const json::Value& document, const std::string& path,
                                              Warnings& warnings) {
  static const std::set<std::string_view> known = {"Index",
                                                   "SchedulerConfig",
                                                   "Nodes",
                                                   "NodePools",
                                                   "Namespaces",
                                                   "Jobs",
                                                   "JobVersions",
                                                   "AllocJobs",
                                                   "Allocs",
                                                   "Evals",
                                                   "Deployments",
                                                   "HostVolumes",
                                                   "HostVolumeClaims",
                                                   "CSIVolumes",
                                                   "CSIPlugins"};
  for (const json::Member& member : document.members())
    if (!known.contains(member.key)) warnings.push_back("unknown key " + shortened(member.key) + ", ignored");
  model::ClusterState state;
  model::ReadOptions whole;
  whole.path = path;
  const auto state_index = read_number(document, "Index", whole);
  if (!state_index) return tl::unexpected(state_index.error());
  state.index = state_index->value_or(0);
  if (const json::Value* config = document.find("SchedulerConfig"); config && !config->is_null()) {
    model::ReadOptions options;
    options.path = path;
    options.place = "/SchedulerConfig";
    auto read = read_scheduler_config(*config, options);
    if (!read) return tl::unexpected(read.error());
    state.scheduler_config = std::move(*read);
  }
  std::vector<JobPtr> older, of_allocs;
  Result<void> done = read_values(document, "Nodes", path, state.nodes);
  if (done) done = read_values(document, "NodePools", path, state.node_pools);
  if (done) done = read_values(document, "Namespaces", path, state.namespaces);
  if (done) done = read_jobs(document, "Jobs", path, state.jobs);
  if (done) done = read_jobs(document, "JobVersions", path, older);
  if (done) done = read_jobs(document, "AllocJobs", path, of_allocs);
  if (!done) return tl::unexpected(done.error());
  state.job_versions = state.jobs;
  state.job_versions.insert(state.job_versions.end(), older.begin(), older.end());
  JobIndex index;
  index.add(state.job_versions);
  index.add(of_allocs);
  done = read_allocs(document, path, index, state.allocs);
  if (done) done = read_values(document, "Evals", path, state.evals);
  if (done) done = read_values(document, "Deployments", path, state.deployments);
  if (done) done = read_values(document, "HostVolumes", path, state.host_volumes);
  if (done) done = read_values(document, "HostVolumeClaims", path, state.host_volume_claims);
  if (done) done = read_values(document, "CSIVolumes", path, state.csi_volumes);
  if (done) done = read_values(document, "CSIPlugins", path, state.csi_plugins);
  if (!done) return tl::unexpected(done.error());
  return state;
}

json::Value cluster_to_json(const model::ClusterState& state) {
  json::Value out = json::Value::object();
  out.set("Index", state.index);
  if (state.scheduler_config)
    out.set("SchedulerConfig", model::to_json(*state.scheduler_config, model::WriteMode::sparse));
  out.set("Nodes", write_list(state.nodes));
  out.set("NodePools", write_list(state.node_pools));
  out.set("Namespaces", write_list(state.namespaces));
  out.set("Jobs", write_jobs(state.jobs));

  std::map<JobKey, JobPtr> listed;
  JobIndex index;
  std::vector<JobPtr> older, of_allocs;
  for (const JobPtr& job : state.jobs) listed.emplace(key_of(*job), job);
  for (const JobPtr& job : state.job_versions)
    if (listed.emplace(key_of(*job), job).second) older.push_back(job);
  for (const Allocation& alloc : state.allocs)
    if (alloc.job && listed.emplace(key_of(*alloc.job), alloc.job).second) of_allocs.push_back(alloc.job);
  index.add(state.jobs), index.add(older), index.add(of_allocs);
  out.set("JobVersions", write_jobs(older));
  if (!of_allocs.empty()) out.set("AllocJobs", write_jobs(of_allocs));

  json::Array allocs;
  allocs.reserve(state.allocs.size());
  for (const Allocation& alloc : state.allocs) {
    Allocation bare = alloc;
    bare.job.reset();
    json::Value entry = model::to_json(bare, model::WriteMode::sparse);
    if (alloc.job) {
      const JobPtr& known = listed.at(key_of(*alloc.job));
      // The reader finds the job by the allocation's own namespace and job ID, so these must agree.
      const bool findable = alloc.namespace_ == alloc.job->namespace_ && alloc.job_id == alloc.job->id;
      if (findable && (known == alloc.job || !model::spec_changed(*known, *alloc.job))) {
        entry.set("JobVersion", alloc.job->version);
        if (index.count(*alloc.job) > 1) entry.set("JobCreateIndex", alloc.job->create_index);
      } else {
        entry.set("Job", write_registered_job(*alloc.job));
      }
    }
    allocs.push_back(std::move(entry));
  }
  out.set("Allocs", json::Value(std::move(allocs)));
  out.set("Evals", write_list(state.evals));
  out.set("Deployments", write_list(state.deployments));
  out.set("HostVolumes", write_list(state.host_volumes));
  out.set("HostVolumeClaims", write_list(state.host_volume_claims));
  out.set("CSIVolumes", write_list(state.csi_volumes));
  out.set("CSIPlugins", write_list(state.csi_plugins));
  return out;
}

namespace {

/// Length in bytes of the UTF-8 character at the start of `text`; 0 if it is invalid.
std::size_t utf8_bytes(std::string_view text) {
  const auto byte = [&](std::size_t at) { return at < text.size() ? static_cast<unsigned char>(text[at]) : 0U; };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  const std::size_t bytes = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4) return 0;
  for (std::size_t at = 1; at < bytes; ++at)
    if ((byte(at) & 0xc0) != 0x80) return 0;
  const bool bad_second = (first == 0xe0 && byte(1) < 0xa0) || (first == 0xed && byte(1) > 0x9f) ||
                          (first == 0xf0 && byte(1) < 0x90) || (first == 0xf4 && byte(1) > 0x8f);
  return bad_second ? 0 : bytes;
}

}  // namespace

std::string as_utf8(std::string text) {
  std::size_t good = 0;
  while (good < text.size()) {
    const std::size_t bytes = utf8_bytes(std::string_view(text).substr(good));
    if (bytes == 0) break;
    good += bytes;
  }
  if (good == text.size()) return text;
  std::string out = text.substr(0, good);
  for (std::size_t at = good; at < text.size();) {
    const std::size_t bytes = utf8_bytes(std::string_view(text).substr(at));
    out += bytes == 0 ? "\xEF\xBF\xBD" : text.substr(at, bytes);
    at += std::max<std::size_t>(bytes, 1);
  }
  return out;
}

std::string cluster_text(const model::ClusterState& state) { return cluster_file_text(cluster_to_json(state)); }

std::string cluster_file_text(const json::Value& document) {
  // One entry per line: line tools can read the file, at almost no cost.
  std::string text = "{";
  for (const json::Member& member : document.members()) {
    if (text.size() > 1) text += ',';
    text += "\n";
    json::append_quoted(text, member.key);
    text += ": ";
    if (!member.value.is_array()) {
      json::append_text(text, member.value);
      continue;
    }
    text += "[";
    for (std::size_t i = 0; i < member.value.items().size(); ++i) {
      text += i == 0 ? "\n" : ",\n";
      json::append_text(text, member.value.items()[i]);
    }
    text += "]";
  }
  text += "\n}\n";
  return as_utf8(std::move(text));
}

}  // namespace berth::io
