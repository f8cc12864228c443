// A vector with missing members or members of another type never makes `berth conform` crash. It is replayed (equal,
// different or not supported), or refused in one line that names file, line and member. Tests one vector of every kind:
// each of its members is deleted and given other types; so are the members that a kind requires.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <utility>

#include "conform/required.h"
#include "conform/run.h"
#include "io/files.h"
#include "io/json_parse.h"
#include "support/sanitized.h"
#include "support/shared_data.h"

namespace berth::conform {
namespace {

namespace fs = std::filesystem;
using json::Value;

/// The shortest vector of a file (of a stream: its first two lines), as JSON values.
std::vector<Value> shortest(const fs::path& path) {
  std::string first, best, second;
  std::size_t lines = 0;
  const auto done = io::read_lines(path.string(), [&](std::string_view line, std::size_t) {
    if (lines == 0) first = line;
    if (lines == 1) second = line;
    if (best.empty() || line.size() < best.size()) best = line;
    return ++lines < 400;
  });
  EXPECT_TRUE(done);
  std::vector<Value> out;
  const auto add = [&](const std::string& text) {
    auto value = io::parse_json(text);
    EXPECT_TRUE(value) << path;
    if (value) out.push_back(std::move(*value));
  };
  const auto head = io::parse_json(first);
  if (head && head->has("init"))
    add(first), add(second);
  else
    add(best);
  return out;
}

/// Paths to the members and items of a value, three items of a list at most.
void list_places(const Value& value, std::vector<std::string>& place, std::vector<std::vector<std::string>>& out) {
  const auto go = [&](const std::string& key, const Value& inner) {
    place.push_back(key);
    out.push_back(place);
    list_places(inner, place, out);
    place.pop_back();
  };
  for (const json::Member& member : value.members()) go(member.key, member.value);
  for (std::size_t i = 0; i < std::min<std::size_t>(value.items().size(), 3); ++i)
    go(std::to_string(i), value.items()[i]);
}

Value* at(Value& root, const std::vector<std::string>& place, std::size_t depth) {
  Value* value = &root;
  for (std::size_t i = 0; i < depth && value; ++i)
    value = value->is_array() ? &value->items()[std::stoul(place[i])] : value->find(place[i]);
  return value;
}

/// The document without the member, or with `other` in its place.
Value mutated(Value root, const std::vector<std::string>& place, const std::optional<Value>& other) {
  if (other) {
    *at(root, place, place.size()) = *other;
    return root;
  }
  Value& holder = *at(root, place, place.size() - 1);
  if (holder.is_array())
    holder.items().erase(holder.items().begin() + static_cast<std::ptrdiff_t>(std::stoul(place.back())));
  else
    holder.erase(place.back());
  return root;
}

class Folder {
 public:
  Folder() : path_(fs::temp_directory_path() / ("berth-mutations-" + std::to_string(::getpid()))) {
    fs::create_directories(path_);
    fs::copy_file(testing::golden_dir() / "components" / "job_bases.jsonl.gz", path_ / "job_bases.jsonl.gz",
                  fs::copy_options::overwrite_existing);
  }
  ~Folder() { fs::remove_all(path_); }
  std::string write(const std::string& name, const std::vector<Value>& lines) const {
    const std::string file = (path_ / name).string();
    std::ofstream out(file);
    for (const Value& line : lines) out << json::to_text(line) << "\n";
    return file;
  }

 private:
  fs::path path_;
};

/// One file of every available kind of vector; for folders of evaluations or streams, one of the folder.
std::vector<fs::path> kinds() {
  std::vector<fs::path> out, folders{testing::golden_dir()};
  if (const auto shared = testing::shared_dir()) folders.push_back(*shared / "golden" / "reconcile");
  for (const fs::path& root : folders)
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(root)) {
      const fs::path& path = entry.path();
      if (path.extension() != ".gz" || path.filename().string().find(".jsonl") == std::string::npos) continue;
      const std::string folder = path.parent_path().filename().string();
      const bool each = folder == "components" || folder == "control" || folder == "suite";
      if (each || std::none_of(out.begin(), out.end(),
                               [&](const fs::path& known) { return known.parent_path() == path.parent_path(); }))
        out.push_back(path);
    }
  std::sort(out.begin(), out.end());
  return out;
}

/// Replays files in a separate process, so that a crash fails only one file. The process is reused until a file crashes
/// it, because a fork under the address sanitizer copies large tables.
class Replayer {
 public:
  ~Replayer() {
    if (child_ > 0) stop();
  }

  /// The error that the replay of a file ends with, or "".
  std::string replay(const std::string& file) {
    if (child_ < 0) start();
    const std::string asked = file + '\n';
    EXPECT_EQ(::write(files_, asked.data(), asked.size()), static_cast<ssize_t>(asked.size()));
    std::string line;
    char next = '\n';
    while (::read(lines_, &next, 1) == 1 && next != '\0') line += next;
    if (next != '\0') {
      const int status = stop();
      ADD_FAILURE() << (WIFSIGNALED(status) ? "ended by signal " + std::to_string(WTERMSIG(status))
                                            : "ended with an error");
    }
    return line;
  }

 private:
  void start() {
    int files[2], lines[2];
    ASSERT_EQ(::pipe(files), 0);
    ASSERT_EQ(::pipe(lines), 0);
    child_ = ::fork();
    if (child_ == 0) {
      ::close(files[1]);
      ::close(lines[0]);
      serve(files[0], lines[1]);
    }
    ::close(files[0]);
    ::close(lines[1]);
    files_ = files[1], lines_ = lines[0];
  }

