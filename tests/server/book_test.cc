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

}  // namespace
}  // namespace berth::server
