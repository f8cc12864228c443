// One repetition of a case: the command line of its program, and how its failures are reported.
#include "gate/measure.h"

#include <gtest/gtest.h>

namespace berth::gate {
namespace {

TEST(GateMeasurement, CommandsBecomeArguments) {
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

TEST(GateMeasurement, FailuresAreReportedInOneLine) {
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
