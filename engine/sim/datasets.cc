#include "sim/datasets.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <system_error>

#include "base/edit_distance.h"
#include "io/folder_files.h"

namespace berth::sim {
namespace {

namespace fs = std::filesystem;

/// Returns `folder`/`relative` for the nearest folder at or above `start` that contains it.
std::optional<fs::path> above(const fs::path& start, const fs::path& relative) {
  std::error_code error;
  fs::path folder = fs::absolute(start, error);
  if (error) return std::nullopt;
  for (;; folder = folder.parent_path()) {
    if (fs::exists(folder / relative, error)) return folder / relative;
    if (folder == folder.parent_path()) return std::nullopt;
  }
}

/// Path of a file in a checkout, and of the same file in installed data.
struct DataFile {
  fs::path checkout, installed;
};

std::optional<fs::path> within(const fs::path& folder, const DataFile& file) {
  std::error_code error;
  for (const fs::path& relative : {file.installed, file.checkout})
    if (fs::exists(folder / relative, error)) return folder / relative;
  return std::nullopt;
}

std::optional<fs::path> find(const fs::path& near, const DataFile& file) {
  std::error_code error;
  if (!near.empty())
    if (auto found = above(near, file.checkout)) return found;
  if (auto found = above(fs::current_path(error), file.checkout)) return found;
  if (const char* folder = std::getenv("BERTH_DATA"); folder && *folder)
    if (auto found = within(folder, file)) return found;
  const fs::path program = fs::read_symlink("/proc/self/exe", error).parent_path();
  if (program.empty()) return std::nullopt;
  if (auto found = within(program.parent_path() / "share/berth", file)) return found;
  return above(program, file.checkout);
}

fs::path folder_of(const std::string& workload_path) {
  return workload_path.empty() || workload_path == "-" ? fs::path() : fs::path(workload_path).parent_path() / ".";
}

}  // namespace

Result<std::string> committed_data(const std::string& workload_path, const std::string& file) {
  const fs::path relative = fs::path("datasets") / file;
  if (const auto found = find(folder_of(workload_path), {relative, relative}))
    return found->lexically_normal().string();
  return tl::unexpected(InputError{relative.string(), "", "is not there",
                                   "run berth in a checkout, which has the file, or let BERTH_DATA name one"});
}

Result<std::string> fetched_data(const std::string& workload_path, const std::string& dataset,
                                 const std::string& file) {
  const fs::path relative = fs::path("datasets") / "data" / dataset / file;
  if (const auto found = find(folder_of(workload_path), {relative, relative}))
    return found->lexically_normal().string();
  return tl::unexpected(InputError{relative.string(), "", "is not there", "run datasets/fetch.sh " + dataset});
}

Result<std::string> find_workload(const std::string& name) {
  std::error_code error;
  if (name == "-" || fs::exists(name, error)) return name;
  const bool bare = !name.empty() && name.size() <= 200 && name.find('/') == std::string::npos;
  const fs::path file = name + ".toml";
  if (bare)
    if (const auto found = find({}, {"bench/macro" / file, "workloads" / file}))
      return found->lexically_normal().string();
  if (name.find("://") != std::string::npos)  // a run reads its cluster again and again, and must be repeatable
    return tl::unexpected(InputError{name, "", "is an address, and a workload is a file",
                                     "write the agent's cluster to one: berth import " + name + " -o cluster.json"});
  std::vector<std::string> names;
  for (const std::string& shipped : workload_files()) names.push_back(fs::path(shipped).stem().string());
  return tl::unexpected(
      InputError{name, "", "there is no such file, nor a workload of that name",
                 base::did_you_mean(name, names) + "check the path; `berth run --list` names the workloads"});
}

std::vector<std::string> workload_files() {
  std::vector<std::string> out;
  const auto one = find({}, {"bench/macro/quickstart.toml", "workloads/quickstart.toml"});
  if (!one) return out;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(one->parent_path(), error))
    if (entry.path().extension() == ".toml") out.push_back(entry.path().string());
  std::sort(out.begin(), out.end());
  return out;
}

std::vector<std::string> files_below(const std::string& path) {
  std::error_code error;
  if (!fs::is_directory(path, error)) return {path};
  std::vector<std::string> out;
  for (auto entry = fs::recursive_directory_iterator(path, error); !error && entry != fs::end(entry);
       entry.increment(error))
    if (entry->is_regular_file(error) && io::is_cluster_name(entry->path().filename().string()))
      out.push_back(entry->path().string());
  std::sort(out.begin(), out.end());
  return out;
}

std::vector<std::string> files_of(const Workload& workload) {
  std::vector<std::string> out = files_below(workload.path);
  const fs::path folder = fs::path(workload.path).parent_path();
  if (workload.cluster.source == Source::imported) {
    const fs::path cluster = folder / workload.cluster.nodes_file;
    if (cluster != fs::absolute(workload.path))
      for (std::string& file : files_below(cluster.string())) out.push_back(std::move(file));
  }
  if (workload.cluster.source == Source::files || workload.cluster.source == Source::trace)
    out.push_back((folder / workload.cluster.nodes_file).string());
  out.insert(out.end(), workload.templates.begin(), workload.templates.end());
  if (!workload.jobs.file.empty()) out.push_back((folder / workload.jobs.file).string());
  if (workload.carbon && !workload.carbon->file.empty()) out.push_back((folder / workload.carbon->file).string());
  return out;
}

}  // namespace berth::sim
