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

TEST(Book, AReasonIsOfTheEvaluationThatFailed) {
  Control c(2, retaining(), 1);
  EXPECT_EQ(nacked(c, "a", 1, 1)->status, "complete");
  const tables::JobKeyRow key = c.server().register_job(c.job("b", "service", 1));
  ASSERT_TRUE(c.server().evaluate({.id = {2, 2}, .job = key}));  // in the same row
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(*c.server().broker().dequeue(broker::kSchedulers, c.clock.now_ns()));
    c.clock.set(c.clock.now_ns() + 100 * kSecond);  // the delivery times out, and its nack delay ends
    c.server().advance();
    c.clock.set(c.clock.now_ns() + 100 * kSecond);
    c.server().advance();
  }
  c.run();
  EXPECT_EQ(c.hooks.reasons, std::vector<std::string>{""});
}

/// Rows in use when nothing is under way or blocked, after `rounds` times `round`.
template <class Round>
std::vector<std::size_t> rows_in_use(Control& c, int rounds, Round round) {
  std::vector<std::size_t> out;
  for (int i = 0; i < rounds; ++i) {
    round();
    c.run();
    out.push_back(c.server().book().in_use());
  }
  return out;
}

Config with_quirks(bool on) {
  Config config = retaining();
  if (!on) config.options.quirks = model::Quirks::none();
  return config;
}

class BookQuirks : public ::testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Compat, BookQuirks, ::testing::Bool(),
                         [](const auto& test) { return test.param ? "exact" : "fixed"; });

TEST_P(BookQuirks, ASystemJobThatWaitsOnTwoNodesUsesTwoRows) {  // R-CTRL-806, 808
  Control c(2, with_quirks(GetParam()), 64);
  const auto job = c.job("sys", "system", 1, 5000);
  job->task_groups.push_back(job->task_groups[0]);
  for (std::size_t g = 0; g < 2; ++g) {
    job->task_groups[g].name = g == 0 ? "one" : "two";
    auto& constraint = job->task_groups[g].constraints.emplace_back();
    constraint.ltarget = "${node.unique.name}", constraint.operand = "=";
    constraint.rtarget = g == 0 ? "node-1" : "node-2";
  }
  const tables::JobKeyRow key = c.server().register_job(job);
  std::uint64_t evals = 0;
  const auto rows = rows_in_use(c, 40, [&] { EXPECT_TRUE(c.server().evaluate({.id = {++evals, 2}, .job = key})); });
  EXPECT_EQ(rows, std::vector<std::size_t>(40, 2));
}

TEST_P(BookQuirks, CancelledEvaluationsUseNoRow) {  // R-CTRL-335, 336
  Control c(2, with_quirks(GetParam()), 64);
  const tables::JobKeyRow key = c.server().register_job(c.job("a", "service", 1));
  std::uint64_t evals = 0;
  const auto rows = rows_in_use(c, 40, [&] {
    for (int k = 0; k < 4; ++k) EXPECT_TRUE(c.server().evaluate({.id = {++evals, 2}, .job = key}));
  });
  EXPECT_EQ(rows, std::vector<std::size_t>(40, 0));
  EXPECT_EQ(c.stats().cancelled, 80U);
}

TEST(Book, ACancelledEvaluationIsNotServedAgain) {  // R-CTRL-335
  for (const bool exact : {true, false}) {
    Control c(2, with_quirks(exact));
    const tables::JobKeyRow key = c.server().register_job(c.job("a", "service", 1));
    for (std::uint64_t i = 1; i <= 3; ++i) ASSERT_TRUE(c.server().evaluate({.id = {i, 2}, .job = key}));
    c.run();
    std::uint64_t cancelled = 1;
    while (stored(c, {cancelled, 2})->status != "canceled") ++cancelled;
    std::vector<model::Evaluation> again{*stored(c, {cancelled, 2})};
    again[0].status = "pending";
    fsm::Hooks hooks;
    ASSERT_EQ(c.server().log().apply(c.server().store().index() + 1, again, hooks), "");
    c.server().take(hooks);
    c.run();
    EXPECT_EQ(stored(c, {cancelled, 2})->status, exact ? "pending" : "complete");
  }
}

