// Progress of long work on standard error: on a terminal a bar with rate and estimate, else a line every ten seconds.
// Shows nothing for work that ends within a second.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace berth::run {

class Progress {
 public:
  /// `what` names the items, e.g. "evaluations"; `total` 0: their number is not known; `quiet` shows nothing.
  Progress(std::string what, std::uint64_t total, bool quiet);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// Cheap to call often: reads the clock only every 64th time, or if `force`.
  void update(std::uint64_t done, bool force = false);
  /// Number of evaluations that wait for room, which the total does not include. Shown until it is 0.
  void waiting(std::size_t blocked) { blocked_ = blocked; }
  /// Removes the bar from the terminal.
  void finish();

 private:
  void show(std::uint64_t done, double elapsed_s);
  void print(double part, const std::string& text);

  std::string what_;
  std::uint64_t total_;
  std::size_t blocked_ = 0;
  bool quiet_, terminal_, shown_ = false;
  std::uint32_t calls_ = 0;
  std::chrono::steady_clock::time_point start_, last_;
};

[[nodiscard]] inline double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// "3.2 s", "4 min 10 s", "2 h 5 min".
[[nodiscard]] std::string duration_words(double seconds);

}  // namespace berth::run
