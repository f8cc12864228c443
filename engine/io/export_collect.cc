// Answers of Nomad's API gathered into one cluster state (R-MODEL-610 to 615).
//
// An object may occur several times: as a list entry, alone, and on its node. The fullest answer wins. Of two equally
// full answers that differ, the one with the higher ModifyIndex wins, with a warning.
#include <algorithm>
#include <set>
#include <unordered_map>

#include "io/cluster_parts.h"
#include "model/job.h"
#include "model/predicates.h"
#include "model/registration/job_canonical.h"
#include "model/registration/register_job.h"
#include "model/update/spec_changed.h"

namespace berth::io {
namespace {

using model::Allocation;
using model::Job;
using JobPtr = std::shared_ptr<const Job>;

using Kind = ApiKind;

/// Kind of the answer to a request path. Paths that are not listed hold nothing that a state needs.
Kind kind_of_path(std::string_view path) {
  const std::size_t question = path.find('?');
  const std::string_view query = question == path.npos ? "" : path.substr(question + 1);
  path = path.substr(0, question);
  if (!path.starts_with("/v1/")) return Kind::ignored;
  path.remove_prefix(4);
  std::vector<std::string_view> parts;
  while (!path.empty()) {
    const std::size_t slash = path.find('/');
    parts.push_back(path.substr(0, slash));
    path = slash == path.npos ? "" : path.substr(slash + 1);
  }
  const std::size_t n = parts.size();
  const auto is = [&](std::size_t i, std::string_view text) { return i < n && parts[i] == text; };
  if (is(0, "nodes") && n == 1) return Kind::node_stub;
  if (is(0, "node") && is(1, "pools") && n == 2) return Kind::pool;
  if (is(0, "node") && is(1, "pool")) return n == 3 ? Kind::pool : Kind::ignored;
  if (is(0, "node")) return n == 2 ? Kind::node : n == 3 && is(2, "allocations") ? Kind::alloc : Kind::ignored;
  if (is(0, "allocations") && n == 1) return Kind::alloc_stub;
  if (is(0, "allocation") && n == 2) return Kind::alloc_single;
  if (is(0, "jobs") && n == 1) return Kind::job_stub;
  if (is(0, "job")) {
    if (n == 2) return Kind::job;
    if (n != 3) return Kind::ignored;
    if (is(2, "versions")) return Kind::versions;
    if (is(2, "allocations")) return Kind::alloc_stub;
    if (is(2, "evaluations")) return Kind::eval;
    if (is(2, "deployments")) return Kind::deployment;
    return Kind::ignored;
  }
  if ((is(0, "evaluations") && n == 1) || (is(0, "evaluation") && n == 2)) return Kind::eval;
  if ((is(0, "deployments") && n == 1) || (is(0, "deployment") && n == 2)) return Kind::deployment;
  if (is(0, "operator") && is(1, "scheduler") && is(2, "configuration")) return Kind::config;
  if ((is(0, "namespaces") && n == 1) || (is(0, "namespace") && n == 2)) return Kind::name_space;
  if (is(0, "volumes") && is(1, "claims")) return Kind::claim;
  if (is(0, "volumes") && n == 1)
    return query.find("type=host") != query.npos ? Kind::host_volume_stub : Kind::csi_volume_stub;
  if (is(0, "volume") && n == 3)
    return is(1, "host") ? Kind::host_volume : is(1, "csi") ? Kind::csi_volume : Kind::ignored;
  if ((is(0, "plugins") && n == 1) || (is(0, "plugin") && n == 3)) return Kind::csi_plugin;
  return Kind::ignored;
}

/// Kind of an object, by keys that only this kind has. `in_list` separates the two endpoints that return full
/// allocations.
std::optional<Kind> kind_of_object(const json::Value& v, bool in_list) {
  if (v.has("Versions")) return Kind::versions;
  if (v.has("SchedulerConfig") || v.has("SchedulerAlgorithm")) return Kind::config;
  if (v.has("TriggeredBy")) return Kind::eval;
  if (v.has("VolumeName") && v.has("VolumeID")) return Kind::claim;
  if (v.has("JobID") && v.has("NodeID") && v.has("TaskGroup")) {
    if (v["Job"].is_object()) return in_list ? Kind::alloc : Kind::alloc_single;
    return Kind::alloc_stub;
  }
  if (v.has("JobSummary")) return Kind::job_stub;
  if (v["TaskGroups"].is_object() && v.has("JobID"))  // without an ID: the answer of /v1/job/ID/scale
    return v.has("ID") ? std::optional(Kind::deployment) : std::nullopt;
  if (v.has("TaskGroups") || v["Job"].is_object()) return Kind::job;
  if (v.has("Attributes") && v.has("Drivers") && v.has("Meta")) return Kind::node;
  if (v.has("Address") && v.has("SchedulingEligibility")) return Kind::node_stub;
  if (v.has("NodeResources") && v.has("ID")) return Kind::node;
  if (v.has("Datacenter") && v.has("SchedulingEligibility")) return Kind::node_stub;
  if (v.has("ControllersHealthy") && v.has("NodesHealthy"))
    return v.has("ReadAllocs") ? Kind::csi_volume : Kind::csi_plugin;
  if (v.has("ReadAllocs") || v.has("WriteAllocs")) return Kind::csi_volume;
  if (v.has("PluginID") && v.has("NodeID") && v.has("State")) return Kind::host_volume;
  if (v.has("NodeIdentityTTL") || (v.has("Name") && v.has("SchedulerConfiguration"))) return Kind::pool;
  if (v.has("Name") && (v.has("Capabilities") || v.has("Quota"))) return Kind::name_space;
  return std::nullopt;
}

template <class T>
std::uint64_t modify_index_of(const T& value) {
  if constexpr (requires { value.modify_index; })
    return value.modify_index;
  else
    return 0;
}

template <class T>
bool same_contents(const T& a, const T& b) {
  if constexpr (std::is_same_v<T, Allocation>) {
    if (!a.job != !b.job || (a.job && key_of(*a.job) != key_of(*b.job))) return false;
    Allocation x = a, y = b;
    x.job.reset(), y.job.reset();
    return json::equal_ignoring_member_order(model::to_json(x), model::to_json(y));
  } else {
    // Retained blocks may have their members in another order.
    return a == b || json::equal_ignoring_member_order(model::to_json(a), model::to_json(b));
  }
}

/// Rank of a snapshot record, which is fuller than any answer, and of a node's list entry.
constexpr int kOfRecord = -1, kStubRank = 1;

/// Objects by key; a lower rank is a fuller answer.
template <class T>
struct Table {
  struct Entry {
    int rank;
    T value;
  };
  std::map<std::string, Entry> entries;

