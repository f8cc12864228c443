#include "io/output.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>

namespace berth::io {
namespace {

std::atomic<int> g_in_progress{0};

struct InProgress {
  InProgress() { g_in_progress.fetch_add(1); }
  ~InProgress() { g_in_progress.fetch_sub(1); }
  InProgress(const InProgress&) = delete;
  InProgress& operator=(const InProgress&) = delete;
};

/// Closes the file descriptor at the end of its scope.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  [[nodiscard]] int get() const { return fd_; }
  /// Closes early; the result shows errors of a delayed write.
  int close() { return ::close(std::exchange(fd_, -1)); }

 private:
  int fd_;
};

enum class Way : std::uint8_t { standard_output, rename, through };
struct Target {
  Way way = Way::rename;
  std::string path;                ///< after following links
  std::optional<struct stat> old;  ///< state of the existing regular file
};

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
}

tl::unexpected<InputError> cannot(const std::string& path, int error, std::string remedy) {
  return tl::unexpected(
      InputError{path, "", std::string("cannot be written: ") + std::strerror(error), std::move(remedy)});
}

/// True for files of /proc: rename is impossible there, and their links are no paths.
bool in_proc(const std::string& path) {
  const std::unique_ptr<char, decltype(&std::free)> real(realpath(folder_of(path).c_str(), nullptr), std::free);
  return real && std::string_view(real.get()).starts_with("/proc/");
}

/// Follows symbolic links; the last one may point to a path that does not exist.
Result<std::string> follow(const std::string& given) {
  std::string path = given;
  for (int links = 0; links < 40; ++links) {
    if (in_proc(path)) return path;
    std::array<char, PATH_MAX> link{};
    const ssize_t length = readlink(path.c_str(), link.data(), link.size());
    if (length < 0) return path;
    const std::string to(link.data(), static_cast<std::size_t>(length));
    path = to.starts_with('/') ? to : folder_of(path) + "/" + to;
  }
  return tl::unexpected(InputError{given, "", "is a circle of symbolic links", "name another file"});
}

Result<Target> find_target(const std::string& given) {
  if (is_standard_output(given)) return Target{Way::standard_output, given, std::nullopt};
  if (given.empty()) return cannot(given, ENOENT, "name a file");
  auto path = follow(given);
  if (!path) return tl::unexpected(path.error());
  Target out{Way::rename, std::move(*path), std::nullopt};
  struct stat info {};
  if (stat(out.path.c_str(), &info) != 0) {
    if (errno != ENOENT) return cannot(given, errno, "check the path");
    struct stat folder {};
    if (stat(folder_of(out.path).c_str(), &folder) != 0 || !S_ISDIR(folder.st_mode))
      return tl::unexpected(InputError{given, "", "its folder does not exist", "create it or name another file"});
    if (out.path.ends_with('/')) return tl::unexpected(InputError{given, "", "is a folder's name", "name a file"});
    return out;
  }
  if (S_ISDIR(info.st_mode)) return tl::unexpected(InputError{given, "", "is a folder", "name a file"});
  if (S_ISSOCK(info.st_mode)) return tl::unexpected(InputError{given, "", "is a socket", "name a file"});
  const bool regular = S_ISREG(info.st_mode);
  if (regular) out.old = info;
  if (!regular || info.st_nlink > 1 || in_proc(out.path)) out.way = Way::through;
  return out;
}

// ---------------------------------------------------------------- temporary names

std::string part_prefix(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  const std::string name = slash == std::string::npos ? path : path.substr(slash + 1);
  return name.substr(0, 200) + ".part";  // a name has at most 255 bytes
}

std::string part_path(const std::string& path) {
  static std::atomic<unsigned> count{0};
  return folder_of(path) + "/" + part_prefix(path) + std::to_string(getpid()) + "-" +
         std::to_string(count.fetch_add(1));
}

