#include "run/processes.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>

#include "run/interrupt.h"
#include "run/progress.h"

namespace berth::run {
namespace {

/// Writes all of `text`. False if the reader has closed.
bool write_all(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(file, text.data(), text.size());
    if (written < 0 && errno != EINTR) return false;
    if (written > 0) text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

}  // namespace

int start_child(const std::function<int()>& work) {
  const int parent = getpid(), pid = fork();
  if (pid != 0) return pid;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);  // the parent ended before the line above
  // _exit, also after an exception: no destructors of the parent run here, and its buffers are not written again.
  int code = 1;
  try {
    code = work();
  } catch (...) {
  }
  _exit(code);
}

Processes::~Processes() {
  for (const Child& child : children_) kill(child.pid, SIGKILL);
  while (!children_.empty()) static_cast<void>(reap(children_.size() - 1));
}

bool Processes::start(std::size_t id, const std::function<std::string()>& work) {
  int ends[2];
  if (pipe(ends) != 0) return false;
  static_cast<void>(std::fflush(nullptr));  // else the child would print it again
  const int pid = start_child([&] {
    std::signal(SIGPIPE, SIG_IGN);
    close(ends[0]);
    return write_all(ends[1], work()) ? 0 : 1;
  });
  if (pid < 0) {
    close(ends[0]), close(ends[1]);
    return false;
  }
  close(ends[1]);
  children_.push_back({id, pid, ends[0], {}});
  return true;
}

void Processes::request_stop() {
  if (stop_requested_) return;
  stop_requested_ = true;
  for (const Child& child : children_) kill(child.pid, SIGTERM);
}

Finished Processes::reap(std::size_t index) {
  Child child = std::move(children_[index]);
  children_.erase(children_.begin() + static_cast<std::ptrdiff_t>(index));
  close(child.pipe);
  int status = 0;
  struct rusage usage {};
  while (wait4(child.pid, &status, 0, &usage) < 0 && errno == EINTR) {
  }
  Finished out{child.id, std::move(child.text), "", static_cast<std::uint64_t>(usage.ru_maxrss) * 1024};
  if (WIFSIGNALED(status))
    out.failure = fmt::format("was killed by signal {} ({})", WTERMSIG(status), strsignal(WTERMSIG(status)));
  else if (WEXITSTATUS(status) != 0)
    out.failure = fmt::format("ended with exit code {}", WEXITSTATUS(status));
  return out;
}

std::optional<Finished> Processes::next(double seconds) {
  const auto start = std::chrono::steady_clock::now();
  while (!children_.empty()) {
    // Ctrl-C also reaches the children; a signal to only this process is passed on.
    if (interrupted()) stopped(), request_stop();
    std::vector<pollfd> files;
    for (const Child& child : children_) files.push_back({child.pipe, POLLIN, 0});
    const double left = seconds - seconds_since(start);
    if (left <= 0) return std::nullopt;
    if (poll(files.data(), files.size(), static_cast<int>(1000 * std::min(left, 0.5)) + 1) <= 0) continue;
    for (std::size_t i = 0; i < files.size(); ++i) {
      if (files[i].revents == 0) continue;
      char buffer[65536];
      const ssize_t got = read(children_[i].pipe, buffer, sizeof(buffer));
      if (got > 0) children_[i].text.append(buffer, static_cast<std::size_t>(got));
      if (got == 0 || (got < 0 && errno != EINTR)) return reap(i);
    }
  }
  return std::nullopt;
}

}  // namespace berth::run
