#include "run/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

namespace berth::run {

std::string duration_words(double seconds) {
  if (seconds < 60) return fmt::format("{:.1f} s", seconds);
  const auto whole = static_cast<std::int64_t>(seconds);
  if (whole < 3600) return fmt::format("{} min {} s", whole / 60, whole % 60);
  return fmt::format("{} h {} min", whole / 3600, whole % 3600 / 60);
}

Progress::Progress(std::string what, std::uint64_t total, bool quiet)
    : what_(std::move(what)),
      total_(total),
      quiet_(quiet),
      terminal_(isatty(STDERR_FILENO) == 1),
      start_(std::chrono::steady_clock::now()),
      last_(start_) {}

Progress::~Progress() { finish(); }

void Progress::update(std::uint64_t done, bool force) {
  if (quiet_ || (!force && (++calls_ & 63) != 0)) return;
  const auto now = std::chrono::steady_clock::now();
  const double since = std::chrono::duration<double>(now - last_).count();
  if (since < (terminal_ ? 0.1 : 10.0)) return;
  const double elapsed = std::chrono::duration<double>(now - start_).count();
  if (elapsed < 1) return;
  last_ = now;
  show(done, elapsed);
}

void Progress::show(std::uint64_t done, double elapsed_s) {
  const double rate = static_cast<double>(done) / elapsed_s;
  if (total_ == 0) return print(0, fmt::format("{} {}, {:.0f}/s", done, what_, rate));
  const double part = std::min(1.0, static_cast<double>(done) / static_cast<double>(total_));
  const std::string left = done == 0 ? "unknown" : duration_words(elapsed_s * (1 - part) / std::max(part, 1e-9));
  const std::string text = fmt::format("{:3.0f} % of {} {}, {:.0f}/s, {} left", part * 100, total_, what_, rate, left);
  const std::string all =
      blocked_ == 0 ? text : fmt::format("{}; {} blocked evaluations wait for room", text, blocked_);
  print(part, all);
}

void Progress::print(double part, const std::string& text) {
  if (terminal_) {
    constexpr int kWidth = 24;
    const int full = static_cast<int>(part * kWidth);
    std::fprintf(stderr, "\r\033[K[%s%s] %s", std::string(static_cast<std::size_t>(full), '#').c_str(),
                 std::string(static_cast<std::size_t>(kWidth - full), '.').c_str(), text.c_str());
    std::fflush(stderr);
    shown_ = true;
  } else {
    std::fprintf(stderr, "%s\n", text.c_str());
  }
}

void Progress::finish() {
  if (shown_) std::fputs("\r\033[K", stderr);
  shown_ = false;
}

}  // namespace berth::run
