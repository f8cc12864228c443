// Replays recorded decisions: tests/golden, and all of shared/golden if available. Files listed in
// tests/golden/supported.txt must be equal in every vector. All others are skipped with their counts, so that
// unsupported vectors never count as passed.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "conform/run.h"
#include "support/sanitized.h"
#include "support/shared_data.h"

namespace berth::conform {
namespace {

namespace fs = std::filesystem;

struct GoldenFile {
  fs::path path;
  std::string key;  ///< "components/shuffle": path below the golden folder without ending
  bool ours;        ///< in tests/golden, not in shared/golden
};

/// Entries of supported.txt: key -> steps; an empty step means the whole file or folder.
std::multimap<std::string, std::string> supported() {
  std::multimap<std::string, std::string> out;
  std::ifstream in(testing::golden_dir() / "supported.txt");
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line.substr(0, line.find('#')));
    std::string key, step;
    if (words >> key) {
      words >> step;
      out.emplace(key, step);
    }
  }
  return out;
}

/// The steps listed for `key` or a folder above it; nullopt: not listed; {""}: all of it.
std::optional<std::set<std::string>> supported_steps(std::string key) {
  static const auto all = supported();
  if (key.starts_with("suite-")) key.erase(0, 6);
  std::set<std::string> steps;
  for (;;) {
    const auto [begin, end] = all.equal_range(key);
    for (auto it = begin; it != end; ++it) steps.insert(it->second);
    const std::size_t slash = key.rfind('/');
    if (slash == std::string::npos) break;
    key.erase(slash);
  }
  if (steps.empty()) return std::nullopt;
  if (steps.contains("")) return std::set<std::string>{""};
  return steps;
}

bool same_bytes(const fs::path& a, const fs::path& b) {
  std::error_code error;
  if (!fs::exists(b, error) || fs::file_size(a, error) != fs::file_size(b, error)) return false;
  std::ifstream one(a, std::ios::binary), other(b, std::ios::binary);
  return std::equal(std::istreambuf_iterator<char>(one), {}, std::istreambuf_iterator<char>(other));
}

std::vector<GoldenFile> golden_files() {
  std::vector<GoldenFile> out;
  const auto collect = [&](const fs::path& root, bool ours) {
    std::error_code error;
    for (fs::recursive_directory_iterator it(root, error), end; !error && it != end; it.increment(error)) {
      const std::string name = it->path().filename().string();
      if (!it->is_regular_file() || !(name.ends_with(".jsonl") || name.ends_with(".jsonl.gz"))) continue;
      const fs::path relative = it->path().lexically_relative(root);
      std::string key = relative.generic_string();
      key.erase(key.find('.'));
      if (key.ends_with("/job_bases")) continue;                        // inputs of other files
      if (testing::kSanitized && key == "streams/memo-8101") continue;  // a minute; the other streams are run
      if (!ours && same_bytes(it->path(), testing::golden_dir() / relative)) continue;  // replayed already
      out.push_back({it->path(), key, ours});
    }
  };
  collect(testing::golden_dir(), true);
  if (const auto shared = testing::shared_dir(); shared && !testing::kSanitized) collect(*shared / "golden", false);
  std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.path < b.path; });
  return out;
}

class Golden : public ::testing::TestWithParam<GoldenFile> {};

TEST_P(Golden, EveryVectorIsEqual) {
  const auto steps = supported_steps(GetParam().key);
  RunOptions options;
  options.paths = {GetParam().path.string()};
  options.diff_count = 2;
  options.every = testing::kSanitized ? 64 : 1;
  if (!steps) {
    const auto report = run(options);
    ASSERT_TRUE(report) << report.error().line();
    GTEST_SKIP() << "not supported yet: " << GetParam().key << ": " << report->equal << " equal, " << report->differ
                 << " differ, " << report->unsupported << " not supported";
  }
  for (const std::string& step : *steps) {
    if (!step.empty()) options.step = step;
    const auto report = run(options);
    ASSERT_TRUE(report) << report.error().line();
    EXPECT_EQ(report->differ + report->unsupported, 0u)
        << "supported.txt lists " << GetParam().key << " " << step << "\n"
        << to_table(*report);
    // A step may be missing from one file of a listed folder; a whole file has vectors.
    if (step.empty() && options.every == 1) {
      EXPECT_GT(report->equal, 0u) << GetParam().key;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Files, Golden, ::testing::ValuesIn(golden_files()), [](const auto& test) {
  std::string name = (test.param.ours ? "" : "shared/") + test.param.key;
  for (char& c : name)
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  return name;
});

TEST(GoldenFolders, EveryJobFileIsEqual) {  // R-HCL: complete job files
  std::vector<fs::path> folders{testing::golden_dir() / "hcl" / "files"};
  if (const auto shared = testing::shared_dir()) folders.push_back(*shared / "golden" / "hcl" / "files");
  for (const fs::path& folder : folders) {
    if (!fs::exists(folder)) continue;
    RunOptions options;
    options.paths = {folder.string()};
    options.diff_count = 5;
    const auto report = run(options);
    ASSERT_TRUE(report) << report.error().line();
    EXPECT_EQ(report->differ + report->unsupported, 0u) << to_table(*report);
    EXPECT_GT(report->equal, 100u) << folder;
  }
}

TEST(GoldenList, NamesOnlyWhatExists) {  // a misspelt entry would check nothing
  for (const auto& [key, step] : supported()) {
    if (key.starts_with("evals/suite") || key.starts_with("reconcile")) continue;  // only in shared/golden
    const fs::path path = testing::golden_dir() / key;
    EXPECT_TRUE(fs::exists(path) || fs::exists(path.string() + ".jsonl.gz")) << key;
    EXPECT_TRUE(step.empty() || step == "1e" || step == "2b" || step == "3" || step == "4") << key << " " << step;
  }
  EXPECT_FALSE(golden_files().empty());
}

}  // namespace
}  // namespace berth::conform