TEST_P(BookQuirks, DroppedEvaluationsUseNoRow) {  // R-CTRL-321
  Control c(2, with_quirks(GetParam()), 64);
  Server& server = c.server();
  const tables::JobKeyRow key = server.register_job(c.job("a", "service", 1));
  const auto cancel = [&](std::uint64_t number, fsm::HookKind kind) {
    std::vector<model::Evaluation> evals{*stored(c, {number, 2})};
    evals[0].status = "canceled";
    fsm::Hooks hooks;
    ASSERT_EQ(server.log().apply(server.store().index() + 1, evals, hooks), "");
    hooks.push_back({.kind = kind, .eval = server.store().find_eval(base::Uuid{number, 2})});
    server.take(hooks);
  };
  for (std::uint64_t i = 1; i <= 4; ++i)
    ASSERT_TRUE(
        server.evaluate({.id = {i, 2}, .job = key, .wait_until_ns = static_cast<std::int64_t>(i) * 1000 * kSecond}));
  ASSERT_TRUE(server.evaluate({.id = {5, 2}, .job = key, .wait_ns = 100 * kSecond}));
  cancel(2, fsm::HookKind::drop_waiting);
  EXPECT_EQ(server.book().in_use(), 4U);
  cancel(1, fsm::HookKind::drop_waiting);  // the delay timer's root: fires all the same with the quirk
  EXPECT_EQ(server.book().in_use(), GetParam() ? 4U : 3U);
  cancel(4, fsm::HookKind::drop);
  cancel(5, fsm::HookKind::drop);
  EXPECT_EQ(server.book().in_use(), 1U);
  ASSERT_TRUE(server.evaluate({.id = {6, 2}, .job = key}));
  cancel(6, fsm::HookKind::drop);  // ready: dropped when its turn comes
  c.run();
  while (c.fire()) c.run();
  EXPECT_EQ(server.book().in_use(), 0U);
  EXPECT_EQ(stored(c, {3, 2})->status, "complete");
}

/// The service job gets the row of a purged system job that was blocked.
TEST(Book, AJobIsNotTakenForThePurgedOneInItsRow) {  // R-CTRL-820
  Control c(1, retaining());
  Server& server = c.server();
  const auto registered = [&](const std::shared_ptr<const model::Job>& job) {
    const auto answer = server.requests().register_job({.job = job}, c.clock.now_ns());
    EXPECT_EQ(answer.error, "");
    server.take(answer.hooks);
    c.run();
    return server.store().find_job_key("default", job->id);
  };
  const tables::JobKeyRow purged = registered(c.job("sys", "system", 1, 5000));
  ASSERT_EQ(server.blocked_count(), 1U);
  ASSERT_EQ(server.write(fsm::JobDeregisterEntry{.name_space = "default", .job_id = "sys", .purge = true}), "");
  server.node_ready(0);
  c.run();
  fsm::EvalDeleteEntry evals;
  for (tables::StoredEvalRow row = 0; row < server.store().current().evals.size(); ++row)
    if (server.store().current().evals.exists(row)) evals.evals.push_back(row);
  ASSERT_EQ(server.write(evals), "");
  ASSERT_EQ(registered(c.job("web", "service", 1, 5000)), purged);
  ASSERT_EQ(server.blocked_count(), 1U);
  registered(c.job("web", "service", 1));
  EXPECT_EQ(server.blocked_count(), 0U);
  EXPECT_EQ(server.book().in_use(), 0U);
}

/// Class and node release the evaluation of a system job; it is served once.
TEST(Book, AReleasedEvaluationIsNotReleasedAgain) {  // R-CTRL-814, 816
  Control c(1);
  c.evaluate(c.job("filler", "service", 10));
  c.evaluate(c.job("sys", "system", 1));
  c.run();
  ASSERT_EQ(c.server().blocked_count(), 1U);
  c.server().end_allocs(0, 2, tables::Client::complete);
  ASSERT_TRUE(c.fire());
  EXPECT_EQ(c.unblocked(Cause::node_class), 1U);
  EXPECT_EQ(c.unblocked(Cause::node), 0U);
  c.run();
  EXPECT_EQ(c.allocs(), 11U);
  EXPECT_EQ(c.server().book().in_use(), 0U);
}

}  // namespace
}  // namespace berth::server
