#include "server/team.h"

#include <atomic>
#include <latch>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

namespace berth::server {

struct Team::Threads {
  Threads(std::uint32_t count, Body p, Body b) : prepare(std::move(p)), body(std::move(b)), preparing(count) {}
  Body prepare, body;
  std::latch beginning{1}, preparing;
  std::atomic<bool> refused{false};
  std::vector<std::jthread> threads;  // last: they end before the members that they use

  void run(std::uint32_t number) {
    beginning.wait();
    if (refused.load(std::memory_order_relaxed)) return;  // ordered by the latch
    prepare(number);
    preparing.count_down();
    body(number);
  }
};

Team::Team(std::uint32_t threads, Body prepare, Body body)
    : threads_(std::make_unique<Threads>(threads, std::move(prepare), std::move(body))) {
  Threads& team = *threads_;
  try {
    for (std::uint32_t i = 0; i < threads; ++i) team.threads.emplace_back([&team, i] { team.run(i); });
  } catch (const std::system_error& error) {
    const std::size_t made = team.threads.size();
    team.refused.store(true, std::memory_order_relaxed);
    team.beginning.count_down();
    team.threads.clear();
    throw std::system_error(error.code(), "the system makes only " + std::to_string(made) + " of " +
                                              std::to_string(threads) + " threads; use fewer workers, or raise the " +
                                              "limit (ulimit -u)");
  }
  team.beginning.count_down();
  team.preparing.wait();
}

Team::~Team() = default;

}  // namespace berth::server
