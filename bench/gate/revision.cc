#include "gate/revision.h"

#include <fmt/format.h>

#include <filesystem>

#include "io/files.h"
#include "run/programs.h"

namespace berth::gate {
namespace {

namespace fs = std::filesystem;

constexpr const char* kOption = "--base-rev";

Outcome<std::string> git(std::vector<std::string> arguments, const std::string& folder = "") {
  arguments.insert(arguments.begin(), "git");
  auto done = run::capture(arguments, folder);
  if (!done) return fail(kUsage, "berth gate", "git is not installed", "apt-get install git", kOption);
  if (!done->end.fine()) return fail(kUsage, "git", run::last_line(done->text), "", kOption);
  return done->text;
}

/// Removes the work tree of a build on destruction.
class WorkTree {
 public:
  WorkTree(std::string root, std::string path) : root_(std::move(root)), path_(std::move(path)) {}
  ~WorkTree() { static_cast<void>(run::capture({"git", "worktree", "remove", "--force", path_}, root_)); }
  WorkTree(const WorkTree&) = delete;
  WorkTree& operator=(const WorkTree&) = delete;

 private:
  std::string root_, path_;
};

}  // namespace

Outcome<std::string> build_revision(const std::string& revision, const std::function<void(const std::string&)>& say) {
  const auto root = git({"rev-parse", "--show-toplevel"});
  if (!root)
    return fail(kUsage, "berth gate", "the current folder is in no git repository", "run it in a checkout of berth",
                kOption);
  const auto commit = git({"rev-parse", "--verify", "--quiet", "--end-of-options", revision + "^{commit}"}, *root);
  if (!commit)
    return fail(kUsage, "berth gate", fmt::format("there is no commit '{}'", revision),
                "fetch it, or name a branch, tag or commit that `git log` knows", kOption);
  const auto changes = git({"status", "--porcelain", "--untracked-files=no"}, *root);
  if (!changes) return changes;
  if (!changes->empty())
    return fail(kUsage, "berth gate",
                fmt::format("the work tree has changes that are not committed ({})", run::last_line(*changes)),
                "commit or stash them, so that the comparison is one of two commits", kOption);

  const fs::path folder = fs::path(*root) / "build" / "gate" / commit->substr(0, 12);
  const std::string program = (folder / "berth").string(), tree = (folder / "tree").string(),
                    log = (folder / "build.log").string();
  std::error_code error;
  if (fs::exists(program, error)) return program;
  fs::create_directories(folder, error);
  fs::remove(log, error);
  say(fmt::format("building {} ({}), once; its log is {}", revision, commit->substr(0, 12), log));
  static_cast<void>(
      run::capture({"git", "worktree", "remove", "--force", tree}, *root));  // left over from a killed build
  if (auto added = git({"worktree", "add", "--force", "--detach", tree, *commit}, *root); !added)
    return fail(kOwnFailure, "berth gate", added.error().error.problem, "see `git worktree list`", kOption);
  const WorkTree removed_at_the_end(*root, tree);
  for (const std::vector<std::string>& step :
       {std::vector<std::string>{"cmake", "-S", tree, "--preset", "release", "-DBERTH_BUILD_TESTS=OFF"},
        std::vector<std::string>{"cmake", "--build", tree + "/build/release", "--target", "berth_program"}}) {
    const auto end = run::run_program(step, {.folder = tree, .log = log, .timeout_seconds = 0, .cores = 0});
    if (!end) return failure_of(end.error());
    if (!end->fine())
      return fail(kOwnFailure, "berth gate",
                  fmt::format("building {} failed: {}", revision, run::last_line(io::read_file(log).value_or(""))),
                  "see " + log, kOption);
  }
  fs::copy_file(fs::path(tree) / "build" / "release" / "berth", program, fs::copy_options::overwrite_existing, error);
  if (error)
    return fail(kOwnFailure, "berth gate", "the build left no program: " + error.message(), "see " + log, kOption);
  return program;
}

}  // namespace berth::gate
