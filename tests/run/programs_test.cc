// Programs: how they end, how they are stopped, and their command lines.
#include "run/programs.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

namespace berth::run {
namespace {

TEST(Programs, ExitStatusesAreReported) {
  const auto end_of = [](const char* script, double timeout = 0) {
    const auto end =
        run_program({"sh", "-c", script}, {.folder = "", .log = "", .timeout_seconds = timeout, .cores = 1});
    EXPECT_TRUE(end);
    return end ? end->words() : "";
  };
  EXPECT_EQ(end_of("exit 0"), "ended with exit code 0");
  EXPECT_EQ(end_of("exit 7", 60), "ended with exit code 7");
  EXPECT_EQ(end_of("kill -SEGV $$"), "was killed by signal 11 (Segmentation fault)");
  EXPECT_EQ(end_of("exec sleep 60", 0.05), "took too long and was ended");
  const auto missing = run_program({"no-such-program-of-berth"}, {});
  ASSERT_FALSE(missing);
  EXPECT_NE(missing.error().problem.find("cannot be run"), std::string::npos);
}

TEST(Programs, ChildrenDieWithTheirParent) {
  const TemporaryFile pid_file;
  const pid_t parent = fork();
  if (parent == 0) {  // ended below, before its child
    static_cast<void>(run_program({"sh", "-c", "echo $$ > " + pid_file.path() + "; exec sleep 60"}, {}));
    _exit(0);
  }
  pid_t child = 0;
  for (int waited_ms = 0; child == 0 && waited_ms < 10'000; waited_ms += 10) {
    usleep(10'000);
    std::ifstream(pid_file.path()) >> child;
  }
  ASSERT_GT(child, 0);
  ASSERT_EQ(kill(child, 0), 0);
  kill(parent, SIGKILL);
  waitpid(parent, nullptr, 0);
  bool gone = false;
  for (int waited_ms = 0; !gone && waited_ms < 10'000; waited_ms += 10) {
    usleep(10'000);
    std::string word, state;  // "123 (sleep) S ...": gone, or a zombie that its new parent has not collected
    std::ifstream stat("/proc/" + std::to_string(child) + "/stat");
    stat >> word >> word >> state;
    gone = state.empty() || state == "Z";
  }
  EXPECT_TRUE(gone) << "process " << child << " outlived the one that started it";
  if (!gone) kill(child, SIGKILL);
}

TEST(Programs, OutputAndPinningReachTheChild) {
  const auto said = capture({"sh", "-c", "echo one; echo two >&2; echo"});
  ASSERT_TRUE(said);
  EXPECT_EQ(said->text, "one\ntwo");
  EXPECT_EQ(last_line(said->text), "two");
  EXPECT_EQ(last_line(" \n"), "");
  const TemporaryFile log;
  ASSERT_TRUE(run_program({"nproc"}, {.folder = "", .log = log.path(), .timeout_seconds = 10, .cores = 1}));
  std::ifstream in(log.path());
  int cores = 0;
  in >> cores;
  EXPECT_EQ(cores, 1);
}

TEST(Programs, WordsAreSplitLikeAShell) {
  const auto words = split_shell_words("  berth --isa 'AVX2 x' \"a \\\" b\" c\\ d '' ");
  ASSERT_TRUE(words);
  EXPECT_EQ(*words, (std::vector<std::string>{"berth", "--isa", "AVX2 x", "a \" b", "c d", ""}));
  for (const char* bad : {"", "  ", "'open"}) EXPECT_FALSE(split_shell_words(bad)) << bad;
}

}  // namespace
}  // namespace berth::run
