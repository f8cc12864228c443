#include "io/redact.h"

#include <gtest/gtest.h>

#include "base/base64.h"
#include "io/export_import.h"
#include "io/json_parse.h"
#include "model/codec/codec.h"
#include "model/job.h"

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

// Each place that may hold a secret is named after it; `kept-` marks what must stay.
TEST(Redact, DropsCredentialsInUrlsPayloadsAndChecks) {
  model::ClusterState state = recorded();
  auto job = std::make_shared<model::Job>(*state.jobs[0]);
  job->dispatched = true, job->payload = "c2VjcmV0LXBheWxvYWQ=";
  job->meta = {{"kept-key", "secret-meta"}, {"berth_run_time", "30s"}};
  model::TaskGroup& group = *job->task_groups.begin();
  const char* services =
      R"([{"Name":"kept-name","Checks":[{"Path":"/kept-path","Header":{"kept-header":["secret-header"]},
      "Body":"secret-body"}]}])";
  group.services = io::parse_json(services).value();
  model::Task& task = group.tasks[0];
  task.services = group.services;
  task.artifacts = io::parse_json(R"([{"GetterSource":"git::https://me:secret-word@kept.host/a/b@c.tgz"},
      {"GetterSource":"s3::https://kept.host/x?aws_access_key_id=secret-id&ref=&archive&aws_access_key_secret=secret-key"},
      {"GetterSource":"git@github.com:kept/kept"},{"GetterSource":"https://secret-word@kept.host"},
      {"GetterSource":"https://kept.host/?"},{"GetterSource":""}])")
                       .value();
  state.jobs[0] = job;
  const auto before = state.jobs[0];
  io::Redactor().redact(state);
  const model::Job& redacted = *state.jobs[0];
  EXPECT_EQ(redacted.meta.at("berth_run_time"), "30s");
  EXPECT_TRUE(redacted.meta.at("kept-key").starts_with("redacted-"));
  EXPECT_TRUE(base::from_base64(*redacted.payload).value_or("").starts_with("redacted-"));
  const json::Value& artifacts = redacted.task_groups.list()[0].tasks[0].artifacts;
  const auto source = [&](std::size_t i) { return artifacts.items()[i]["GetterSource"].as_string(); };
  EXPECT_TRUE(source(0).starts_with("git::https://redacted-") && source(0).ends_with("@kept.host/a/b@c.tgz"))
      << source(0);
  EXPECT_TRUE(source(1).starts_with("s3::https://kept.host/x?aws_access_key_id=redacted-")) << source(1);
  EXPECT_NE(source(1).find("&ref=&archive&aws_access_key_secret=redacted-"), std::string::npos) << source(1);
  EXPECT_EQ(source(2), "git@github.com:kept/kept");
  EXPECT_TRUE(source(3).starts_with("https://redacted-") && source(3).ends_with("@kept.host")) << source(3);
  EXPECT_EQ(source(4), "https://kept.host/?");
  EXPECT_EQ(source(5), "");
  const std::string text = json::to_text(model::to_json(redacted, model::WriteMode::sparse));
  EXPECT_EQ(text.find("secret-"), text.npos) << text;
  for (const char* kept : {"kept-name", "kept-header", "/kept-path"}) EXPECT_NE(text.find(kept), text.npos) << kept;
  EXPECT_NE(*before, redacted) << "the original must stay as it was";
  EXPECT_EQ(before->payload, "c2VjcmV0LXBheWxvYWQ=");
}

}  // namespace
}  // namespace berth::io
