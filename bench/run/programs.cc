#include "run/programs.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>

#include "io/files.h"
#include "run/interrupt.h"
#include "run/interrupt_hook.h"
#include "run/processes.h"

namespace berth::run {
namespace {

using Steady = std::chrono::steady_clock;
constexpr int kEndPatienceMs = 300;  // between SIGTERM and SIGKILL; with the wait for the signal, below a second

/// Restricts this thread to the last `count` cores, which children inherit. Restores all on destruction.
class Pinned {
 public:
  explicit Pinned(std::size_t count) {
    if (count == 0 || sched_getaffinity(0, sizeof before_, &before_) != 0) return;
    cpu_set_t some;
    CPU_ZERO(&some);
    for (int cpu = CPU_SETSIZE - 1; cpu >= 0 && count > 0; --cpu)
      if (CPU_ISSET(cpu, &before_)) CPU_SET(cpu, &some), --count;
    active_ = count == 0 && sched_setaffinity(0, sizeof some, &some) == 0;
  }
  ~Pinned() {
    if (active_) sched_setaffinity(0, sizeof before_, &before_);
  }
  Pinned(const Pinned&) = delete;
  Pinned& operator=(const Pinned&) = delete;

 private:
  cpu_set_t before_{};
  bool active_ = false;
};

/// Waits for the end of a process; true if it ended in time and before a signal. 0 s: no time limit.
bool wait_for(pid_t pid, double timeout_seconds, int& status) {
  constexpr double kForEver = 1e9;
  const auto end = Steady::now() + std::chrono::duration_cast<Steady::duration>(
                                       std::chrono::duration<double>(timeout_seconds > 0 ? timeout_seconds : kForEver));
  const int handle = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));  // -1 on old kernels: polls every 5 ms
  bool ended = false;
  while (!(ended = waitpid(pid, &status, WNOHANG) == pid) && Steady::now() < end && !interrupted()) {
    // A signal ends poll(), but not if it came just before, hence 100 ms.
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Steady::now()).count() + 1;
    pollfd what{handle, POLLIN, 0};
    poll(&what, handle < 0 ? 0 : 1, static_cast<int>(std::min<std::int64_t>(left, handle < 0 ? 5 : 100)));
  }
  if (handle >= 0) close(handle);
  return ended;
}

// To be removed if a signal ends the gate at once: the child's process group, and temporary files of this process.
std::atomic<pid_t> g_child{0};
constexpr std::size_t kFilesMost = 8;
struct OwnFile {
  std::atomic<bool> taken{false}, there{false};
  char path[256] = {};
};
OwnFile g_files[kFilesMost];

void end_at_once() {
  if (const pid_t child = g_child.load(); child > 0) kill(-child, SIGKILL);
  for (const OwnFile& file : g_files)
    if (file.there.load()) unlink(file.path);
}

void remember_file(const std::string& path) {
  set_end_hook(end_at_once);
  for (OwnFile& file : g_files)
    if (path.size() < sizeof file.path && !file.taken.exchange(true)) {
      std::memcpy(file.path, path.c_str(), path.size() + 1);
      file.there.store(true);
      return;
    }
}

void forget_file(const std::string& path) {
  for (OwnFile& file : g_files)
    if (file.there.load() && path == file.path) {
      file.there.store(false), file.taken.store(false);
      return;
    }
}

/// Ends a process and its children: SIGTERM, and after `patience_ms` SIGKILL.
void end_group(pid_t pid, int patience_ms, int& status) {
  kill(-pid, SIGTERM);
  bool ended = false;
  for (int waited = 0; !ended && waited < patience_ms; waited += 10) {
    ended = waitpid(pid, &status, WNOHANG) == pid;
    if (!ended) poll(nullptr, 0, 10);
  }
  kill(-pid, SIGKILL);  // its children may have survived it
  while (!ended && waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
}

}  // namespace

std::string ProgramEnd::words() const {
  if (timed_out) return "took too long and was ended";
  if (signal != 0) return fmt::format("was killed by signal {} ({})", signal, strsignal(signal));
  return fmt::format("ended with exit code {}", exit_code);
}

