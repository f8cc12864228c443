// Loaded before the other libraries of a program (LD_PRELOAD), this makes operations fail that ordinary tests cannot.
//   BERTH_FAULT_ALLOCATION=N   the N-th allocation of the program's operator new finds no memory
//   BERTH_FAULT_SHORT=K        read() and write() on files transfer at most K bytes, as a slow disk or a pipe may do
//   BERTH_FAULT_PART=N[:E]     the N-th operation on the temporary file of an output (.part) fails with error number E;
//                              without E the process is killed there, in the middle of a write
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdarg>
#include <cstdlib>
#include <cstring>

namespace {

std::atomic<unsigned long> allocations{0};

unsigned long number_of(const char* name) {
  const char* const text = std::getenv(name);
  return text ? std::strtoul(text, nullptr, 10) : 0;
}

bool allocation_fails() {
  static const unsigned long fails = number_of("BERTH_FAULT_ALLOCATION");
  return allocations.fetch_add(1) + 1 == fails;
}

template <class Function>
Function* original(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

/// Pipes and sockets keep their sizes: other processes of a test read them.
std::size_t shortened(int fd, std::size_t bytes) {
  static const unsigned long most = number_of("BERTH_FAULT_SHORT");
  struct stat info {};
  return most > 0 && fstat(fd, &info) == 0 && S_ISREG(info.st_mode) ? std::min<std::size_t>(bytes, most) : bytes;
}

// ---------------------------------------------------------------- temporary files of outputs

std::atomic<int> part_fd{-1};
std::atomic<unsigned long> part_operations{0};

bool is_part(const char* path) { return std::strstr(path, ".part") != nullptr; }

/// True if this operation fails, with errno set. Kills the process if that is asked for, after `half`.
template <class Half>
bool part_fails(Half half) {
  static const char* const text = std::getenv("BERTH_FAULT_PART");
  if (!text) return false;
  char* end = nullptr;
  const unsigned long fails = std::strtoul(text, &end, 10);
  if (part_operations.fetch_add(1) + 1 != fails) return false;
  if (*end == ':') {
    errno = static_cast<int>(std::strtoul(end + 1, nullptr, 10));
    return true;
  }
  half();
  kill(getpid(), SIGKILL);
  pause();
  return true;
}
bool part_fails(int fd) {
  return fd == part_fd.load() && part_fails([] {});
}

int open_part(const char* path, int flags, mode_t mode, const char* function) {
  const bool part = is_part(path);
  if (part && part_fails([] {})) return -1;
  const int fd = original<int(const char*, int, ...)>(function)(path, flags, mode);
  if (part && fd >= 0) part_fd.store(fd);
  return fd;
}

}  // namespace

extern "C" {

void* mi_malloc(std::size_t bytes) noexcept {
  static auto* const real = original<void*(std::size_t)>("mi_malloc");
  return allocation_fails() ? nullptr : real(bytes);
}
void* mi_malloc_aligned(std::size_t bytes, std::size_t alignment) noexcept {
  static auto* const real = original<void*(std::size_t, std::size_t)>("mi_malloc_aligned");
  return allocation_fails() ? nullptr : real(bytes, alignment);
}
ssize_t read(int fd, void* to, std::size_t bytes) {
  static auto* const real = original<ssize_t(int, void*, std::size_t)>("read");
  return real(fd, to, shortened(fd, bytes));
}
ssize_t write(int fd, const void* from, std::size_t bytes) {
  static auto* const real = original<ssize_t(int, const void*, std::size_t)>("write");
  if (fd == part_fd.load() && part_fails([&] { (void)!real(fd, from, bytes / 2); })) return -1;
  return real(fd, from, shortened(fd, bytes));
}

int open(const char* path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  const auto mode = static_cast<mode_t>(va_arg(more, unsigned));
  va_end(more);
  return open_part(path, flags, mode, "open");
}
int fsync(int fd) { return part_fails(fd) ? -1 : original<int(int)>("fsync")(fd); }
int fchmod(int fd, mode_t mode) noexcept {
  return part_fails(fd) ? -1 : original<int(int, mode_t)>("fchmod")(fd, mode);
}
int fchown(int fd, uid_t user, gid_t group) noexcept {
  return part_fails(fd) ? -1 : original<int(int, uid_t, gid_t)>("fchown")(fd, user, group);
}
int rename(const char* from, const char* to) noexcept {
  if (is_part(from) && part_fails([] {})) return -1;
  return original<int(const char*, const char*)>("rename")(from, to);
}
int unlink(const char* path) noexcept {
  if (is_part(path) && part_fails([] {})) return -1;
  return original<int(const char*)>("unlink")(path);
}

}  // extern "C"