  /// True if an equally full answer differed.
  bool put(const std::string& key, int rank, T value) {
    if (rank == kOfRecord) {
      entries.insert_or_assign(entries.end(), key, Entry{rank, std::move(value)});  // records ascend by ID
      return false;
    }
    const auto found = entries.find(key);
    if (found == entries.end()) {
      entries.emplace(key, Entry{rank, std::move(value)});
      return false;
    }
    Entry& entry = found->second;
    if (rank > entry.rank) return false;
    const bool contradicts = rank == entry.rank && !same_contents(entry.value, value);
    if (rank < entry.rank || (contradicts && modify_index_of(value) >= modify_index_of(entry.value)))
      entry = Entry{rank, std::move(value)};
    return contradicts;
  }
};

/// Second half of the remedies for data that a source lacks.
constexpr const char* kOrSnapshot =
    ", or take all at once: nomad operator snapshot save FILE.snap; --allow-partial does without";

std::string joined(const std::string& a, const std::string& b) { return a + '\0' + b; }

/// Removes the tokens that jobs of older servers carry.
void drop_tokens(Job& job) {
  const auto drop = [](auto& object) {
    for (const char* key : {"VaultToken", "ConsulToken"}) object.erase(key);
  };
  const auto drop_all = [&](json::Retained& list) {
    if (!list.is_array()) return;
    for (json::Value& object : list.items()) drop(object);
  };
  drop(job.extra);
  for (model::TaskGroup& group : job.task_groups) {
    drop(group.extra);
    drop_all(group.services);
    for (model::Task& task : group.tasks) {
      drop(task.extra);
      drop_all(task.services);
    }
  }
}

/// True for two copies of one version. The job and allocation endpoints unpack the payload, the versions endpoint does
/// not.
bool is_same_version(const Job& stored, const Job& other) {
  if (stored.payload == other.payload) return !model::spec_changed(stored, other);
  Job compared = other;
  compared.payload = stored.payload;
  return !model::spec_changed(stored, compared);
}

/// Removes what the single-allocation endpoint adds: mappings whose label belongs to a task network (R-MODEL-612).
void drop_made_up_ports(Allocation& alloc) {
  if (!alloc.allocated_resources) return;
  model::AllocatedResources& resources = *alloc.allocated_resources;
  std::set<std::string> of_tasks, of_group;
  const auto collect = [](const std::vector<model::NetworkResource>& networks, std::set<std::string>& labels) {
    for (const model::NetworkResource& network : networks)
      for (const auto* ports : {&network.reserved_ports, &network.dynamic_ports})
        for (const model::Port& port : *ports) labels.insert(port.label);
  };
  for (const auto& [name, task] : resources.tasks) collect(task.networks, of_tasks);
  collect(resources.shared.networks, of_group);
  std::erase_if(resources.shared.ports, [&](const model::AllocatedPort& port) {
    return of_tasks.contains(port.label) && !of_group.contains(port.label);
  });
}

}  // namespace

Result<model::SchedulerConfiguration> read_scheduler_config(const json::Value& value,
                                                            const model::ReadOptions& options) {
  model::SchedulerConfiguration config;
  if (auto done = model::from_json(value, config, options); !done) return tl::unexpected(done.error());
  const json::Value* preemption = value.find("PreemptionConfig");
  if (!preemption || preemption->is_null())
    config.preemption_config = {false, false, false, false};
  else if (!preemption->has("SystemSchedulerEnabled"))
    config.preemption_config.system_scheduler_enabled = false;
  return config;
}

std::shared_ptr<Job> stored_form(Job job) {
  drop_tokens(job);
  model::canonicalize(job);
  model::fill_server_defaults(job);
  return std::make_shared<Job>(std::move(job));
}

Result<std::shared_ptr<Job>> read_stored_job(const json::Value& value, const model::ReadOptions& options) {
  Job job;
  if (auto done = model::from_json(value, job, options); !done) return tl::unexpected(done.error());
  return stored_form(std::move(job));
}

void drop_secrets(model::Node& node) { node.secret_id.clear(); }
void drop_secrets(model::Evaluation& eval) { eval.leader_acl.clear(); }
void drop_secrets(Allocation& alloc) { alloc.extra.erase("SignedIdentities"); }
void drop_secrets(model::CsiVolume& volume) {
  for (const char* key : {"Secrets", "Parameters", "Context"}) volume.extra.erase(key);
  if (json::Value* mount = volume.extra.find("MountOptions")) mount->erase("MountFlags");
}

bool is_export(const json::Value& document) {
  return document.size() > 0 && document.is_object() && document.members()[0].key.starts_with("/v1/");
}

bool is_export(const JsonElement& document) {
  simdjson::dom::object object;
  if (document.get(object) != simdjson::SUCCESS) return false;
  for (const auto field : object) return field.key.starts_with("/v1/");  // the first one
  return false;
}

struct ExportCollector::Tables {
  Table<model::Node> nodes;
  Table<Allocation> allocs;
  Table<model::Evaluation> evals;
  Table<model::Deployment> deployments;
  Table<model::NodePool> pools;
  Table<model::Namespace> namespaces;
  Table<model::HostVolume> host_volumes;
  Table<model::HostVolumeClaim> claims;
  Table<model::CsiVolume> csi_volumes;
  Table<model::CsiPlugin> csi_plugins;
  std::optional<model::SchedulerConfiguration> config;
  std::map<JobKey, JobPtr> current, versions;
  std::map<std::string, std::pair<std::uint64_t, std::uint64_t>> stub_versions;  // alloc ID -> version, create index
  std::set<std::string> node_stubs, alloc_stubs;
  std::map<std::pair<std::string, std::string>, std::int64_t> job_stubs;  // -> running allocations, by its summary
  bool has_nodes = false, has_allocs = false;  ///< an answer was a list of them, possibly empty
  std::size_t without_job = 0, without_resources = 0, running_left_out = 0;  ///< list entries of allocations
  std::string first_without_job;
  std::vector<std::shared_ptr<Job>> new_jobs;
  /// Jobs that allocations of the current document carry, by ID: as parsed, and in stored form.
  std::unordered_map<std::string, std::vector<std::pair<JsonElement, JobPtr>>> jobs_of_document;
  std::set<JobKey> of_records;   ///< current jobs that came from a snapshot
  bool others_are_fine = false;  ///< no warning for documents that are no API objects
  bool recording = false;        ///< the current object is a record of a snapshot
  std::size_t objects = 0;       ///< number of objects added
  std::uint64_t index = 0;
  Warnings warnings;

