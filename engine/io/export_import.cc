#include "io/export_import.h"

#include <algorithm>
#include <filesystem>
#include <map>

#include "io/cluster_parts.h"
#include "io/files.h"
#include "io/json_fault.h"
#include "io/json_parse.h"
#include "model/options.h"
#include "model/registration/job_canonical.h"

namespace berth::io {
namespace {

namespace fs = std::filesystem;

/// What older clusters wrote and an option asks for (R-SEED-10, 70).
Result<void> take_older_fields(model::ClusterState& state, const std::string& path, const ImportOptions& options) {
  if (!options.remote_tasks)
    for (model::Allocation& alloc : state.allocs)
      for (auto& [name, task] : alloc.task_states)
        if (task) task->task_handle = {};
  if (!options.legacy_disconnect_fields) return {};
  std::map<const model::Job*, std::shared_ptr<const model::Job>> moved;  // allocations share the job they had
  const auto move = [&](std::shared_ptr<const model::Job>& job) -> Result<void> {
    if (!job) return {};
    auto& now = moved[job.get()];
    if (!now) {
      auto changed = std::make_shared<model::Job>(*job);
      for (model::TaskGroup& group : changed->task_groups)  // true is the default, and need not have been set
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
                               const ImportOptions& options) {
  if (!state) return tl::unexpected(state.error());
  ClusterImport out;
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

Result<json::Value> read_document(const std::string& path) {
  auto text = read_file(path);
  if (!text) return tl::unexpected(text.error());
  return parse_json(*text, path);
}

Result<ClusterImport> import_folder(const std::string& path, const ImportOptions& options) {
  std::vector<std::string> files;
  std::error_code error;
  for (fs::recursive_directory_iterator it(path, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (it->is_regular_file(error) && (name.ends_with(".json") || name.ends_with(".json.gz")))
      files.push_back(it->path().string());
  }
  if (error) return tl::unexpected(InputError{path, "", "cannot be read: " + error.message(), "check its permissions"});
  if (files.empty())
    return tl::unexpected(InputError{path, "", "holds no .json or .json.gz file", "name a folder of API answers"});
  std::sort(files.begin(), files.end());
  ExportCollector collector;
  std::size_t whole = 0;
  for (const std::string& file : files) {
    auto document = read_document(file);
    if (!document) return tl::unexpected(document.error());
    whole += is_export(*document) || is_cluster_file(*document);
    if (whole > 1)
      return tl::unexpected(InputError{path, "", "holds more than one whole cluster", "name one of its files"});
    if (is_cluster_file(*document))
      return tl::unexpected(InputError{file, "", "is a CLUSTER.json in a folder of answers", "name the file itself"});
    if (auto done = collector.add(*document, file); !done) return tl::unexpected(done.error());
  }
  Warnings warnings;
  auto state = collector.finish(path, warnings);
  return finished(std::move(state), std::move(warnings), path, options);
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
  auto state = collector.finish(path, warnings);
  return finished(std::move(state), std::move(warnings), path, options);
}

Result<ClusterImport> import_cluster(const std::string& path, const ImportOptions& options) {
  std::error_code error;
  if (fs::is_directory(path, error)) return import_folder(path, options);
  const auto text = read_file(path);
  if (!text) return tl::unexpected(text.error());
  const auto document = parse_json(*text, path);
  if (!document) return tl::unexpected(document.error());
  auto imported = import_cluster_json(*document, path, options);
  if (!imported) return tl::unexpected(with_line(imported.error(), *text));
  return imported;
}

}  // namespace berth::io
