// Processes: how they end, how they are stopped, and their command lines.
#include "gate/process.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

#include "gate/measure.h"

namespace berth::gate {
namespace {

TEST(Process, EndsAreTold) {
  const auto end_of = [](const char* script, double timeout = 0) {
    const auto end =
        run_process({"sh", "-c", script}, {.folder = "", .log = "", .timeout_seconds = timeout, .cores = 1});
    EXPECT_TRUE(end);
    return end ? end->words() : "";
  };
  EXPECT_EQ(end_of("exit 0"), "ended with exit code 0");
  EXPECT_EQ(end_of("exit 7", 60), "ended with exit code 7");
  EXPECT_EQ(end_of("kill -SEGV $$"), "was killed by signal 11 (Segmentation fault)");
  EXPECT_EQ(end_of("exec sleep 60", 0.05), "took too long and was ended");
  const auto missing = run_process({"no-such-program-of-berth"}, {});
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().exit_code, kUsage);
}

TEST(Process, ChildrenDieWithTheirParent) {
  const TemporaryFile pid_file;
  const pid_t parent = fork();
  if (parent == 0) {  // ended below, before its child
    static_cast<void>(run_process({"sh", "-c", "echo $$ > " + pid_file.path() + "; exec sleep 60"}, {}));
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

TEST(Process, OutputAndPinningReachTheChild) {
  const auto said = capture({"sh", "-c", "echo one; echo two >&2; echo"});
  ASSERT_TRUE(said);
  EXPECT_EQ(said->text, "one\ntwo");
  EXPECT_EQ(last_line(said->text), "two");
  EXPECT_EQ(last_line(" \n"), "");
  const TemporaryFile log;
  ASSERT_TRUE(run_process({"nproc"}, {.folder = "", .log = log.path(), .timeout_seconds = 10, .cores = 1}));
  std::ifstream in(log.path());
  int cores = 0;
  in >> cores;
  EXPECT_EQ(cores, 1);
}

TEST(Process, WordsAreSplitAsShellsDo) {
  const auto words = split_shell_words("  berth --isa 'AVX2 x' \"a \\\" b\" c\\ d '' ");
  ASSERT_TRUE(words);
  EXPECT_EQ(*words, (std::vector<std::string>{"berth", "--isa", "AVX2 x", "a \" b", "c d", ""}));
  for (const char* bad : {"", "  ", "'open"}) {
    const auto refused = split_shell_words(bad);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().exit_code, kUsage);
  }
}

TEST(Measure, CommandsBecomeArguments) {
  const Case what{"quickstart", "smoke", 7};
  const auto plain = Command::parse("./berth --isa AVX2");
  ASSERT_TRUE(plain);
  EXPECT_EQ(plain->arguments(what, "/x.json"),
            (std::vector<std::string>{"./berth", "run", "quickstart", "--label", "smoke", "--quiet", "--json",
                                      "/x.json", "--seed", "7", "--isa", "AVX2"}));
  const auto own = Command::parse("sh wrap.sh {workload} --seed={seed} {label} {json}");
  ASSERT_TRUE(own);
  EXPECT_EQ(own->arguments({"w", "l", -1}, "/x.json"),
            (std::vector<std::string>{"sh", "wrap.sh", "w", "--seed=", "l", "/x.json"}));
}

TEST(Measure, FailuresAreReportedInOneLine) {
  const Case what{"quickstart", "smoke", -1};
  const auto said = [&](const std::string& script, int code) {
    const auto command = Command::parse("sh -c '" + script + "' {json}");
    EXPECT_TRUE(command);
    MeasureOptions options;
    options.timeout_seconds = 0.5;
    const auto report = measure_once(*command, what, options, 0);
    if (report) return std::string("a report");
    EXPECT_EQ(report.error().exit_code, code) << script;
    EXPECT_EQ(report.error().error.line().find('\n'), std::string::npos);
    return report.error().error.problem;
  };
  EXPECT_EQ(said("echo no such thing >&2; exit 1", kOwnFailure), "ended with exit code 1: no such thing");
  EXPECT_EQ(said("echo bad input >&2; exit 2", kUsage), "ended with exit code 2: bad input");
  EXPECT_EQ(said("kill -ABRT $$", kOwnFailure), "was killed by signal 6 (Aborted)");
  EXPECT_EQ(said("true", kOwnFailure), "wrote no report");
  EXPECT_EQ(said("exec sleep 30", kOwnFailure), "took more than 0 s");
  EXPECT_EQ(said("echo \"{\\\"format\\\": \" > $0", kOwnFailure).substr(0, 35), "wrote a report that cannot be read:");
  EXPECT_EQ(said("echo {} > $0", kOwnFailure), "a report");
  EXPECT_EQ(said("echo {} > $0; exit 3", kOwnFailure), "a report") << "decisions that differ from Nomad's are data";
}

}  // namespace
}  // namespace berth::gate