/// Creates the temporary file and holds its lock while it is open; the lock shows other processes that it is in use.
/// Returns -1 and sets errno on failure.
int create_part(const std::string& part) {
  for (int tries = 0; tries < 3; ++tries) {
    const int fd = open(part.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (fd < 0) return -1;
    flock(fd, LOCK_EX | LOCK_NB);  // without lock support in the file system, no process cleans up either
    struct stat info {};
    if (fstat(fd, &info) == 0 && info.st_nlink > 0) return fd;
    close(fd);  // another process removed the file between the two calls
  }
  errno = EAGAIN;
  return -1;
}

/// True if `name` is a temporary name of the file with this `prefix`.
bool is_part(std::string_view name, std::string_view prefix) {
  if (!name.starts_with(prefix)) return false;
  const std::string_view rest = name.substr(prefix.size());
  return !rest.empty() &&
         std::all_of(rest.begin(), rest.end(), [](char c) { return (c >= '0' && c <= '9') || c == '-'; });
}

/// Removes temporary files of this path that killed processes left: those that no process has locked.
void remove_left_over(const std::string& path) {
  const std::string folder = folder_of(path), prefix = part_prefix(path);
  const auto close_folder = [](DIR* one) { closedir(one); };
  const std::unique_ptr<DIR, decltype(close_folder)> entries(opendir(folder.c_str()));
  if (!entries) return;
  while (const dirent* entry = readdir(entries.get())) {
    const std::string_view name = entry->d_name;
    if (!is_part(name, prefix)) continue;
    const std::string part = folder + "/" + std::string(name);
    const Descriptor file(open(part.c_str(), O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    struct stat info {};
    if (file.get() < 0 || fstat(file.get(), &info) != 0 || !S_ISREG(info.st_mode)) continue;
    if (flock(file.get(), LOCK_EX | LOCK_NB) == 0) unlink(part.c_str());
  }
}

// ---------------------------------------------------------------- writing

/// Returns 0 or errno.
int write_all(int fd, std::string_view rest) {
  while (!rest.empty()) {
    const ssize_t count = write(fd, rest.data(), rest.size());
    if (count > 0)
      rest.remove_prefix(static_cast<std::size_t>(count));
    else if (count < 0 && errno != EINTR)
      return errno;
  }
  return 0;
}

/// Returns 0 or errno. Devices and pipes cannot be flushed, which is no error.
int flush(int fd) {
  const bool fine = fsync(fd) == 0 || errno == EINVAL || errno == EROFS || errno == ENOTSUP;
  return fine ? 0 : errno;
}

int write_through(const Target& target, std::string_view content) {
  Descriptor file(open(target.path.c_str(), O_WRONLY | O_CLOEXEC | (target.old ? O_TRUNC : 0)));
  if (file.get() < 0) return errno;
  int error = write_all(file.get(), content);
  if (error == 0) error = flush(file.get());
  if (file.close() != 0 && error == 0) error = errno;
  return error;
}

int write_and_rename(const Target& target, std::string_view content) {
  const InProgress in_progress;
  const std::string part = part_path(target.path);
  Descriptor file(create_part(part));
  if (file.get() < 0) return errno;
  int error = 0;
  if (target.old) {  // the owner is best effort: only root may change it
    if (fchown(file.get(), target.old->st_uid, target.old->st_gid) != 0) errno = 0;
    if (fchmod(file.get(), target.old->st_mode & 07777) != 0) error = errno;
  }
  if (error == 0) error = write_all(file.get(), content);
  if (error == 0) error = flush(file.get());
  // The lock is held until the rename, so that no process removes the file.
  if (error == 0 && rename(part.c_str(), target.path.c_str()) != 0) error = errno;
  if (error != 0) unlink(part.c_str());
  return error;
}

/// True if the file itself can be written although nothing can be renamed over it.
bool through_instead(const Target& target, int error) {
  return target.old && (error == EACCES || error == EPERM || error == EBUSY || error == EXDEV) &&
         access(target.path.c_str(), W_OK) == 0;
}

int write_standard_output(std::string_view content) {
  errno = 0;
  const bool fine =
      std::fwrite(content.data(), 1, content.size(), stdout) == content.size() && std::fflush(stdout) == 0;
  return fine ? 0 : errno != 0 ? errno : EIO;
}

}  // namespace

int outputs_in_progress() noexcept { return g_in_progress.load(); }

bool is_standard_output(const std::string& path) {
  return path == "-" || path == "/dev/stdout" || path == "/dev/fd/1" || path == "/proc/self/fd/1";
}

Result<void> check_output(const std::string& path) {
  auto target = find_target(path);
  if (!target) return tl::unexpected(target.error());
  if (target->way == Way::standard_output) return {};
  if (target->way == Way::through) {
    if (access(target->path.c_str(), W_OK) == 0) return {};
    return cannot(path, errno, "check its permissions");
  }
  remove_left_over(target->path);
  const InProgress in_progress;
  const std::string part = part_path(target->path);
  const Descriptor file(create_part(part));
  if (file.get() >= 0) {
    unlink(part.c_str());
    return {};
  }
  const int error = errno;
  if (through_instead(*target, error)) return {};
  return cannot(path, error, "check the folder and its permissions, or name another file");
}

Result<void> write_output(const std::string& path, std::string_view content) {
  auto target = find_target(path);
  if (!target) return tl::unexpected(target.error());
  int error = 0;
  switch (target->way) {
    case Way::standard_output:
      error = write_standard_output(content);
      break;
    case Way::through:
      error = write_through(*target, content);
      break;
    case Way::rename:
      remove_left_over(target->path);
      error = write_and_rename(*target, content);
      if (error != 0 && through_instead(*target, error)) error = write_through(*target, content);
      break;
  }
  if (error != 0) return cannot(path, error, "free some space or name another file");
  return {};
}

std::optional<std::string> file_identity(const std::string& path) {
  struct stat info {};
  const auto of_inode = [](const struct stat& one) -> std::optional<std::string> {
    if (!S_ISREG(one.st_mode)) return std::nullopt;
    return std::to_string(one.st_dev) + ":" + std::to_string(one.st_ino);
  };
  if (is_standard_output(path)) return fstat(STDOUT_FILENO, &info) == 0 ? of_inode(info) : std::nullopt;
  const auto target = follow(path);
  if (!target) return std::nullopt;
  if (stat(target->c_str(), &info) == 0) return of_inode(info);
  const std::unique_ptr<char, decltype(&std::free)> real(realpath(folder_of(*target).c_str(), nullptr), std::free);
  if (!real) return std::nullopt;
  return std::string(real.get()) + "/" + target->substr(target->rfind('/') + 1);
}

}  // namespace berth::io
