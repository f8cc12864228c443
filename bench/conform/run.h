// `berth conform`: replays files and folders of recorded decisions and reports the totals.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "berth/result.h"
#include "conform/vector.h"

namespace berth::conform {

struct RunOptions {
  std::vector<std::string> paths;   ///< files, or folders searched for .jsonl and .jsonl.gz
  std::optional<std::string> step;  ///< only vectors of that step (evaluation vectors)
  std::string name;                 ///< only vectors whose name contains this text
  std::size_t every = 1;            ///< replay every n-th vector of a file
  sched::EnabledSources sources;    ///< sources that may serve the Selects of evaluations
  std::size_t diff_count = 0;       ///< number of differing vectors to keep completely
};

struct FileReport {
  std::string path;
  std::size_t equal = 0, differ = 0;
  std::map<std::string, std::size_t> unsupported;  ///< missing behaviour -> vectors
  [[nodiscard]] std::size_t unsupported_count() const {
    std::size_t n = 0;
    for (const auto& [what, count] : unsupported) n += count;
    return n;
  }
};

struct KeptDifference {
  std::string path, name;
  std::vector<Difference> differences;
};

struct Report {
  std::vector<FileReport> files;
  std::vector<KeptDifference> kept;
  std::size_t equal = 0, differ = 0, unsupported = 0;
};

[[nodiscard]] Result<Report> run(const RunOptions& options);
[[nodiscard]] std::string to_table(const Report& report);  ///< last line: `N equal, N differ, N not supported`
[[nodiscard]] json::Value to_json(const Report& report);
/// One suite per folder, one test per file, which fails if a vector differs or is not supported.
[[nodiscard]] std::string to_junit(const Report& report);

}  // namespace berth::conform
