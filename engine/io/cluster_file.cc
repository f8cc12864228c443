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
#include <unordered_map>

#include "io/cluster_parts.h"
#include "model/codec/bulk.h"
#include "model/job.h"
#include "model/registration/job_canonical.h"
#include "model/registration/register_job.h"
#include "model/update/spec_changed.h"

namespace berth::io {
namespace {

using model::Allocation;
using model::Job;
using JobPtr = std::shared_ptr<const Job>;

/// A cluster file as a tree.
class TreeWriter {
 public:
  void member(const char* key, json::Value value) { tree_.set(key, std::move(value)); }
  /// `entry`: returns the list's entry of a number.
  template <class Entry, class Append>
  void list(const char* key, std::size_t size, const Entry& entry, const Append&) {
    list(key, size, entry);
  }
  template <class Entry>
  void list(const char* key, std::size_t size, const Entry& entry) {
    json::Array out;
    out.reserve(size);
    for (std::size_t i = 0; i < size; ++i) out.push_back(entry(i));
    tree_.set(key, json::Value(std::move(out)));
  }
  json::Value take() { return std::move(tree_); }

 private:
  json::Value tree_ = json::Value::object();
};

/// A cluster file as text, with one entry per line: line tools can read it, at almost no cost. Only one entry at a time
/// is a tree.
class TextWriter {
 public:
  void member(std::string_view key, const json::Value& value) {
    begin(key);
    json::append_text(text_, value);
  }
  template <class Entry>
  void list(std::string_view key, std::size_t size, const Entry& entry) {
    list(key, size, entry, [&](std::size_t i, std::string& out) { json::append_text(out, entry(i)); });
  }
  /// `append`: appends the text of the list's entry of a number.
  template <class Entry, class Append>
  void list(std::string_view key, std::size_t size, const Entry&, const Append& append) {
    constexpr std::size_t kSample = 64;  // entries that show how long the others are: growing would copy the text
    begin(key);
    text_ += "[";
    const std::size_t begin_bytes = text_.size();
    for (std::size_t i = 0; i < size; ++i) {
      text_ += i == 0 ? "\n" : ",\n";
      append(i, text_);
      if (i + 1 == kSample) text_.reserve(text_.size() + (text_.size() - begin_bytes) / kSample * (size - i) * 9 / 8);
    }
    text_ += "]";
  }
  std::string take() {
    text_ += "\n}\n";
    return as_utf8(std::move(text_));
  }

 private:
  void begin(std::string_view key) {
    if (text_.size() > 1) text_ += ',';
    text_ += "\n";
    json::append_quoted(text_, key);
    text_ += ": ";
  }
  std::string text_ = "{";
};

template <class Writer, class T>
void write_list(Writer& out, const char* key, const std::vector<T>& list) {
  out.list(
      key, list.size(), [&](std::size_t i) { return model::to_json(list[i], model::WriteMode::sparse); },
      [&](std::size_t i, std::string& text) { model::append_sparse(text, list[i]); });
}

template <class Writer>
void write_jobs(Writer& out, const char* key, const std::vector<JobPtr>& jobs) {
  out.list(key, jobs.size(), [&](std::size_t i) { return write_registered_job(*jobs[i]); });
}

/// A parsed file: its members, and the entries of its lists one at a time.
class ValueDocument {
 public:
  explicit ValueDocument(const json::Value& document) : document_(document) {}
  [[nodiscard]] std::vector<std::string> keys() const {
    std::vector<std::string> out;
    for (const json::Member& member : document_.members()) out.push_back(member.key);
    return out;
  }
  /// null if absent.
  [[nodiscard]] json::Value member(const char* key) const {
    const json::Value* value = document_.find(key);
    return value ? *value : json::Value();
  }
  /// Calls `take(entry, number, count)` for each entry; false: the member is there, but no list.
  template <class Take>
  Result<bool> each(const char* key, const Take& take) const {
    const json::Value* list = document_.find(key);
    if (!list || list->is_null()) return true;
    if (!list->is_array()) return false;
    for (std::size_t i = 0; i < list->items().size(); ++i)
      if (Result<void> done = take(json::Value(list->items()[i]), i, list->items().size()); !done)
        return tl::unexpected(done.error());
    return true;
  }