namespace {

/// In the child of a fork: executes the program, or returns on failure. Only async-signal-safe calls.
void become(const ProgramOptions& options, char* const* argv) {
  const char* const log = options.log.empty() ? "/dev/null" : options.log.c_str();
  const auto open_as = [](const char* path, int flags, int file) {
    const int opened = open(path, flags | O_CLOEXEC, 0644);
    return opened >= 0 && dup2(opened, file) == file;
  };
  if (!open_as("/dev/null", O_RDONLY, STDIN_FILENO)) return;
  if (!open_as(log, O_WRONLY | O_CREAT | O_APPEND, STDOUT_FILENO)) return;
  if (options.errors ? dup2(STDOUT_FILENO, STDERR_FILENO) < 0 : !open_as("/dev/null", O_WRONLY, STDERR_FILENO)) return;
  if (!options.folder.empty() && chdir(options.folder.c_str()) != 0) return;
  execvp(argv[0], argv);
}

/// Starts a program in a new process group, so that its children can be ended with it. It is killed whenever this
/// process ends. Returns its pid, or -1 and the reason in `error`.
pid_t start(const ProgramOptions& options, char* const* argv, int& error) {
  int ends[2];  // pipe: closed by the kernel at a successful exec; else it carries the error
  if (pipe2(ends, O_CLOEXEC) != 0) return error = errno, -1;
  const pid_t pid = start_child([&] {
    setpgid(0, 0);
    become(options, argv);
    const int why = errno;
    [[maybe_unused]] const ssize_t told = write(ends[1], &why, sizeof why);
    return 127;
  });
  error = errno;
  close(ends[1]);
  int why = 0;
  ssize_t got = 0;
  while (pid > 0 && (got = read(ends[0], &why, sizeof why)) < 0 && errno == EINTR) {
  }
  close(ends[0]);
  if (got != sizeof why) return pid;
  error = why;
  while (waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
  }
  return -1;
}

}  // namespace

Result<ProgramEnd> run_program(const std::vector<std::string>& arguments, const ProgramOptions& options) {
  std::vector<char*> argv;
  for (const std::string& one : arguments) argv.push_back(const_cast<char*>(one.c_str()));
  argv.push_back(nullptr);
  int error = 0;
  const pid_t pid = [&] {
    const Pinned pinned(options.cores);
    return start(options, argv.data(), error);
  }();
  if (pid < 0)
    return tl::unexpected(InputError{arguments.front(), "", fmt::format("cannot be run: {}", strerror(error)),
                                     "name a program that exists and may be executed"});
  set_end_hook(end_at_once);
  g_child.store(pid);
  int status = 0;
  ProgramEnd out;
  if (!wait_for(pid, options.timeout_seconds, status)) {
    stopped();
    out.timed_out = !interrupted();
    end_group(pid, kEndPatienceMs, status);
  }
  g_child.store(0);
  if (interrupted())
    return tl::unexpected(
        InputError{"berth", "", fmt::format("interrupted while {} ran, which was ended", arguments.front()), ""});
  if (WIFSIGNALED(status))
    out.exit_code = -1, out.signal = WTERMSIG(status);
  else
    out.exit_code = WEXITSTATUS(status);
  return out;
}

TemporaryFile::TemporaryFile() {
  path_ = (std::filesystem::temp_directory_path() / "berth-XXXXXX").string();
  const int file = mkstemp(path_.data());
  if (file >= 0) close(file);
  remember_file(path_);
}

TemporaryFile::~TemporaryFile() {
  forget_file(path_);
  std::error_code ignored;
  std::filesystem::remove(path_, ignored);
}

Result<Captured> capture(const std::vector<std::string>& arguments, const std::string& folder) {
  const TemporaryFile log;
  auto end = run_program(arguments, {.folder = folder, .log = log.path()});
  if (!end) return tl::unexpected(end.error());
  Captured out{*end, io::read_file(log.path()).value_or("")};
  while (!out.text.empty() && std::isspace(static_cast<unsigned char>(out.text.back())) != 0) out.text.pop_back();
  return out;
}

Result<std::vector<std::string>> split_shell_words(const std::string& command) {
  std::vector<std::string> out;
  std::string word;
  bool in_word = false;
  char quote = 0;
  for (std::size_t i = 0; i < command.size(); ++i) {
    const char c = command[i];
    if (quote == 0 && std::isspace(static_cast<unsigned char>(c)) != 0) {
      if (in_word) out.push_back(std::exchange(word, ""));
      in_word = false;
      continue;
    }
    in_word = true;
    if (quote != 0 && c == quote)
      quote = 0;
    else if (quote == 0 && (c == '\'' || c == '"'))
      quote = c;
    else if (c == '\\' && quote != '\'' && i + 1 < command.size())
      word += command[++i];
    else
      word += c;
  }
  if (quote != 0)
    return tl::unexpected(
        InputError{"berth", "", fmt::format("the command {} has an open quote", command), "close it"});
  if (in_word) out.push_back(word);
  if (out.empty()) return tl::unexpected(InputError{"berth", "", "a command is empty", "name the program to run"});
  return out;
}

std::string last_line(const std::string& text) {
  const std::size_t end = text.find_last_not_of(" \t\r\n");
  if (end == std::string::npos) return "";
  const std::size_t before = text.rfind('\n', end);
  const std::size_t begin = before == std::string::npos ? 0 : before + 1;
  return text.substr(begin, std::min<std::size_t>(200, end + 1 - begin));
}

}  // namespace berth::run
