#include "compare/kept_runs.h"

#include <fmt/format.h>

#include <filesystem>

#include "base/build_info.h"
#include "base/sha256.h"
#include "io/files.h"
#include "io/json_parse.h"
#include "io/output.h"
#include "sim/datasets.h"

namespace berth::compare {

namespace fs = std::filesystem;

namespace {

/// Checksum of a run's file without the checksum itself.
std::string sum_of(const json::Value& run) {
  base::Sha256 digest;
  digest.add(json::to_text(run));
  return digest.hex().substr(0, 32);
}

}  // namespace

Result<KeptRuns> KeptRuns::open(const sim::Workload& workload, const std::string& text, const std::string& folder) {
  KeptRuns out;
  if (folder.empty()) return out;
  std::error_code error;
  if (!fs::create_directories(folder, error) && !fs::is_directory(folder, error))
    return tl::unexpected(InputError{folder, "", "cannot be a folder of results", "name another folder"});
  out.folder_ = folder;
  base::Sha256 digest;
  digest.add(fmt::format("{}\n{}\n{}\n", base::build_info().commit, workload.label, text.size()));
  digest.add(text);
  for (const std::string& file : sim::files_of(workload))
    if (const auto content = io::read_file(file); file != workload.path && content)
      digest.add(fmt::format("{}\n{}", content->size(), *content));
  out.source_ = digest.hex();
  return out;
}

std::string KeptRuns::key_of(const std::string& what, std::int64_t seed) const {
  base::Sha256 digest;
  digest.add(fmt::format("{}\n{}\n{}\n", source_, what, seed));
  return digest.hex().substr(0, 32);
}

std::string KeptRuns::path_of(const std::string& key) const { return (fs::path(folder_) / (key + ".json")).string(); }

std::optional<json::Value> KeptRuns::find(const std::string& what, std::int64_t seed) const {
  if (folder_.empty()) return std::nullopt;
  const std::string key = key_of(what, seed), path = path_of(key);
  std::error_code error;
  if (!fs::exists(path, error)) return std::nullopt;
  const auto text = io::read_file(path);
  if (!text) return std::nullopt;
  auto value = io::parse_json(*text, path);
  if (!value || (*value)["key"].as_string() != key) return std::nullopt;
  const std::string sum = (*value)["sum"].as_string();
  value->erase("sum");
  if (sum_of(*value) != sum) return std::nullopt;
  return std::move(*value);
}

Result<void> KeptRuns::keep(const std::string& what, std::int64_t seed, json::Value run) const {
  if (folder_.empty()) return {};
  const std::string key = key_of(what, seed);
  run.set("key", key);
  run.set("seed", seed);
  run.set("sum", sum_of(run));
  return io::write_output(path_of(key), json::to_text(run, 2) + "\n");
}

std::string resumed_words(std::size_t resumed, std::size_t runs) {
  return resumed > 0 ? fmt::format("{} of {} runs were finished before\n", resumed, runs) : "";
}

std::optional<std::uint64_t> count_in(const json::Value& object, const char* key) {
  const json::Value* const one = object.find(key);
  if (!one || !one->is_number() || one->as_double() < 0) return std::nullopt;
  return static_cast<std::uint64_t>(one->as_double());
}

}  // namespace berth::compare
