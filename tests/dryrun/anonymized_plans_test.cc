// Plans of an anonymized cluster and its jobs equal those of the original, under the map of names.
#include "io/anonymize.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "advice/question.h"
#include "io/export_import.h"
#include "io/files.h"
#include "io/json_parse.h"
#include "model/codec/api_keys.h"
#include "model/codec/codec.h"
#include "server/dry_run.h"

namespace berth::dryrun {
namespace {

const std::string kRecorded = BERTH_SOURCE_DIR "/tests/dryrun/recorded";

json::Value read(const std::string& path) {
  const auto text = io::read_file(path);
  EXPECT_TRUE(text) << text.error().line();
  auto value = io::parse_json(text.value_or(""), path);
  EXPECT_TRUE(value) << value.error().line();
  return value ? std::move(*value) : json::Value();
}

model::ClusterState imported(const json::Value& document) {
  auto done = io::import_cluster_json(document, "cluster");
  EXPECT_TRUE(done) << done.error().line();
  return done ? std::move(done->state) : model::ClusterState();
}

/// The newest time in the state, used as the time of the plan.
std::int64_t newest_ns(const model::ClusterState& state) {
  std::int64_t ns = 1;
  for (const model::Allocation& alloc : state.allocs) ns = std::max(ns, alloc.modify_time);
  for (const model::Evaluation& eval : state.evals) ns = std::max(ns, eval.modify_time);
  return ns;
}

/// All that a plan decides: allocations with metrics and scores, evictions, failures, refusals, counts.
json::Value decision(const model::ClusterState& state, const json::Value& job, std::uint64_t order) {
  json::Value out = json::Value::object();
  auto registration = advice::read_job(state, job, "job", "");
  if (!registration || !registration->job) {
    out.set("StatusDescription", registration ? registration->error : registration.error().line());
    return out;
  }
  server::DryRun dry_run(state, *registration, newest_ns(state));
  const server::DryRunAnswer answer = dry_run.answer(order);
  out.set("Error", answer.error);
  out.set("Annotations", model::to_json(answer.annotations));
  json::Value& failed = out.set("FailedTGAllocs", json::Value::object());
  for (const auto& [group, metrics] : answer.failed) failed.set(group, model::to_json(metrics));
  for (const auto& [key, map] :
       {std::pair{"Update", &answer.plan.node_update}, std::pair{"Allocation", &answer.plan.node_allocation},
        std::pair{"Preemptions", &answer.plan.node_preemptions}}) {
    json::Value& list = out.set(key, json::Value::array());
    for (const auto& [node, allocs] : *map)
      for (const model::Allocation& alloc : allocs) list.push(model::to_json(alloc));
  }
  json::Value& refused = out.set("Refused", json::Value::array());
  for (const server::Refusal& refusal : answer.refusals) {
    json::Value one = json::Value::object();
    one.set("NodeID", refusal.node_id), one.set("NodeName", refusal.node_name), one.set("Message", refusal.reason);
    refused.push(std::move(one));
  }
  return out;
}

json::Value job_of(const std::string& path) {
  const json::Value document = read(path);
  auto job = model::normalise_job_keys(document["Job"], path, "/Job");
  EXPECT_TRUE(job) << job.error().line();
  json::Value out = json::Value::object();
  out.set("Job", job ? std::move(*job) : json::Value());
  return out;
}

/// Plans each of `jobs` on the cluster of `snapshot`, and both after anonymizing.
void compare(const std::string& snapshot, const std::vector<std::string>& jobs) {
  auto done = io::import_cluster(snapshot);
  ASSERT_TRUE(done) << done.error().line();
  const json::Value cluster = io::cluster_to_json(done->state);
  json::Value anonymous = cluster;
  std::vector<json::Value> originals, renamed;
  for (const std::string& job : jobs) originals.push_back(job_of(job));
  renamed = originals;
  io::Anonymizer names;
  std::vector<json::Value*> documents = {&anonymous};
  for (json::Value& job : renamed) documents.push_back(&job);
  const auto prepared = names.prepare(documents);
  ASSERT_TRUE(prepared) << prepared.error();
  for (json::Value* document : documents) names.rewrite(*document);

  const model::ClusterState before = imported(cluster), after = imported(anonymous);
  for (std::size_t i = 0; i < jobs.size(); ++i)
    for (std::uint64_t order = 0; order < 3; ++order) {
      json::Value expected = decision(before, originals[i], order);
      names.rewrite(expected);
      const json::Value answer = decision(after, renamed[i], order);
      ASSERT_GT(expected.size(), 1u) << jobs[i];
      EXPECT_TRUE(json::equal_ignoring_member_order(expected, answer))
          << snapshot << " " << jobs[i] << " order " << order << "\n"
          << json::to_text(expected, 1) << "\nis not\n"
          << json::to_text(answer, 1);
      if (::testing::Test::HasFailure()) return;
    }
}

TEST(AnonymizedPlans, AreTheOriginalsUnderTheMap) {
  std::map<std::string, std::vector<std::string>> by_stage;
  for (const auto& file : std::filesystem::directory_iterator(kRecorded + "/plans")) {
    const std::string path = file.path().string();
    if (!path.ends_with(".request.json")) continue;
    const std::string stem = path.substr(0, path.size() - std::string(".request.json").size());
    by_stage[read(stem + ".stage")["stage"].as_string()].push_back(path);
  }
  ASSERT_GE(by_stage.size(), 2u);
  for (const auto& [stage, jobs] : by_stage) compare(kRecorded + "/" + stage + ".snap", jobs);
}

}  // namespace
}  // namespace berth::dryrun