  void note(std::uint64_t modify_index) { index = std::max(index, modify_index); }

  Result<void> bad(const model::ReadOptions& options, std::string problem, std::string remedy) {
    return tl::unexpected(InputError{options.path, options.place, std::move(problem), std::move(remedy)});
  }

  template <class T>
  Result<void> put(Table<T>& table, const json::Value& value, const model::ReadOptions& options, int rank,
                   const char* what, std::string T::*id, std::string T::*scope = nullptr) {
    T item;
    if (auto done = model::from_json(value, item, options); !done) return done;
    return put_value(table, std::move(item), options, rank, what, id, scope);
  }

  template <class T>
  Result<void> put_value(Table<T>& table, T item, const model::ReadOptions& options, int rank, const char* what,
                         std::string T::*id, std::string T::*scope) {
    if constexpr (requires { take_id(item, options); })
      if (auto done = take_id(item, options); !done) return done;
    if constexpr (requires { drop_secrets(item); }) drop_secrets(item);
    const std::string name = item.*id;
    if (name.empty()) return bad(options, std::string("a ") + what + " without a name", "give it one");
    if (name.size() > kNameBytesMax)
      return bad(options, std::string("the name of this ") + what + " has " + std::to_string(name.size()) + " bytes",
                 "use at most " + std::to_string(kNameBytesMax));
    if constexpr (!std::is_same_v<T, Allocation>) note(modify_index_of(item));
    const std::string key = scope ? joined(item.*scope, name) : name;
    if (table.put(key, recording ? kOfRecord : rank, std::move(item)))
      warnings.push_back(options.place + ": " + what + " " + shortened(name) +
                         " comes twice with different contents; the newer one is kept");
    return {};
  }

