#include "base/log_line.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace berth::base {
namespace {

constexpr std::int64_t kAt = 1'795'960'800'012'345'678;

TEST(LogLine, TextIsAsNomadWritesIt) {
  EXPECT_EQ((LogLine{LogLevel::info, kAt, "nomad.drain", "node drain complete"}.text()),
            "2026-11-29T14:00:00.012Z [INFO]  nomad.drain: node drain complete\n");
  const LogLine line{LogLevel::error, kAt, "worker", "failed", {{"job_id", "web"}, {"reason", "no \"room\""}}};
  EXPECT_EQ(line.text(), "2026-11-29T14:00:00.012Z [ERROR] worker: failed: job_id=web reason=\"no \\\"room\\\"\"\n");
}

/// What a client sends, such as a path, must not begin a second line.
TEST(LogLine, IsOneLineForAnyValues) {
  const LogLine line{LogLevel::debug, kAt, "http", "request", {{"path", "/v1\n2026 [INFO] forged"}, {"empty", ""}}};
  EXPECT_EQ(line.text(), "2026-11-29T14:00:00.012Z [DEBUG] http: request: path=\"/v1\\n2026 [INFO] forged\" empty=\n");
  const std::string json = line.json();
  EXPECT_EQ(std::count(json.begin(), json.end(), '\n'), 1);
}

TEST(LogLine, JsonHasTheFieldsAsMembers) {
  EXPECT_EQ(
      (LogLine{LogLevel::warn, kAt, "worker", "late", {{"job_id", "web"}}}.json()),
      R"({"@level":"warn","@message":"late","@module":"worker","@timestamp":"2026-11-29T14:00:00.012Z","job_id":"web"})"
      "\n");
}

TEST(LogLine, LevelsAreReadInAnyCase) {
  EXPECT_EQ(parse_log_level("WARN"), LogLevel::warn);
  EXPECT_EQ(parse_log_level("trace"), LogLevel::trace);
  for (const char* text : {"", "warning", "info ", "2"}) EXPECT_FALSE(parse_log_level(text)) << text;
}

}  // namespace
}  // namespace berth::base
