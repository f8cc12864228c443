#include "io/redact.h"

#include <gtest/gtest.h>

#include "io/export_import.h"
#include "io/json_parse.h"

namespace berth::io {
namespace {

model::ClusterState recorded() {
  auto done = import_cluster(BERTH_SOURCE_DIR "/tests/dryrun/recorded/stage-02.snap");
  EXPECT_TRUE(done) << done.error().line();
  return std::move(done->state);
}

TEST(Redact, DropsValuesAndKeepsWhichAreEqual) {
  model::ClusterState state = recorded();
  auto job = std::make_shared<model::Job>(*state.jobs[0]);
  model::Task& task = job->task_groups[0].tasks[0];
  task.env = io::parse_json(R"({"A":"secret","B":"secret","C":"other","D":""})").value();
  task.templates = io::parse_json(R"([{"EmbeddedTmpl":"password = 1","DestPath":"local/x"}])").value();
  state.jobs[0] = job;
  io::Redactor().redact(state);
  const model::Task& redacted = state.jobs[0]->task_groups[0].tasks[0];
  EXPECT_EQ(redacted.env["A"], redacted.env["B"]);
  EXPECT_NE(redacted.env["A"], redacted.env["C"]);
  EXPECT_EQ(redacted.env["D"], "");
  EXPECT_EQ(redacted.templates[0]["DestPath"], "local/x");
  const std::string text = io::cluster_text(state);
  for (const char* secret : {"\"secret\"", "password"}) EXPECT_EQ(text.find(secret), text.npos);
  EXPECT_EQ(state.nodes, recorded().nodes);
}

}  // namespace
}  // namespace berth::io