 private:
  const json::Value& document_;
};

/// Only one entry at a time becomes a tree: all trees together are ten times as large as the text.
class ElementDocument {
 public:
  explicit ElementDocument(const simdjson::dom::object& document) : document_(document) {}
  [[nodiscard]] std::vector<std::string> keys() const {
    std::vector<std::string> out;
    for (const auto field : document_) out.emplace_back(field.key);
    return out;
  }
  [[nodiscard]] json::Value member(const char* key) const {
    JsonElement element;
    return document_.at_key(key).get(element) == simdjson::SUCCESS ? to_value(element) : json::Value();
  }
  template <class Take>
  Result<bool> each(const char* key, const Take& take) const {
    JsonElement list;
    if (document_.at_key(key).get(list) != simdjson::SUCCESS || list.is_null()) return true;
    simdjson::dom::array entries;
    if (list.get(entries) != simdjson::SUCCESS) return false;
    std::size_t number = 0;
    for (const JsonElement entry : entries)
      if (Result<void> done = take(to_value(entry), number++, entries.size()); !done)
        return tl::unexpected(done.error());
    return true;
  }

 private:
  const simdjson::dom::object& document_;
};

model::ReadOptions options_at(const std::string& path, const char* key, std::size_t index) {
  model::ReadOptions options;
  options.path = path;
  options.place = std::string("/") + key + "/" + std::to_string(index);
  return options;
}

template <class T>
Result<void> read_entry(json::Value&& value, T& out, const model::ReadOptions& options) {
  if (auto done = model::take_json(std::move(value), out, options); !done) return done;
  if constexpr (requires { take_id(out, options); }) return take_id(out, options);
  return {};
}

/// Calls `take(entry, options, count)` for each entry of the list under `key`, which may be absent.
template <class Document, class Take>
Result<void> read_list(const Document& document, const char* key, const std::string& path, const Take& take) {
  const auto is_list = document.each(key, [&](json::Value&& entry, std::size_t number, std::size_t count) {
    return take(std::move(entry), options_at(path, key, number), count);
  });
  if (!is_list) return tl::unexpected(is_list.error());
  if (*is_list) return {};
  return tl::unexpected(InputError{path, std::string("/") + key,
                                   std::string("expected a list, got ") + document.member(key).kind(),
                                   "correct the value"});
}

template <class Document, class T>
Result<void> read_values(const Document& document, const char* key, const std::string& path, std::vector<T>& out) {
  return read_list(document, key, path, [&](json::Value&& entry, const model::ReadOptions& here, std::size_t count) {
    if (out.empty()) out.reserve(count);
    return read_entry(std::move(entry), out.emplace_back(), here);
  });
}

template <class Document>
Result<void> read_jobs(const Document& document, const char* key, const std::string& path, std::vector<JobPtr>& out) {
  const auto take = [&](const json::Value& entry, const model::ReadOptions& here, std::size_t) -> Result<void> {
    auto job = read_stored_job(entry, here);
    if (!job) return tl::unexpected(job.error());
    if ((*job)->id.empty()) return refuse_job_without_id(path, here.place);
    out.push_back(std::move(*job));
    return {};
  };
  return read_list(document, key, path, take);
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

Result<void> read_alloc(json::Value&& entry, const model::ReadOptions& here, const JobIndex& jobs, Allocation& alloc) {
  if (auto done = read_entry(std::move(entry), alloc, here); !done) return done;  // keeps numbers
  if (alloc.job && alloc.job->id.empty()) return refuse_job_without_id(here.path, here.place + "/Job");
  if (alloc.job) alloc.job = stored_form(*alloc.job);
  alloc.extra.erase("JobVersion");
  alloc.extra.erase("JobCreateIndex");
  if (alloc.extra.size() == 0) alloc.extra = json::Value();
  if (alloc.namespace_.empty()) alloc.namespace_ = "default";
  const auto version = read_number(entry, "JobVersion", here), create = read_number(entry, "JobCreateIndex", here);
  for (const auto* number : {&version, &create})
    if (!*number) return tl::unexpected(number->error());
  if (!alloc.job && *version) alloc.job = jobs.find(alloc.namespace_, alloc.job_id, **version, *create);
  return {};
}

template <class Document>
Result<model::ClusterState> read_document(const Document& document, const std::string& path, Warnings& warnings) {
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
  for (const std::string& key : document.keys())
    if (!known.contains(key)) warnings.push_back("unknown key " + shortened(key) + ", ignored");
  model::ClusterState state;
  model::ReadOptions whole;
  whole.path = path;
  const auto state_index = read_number(json::Value(json::Object{{"Index", document.member("Index")}}), "Index", whole);
  if (!state_index) return tl::unexpected(state_index.error());
  state.index = state_index->value_or(0);
  if (const json::Value config = document.member("SchedulerConfig"); !config.is_null()) {
    model::ReadOptions options;
    options.path = path;
    options.place = "/SchedulerConfig";
    auto read = read_scheduler_config(config, options);
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
  done =
      read_list(document, "Allocs", path, [&](json::Value&& entry, const model::ReadOptions& here, std::size_t count) {
        if (state.allocs.empty()) state.allocs.reserve(count);
        return read_alloc(std::move(entry), here, index, state.allocs.emplace_back());
      });
  if (done) done = read_values(document, "Evals", path, state.evals);
  if (done) done = read_values(document, "Deployments", path, state.deployments);
  if (done) done = read_values(document, "HostVolumes", path, state.host_volumes);
  if (done) done = read_values(document, "HostVolumeClaims", path, state.host_volume_claims);
  if (done) done = read_values(document, "CSIVolumes", path, state.csi_volumes);
  if (done) done = read_values(document, "CSIPlugins", path, state.csi_plugins);
  if (!done) return tl::unexpected(done.error());
  return state;
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

namespace {
constexpr const char* kMarks[] = {"Nodes", "Jobs", "Allocs"};  // each is a list in cluster files only
}

bool is_cluster_file(const json::Value& document) {
  return std::any_of(std::begin(kMarks), std::end(kMarks), [&](const char* key) { return document[key].is_array(); });
}

bool is_cluster_file(const JsonElement& document) {
  simdjson::dom::object object;
  return document.get(object) == simdjson::SUCCESS &&
         std::any_of(std::begin(kMarks), std::end(kMarks),
                     [&](const char* key) { return object.at_key(key).is_array(); });
}

Result<model::ClusterState> read_cluster_file(const json::Value& document, const std::string& path,
                                              Warnings& warnings) {
  return read_document(ValueDocument(document), path, warnings);
}

Result<model::ClusterState> read_cluster_file(const JsonElement& document, const std::string& path,
                                              Warnings& warnings) {
  const simdjson::dom::object object = document.get_object().value_unsafe();  // is_cluster_file() checked it
  return read_document(ElementDocument(object), path, warnings);
}

namespace {

template <class Writer>
void write_allocs(Writer& out, const std::vector<Allocation>& allocs, const std::map<JobKey, JobPtr>& listed,
                  const JobIndex& index) {
  /// How an allocation names its job.
  struct Naming {
    bool by_version = false;       ///< its job is a listed one
    bool by_registration = false;  ///< there are several of that version
  };
  std::unordered_map<const Job*, Naming> known;
  const auto naming_of = [&](const Allocation& alloc) {
    const auto [at, is_new] = known.try_emplace(alloc.job.get());
    if (is_new) {
      const JobPtr& same = listed.at(key_of(*alloc.job));
      at->second = {same == alloc.job || !model::spec_changed(*same, *alloc.job), index.count(*alloc.job) > 1};
    }
    // The reader finds the job by the allocation's own namespace and job ID, so these must agree.
    Naming naming = at->second;
    naming.by_version &= alloc.namespace_ == alloc.job->namespace_ && alloc.job_id == alloc.job->id;
    return naming;
  };
  const auto entry = [&](std::size_t i) {
    const Allocation& alloc = allocs[i];
    Allocation bare = alloc;
    bare.job.reset();
    json::Value value = model::to_json(bare, model::WriteMode::sparse);
    if (!alloc.job) return value;
    if (const Naming naming = naming_of(alloc); naming.by_version) {
      value.set("JobVersion", alloc.job->version);
      if (naming.by_registration) value.set("JobCreateIndex", alloc.job->create_index);
    } else {
      value.set("Job", write_registered_job(*alloc.job));
    }
    return value;
  };
  const auto append = [&](std::size_t i, std::string& text) {
    const Allocation& alloc = allocs[i];
    const bool has_own = alloc.extra.has("JobVersion") || alloc.extra.has("JobCreateIndex") || alloc.extra.has("Job");
    const Naming naming = alloc.job ? naming_of(alloc) : Naming();
    if (has_own || alloc.id.empty() || naming.by_version != (alloc.job != nullptr))
      return json::append_text(text, entry(i));
    model::append_sparse(text, alloc);
    if (!alloc.job) return;
    text.back() = ',';  // for the closing brace
    text += "\"JobVersion\":" + std::to_string(alloc.job->version);
    if (naming.by_registration) text += ",\"JobCreateIndex\":" + std::to_string(alloc.job->create_index);
    text += '}';
  };
  out.list("Allocs", allocs.size(), entry, append);
}

template <class Writer>
void write_cluster(const model::ClusterState& state, Writer& out) {
  out.member("Index", json::Value(state.index));
  if (state.scheduler_config)
    out.member("SchedulerConfig", model::to_json(*state.scheduler_config, model::WriteMode::sparse));
  write_list(out, "Nodes", state.nodes);
  write_list(out, "NodePools", state.node_pools);
  write_list(out, "Namespaces", state.namespaces);
  write_jobs(out, "Jobs", state.jobs);

  std::map<JobKey, JobPtr> listed;
  JobIndex index;
  std::vector<JobPtr> older, of_allocs;
  for (const JobPtr& job : state.jobs) listed.emplace(key_of(*job), job);
  for (const JobPtr& job : state.job_versions)
    if (listed.emplace(key_of(*job), job).second) older.push_back(job);
  for (const Allocation& alloc : state.allocs)
    if (alloc.job && listed.emplace(key_of(*alloc.job), alloc.job).second) of_allocs.push_back(alloc.job);
  index.add(state.jobs), index.add(older), index.add(of_allocs);
  write_jobs(out, "JobVersions", older);
  if (!of_allocs.empty()) write_jobs(out, "AllocJobs", of_allocs);

  write_allocs(out, state.allocs, listed, index);
  write_list(out, "Evals", state.evals);
  write_list(out, "Deployments", state.deployments);
  write_list(out, "HostVolumes", state.host_volumes);
  write_list(out, "HostVolumeClaims", state.host_volume_claims);
  write_list(out, "CSIVolumes", state.csi_volumes);
  write_list(out, "CSIPlugins", state.csi_plugins);
}

}  // namespace

json::Value cluster_to_json(const model::ClusterState& state) {
  TreeWriter out;
  write_cluster(state, out);
  return out.take();
}

std::string cluster_text(const model::ClusterState& state) {
  TextWriter out;
  write_cluster(state, out);
  return out.take();
}

std::string cluster_file_text(const json::Value& document) {
  TextWriter out;
  for (const auto& [key, value] : document.members()) {
    if (value.is_array())
      out.list(key, value.items().size(),
               [&items = value.items()](std::size_t i) -> const json::Value& { return items[i]; });
    else
      out.member(key, value);
  }
  return out.take();
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
  if (simdjson::validate_utf8(text)) return text;
  std::size_t good = 0;
  while (good < text.size()) {
    const std::size_t bytes = utf8_bytes(std::string_view(text).substr(good));
    if (bytes == 0) break;
    good += bytes;
  }
  std::string out = text.substr(0, good);
  for (std::size_t at = good; at < text.size();) {
    const std::size_t bytes = utf8_bytes(std::string_view(text).substr(at));
    out += bytes == 0 ? "\xEF\xBF\xBD" : text.substr(at, bytes);
    at += std::max<std::size_t>(bytes, 1);
  }
  return out;
}

}  // namespace berth::io