  /// Waits for the process to end; returns its status.
  int stop() {
    ::close(files_);
    ::close(lines_);
    int status = 0;
    ::waitpid(child_, &status, 0);
    child_ = -1;
    return status;
  }

  [[noreturn]] static void serve(int files, int lines) {
    std::string file;
    for (char next = 0; ::read(files, &next, 1) == 1;) {
      if (next != '\n') {
        file += next;
        continue;
      }
      ::alarm(20);  // seconds; a vector takes some milliseconds
      RunOptions options;
      options.paths = {std::exchange(file, {})};
      const auto report = run(options);
      const std::string line = report ? std::string() : report.error().line();
      if (::write(lines, line.c_str(), line.size() + 1) != static_cast<ssize_t>(line.size() + 1)) break;
    }
    ::_exit(0);
  }

  pid_t child_ = -1;
  int files_ = -1, lines_ = -1;  // file names to the process, errors from it
};

/// The error that the replay of a file ends with, in one line that begins with the file; or "".
std::string replay(const std::string& file) {
  static Replayer replayer;
  const std::string line = replayer.replay(file);
  if (line.empty()) return line;
  EXPECT_EQ(line.find('\n'), std::string::npos) << line;
  EXPECT_TRUE(line.starts_with(file + ":")) << line;
  return line;
}

TEST(MutatedVectors, AreReplayedOrRefusedInOneLine) {
  const Folder folder;
  const std::optional<Value> others[] = {std::nullopt,
                                         Value("x"),
                                         Value(std::int64_t{-1}),
                                         Value(std::int64_t{1'000'000'000'000'000'000}),
                                         Value::array(),
                                         Value::object(),
                                         Value(true)};
  const std::size_t most = testing::kSanitized ? 4 : 24;  // places tried per vector
  for (const fs::path& path : kinds()) {
    std::string name = path.filename().string();
    name.resize(name.size() - 3);  // .gz
    if (name.starts_with("job_bases")) continue;
    const std::vector<Value> lines = shortest(path);
    ASSERT_FALSE(lines.empty());
    std::vector<std::vector<std::string>> places;
    std::vector<std::string> place;
    list_places(lines.back(), place, places);
    // First the upper members, which every adapter reads; of the others a sample.
    std::stable_sort(places.begin(), places.end(), [](const auto& a, const auto& b) { return a.size() < b.size(); });
    const std::size_t upper = std::min(places.size(), most / 2);
    const std::size_t stride = std::max<std::size_t>(1, (places.size() - upper) / (most / 2));
    for (std::size_t i = 0; i < places.size(); i += i < upper ? 1 : stride)
      for (const std::optional<Value>& other : others) {
        std::vector<Value> changed = lines;
        changed.back() = mutated(changed.back(), places[i], other);
        std::string where;
        for (const std::string& key : places[i]) where += "/" + key;
        SCOPED_TRACE(path.string() + " " + where + (other ? " as " + json::to_text(*other) : " deleted"));
        static_cast<void>(replay(folder.write(name, changed)));
      }
  }
}

TEST(MutatedVectors, NameTheMemberThatIsMissing) {
  const Folder folder;
  std::size_t named = 0;
  for (const fs::path& path : kinds()) {
    std::string name = path.filename().string();
    const std::string kind = name.substr(0, name.find('.'));
    name.resize(name.size() - 3);
    const std::string_view required = required_members(kind);
    if (required.empty() || name.starts_with("job_bases")) continue;
    const std::vector<Value> lines = shortest(path);
    for (std::size_t begin = 0; begin < required.size();) {
      const std::size_t end = std::min(required.find(' ', begin), required.size());
      const std::string member(required.substr(begin, end - begin));
      begin = end + 1;
      const std::size_t slash = member.find('/');
      std::vector<std::string> place{member.substr(0, slash)};
      if (slash != std::string::npos) place.push_back(member.substr(slash + 1));
      const std::string file = folder.write(name, {mutated(lines.back(), place, std::nullopt)});
      EXPECT_EQ(replay(file).substr(0, file.size() + member.size() + 17), file + ":1:/" + member + ": is missing;")
          << path;
      ++named;
    }
  }
  EXPECT_GT(named, 100U);
}

TEST(MutatedVectors, NameTheMemberOfAnotherType) {
  const Folder folder;
  const auto error_of = [&](const char* file, const std::string& text) {
    auto value = io::parse_json(text);
    EXPECT_TRUE(value);
    const std::string path = folder.write(file, {*value});
    const std::string error = replay(path);
    return error.substr(std::min(error.size(), path.size()));
  };
  EXPECT_EQ(
      error_of("shuffle.jsonl", R"({"name": "a", "in": {"eval_id": "x", "index": "y", "count": 3}, "out": {}})"),
      ":1:/in/index: is a string and should be an integer that is not negative; take the vector as it was recorded");
  EXPECT_EQ(error_of("jobs.jsonl", R"({"name": "a", "in": {}, "out": {}})"),
            ":1:/jobs: is missing; take the vector as it was recorded");
  EXPECT_EQ(error_of("top_scores.jsonl", R"({"name": "a", "in": {"pushes": [["n", "zz"]]}, "out": {}})"),
            ":1:/in/pushes/0/1: is no double as 16 hex digits; take the vector as it was recorded");
}

TEST(MutatedVectors, OfOtherFormatsAreNotSupported) {
  const Folder folder;
  RunOptions options;
  options.paths = {folder.write("network.jsonl", {*io::parse_json(R"({"name": "a", "topic": "x", "steps": []})")})};
  const auto report = run(options);
  ASSERT_TRUE(report) << report.error().line();
  EXPECT_EQ(report->unsupported, 1U);
}

}  // namespace
}  // namespace berth::conform
