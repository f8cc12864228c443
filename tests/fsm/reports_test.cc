// Clients' reports as rows and as API objects: the same state, whichever form they come in (R-CTRL-760 to 770).
#include <gtest/gtest.h>

#include <random>

#include "base/json.h"
#include "fsm/request_world.h"
#include "io/export_import.h"
#include "model/job.h"
#include "support/sanitized.h"
#include "tables/export.h"

namespace berth::fsm {
namespace {

using tables::AllocLinks;
using tables::AllocRow;
using tables::Client;

constexpr std::uint64_t kAllocs = 12;

std::string alloc_id(std::uint64_t number) { return request_id(2, number); }
const std::string kDeployment = request_id(3, 1);

/// Two nodes with twelve allocations of two jobs; those of "j" are in a deployment, and every third one is a canary.
void twelve_allocations(model::Job& job, model::ClusterState& state) {
  for (model::TaskGroup& group : job.task_groups) group.reschedule_policy.emplace().attempts = 3;
  state.nodes.clear();
  for (std::uint64_t number = 1; number <= 2; ++number)
    state.nodes.push_back(testing::make_node({.id = request_id(1, number), .name = "n" + std::to_string(number)}));
  model::Deployment& deployment = state.deployments.emplace_back();
  deployment.id = kDeployment, deployment.namespace_ = "default", deployment.job_id = "j";
  deployment.status = "running", deployment.create_index = deployment.modify_index = 90;
  deployment.task_groups["web"].emplace().progress_deadline = 600 * base::kSecond;
  deployment.task_groups["db"].emplace();
  for (std::uint64_t number = 1; number <= kAllocs; ++number) {
    model::Allocation& alloc = state.allocs.emplace_back(
        testing::make_alloc({.id = alloc_id(number),
                             .job = std::make_shared<model::Job>(job),  // replaced by the world
                             .node_id = request_id(1, 1 + number % 2),
                             .index = number,
                             .client = "pending",
                             .group = number % 2 ? "web" : "db"}));
    alloc.create_index = alloc.modify_index = alloc.alloc_modify_index = 95;
    if (number % 4 == 0) continue;
    alloc.deployment_id = kDeployment;
    if (number % 3 == 0) alloc.deployment_status.emplace().canary = true;
  }
}

/// One of two worlds that get the same reports.
struct Side {
  RequestWorld world{twelve_allocations};
  ClientUpdateEntry batch;
  Answer answer;

  Side() {
    JobSummary summary;
    summary.create_index = 90;
    world.log().set_summary("default", "j", summary);
    world.log().recount_summaries(false);
  }
  std::string state() const { return io::cluster_text(world.log().state()); }
  void receive(const tables::ClientReport& report, bool as_object, std::int64_t now) {
    if (as_object)
      world.requests().receive(tables::to_update(world.store().current(), report), now, batch);
    else
      world.requests().receive(report, now, batch);
  }
};

std::string text_of(const Hooks& hooks) {
  std::string out;
  for (const Hook& hook : hooks)
    out += std::to_string(static_cast<int>(hook.kind)) + "/" + std::to_string(hook.eval) + "/" +
           std::to_string(hook.node) + "/" + std::to_string(hook.index) + " ";
  return out;
}

std::string text_of(const JobSummary& summary) {
  std::string out = std::to_string(summary.modify_index);
  for (const auto& [name, group] : summary.groups) {
    out += " " + name;
    for (const std::int64_t count : group.counts) out += "," + std::to_string(count);
  }
  return out;
}

class Reports {
 public:
  explicit Reports(std::uint32_t seed) : random_(seed) {}

