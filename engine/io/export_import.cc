#include "io/export_import.h"

#include <algorithm>
#include <filesystem>
#include <map>

#include "io/cluster_parts.h"
#include "io/files.h"
#include "io/folder_files.h"
#include "io/json_fault.h"
#include "io/json_parse.h"
#include "io/snapshot/snapshot_import.h"
#include "io/unpacked.h"
#include "model/job.h"
#include "model/options.h"
#include "model/registration/job_canonical.h"

namespace berth::io {
namespace {

namespace fs = std::filesystem;

/// Converts fields of older clusters if the options say so (R-SEED-10, 70).
Result<void> take_older_fields(model::ClusterState& state, const std::string& path, const ImportOptions& options) {
  if (!options.remote_tasks)
    for (model::Allocation& alloc : state.allocs)
      for (auto& [name, task] : alloc.task_states)
        if (task) task->task_handle = {};
  if (!options.legacy_disconnect_fields) return {};
  std::map<const model::Job*, std::shared_ptr<const model::Job>> moved;  // allocations that shared a job still do
  const auto move = [&](std::shared_ptr<const model::Job>& job) -> Result<void> {
    if (!job) return {};
    auto& now = moved[job.get()];
    if (!now) {
      auto changed = std::make_shared<model::Job>(*job);
      for (model::TaskGroup& group : changed->task_groups)  // true is the default and may not have been set by the user
        if (group.prevent_reschedule_on_lost && group.disconnect && group.disconnect->replace.value_or(false))
          group.disconnect->replace.reset();
      if (std::string refusal = model::take_legacy_disconnect_fields(*changed); !refusal.empty())
        return tl::unexpected(InputError{path, "job " + shortened(job->id), std::move(refusal), "keep one of the two"});
      model::canonicalize(*changed);
      now = std::move(changed);
    }
    job = now;
    return {};
  };
  for (auto* jobs : {&state.jobs, &state.job_versions})
    for (auto& job : *jobs)
      if (auto done = move(job); !done) return done;
  for (model::Allocation& alloc : state.allocs)
    if (auto done = move(alloc.job); !done) return done;
  return {};
}

Result<ClusterImport> finished(Result<model::ClusterState> state, Warnings warnings, const std::string& path,
                               const ImportOptions& options, const std::optional<Missing>& missing = {}) {
  if (!state) return tl::unexpected(state.error());
  ClusterImport out;
  if (missing && !options.allow_partial) return tl::unexpected(InputError{path, "", missing->problem, missing->remedy});
  out.state = std::move(*state);
  out.warnings = std::move(warnings);
  if (auto done = take_older_fields(out.state, path, options); !done) return tl::unexpected(done.error());
  if (auto done = complete_state(out.state, path, out.warnings); !done) return tl::unexpected(done.error());
  if (auto done = check_state(out.state, path, options.now_ns, out.warnings); !done)
    return tl::unexpected(done.error());
  if (options.strict && !out.warnings.empty()) {
    std::string problem = out.warnings.front();
    if (out.warnings.size() > 1) problem += " (and " + std::to_string(out.warnings.size() - 1) + " more warnings)";
    return tl::unexpected(InputError{path, "", std::move(problem), "repair it, or import without --strict"});
  }
  return out;
}

/// Files of a folder that may be part of a cluster, sorted by name.
Result<std::vector<std::string>> files_of(const std::string& path) {
  std::vector<std::string> files;
  std::error_code error;
  for (fs::recursive_directory_iterator it(path, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (it->is_regular_file(error) && is_cluster_name(name)) files.push_back(it->path().string());
  }
  if (error) return tl::unexpected(InputError{path, "", "cannot be read: " + error.message(), "check its permissions"});
  if (files.empty())
    return tl::unexpected(
        InputError{path, "", "holds no .json, .json.gz or .snap file", "name a folder of API answers"});
  std::sort(files.begin(), files.end());
  keep_last_captures(files);
  return files;
}

}  // namespace

Result<ClusterImport> import_cluster_json(const json::Value& document, const std::string& path,
                                          const ImportOptions& options) {
  Warnings warnings;
  if (is_cluster_file(document)) {
    auto state = read_cluster_file(document, path, warnings);
    return finished(std::move(state), std::move(warnings), path, options);
  }
  ExportCollector collector;
  if (auto done = collector.add(document, path); !done) return tl::unexpected(done.error());
  std::optional<Missing> missing;
  auto state = collector.finish(path, warnings, missing);
  return finished(std::move(state), std::move(warnings), path, options, missing);
}

/// Everything gathered so far from the sources of one import.
struct Importer::State {
  explicit State(bool single) : single_(single) {}

