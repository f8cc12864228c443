// Finished runs of earlier commands: --resume FOLDER. One JSON file per run, whole or absent, named by the digest of
// all that a run must agree in to stand for a new one: commit, workload file and data, label, what is run, seed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/json.h"
#include "sim/workload.h"

namespace berth::compare {

class KeptRuns {
 public:
  /// `text`: the workload file's content. A `folder` of "" keeps nothing; an error where it cannot be a folder.
  [[nodiscard]] static Result<KeptRuns> open(const sim::Workload& workload, const std::string& text,
                                             const std::string& folder);

  /// What was kept of the run; nothing where there is no such file, it is of another key, or its content is not what
  /// was kept (its sum differs): the run is then done again. `what` tells the run from others of the seed.
  [[nodiscard]] std::optional<json::Value> find(const std::string& what, std::int64_t seed) const;
  /// Keeps an object. Any thread.
  [[nodiscard]] Result<void> keep(const std::string& what, std::int64_t seed, json::Value run) const;

 private:
  [[nodiscard]] std::string key_of(const std::string& what, std::int64_t seed) const;
  [[nodiscard]] std::string path_of(const std::string& key) const;
  std::string folder_, source_;
};

/// "4 of 9 runs were finished before", or "".
[[nodiscard]] std::string resumed_words(std::size_t resumed, std::size_t runs);

/// A whole number of an object; nothing where it is none.
[[nodiscard]] std::optional<std::uint64_t> count_in(const json::Value& object, const char* key);

}  // namespace berth::compare
