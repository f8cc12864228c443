// Finished runs of earlier commands: --resume FOLDER. One JSON file per run, complete or absent. Its name is the digest
// of everything that must be equal to reuse a run: commit, workload file and data, label, kind of run, seed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/json.h"
#include "sim/workload.h"

namespace berth::compare {

class KeptRuns {
 public:
  /// `text`: the workload file's content. With `folder` "" nothing is stored. Error: `folder` cannot be a folder.
  [[nodiscard]] static Result<KeptRuns> open(const sim::Workload& workload, const std::string& text,
                                             const std::string& folder);

  /// The stored run; nullopt if there is no such file, it has another key, or its checksum is wrong: the run is then
  /// repeated. `what` distinguishes the run from others of the seed.
  [[nodiscard]] std::optional<json::Value> find(const std::string& what, std::int64_t seed) const;
  /// Stores a run. May be called by any thread.
  [[nodiscard]] Result<void> keep(const std::string& what, std::int64_t seed, json::Value run) const;

 private:
  [[nodiscard]] std::string key_of(const std::string& what, std::int64_t seed) const;
  [[nodiscard]] std::string path_of(const std::string& key) const;
  std::string folder_, source_;
};

/// "4 of 9 runs were finished before", or "".
[[nodiscard]] std::string resumed_words(std::size_t resumed, std::size_t runs);

/// A whole number of an object; nullopt if it is none.
[[nodiscard]] std::optional<std::uint64_t> count_in(const json::Value& object, const char* key);

}  // namespace berth::compare
