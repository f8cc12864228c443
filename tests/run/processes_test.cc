// Child processes: their texts, how they end, and signals to their parent.
#include "run/processes.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <memory>
#include <new>
#include <set>

#include "run/interrupt.h"

namespace berth::run {
namespace {

TEST(ChildProcesses, ReturnTheirTextsInAnyOrder) {
  Processes processes;
  const std::string long_text(300'000, 'x');  // more than a pipe holds
  for (std::size_t i = 0; i < 5; ++i) ASSERT_TRUE(processes.start(i, [&, i] { return std::to_string(i) + long_text; }));
  std::set<std::size_t> seen;
  while (const auto finished = processes.next(30)) {
    EXPECT_EQ(finished->text, std::to_string(finished->id) + long_text);
    EXPECT_EQ(finished->failure, "");
    EXPECT_GT(finished->peak_rss_bytes, 0u);
    seen.insert(finished->id);
  }
  EXPECT_EQ(seen.size(), 5u);
}

TEST(ChildProcesses, KilledAndEndedChildrenAreDistinguished) {
  Processes processes;
  ASSERT_TRUE(processes.start(7, []() -> std::string {
    std::raise(SIGKILL);
    return "never";
  }));
  const auto finished = processes.next(30);
  ASSERT_TRUE(finished);
  EXPECT_EQ(finished->failure, "was killed by signal 9 (Killed)");
  ASSERT_TRUE(processes.start(8, []() -> std::string { _exit(3); }));
  EXPECT_EQ(processes.next(30)->failure, "ended with exit code 3");
}

TEST(ChildProcesses, AreStoppedByASignalToTheParent) {
  auto guard = std::make_unique<InterruptGuard>();
  Processes processes;
  ASSERT_TRUE(processes.start(0, []() -> std::string {
    while (!interrupted()) usleep(1000);
    return "stopped";
  }));
  EXPECT_FALSE(processes.next(0.05)) << "it does not end by itself";
  std::raise(SIGTERM);
  EXPECT_EQ(processes.next(30)->text, "stopped");
  guard.reset();
  guard = std::make_unique<InterruptGuard>();  // forgets the signal, which would end the runs of other tests
}

TEST(ChildProcesses, AnExceptionEndsOnlyTheChild) {
  Processes processes;
  ASSERT_TRUE(processes.start(9, []() -> std::string { throw std::bad_alloc(); }));
  EXPECT_EQ(processes.next(30)->failure, "ended with exit code 1");
}

}  // namespace
}  // namespace berth::run
