// Finished runs of earlier commands: --resume FILE, a store of runs. The key of a run is the digest of everything that
// must be equal to reuse it: commit, workload file and data, label, kind of run, seed.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/json.h"
#include "sim/workload.h"

namespace berth::compare {

class KeptRuns {
 public:
  /// `text`: the workload file's content. With `file` "" nothing is stored. Errors: those of store::RunStore::open().
  [[nodiscard]] static Result<KeptRuns> open(const sim::Workload& workload, const std::string& text,
                                             const std::string& file);

  /// The stored run; nullopt if there is none, or its checksum is wrong: the run is then repeated. `what` distinguishes
  /// the run from others of the seed.
  [[nodiscard]] std::optional<json::Value> find(const std::string& what, std::int64_t seed) const;
  /// Stores a run. May be called by any thread.
  [[nodiscard]] Result<void> keep(const std::string& what, std::int64_t seed, const json::Value& run) const;

 private:
  struct Stored;
  [[nodiscard]] std::string key_of(const std::string& what, std::int64_t seed) const;
  std::string source_, workload_, label_;
  std::shared_ptr<Stored> stored_;  // null: nothing is stored
};

/// "4 of 9 runs were finished before", or "".
[[nodiscard]] std::string resumed_words(std::size_t resumed, std::size_t runs);

/// A whole number of an object; nullopt if it is none.
[[nodiscard]] std::optional<std::uint64_t> count_in(const json::Value& object, const char* key);

}  // namespace berth::compare
