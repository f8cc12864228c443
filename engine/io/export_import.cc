#include "io/export_import.h"

#include <algorithm>
#include <filesystem>

#include "io/cluster_parts.h"
#include "io/files.h"
#include "io/json_parse.h"

namespace berth::io {
namespace {

namespace fs = std::filesystem;

Result<ClusterImport> finished(Result<model::ClusterState> state, Warnings warnings, const std::string& path,
                               const ImportOptions& options) {
  if (!state) return tl::unexpected(state.error());
  ClusterImport out;
  out.state = std::move(*state);
  out.warnings = std::move(warnings);
  if (auto done = complete_state(out.state, path, out.warnings); !done) return tl::unexpected(done.error());
  if (auto done = check_state(out.state, path, out.warnings); !done) return tl::unexpected(done.error());
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
  auto document = read_document(path);
  if (!document) return tl::unexpected(document.error());
  return import_cluster_json(*document, path, options);
}

}  // namespace berth::io
