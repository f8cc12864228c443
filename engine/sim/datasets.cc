#include "sim/datasets.h"

#include <filesystem>
#include <optional>
#include <system_error>

namespace berth::sim {
namespace {

namespace fs = std::filesystem;

/// The nearest `folder`/`relative` for a folder at or above `start`.
std::optional<fs::path> above(const fs::path& start, const fs::path& relative) {
  std::error_code error;
  fs::path folder = fs::absolute(start, error);
  if (error) return std::nullopt;
  for (;; folder = folder.parent_path()) {
    if (fs::exists(folder / relative, error)) return folder / relative;
    if (folder == folder.parent_path()) return std::nullopt;
  }
}

std::optional<fs::path> find(const fs::path& near, const fs::path& relative) {
  std::error_code error;
  if (!near.empty())
    if (auto found = above(near, relative)) return found;
  if (auto found = above(fs::current_path(error), relative)) return found;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  return program.empty() ? std::nullopt : above(program.parent_path(), relative);
}

fs::path folder_of(const std::string& workload_path) {
  return workload_path.empty() || workload_path == "-" ? fs::path() : fs::path(workload_path).parent_path() / ".";
}

}  // namespace

Result<std::string> committed_data(const std::string& workload_path, const std::string& file) {
  const fs::path relative = fs::path("datasets") / file;
  if (const auto found = find(folder_of(workload_path), relative)) return found->lexically_normal().string();
  return tl::unexpected(
      InputError{relative.string(), "", "is not there", "run berth in a checkout, which has the file, or below one"});
}

Result<std::string> fetched_data(const std::string& workload_path, const std::string& dataset,
                                 const std::string& file) {
  const fs::path relative = fs::path("datasets") / "data" / dataset / file;
  if (const auto found = find(folder_of(workload_path), relative)) return found->lexically_normal().string();
  return tl::unexpected(InputError{relative.string(), "", "is not there", "run datasets/fetch.sh " + dataset});
}

Result<std::string> find_workload(const std::string& name) {
  std::error_code error;
  if (fs::exists(name, error)) return name;
  const bool bare = !name.empty() && name.size() <= 200 && name.find('/') == std::string::npos;
  if (bare)
    if (const auto found = find({}, fs::path("bench/macro") / (name + ".toml")))
      return found->lexically_normal().string();
  return tl::unexpected(InputError{name, "", "there is no such file, nor a workload of that name in bench/macro",
                                   "check the path; `berth run --list` names the workloads"});
}

}  // namespace berth::sim