  Result<void> add_job(const json::Value& given, model::ReadOptions options, bool is_current) {
    const json::Value* wrapped = given.find("Job");
    if (wrapped) options.place += "/Job";
    const json::Value& value = wrapped ? *wrapped : given;
    if (!value.is_object())
      return bad(options, std::string("expected a job, got ") + value.kind(), "correct the value");
    if (!model::is_registered_form(value) && !value.has("Version")) return add_new_job(value, options);
    auto job = read_stored_job(value, options);
    if (!job) return tl::unexpected(job.error());
    if ((*job)->id.empty()) return refuse_job_without_id(options.path, options.place);
    if ((*job)->id.size() > kNameBytesMax)
      return bad(options, "the ID of this job has " + std::to_string((*job)->id.size()) + " bytes",
                 "use at most " + std::to_string(kNameBytesMax));
    note((*job)->modify_index);
    const JobKey key = key_of(**job);
    if (recording || of_records.contains(key)) return add_recorded_job(std::move(*job), key, is_current);
    const auto [at, fresh] = versions.emplace(key, *job);
    if (!fresh && !is_same_version(*at->second, **job)) {
      warnings.push_back(options.place + ": version " + std::to_string((*job)->version) + " of job " +
                         shortened((*job)->id) + " comes twice with different contents; the newer one is kept");
      if ((*job)->modify_index >= at->second->modify_index) at->second = *job;
    } else if (!fresh && is_current) {
      at->second = *job;
    }
    if (is_current) current[{(*job)->namespace_, (*job)->id, 0, 0}] = at->second;
    return {};
  }

  /// The current job wins over the version of the same number (R-SNAP-70), and a snapshot over any answer.
  Result<void> add_recorded_job(std::shared_ptr<Job> job, const JobKey& key, bool is_current) {
    if (!recording) return {};
    if (is_current) {
      of_records.insert(key);
      current[{job->namespace_, job->id, 0, 0}] = job;
      versions[key] = std::move(job);
    } else if (!of_records.contains(key)) {
      versions[key] = std::move(job);
    }
    return {};
  }

  /// A job file among the answers: registered as over HTTP (R-MODEL-621).
  Result<void> add_new_job(const json::Value& value, const model::ReadOptions& options) {
    model::RegistrationRequest request;
    request.path = options.path;
    auto done = model::register_job(value, request);
    if (!done) return tl::unexpected(done.error());
    if (!done->job) {
      std::string text = done->error;
      std::replace_if(
          text.begin(), text.end(), [](char c) { return c == '\n' || c == '\t'; }, ' ');
      return bad(options, "the job is refused: " + shortened(text, 400), "correct the job");
    }
    new_jobs.push_back(std::move(done->job));
    return {};
  }

  /// `known_job`, if given: the job in stored form, which `value` then lacks; null: set to it.
  Result<void> add_alloc(const json::Value& value, const model::ReadOptions& options, Kind kind, JobPtr* known_job) {
    Allocation alloc;
    if (auto done = model::from_json(value, alloc, options); !done) return done;
    if (auto done = take_id(alloc, options); !done) return done;
    if (alloc.namespace_.empty()) alloc.namespace_ = "default";
    int rank = kind == Kind::alloc ? 0 : 1;
    if (known_job && *known_job) {
      alloc.job = *known_job;
    } else if (alloc.job) {
      if (alloc.job->id.empty()) return refuse_job_without_id(options.path, options.place + "/Job");
      if (!options.jobs) alloc.job = stored_form(*alloc.job);  // jobs of a table already have it
      if (known_job) *known_job = alloc.job;
    } else {
      rank = alloc.allocated_resources ? 2 : 3;
      const auto version = read_number(value, "JobVersion", options);
      if (!version) return tl::unexpected(version.error());
      if (*version)
        stub_versions.insert_or_assign(stub_versions.end(), alloc.id, std::pair(**version, alloc.create_index));
      if (kind == Kind::alloc_stub) alloc_stubs.insert(alloc.id);
    }
    for (const char* key : {"JobVersion", "JobType"}) alloc.extra.erase(key);
    if (alloc.extra.size() == 0) alloc.extra = json::Value();
    if (kind == Kind::alloc_single) drop_made_up_ports(alloc);
    note(std::max(alloc.modify_index, alloc.alloc_modify_index));
    return put_value<Allocation>(allocs, std::move(alloc), options, rank, "allocation", &Allocation::id, nullptr);
  }

  /// A list entry requested with resources=true replaces the node, without attributes and meta.
  Result<void> add_node_stub(const json::Value& value, const model::ReadOptions& options) {
    std::string id = value["ID"].as_string();
    if (auto done = take_id(id, "node", false, options); !done) return done;
    node_stubs.insert(std::move(id));
    if (!value["NodeResources"].is_object()) return {};
    return put<model::Node>(nodes, without(value, {"Address", "Version"}), options, kStubRank, "node",
                            &model::Node::id);
  }