  tables::ClientReport make(Side& side, std::uint64_t number, std::int64_t now) {
    tables::ClientReport report;
    report.id = *base::parse_uuid(alloc_id(number));
    report.row = side.world.log().store().find_alloc(report.id);
    if (report.row == tables::kNoRow) report.row = 0;  // removed; its row belongs to none, or to another allocation
    report.node = static_cast<tables::NodeRow>(number % 2);
    report.status = std::array{Client::pending, Client::running, Client::failed, Client::complete}[random_() % 4];
    report.said.description = static_cast<tables::ClientDescription>(random_() % 4);
    if (random_() % 3) {
      tables::TaskStatus status;
      status.state = static_cast<tables::TaskState>(random_() % 3);
      status.started_at = now - 5, status.restarts = random_() % 3;
      if (status.state == tables::TaskState::dead) status.finished_at = now - 1, status.failed = random_() % 2;
      status.event = static_cast<tables::TaskEvent>(random_() % 7), status.event_at = now - 2;
      EXPECT_TRUE(
          report.said.take(side.world.store().current().jobs.versions[0]->groups[0].tasks.front().name, status));
    }
    if (random_() % 2) {
      report.health = random_() % 3 ? AllocLinks::kHealthy : AllocLinks::kUnhealthy;
      report.said.health_at = now - 3;
    }
    return report;
  }
  std::uint32_t draw(std::uint32_t bound) { return random_() % bound; }

 private:
  std::mt19937 random_;
};

TEST(ReportsTest, RowsAndObjectsGiveTheSameState) {
  std::size_t healthy = 0, evals = 0;
  for (std::uint32_t seed = 1; seed <= testing::rounds(30); ++seed) {
    Reports reports(seed);
    Side rows, objects;
    ASSERT_EQ(rows.state(), objects.state());
    for (int step = 0; step < 20; ++step) {
      SCOPED_TRACE("seed " + std::to_string(seed) + ", step " + std::to_string(step));
      const std::int64_t now = kRequestNow + step * base::kSecond;
      if (reports.draw(5) == 0) {  // from here on the allocation has an API object in both
        TransitionEntry entry;
        entry.allocs.emplace_back(alloc_id(1 + reports.draw(kAllocs)), model::DesiredTransition{.migrate = true});
        for (Side* side : {&rows, &objects}) {
          Hooks hooks;
          ASSERT_EQ(side->world.log().apply(side->world.log().next_index(), entry, hooks), "");
        }
      }
      for (std::uint32_t i = reports.draw(5); i < 6; ++i) {
        const tables::ClientReport report = reports.make(rows, 1 + reports.draw(kAllocs), now);
        rows.receive(report, false, now);
        objects.receive(report, true, now);
      }
      if (reports.draw(12) == 0) {  // the allocation is removed between its report and the batch
        const AllocRow row = rows.world.log().store().find_alloc(alloc_id(1 + reports.draw(kAllocs)));
        ASSERT_EQ(rows.batch.reports.size(), objects.batch.reports.size());
        for (Side* side : {&rows, &objects}) {
          if (row == tables::kNoRow) break;
          Hooks hooks;
          ASSERT_EQ(side->world.log().apply(side->world.log().next_index(), EvalDeleteEntry{{row}, {}}, hooks), "");
        }
      }
      for (Side* side : {&rows, &objects}) side->world.requests().write_reports(side->batch, now + 50, side->answer);
      ASSERT_EQ(rows.state(), objects.state());
      ASSERT_EQ(text_of(rows.answer.hooks), text_of(objects.answer.hooks));
      const auto summary = [](const Side& side) { return text_of(*side.world.log().record("default", "j")->summary); };
      ASSERT_EQ(summary(rows), summary(objects));
      for (std::size_t table = 0; table < kTables; ++table)
        ASSERT_EQ(rows.world.log().table_index(static_cast<Table>(table)),
                  objects.world.log().table_index(static_cast<Table>(table)));
    }
    const auto deployment = rows.world.log().deployment(kDeployment);
    healthy += static_cast<std::size_t>(deployment->task_groups.at("web")->healthy_allocs);
    evals += rows.world.log().state().evals.size();
  }
  EXPECT_GT(healthy, 20u) << "the reports reached the deployments";
  EXPECT_GT(evals, 20u) << "failures made evaluations";
}

}  // namespace
}  // namespace berth::fsm
