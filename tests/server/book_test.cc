// Blocked and superfluous evaluations between server, broker and tracker: what is written for them, and when their rows
// of the book are free again.
#include <gtest/gtest.h>

#include <set>

#include "server/control.h"

namespace berth::server {
namespace {

constexpr std::size_t kRows = 2048;

Config retaining() {
  Config config;
  config.retain = true;
  return config;
}

std::shared_ptr<const model::Evaluation> stored(Control& c, base::Uuid id) {
  const tables::StoredEvalRow row = c.server().store().find_eval(id);
  return row == tables::kNoRow ? nullptr : c.server().store().current().eval(row);
}

std::size_t allocs_of(Control& c, const char* job) {
  const tables::Snapshot& state = c.server().store().current();
  const tables::JobKeyRow key = c.server().store().find_job_key("default", job);
  std::size_t out = 0;
  for (tables::AllocRow row = 0; row < state.allocs.size(); ++row) out += state.allocs.job_key[row] == key;
  return out;
}

/// The tracker's entry of job a names the row of its replaced evaluation (R-CTRL-804). Job b's evaluation gets the row.
TEST(Book, TheSuccessOfAJobEndsItsOwnBlockedEvaluationsOnly) {  // R-CTRL-820
  Control c(1, {}, 64);
  const tables::NodeRow other = c.add_node(2, "small");
  const auto job_a = [&](std::uint64_t version) {
    auto job = c.job("a", "service", 1);
    job->priority = 53, job->version = version, job->job_modify_index = version;
    if (version > 0) return job;
    auto& constraint = job->constraints.emplace_back();
    constraint.ltarget = "${node.class}", constraint.operand = "=", constraint.rtarget = "std";
    return job;
  };
  c.evaluate(c.job("filler", "service", 20));
  c.run();
  c.evaluate(job_a(0));
  c.run();
  ASSERT_EQ(c.server().blocked_count(), 1U);
  bool once = true;
  c.hooks.on_attempt = [&](Lane&) {  // another thread's event, between the snapshot and the block
    if (std::exchange(once, false)) c.server().node_ready(other);
  };
  c.evaluate(job_a(1));
  c.server().step();
  ASSERT_EQ(c.server().blocked_count(), 0U);
  auto job_b = c.job("b", "service", 1);
  job_b->priority = 56;
  c.evaluate(job_b);
  c.server().step();
  ASSERT_EQ(c.server().blocked_count(), 1U);
  once = true;
  c.hooks.on_attempt = [&](Lane&) {
    if (!std::exchange(once, false)) return;
    c.server().end_allocs(0, 4, tables::Client::complete);
    c.clock.set(c.clock.now_ns() + kSecond);
    c.server().advance();
  };
  c.run();
  EXPECT_EQ(allocs_of(c, "a"), 1U);
  EXPECT_EQ(allocs_of(c, "b"), 1U);
}

TEST(Book, SuperfluousEvaluationsShareEntries) {  // R-CTRL-336
  Control c(2, retaining(), kRows);
  const tables::JobKeyRow job = c.server().register_job(c.job("a", "service", 1));
  constexpr std::uint64_t kEvals = 1000;
  for (std::uint64_t i = 1; i <= kEvals; ++i) ASSERT_TRUE(c.server().evaluate({.id = {i, 2}, .job = job}));
  c.run();
  std::map<std::uint64_t, std::size_t> entries;
  for (std::uint64_t i = 1; i <= kEvals; ++i)
    if (const auto eval = stored(c, {i, 2}); eval->status == "canceled") {
      EXPECT_EQ(eval->status_description, "canceled after more recent eval was processed");
      ++entries[eval->modify_index];
    }
  ASSERT_EQ(entries.size(), 2U);
  EXPECT_EQ(entries.begin()->second, 728U);
  EXPECT_EQ(entries.rbegin()->second, kEvals - 2 - 728);
}

TEST(Book, DuplicatesOfAnEntryShareOne) {  // R-CTRL-807
  Control c(1, retaining());
  Server& server = c.server();
  server.register_job(c.job("a", "service", 1));
  std::vector<model::Evaluation> evals(4);
  for (std::size_t i = 0; i < evals.size(); ++i) {
    evals[i].id = base::to_text(base::Uuid{i + 1, 2});
    evals[i].namespace_ = "default", evals[i].job_id = "a", evals[i].type = "service";
    evals[i].triggered_by = "queued-allocs", evals[i].status = "blocked", evals[i].priority = 50;
  }
  fsm::Hooks hooks;
  ASSERT_EQ(server.log().apply(server.store().index() + 1, evals, hooks), "");
  server.take(hooks);
  EXPECT_EQ(server.stats().duplicates, 3U);
  EXPECT_EQ(server.blocked_count(), 1U);
  std::set<std::uint64_t> entries;
  for (std::uint64_t i = 1; i <= 3; ++i) {
    const auto eval = stored(c, {i, 2});
    EXPECT_EQ(eval->status_description, "existing blocked evaluation exists for job \"a\"");
    entries.insert(eval->modify_index);
  }
  EXPECT_EQ(entries.size(), 1U);
  EXPECT_EQ(stored(c, {4, 2})->status, "blocked");
}

/// Throws in the first `failures` deliveries of the evaluation and serves it to its end.
std::shared_ptr<const model::Evaluation> nacked(Control& c, const char* job, std::uint64_t number, int failures) {
  c.hooks.on_attempt = [&failures, job](Lane&) {
    if (failures-- > 0) throw std::runtime_error(job);
  };
  const tables::JobKeyRow key = c.server().register_job(c.job(job, "service", 1));
  EXPECT_TRUE(c.server().evaluate({.id = {number, 2}, .job = key}));
  c.run();
  while (stored(c, {number, 2})->status == "pending" && c.fire()) c.run();
  c.hooks.on_attempt = nullptr;
  return stored(c, {number, 2});
}

TEST(Book, ANackDelayIsTheEvaluationsWait) {  // R-CTRL-338, 339
  Control c(2, retaining());
  EXPECT_EQ(nacked(c, "a", 1, 0)->wait, 0);
  const auto once = nacked(c, "b", 2, 1);
  EXPECT_EQ(once->status, "complete");
  EXPECT_EQ(once->wait, 1 * kSecond);
  const auto failed = nacked(c, "c", 3, 3);
  EXPECT_EQ(failed->status, "failed");
  EXPECT_EQ(failed->wait, 20 * kSecond);
}

}  // namespace
}  // namespace berth::server
