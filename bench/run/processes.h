// Parallel child processes, forked from this one. Each does one piece of work and returns one text. The program must
// not have started threads before, because a fork has only the forking thread.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace berth::run {

/// Forks. Returns the child's process id, or -1 with the reason in errno. In the child `work` runs, and its result is
/// the exit code; no destructors of this process run there. The child is killed when this process ends, even by
/// SIGKILL.
[[nodiscard]] int start_child(const std::function<int()>& work);

struct Finished {
  std::size_t id = 0;
  std::string text;     ///< returned by the child
  std::string failure;  ///< "was killed by signal 9 (Killed)"; "" if it ended with exit code 0
  std::uint64_t peak_rss_bytes = 0;
};

class Processes {
 public:
  Processes() = default;
  /// Kills children that still run.
  ~Processes();
  Processes(const Processes&) = delete;
  Processes& operator=(const Processes&) = delete;

  /// Starts `work` in a child; its result has the number `id`. False: no process can be started now.
  [[nodiscard]] bool start(std::size_t id, const std::function<std::string()>& work);
  /// The next child that ended; nullopt if none runs, or none ended within `seconds`. A signal to this process does not
  /// end the wait, but asks all children to stop.
  [[nodiscard]] std::optional<Finished> next(double seconds);
  [[nodiscard]] std::size_t running() const { return children_.size(); }

 private:
  struct Child {
    std::size_t id;
    int pid, pipe;
    std::string text;
  };
  Finished reap(std::size_t index);
  void request_stop();

  std::vector<Child> children_;
  bool stop_requested_ = false;
};

}  // namespace berth::run