  /// `known_job`: see add_alloc().
  Result<void> add_object(const json::Value& value, Kind kind, const model::ReadOptions& options,
                          JobPtr* known_job = nullptr) {
    using namespace model;
    if (kind == Kind::ignored || value.is_null()) return {};
    if (!value.is_object())
      return bad(options, std::string("expected an object, got ") + value.kind(), "correct the value");
    ++objects;
    const auto index_of_answer = read_number(value, "Index", options);
    if (!index_of_answer) return tl::unexpected(index_of_answer.error());
    note(index_of_answer->value_or(0));
    switch (kind) {
      case Kind::node:
        return put<Node>(nodes, value, options, 0, "node", &Node::id);
      case Kind::node_stub:
        return add_node_stub(value, options);
      case Kind::alloc:
      case Kind::alloc_single:
      case Kind::alloc_stub:
        return add_alloc(value, options, kind, known_job);
      case Kind::job:
        return add_job(value, options, true);
      case Kind::job_stub:
        job_stubs[{value["Namespace"].as_string(), value["ID"].as_string()}] = running_in(value["JobSummary"]);
        return {};
      case Kind::versions: {
        const json::Array& list = value["Versions"].items();
        for (std::size_t i = 0; i < list.size(); ++i) {
          ReadOptions here = options;
          here.place += "/Versions/" + std::to_string(i);
          if (auto done = add_job(list[i], here, false); !done) return done;
        }
        return {};
      }
      case Kind::eval:
        return put<Evaluation>(evals, value, options, 0, "evaluation", &Evaluation::id);
      case Kind::deployment:
        return put<Deployment>(deployments, value, options, 0, "deployment", &Deployment::id);
      case Kind::pool:
        return put<NodePool>(pools, value, options, 0, "node pool", &NodePool::name);
      case Kind::name_space:
        return put<Namespace>(namespaces, value, options, 0, "namespace", &Namespace::name);
      case Kind::config: {
        const json::Value* inner = value.find("SchedulerConfig");
        if (inner && inner->is_null()) return {};
        auto read = read_scheduler_config(inner ? *inner : value, options);
        if (!read) return tl::unexpected(read.error());
        if (!recording) note(read->modify_index);  // its table has no index entry (R-SNAP-80)
        config = std::move(*read);
        return {};
      }
      case Kind::host_volume:
      case Kind::host_volume_stub:
        return put<HostVolume>(host_volumes, without(value, {"Allocations", "Writers"}), options,
                               kind == Kind::host_volume ? 0 : 1, "host volume", &HostVolume::id,
                               &HostVolume::namespace_);
      case Kind::claim:
        return put<HostVolumeClaim>(claims, value, options, 0, "volume claim", &HostVolumeClaim::id);
      case Kind::csi_volume:
      case Kind::csi_volume_stub:
        return put<CsiVolume>(csi_volumes, without(value, {"Allocations"}), options, kind == Kind::csi_volume ? 0 : 1,
                              "CSI volume", &CsiVolume::id, &CsiVolume::namespace_);
      case Kind::csi_plugin:
        return put<CsiPlugin>(csi_plugins, without(value, {"Allocations"}), options, 0, "CSI plugin", &CsiPlugin::id);
      case Kind::ignored:
        break;
    }
    return {};
  }

  /// Number of running or starting allocations in a job's summary.
  static std::int64_t running_in(const json::Value& summary) {
    std::int64_t count = 0;
    for (const json::Member& group : summary["Summary"].members())
      for (const char* key : {"Running", "Starting"})
        count += std::clamp<std::int64_t>(group.value[key].as_int(), 0, 1 << 20);
    return count;
  }

  // Warnings about objects of which only list entries are present: one line per kind, with the request that returns the
  // full ones.

  void name_node_stubs(Warnings& out, std::optional<Missing>& missing) const {
    std::size_t gone = 0, poor = 0;
    std::string first_gone, first_poor;
    for (const std::string& id : node_stubs) {
      const auto found = nodes.entries.find(id);
      if (found == nodes.entries.end() && gone++ == 0) first_gone = shortened(id);
      if (found != nodes.entries.end() && found->second.rank == kStubRank && poor++ == 0) first_poor = shortened(id);
    }
    if (gone == 1)
      out.push_back("node " + first_gone + " comes only as a list entry and is left out: add /v1/node/" + first_gone);
    if (gone > 1)
      out.push_back(std::to_string(gone) +
                    " nodes come only as list entries and are left out: add /v1/node/ID of each, " + first_gone +
                    " is the first");
    if (poor > 0)
      out.push_back(std::to_string(poor) +
                    " nodes come only as list entries, without attributes and meta: add "
                    "/v1/node/ID of each, " +
                    first_poor + " is the first");
    const std::string remedy = std::string("fetch each: curl $NOMAD_ADDR/v1/node/ID") + kOrSnapshot;
    const std::size_t whole = nodes.entries.size() - poor;
    if (gone + poor > 0)
      missing = Missing{
          "has " +
              (whole == 0 ? std::string("nodes")
                          : std::to_string(gone + poor) + " of " + std::to_string(gone + poor + whole) + " nodes") +
              " only as list entries, without what constraints ask for",
          remedy};
    else if (whole == 0 && !has_nodes && (!allocs.entries.empty() || !current.empty()))
      missing = Missing{"has no nodes", remedy};
  }

