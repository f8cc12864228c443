#include <fcntl.h>
#include <unistd.h>

#include <filesystem>

#include "fuzz/harness.h"

namespace berth::fuzz {
namespace {

/// A folder that exists as long as the process.
class ScratchFolder {
 public:
  ScratchFolder() : path_(std::filesystem::temp_directory_path() / ("berth-fuzz-" + std::to_string(getpid()))) {
    std::filesystem::create_directories(path_);
  }
  ~ScratchFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  const std::filesystem::path path_;
};

std::vector<FuzzTarget>& list() {
  static std::vector<FuzzTarget> all;
  return all;
}

}  // namespace

FuzzTarget::FuzzTarget(const char* its_name, void (*its_run)(std::string_view)) : name(its_name), run(its_run) {
  list().push_back(*this);
}
const std::vector<FuzzTarget>& fuzz_targets() { return list(); }

std::string scratch_file(const std::string& name, std::string_view content) {
  static const ScratchFolder folder;
  std::string path = folder.path() / name;
  const int file = open(path.c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);
  const ssize_t written = write(file, content.data(), content.size());
  close(file);
  require(written == static_cast<ssize_t>(content.size()), "cannot be written: ", path);
  return path;
}

std::vector<std::string> lines_of(std::string_view input) {
  std::vector<std::string> out;
  while (!input.empty()) {
    const std::size_t end = input.find('\n');
    out.emplace_back(input.substr(0, end));
    input.remove_prefix(end == std::string_view::npos ? input.size() : end + 1);
  }
  return out;
}

}  // namespace berth::fuzz