  Result<void> add(const std::string& path) {
    std::error_code error;
    if (!fs::is_directory(path, error)) return add_file(path, path, Place::named);
    const auto files = files_of(path);
    if (!files) return tl::unexpected(files.error());
    single_ = false;
    const bool captured = std::any_of(files->begin(), files->end(), is_capture);
    std::size_t others = 0;
    std::string first_other;
    for (const std::string& file : *files) {
      const std::size_t before = collector_.objects();
      const Place place = captured && !is_capture(file) ? Place::beside_captures : Place::folder;
      if (auto done = add_file(file, path, place); !done) return done;
      if (!whole_ && collector_.objects() == before && others++ == 0) first_other = file;
    }
    if (others > 0) notes_.push_back(others_note(path, others, first_other));
    return {};
  }

  Result<ClusterImport> finish(const std::string& path, const ImportOptions& options) {
    if (whole_) return finished(std::move(*whole_), std::move(warnings_), path, options);
    std::optional<Missing> missing;
    auto state = collector_.finish(path, warnings_, missing);
    if (state && has_snapshot_)
      if (const std::size_t count = derive_claims(*state); count > 0)
        notes_.push_back("snapshot: " + std::to_string(count) +
                         (count == 1 ? " claim of a sticky host volume" : " claims of sticky host volumes") +
                         " derived from allocations, as no snapshot holds them");
    auto done = finished(std::move(state), std::move(warnings_), path, options, missing);
    if (done) done->notes = std::move(notes_);
    return done;
  }

  Result<void> add_answer(const std::string& request, json::Value answer, const std::string& name) {
    return collector_.add(json::Value(json::Object{{request, std::move(answer)}}), name);
  }
  void add_note(std::string note) { notes_.push_back(std::move(note)); }

 private:
  /// Where a file is found. Of those in a folder, some may hold nothing of a cluster.
  enum class Place : std::uint8_t { named, folder, beside_captures };

  Result<void> add_file(const std::string& file, const std::string& source, Place place) {
    switch (kind_of_file(file)) {
      case FileKind::snapshot:
        has_snapshot_ = true;
        if (auto done = whole_cluster(source); !done) return done;
        return add_snapshot(file, collector_, warnings_, notes_);
      case FileKind::archive:
        return add_archive(file, collector_, notes_);
      case FileKind::text:
        break;
    }
    const auto text = read_file(file);
    if (!text) return tl::unexpected(text.error());
    if (place == Place::beside_captures && !begins_like_json(*text)) return {};
    std::size_t documents = 0;
    return each_json_document(*text, file, [&](const JsonElement& document, std::size_t begin) -> Result<void> {
      auto done = is_export(document)         ? add_export(document, file, source)
                  : is_cluster_file(document) ? add_cluster(document, file, source)
                                              : collector_.add(to_value(document), file, place != Place::named);
      if (done && ++documents > 1 && whole_) done = among_others(file);
      if (!done) return tl::unexpected(with_line(done.error(), *text, begin));
      return {};
    });
  }

  Result<void> add_export(const JsonElement& document, const std::string& file, const std::string& source) {
    if (auto done = whole_cluster(source); !done) return done;
    return collector_.add_export(document, file);
  }

  Result<void> add_cluster(const JsonElement& document, const std::string& file, const std::string& source) {
    if (auto done = whole_cluster(source); !done) return done;
    if (!single_) return among_others(file);
    whole_ = read_cluster_file(document, file, warnings_);
    return {};
  }

  static Result<void> among_others(const std::string& file) {
    return tl::unexpected(InputError{file, "", "is a CLUSTER.json among other sources", "name the file by itself"});
  }

  /// Refuses a second whole cluster: it would be another moment or another cluster.
  Result<void> whole_cluster(const std::string& source) {
    if (++wholes_ < 2) return {};
    return tl::unexpected(InputError{source, "", "holds more than one whole cluster", "name one of its files"});
  }

  ExportCollector collector_;
  Warnings warnings_, notes_;
  std::optional<Result<model::ClusterState>> whole_;  ///< state read from a CLUSTER.json
  bool single_, has_snapshot_ = false;
  std::size_t wholes_ = 0;
};

Importer::Importer(bool single) : state_(std::make_unique<State>(single)) {}
Importer::~Importer() = default;
Result<void> Importer::add(const std::string& path) { return state_->add(path); }
Result<void> Importer::add_answer(const std::string& request, json::Value answer, const std::string& name) {
  return state_->add_answer(request, std::move(answer), name);
}
void Importer::add_note(std::string note) { state_->add_note(std::move(note)); }
Result<ClusterImport> Importer::finish(const std::string& name, const ImportOptions& options) {
  return state_->finish(name, options);
}

Result<ClusterImport> import_clusters(const std::vector<std::string>& paths, const ImportOptions& options) {
  Importer importer(paths.size() == 1);
  for (const std::string& path : paths)
    if (auto done = importer.add(path); !done) return tl::unexpected(done.error());
  return importer.finish(paths.size() == 1 ? paths[0] : "sources", options);
}

Result<ClusterImport> import_cluster(const std::string& path, const ImportOptions& options) {
  return import_clusters({path}, options);
}

}  // namespace berth::io