  void name_job_stubs(const std::set<std::pair<std::string, std::string>>& have, Warnings& out) const {
    std::vector<std::string> gone;
    for (const auto& [name, running] : job_stubs)
      if (!have.contains(name)) gone.push_back(shortened(name.second));
    if (gone.size() == 1)
      out.push_back("job " + gone[0] + " comes only as a list entry and is left out: add /v1/job/" + gone[0]);
    if (gone.size() > 1)
      out.push_back(std::to_string(gone.size()) +
                    " jobs come only as list entries and are left out: add /v1/job/ID of "
                    "each, " +
                    gone[0] + " is the first");
  }

  /// True if a list entry is usable: its job and its resources are known. A terminal one needs no resources; it only
  /// occupies a name.
  bool keep_alloc_stub(const Allocation& alloc) {
    const bool terminal = model::is_terminal(alloc);
    if (alloc.job && (alloc.allocated_resources || terminal)) return true;
    if (!alloc.job && without_job++ == 0) first_without_job = shortened(alloc.job_id);
    without_resources += alloc.job != nullptr;
    running_left_out += !terminal;
    return false;
  }

  void name_alloc_stubs(const model::ClusterState& state, Warnings& out, std::optional<Missing>& missing) const {
    if (without_job > 0)
      out.push_back(
          std::to_string(without_job) + (without_job == 1 ? " allocation comes" : " allocations come") +
          " only as list entries whose job is not there, and are left out: add /v1/node/ID/allocations of each "
          "node, or /v1/job/" +
          first_without_job + "/versions and those of the others");
    if (without_resources > 0)
      out.push_back(std::to_string(without_resources) +
                    (without_resources == 1 ? " allocation comes" : " allocations come") +
                    " without resources and are left out: add /v1/allocations?resources=true&namespace=*");
    const std::string remedy =
        std::string("fetch them: curl $NOMAD_ADDR/v1/node/ID/allocations for each node") + kOrSnapshot;
    if (running_left_out > 0) {
      missing = Missing{std::to_string(running_left_out) + " allocations that run come only as list entries", remedy};
      return;
    }
    std::set<std::pair<std::string, std::string>> live, deployed;
    for (const Allocation& alloc : state.allocs)
      if (!model::is_terminal(alloc)) live.emplace(alloc.namespace_, alloc.job_id);
    for (const model::Deployment& deployment : state.deployments)
      if (model::is_active_deployment(deployment.status)) deployed.emplace(deployment.namespace_, deployment.job_id);
    std::int64_t running = 0;
    for (const auto& [name, count] : job_stubs)
      if (!live.contains(name)) running += count;
    if (running > 0)
      missing =
          Missing{state.allocs.empty()
                      ? "has no allocations, although its jobs have " + std::to_string(running) + " that run"
                      : "lacks " + std::to_string(running) + " allocations that run by the summaries of their jobs",
                  remedy + "; if they do not run, the summaries are wrong: nomad system reconcile summaries"};
    if (!state.allocs.empty()) return name_idle_jobs(state, live, deployed, out);
    const bool ran = std::any_of(state.nodes.begin(), state.nodes.end(),
                                 [](const model::Node& node) { return node.last_alloc_update_index > 0; });
    if (running == 0 && !has_allocs && ran && !missing)
      missing = Missing{"has no allocations, although its nodes have run some", remedy};
  }

  /// Warns of running jobs without allocations: those of some nodes may be missing. A job with an active deployment
  /// runs, too (R-MODEL-278).
  static void name_idle_jobs(const model::ClusterState& state,
                             const std::set<std::pair<std::string, std::string>>& live,
                             const std::set<std::pair<std::string, std::string>>& deployed, Warnings& out) {
    std::size_t count = 0;
    std::string first;
    for (const JobPtr& job : state.jobs) {
      const bool launches = model::is_periodic(*job) || model::is_parameterized(*job);
      const std::pair name(job->namespace_, job->id);
      if (job->status != "running" || job->type == "system" || launches || live.contains(name) ||
          deployed.contains(name))
        continue;
      if (count++ == 0) first = shortened(job->id);
    }
    if (count > 0)
      out.push_back(
          std::to_string(count) + (count == 1 ? " job is" : " jobs are") +
          " running, but without allocations and deployments here: add /v1/node/ID/allocations of each node and "
          "/v1/deployments?namespace=*; " +
          first + " is the first");
  }

  /// `value` without members that are views of other objects, which an answer adds.
  static json::Value without(json::Value value, std::initializer_list<const char*> keys) {
    for (const char* key : keys) value.erase(key);
    return value;
  }

