// Loaded before the other libraries of a program (LD_PRELOAD), this makes operations fail that ordinary tests cannot.
//   BERTH_FAULT_ALLOCATION=N   the N-th allocation of the program's operator new finds no memory
//   BERTH_FAULT_SHORT=K        read() and write() on files transfer at most K bytes, as a slow disk or a pipe may do
//   BERTH_FAULT_PART=N[:E]     the N-th operation on the temporary file of an output (.part) fails with error number E;
//                              without E the process is killed there, in the middle of a write
//   BERTH_FAULT_CLOCK=S        at each SIGUSR2 the clocks jump by S seconds: of S below 0 only the clock of the date,
//                              since the kernel's monotonic one never goes back
//   BERTH_FAULT_STALL=SEED     threads stall at random where they lock, wait, wake another thread or yield: one time of
//                              16, for up to 2 ms
//   BERTH_FAULT_THREAD=N       the N-th thread of the program cannot be started
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdarg>
#include <cstdlib>
#include <cstring>
#include <ctime>

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

// ---------------------------------------------------------------- clocks and threads

std::atomic<std::int64_t> date_jump_s{0}, monotonic_jump_s{0};

std::int64_t jump_of(clockid_t clock) {
  if (clock == CLOCK_REALTIME) return date_jump_s.load();
  return clock == CLOCK_MONOTONIC ? monotonic_jump_s.load() : 0;
}

/// Sets the handler of SIGUSR2 before main().
[[maybe_unused]] const bool clock_is_set = [] {
  if (std::getenv("BERTH_FAULT_CLOCK") == nullptr) return false;
  static const std::int64_t step = std::strtoll(std::getenv("BERTH_FAULT_CLOCK"), nullptr, 10);
  return std::signal(SIGUSR2, [](int) {
           date_jump_s.fetch_add(step);
           monotonic_jump_s.fetch_add(step > 0 ? step : 0);
         }) != SIG_ERR;
}();

/// A point where another thread may run.
void stall() {
  static const unsigned long seed = number_of("BERTH_FAULT_STALL");
  if (seed == 0) return;
  static std::atomic<unsigned long> threads{0};
  thread_local unsigned long state = seed + (threads.fetch_add(1) << 32);
  state = state * 6364136223846793005UL + 1442695040888963407UL;  // Knuth's linear congruential generator
  if (state >> 60 != 0) return;
  const int error = errno;
  usleep(static_cast<useconds_t>(state >> 33 & 2047));
  errno = error;
}

std::atomic<unsigned long> started_threads{0};

}  // namespace

extern "C" {

int clock_gettime(clockid_t clock, timespec* out) noexcept {
  static auto* const real = original<int(clockid_t, timespec*)>("clock_gettime");
  const int result = real(clock, out);
  if (result == 0) out->tv_sec += jump_of(clock);
  return result;
}
/// The caller's deadline includes the jump, the kernel's clock does not.
int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock, const timespec* until) {
  static auto* const real =
      original<int(pthread_cond_t*, pthread_mutex_t*, clockid_t, const timespec*)>("pthread_cond_clockwait");
  const timespec without_jump{until->tv_sec - jump_of(clock), until->tv_nsec};
  return real(condition, mutex, clock, &without_jump);
}
int sched_yield() noexcept {
  stall();
  return original<int()>("sched_yield")();
}
int pthread_mutex_lock(pthread_mutex_t* mutex) noexcept {
  static auto* const real = original<int(pthread_mutex_t*)>("pthread_mutex_lock");
  stall();
  return real(mutex);
}
/// std::atomic's wait() and notify_one() are SYS_futex.
long syscall(long number, ...) noexcept {
  static auto* const real = original<long(long, ...)>("syscall");
  va_list more;
  va_start(more, number);
  long words[6];
  for (long& word : words) word = va_arg(more, long);
  va_end(more);
  if (number == SYS_futex) stall();
  const long result = real(number, words[0], words[1], words[2], words[3], words[4], words[5]);
  if (number == SYS_futex) stall();
  return result;
}
int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*run)(void*), void* argument) noexcept {
  static const unsigned long fails = number_of("BERTH_FAULT_THREAD");
  if (started_threads.fetch_add(1) + 1 == fails) return EAGAIN;
  return original<int(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*)>("pthread_create")(thread, attributes,
                                                                                                     run, argument);
}

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