  /// Adds a full allocation. Most allocations carry a job that others carried before; comparing is much cheaper than
  /// reading it again.
  Result<void> add_tree_alloc(const JsonElement& element, Kind kind, const model::ReadOptions& options) {
    simdjson::dom::object alloc;
    JsonElement job;
    std::size_t jobs = 0;
    if (element.get(alloc) == simdjson::SUCCESS)
      for (const auto field : alloc)
        if (field.key == "Job") job = field.value, ++jobs;
    if (jobs != 1 || !job.is_object()) return add_object(to_value(element), kind, options);
    std::string_view id;
    if (job["ID"].get(id) != simdjson::SUCCESS) id = "";
    std::vector<std::pair<JsonElement, JobPtr>>& seen = jobs_of_document[std::string(id)];
    const std::size_t first = seen.size() > kJobsCompared ? seen.size() - kJobsCompared : 0;
    for (std::size_t i = seen.size(); i-- > first;)
      if (is_equal(seen[i].first, job))
        return add_object(to_value_without(alloc, "Job"), kind, options, &seen[i].second);
    JobPtr read;
    if (auto done = add_object(to_value(element), kind, options, &read); !done) return done;
    if (read) seen.emplace_back(job, std::move(read));
    return {};
  }
  static constexpr std::size_t kJobsCompared = 8;  // versions of one job that allocations of one time have

  /// The same as add_answer() for a part of a parsed text.
  Result<void> add_tree(const JsonElement& answer, Kind kind, const model::ReadOptions& options) {
    if (!answer.is_array()) return add_answer(to_value(answer), kind, options);
    has_nodes = has_nodes || kind == Kind::node_stub;
    has_allocs = has_allocs || kind == Kind::alloc_stub || kind == Kind::alloc;
    std::size_t i = 0;
    const simdjson::dom::array items = answer.get_array().value_unsafe();
    for (const JsonElement item : items) {
      model::ReadOptions here = options;
      here.place.append("/").append(std::to_string(i++));
      const bool with_job = kind == Kind::alloc || kind == Kind::alloc_single;
      auto done = with_job ? add_tree_alloc(item, kind, here) : add_object(to_value(item), kind, here);
      if (!done) return done;
    }
    return {};
  }

  /// Adds a list or a single object, of the given kind or of the kind that its keys show.
  Result<void> add_answer(const json::Value& answer, std::optional<Kind> kind, const model::ReadOptions& options) {
    const auto each = [&](const json::Value& value, const model::ReadOptions& here, bool in_list) -> Result<void> {
      if (kind) return add_object(value, *kind, here);
      if (!value.is_object() && others_are_fine) return {};
      if (!value.is_object())
        return bad(here, std::string("expected an object of Nomad's API, got ") + value.kind(), "correct the value");
      const auto told = kind_of_object(value, in_list);
      if (!told && others_are_fine) return {};
      if (!told) {
        warnings.push_back((here.place.empty() ? here.path : here.path + ":" + here.place) +
                           ": no object of Nomad's API, ignored");
        return {};
      }
      return add_object(value, *told, here);
    };
    if (!answer.is_array()) return each(answer, options, false);
    has_nodes = has_nodes || kind == Kind::node_stub;
    has_allocs = has_allocs || kind == Kind::alloc_stub || kind == Kind::alloc;
    for (std::size_t i = 0; i < answer.items().size(); ++i) {
      model::ReadOptions here = options;
      here.place.append("/").append(std::to_string(i));
      if (auto done = each(answer.items()[i], here, true); !done) return done;
    }
    return {};
  }
};

ExportCollector::ExportCollector() : tables_(std::make_unique<Tables>()) {}
ExportCollector::~ExportCollector() = default;

Result<void> ExportCollector::add(const json::Value& document, const std::string& path, bool others_are_fine) {
  model::ReadOptions options;
  options.path = path;
  tables_->others_are_fine = others_are_fine;
  if (!is_export(document)) return tables_->add_answer(document, std::nullopt, options);
  for (const json::Member& member : document.members()) {
    const Kind kind = kind_of_path(member.key);
    if (kind == Kind::ignored) continue;
    options.place.assign(1, '[').append(shortened(member.key)).append(1, ']');
    // The versions endpoint returns an object of lists; older servers return the bare list.
    if (kind == Kind::versions && member.value.is_array()) {
      if (auto done = tables_->add_answer(member.value[0], Kind::job, options); !done) return done;
      continue;
    }
    if (auto done = tables_->add_answer(member.value, kind, options); !done) return done;
  }
  return {};
}

Result<void> ExportCollector::add_export(const JsonElement& document, const std::string& path) {
  model::ReadOptions options;
  options.path = path;
  tables_->jobs_of_document.clear();
  const simdjson::dom::object answers = document.get_object().value_unsafe();
  for (const auto field : answers) {
    const Kind kind = kind_of_path(field.key);
    if (kind == Kind::ignored) continue;
    options.place.assign(1, '[').append(shortened(std::string(field.key))).append(1, ']');
    // The versions endpoint returns an object of lists; older servers return the bare list.
    auto done = kind == Kind::versions && field.value.is_array()
                    ? tables_->add_answer(to_value(field.value)[0], Kind::job, options)
                    : tables_->add_tree(field.value, kind, options);
    if (!done) return done;
  }
  tables_->jobs_of_document.clear();  // they refer to the parsed text
  return {};
}

Result<void> ExportCollector::add_record(ApiKind kind, const json::Value& object, bool is_version,
                                         const model::ReadOptions& options) {
  tables_->recording = tables_->has_nodes = tables_->has_allocs = true;
  auto done =
      kind == Kind::job ? tables_->add_job(object, options, !is_version) : tables_->add_object(object, kind, options);
  tables_->recording = false;
  return done;
}

std::size_t ExportCollector::objects() const { return tables_->objects; }

void ExportCollector::raise_index(std::uint64_t index) { tables_->note(index); }

Result<model::ClusterState> ExportCollector::finish(const std::string& path, Warnings& warnings,
                                                    std::optional<Missing>& missing) {
  Tables& t = *tables_;
  warnings.insert(warnings.end(), t.warnings.begin(), t.warnings.end());
  model::ClusterState state;
  const auto move_into = [](auto& table, auto& list) {
    list.reserve(table.entries.size());
    for (auto& [key, entry] : table.entries) list.push_back(std::move(entry.value));
  };
  t.name_node_stubs(warnings, missing);
  move_into(t.nodes, state.nodes);
  move_into(t.pools, state.node_pools);
  move_into(t.namespaces, state.namespaces);
  move_into(t.evals, state.evals);
  move_into(t.deployments, state.deployments);
  move_into(t.host_volumes, state.host_volumes);
  move_into(t.claims, state.host_volume_claims);
  move_into(t.csi_volumes, state.csi_volumes);
  move_into(t.csi_plugins, state.csi_plugins);
  state.scheduler_config = std::move(t.config);

  for (const auto& job : t.new_jobs) {
    t.current[{job->namespace_, job->id, 0, 0}] = job;
    t.versions[key_of(*job)] = job;
  }
  std::set<std::pair<std::string, std::string>> have;
  for (const auto& [key, job] : t.current) {
    const auto newest = t.versions.find(key_of(*job));
    state.jobs.push_back(newest == t.versions.end() ? job : newest->second);
    have.emplace(job->namespace_, job->id);
  }
  // Jobs of which only versions are present: the latest version is the current one.
  std::map<std::pair<std::string, std::string>, JobPtr> latest;
  for (const auto& [key, job] : t.versions) latest[{job->namespace_, job->id}] = job;  // ascending by index, version
  for (const auto& [name, job] : latest)
    if (have.insert(name).second) state.jobs.push_back(job);
  for (const auto& [key, job] : t.versions) state.job_versions.push_back(job);
  t.name_job_stubs(have, warnings);

  std::map<JobKey, std::vector<JobPtr>> carried;  // versions that only allocations refer to
  std::map<std::tuple<std::string, std::string, std::uint64_t>, JobPtr> by_version;
  for (const auto& [key, job] : t.versions) by_version[{job->namespace_, job->id, job->version}] = job;
  std::unordered_map<JobPtr, JobPtr> shared;  // key: the job as the allocation brought it
  state.allocs.reserve(t.allocs.entries.size());
  for (auto& [id, entry] : t.allocs.entries) {
    Allocation alloc = std::move(entry.value);
    if (const auto known = shared.find(alloc.job); alloc.job && known != shared.end()) {
      alloc.job = known->second;
    } else if (alloc.job) {
      const JobPtr given = alloc.job;
      const JobKey key = key_of(*alloc.job);
      if (const auto stored = t.versions.find(key);
          stored != t.versions.end() && is_same_version(*stored->second, *alloc.job)) {
        alloc.job = stored->second;
      } else {
        std::vector<JobPtr>& same_key = carried[key];
        const std::size_t first = same_key.size() > Tables::kJobsCompared ? same_key.size() - Tables::kJobsCompared : 0;
        const auto same = std::find_if(same_key.begin() + static_cast<std::ptrdiff_t>(first), same_key.end(),
                                       [&](const JobPtr& job) { return !model::spec_changed(*job, *alloc.job); });
        if (same == same_key.end())
          same_key.push_back(alloc.job);
        else
          alloc.job = *same;
      }
      shared.emplace(given, alloc.job);
    } else if (const auto version = t.stub_versions.find(id); version != t.stub_versions.end()) {
      const auto found = by_version.find({alloc.namespace_, alloc.job_id, version->second.first});
      if (found != by_version.end()) alloc.job = found->second;
    }
    if (entry.rank >= 2 && t.alloc_stubs.contains(id) && !t.keep_alloc_stub(alloc)) continue;
    state.allocs.push_back(std::move(alloc));
  }
  t.name_alloc_stubs(state, warnings, missing);
  state.index = t.index;
  if (missing) return state;
  if (state.nodes.empty() && state.jobs.empty() && state.allocs.empty() && state.node_pools.empty())
    return tl::unexpected(InputError{path, "", "holds neither nodes nor jobs nor allocations",
                                     "name an export of Nomad's API, answers of it, or a CLUSTER.json"});
  return state;
}

}  // namespace berth::io
