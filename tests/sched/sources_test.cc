// Sources of candidates: their switches, the needs that decide which source may answer, and the class ledger that they
// share.
#include "sched/source/sources.h"

#include <gtest/gtest.h>

#include <map>

#include "model/job.h"
#include "plan/apply.h"
#include "sched/select_world.h"
#include "sched/small_world.h"
#include "support/sanitized.h"

namespace berth::sched {
namespace {

TEST(CandidateSources, AreEnabledByName) {
  const auto text = [](std::string_view list) {
    const auto parsed = EnabledSources::parse(list);
    return parsed ? parsed->text() : "refused: " + parsed.error();
  };
  EXPECT_EQ(text("all"), "all");
  EXPECT_EQ(text("none"), "none");
  EXPECT_EQ(text("no-columns"), "no-columns");
  EXPECT_EQ(text("no-table,no-full"), "no-full,no-table");
  EXPECT_EQ(text("columns"), "columns");
  EXPECT_EQ(text("columns,amounts"), "columns,amounts");
  EXPECT_EQ(text("mixed"), "mixed:1");
  EXPECT_EQ(text("mixed:7"), "mixed:7");
  EXPECT_EQ(text("mixed:7,no-columns"), "mixed:7,no-columns");
  for (const char* bad : {"", "column", "no-", "no-all", "mixed:0", "mixed:x", "columns,", "mixed:4294967296"})
    EXPECT_TRUE(text(bad).starts_with("refused: '")) << bad;
  for (std::size_t i = 0; i < kSwitchNames.size(); ++i) {
    EnabledSources one = EnabledSources::none(), others;
    one.set(static_cast<Switch>(i), true), others.set(static_cast<Switch>(i), false);
    EXPECT_EQ(*EnabledSources::parse(kSwitchNames[i]), one);
    EXPECT_EQ(*EnabledSources::parse(std::string("no-") + kSwitchNames[i]), others);
    EXPECT_EQ(*EnabledSources::parse(one.text()), one);
    EXPECT_EQ(*EnabledSources::parse(others.text()), others);
  }
}

TEST(CandidateSources, AreDrawnForEachSelect) {
  EnabledSources mixed;
  mixed.mix(3);
  std::size_t on = 0, differ = 0;
  for (std::uint32_t select = 0; select < 100; ++select) {
    const EnabledSources drawn = mixed.drawn(1000, select);
    on += drawn.has(Switch::columns);
    differ += !(drawn == mixed.drawn(1000, select + 1));
  }
  EXPECT_GT(on, 25U);
  EXPECT_LT(on, 75U);
  EXPECT_GT(differ, 90U);
}

/// A feature that no source serves: its groups are decided node by node, with the same result.
TEST(CandidateSources, ANewNeedIsServedByTheGeneralSource) {
  for (const bool preempts : {false, true}) {
    SCOPED_TRACE(preempts);
    Random random(5);
    World world(random, 60, 5, preempts, true);
    OtherWay fast(model::Quirks{}), slow(model::Quirks{});
    constexpr std::uint32_t kNewBit = 63;
    for (int round = 0; round < 8; ++round) {
      world.ask(random,
                random_job(random, "job" + std::to_string(round), round % 2 == 0, pick(random, 1, 60), 20 + round));
      const tables::Snapshot snapshot = world.store.snapshot();
      EvalResult a, b;
      world.decide(fast.scheduler, snapshot, 1, a);
      const tables::CompiledJob& job = *snapshot.jobs.versions[snapshot.jobs.keys[world.facts.job].current];
      // As the compiler of job versions would set it.
      auto& group = const_cast<tables::CompiledGroup&>(job.groups.front());
      const Needs known = group.needs;
      group.needs = known | Needs::of_bit(kNewBit);
      world.decide(slow.scheduler, snapshot, 1, b);
      group.needs = known;
      ASSERT_EQ(decisions({snapshot, fast.scratch}, a, world.eval), decisions({snapshot, slow.scratch}, b, world.eval));
      ASSERT_EQ(waits_for(a), waits_for(b));
      plan::ApplyResult applied;
      plan::apply(world.store, a.plan, snapshot.index + 4, false, applied);
    }
    const SourceCounts &by_fast = fast.scratch.source_counts, &by_slow = slow.scratch.source_counts;
    const auto general = static_cast<std::size_t>(SourceKind::general);
    for (std::size_t source = 0; source < kSourceNames.size(); ++source)
      if (source != general) {
        EXPECT_EQ(by_slow.selects[source], 0U) << kSourceNames[source];
      }
    EXPECT_GT(by_slow.selects[general], 100U);
    EXPECT_EQ(by_slow.unmet[kNewBit], by_slow.selects[general]);
    EXPECT_EQ(by_slow.known, 0U);
    EXPECT_GT(by_slow.options, by_fast.options);  // its fit is not decided by amounts
    EXPECT_GT(by_fast.selects[static_cast<std::size_t>(SourceKind::columns)], 100U);
    EXPECT_EQ(unmet_name(kNewBit), "need 63");
  }
}

TEST(CandidateSources, NeedsHaveNames) {
  for (const char* name : tables::kNeedNames) EXPECT_NE(name, nullptr);
  EXPECT_EQ(unmet_name(static_cast<std::size_t>(Need::escapes)), "constraint unique to a node");
  EXPECT_EQ(unmet_name(Needs::kBits), "switched off");
}

// ---------------------------------------------------------------- the class ledger

/// Group `a` needs no network and fits on no node; group `b` needs a network that no node has. A class that `a` may use
/// is worth a retry of both: the verdicts of `a` are those of its own network.
TEST(ClassLedger, VerdictsOfAGroupUseItsOwnNetwork) {  // R-FEAS-309, 410, 1701
  SmallWorld w;
  for (int i = 0; i < 3; ++i) w.add_node();
  const auto job = SmallWorld::job("service", 1, 0, {"a", "b"});
  job->task_groups[0].tasks[0].resources->memory_mb = 100'000;
  job->task_groups[1].networks.emplace_back().mode = "bridge";
  w.store(job);
  tables::StateStore store;
  store.load(w.state);
  const tables::SnapshotRef state = store.snapshot();
  for (const bool general : {true, false}) {
    SCOPED_TRACE(general);
    OtherWay way(model::Quirks{});
    if (general) way.scheduler.set_sources(EnabledSources::none());
    for (int again = 0; again < 3; ++again) {
      EvalFacts facts;
      facts.id_text = "00000000-0000-0000-0000-000000000001";
      facts.job = store.job_key("default", "j");
      facts.priority = 50;
      facts.triggered_by = "job-register";
      facts.blocked = again > 0;
      facts.now_ns = SmallWorld::kNow;
      EvalResult result;
      IdStream ids(1);
      way.scheduler.process(*state, facts, rank::OrderProvider::nomad, ids, result);
      EXPECT_TRUE(result.any_failed());
      ASSERT_EQ(result.eligibility.classes.size(), 3U);
      for (const auto& [computed_class, eligible] : result.eligibility.classes) EXPECT_TRUE(eligible) << again;
    }
    const auto none_fits = static_cast<std::size_t>(SourceKind::none_fits);
    EXPECT_EQ(way.scratch.source_counts.selects[none_fits], general ? 0U : 4U);
  }
}

/// A request that failed before fails again after more changed than its table follows.
TEST(ClassLedger, VerdictsOfAFailureUseTheCurrentNodes) {  // R-FEAS-1701
  SmallWorld w;
  for (int i = 0; i < 2; ++i) w.add_node();
  const auto job = SmallWorld::job("service", 1);
  job->task_groups[0].tasks[0].resources->memory_mb = 100'000;
  w.store(job);
  tables::StateStore store;
  store.load(w.state);
  OtherWay fast(model::Quirks{}), general(model::Quirks{});
  general.scheduler.set_sources(EnabledSources::none());
  const auto classes_of = [&](OtherWay& way) {
    EvalFacts facts;
    facts.id_text = "00000000-0000-0000-0000-000000000001";
    facts.job = store.job_key("default", "j");
    facts.priority = 50;
    facts.triggered_by = "job-register";
    facts.now_ns = SmallWorld::kNow;
    EvalResult result;
    IdStream ids(1);
    way.scheduler.process(*store.snapshot(), facts, rank::OrderProvider::nomad, ids, result);
    EXPECT_TRUE(result.any_failed());
    std::map<tables::Symbol, bool> classes;
    for (const auto& [computed_class, eligible] : result.eligibility.classes) classes[computed_class] = eligible;
    return classes;
  };
  const auto before = classes_of(fast);
  EXPECT_EQ(before, classes_of(general));
  EXPECT_EQ(before, classes_of(fast));  // from its table
  model::Node node = w.state.nodes[0];
  node.computed_class = "v1:new";
  for (int i = 0; i < 200; ++i) store.begin_commit(store.index() + 1).upsert_node(node);
  const auto after = classes_of(fast);
  EXPECT_NE(after, before);
  EXPECT_EQ(after, classes_of(general));
  EXPECT_EQ(after, classes_of(fast));  // from its table again
}

/// Results of a node's checks under one network are not reused under another.
TEST(ClassLedger, AnInheritedNetworkIsCheckedAgain) {  // R-FEAS-309, 409, 410
  SmallWorld w;
  w.add_node();
  const auto make = [](std::uint64_t version, std::int64_t memory_mb, std::int64_t count) {
    auto job = SmallWorld::job("service", 1, version, {"a", "b"});
    for (model::TaskGroup& group : job->task_groups) group.tasks[0].resources->memory_mb = memory_mb;
    job->task_groups[0].count = count;
    model::Constraint& escapes = job->task_groups[0].constraints.emplace_back();
    escapes.ltarget = "${node.unique.name}", escapes.operand = "=", escapes.rtarget = "n0";
    job->task_groups[1].networks.emplace_back().mode = "bridge";
    return job;
  };
  const auto before = make(0, 64, 1), after = make(1, 65, 2);
  w.store(before), w.store(after);
  w.add(before, 0, 0, "running", "a"), w.add(before, 0, 0, "running", "b");
  w.run();
  // Both are updated destructively: a[0] without a network, b[0] with its own, which no node has and which a[1], the
  // last one, inherits.
  ASSERT_EQ(w.placed().size(), 1U);
  EXPECT_EQ(w.placed()[0].name, "j.a[0]");
  ASSERT_TRUE(w.updated.failed_tg_allocs.contains("a"));
  EXPECT_EQ(w.updated.failed_tg_allocs.at("a").constraint_filtered,
            (std::map<std::string, std::int64_t>{{"missing network", 1}}));
}

TEST(ClassLedger, RecordsVisitedClasses) {
  ClassLedger ledger;
  ledger.start();
  EXPECT_EQ(ledger.selects(), 0U);
  ledger.note_places(0, 0, 90, 20, 100);  // past the end
  ledger.note_places(0, 0, 10, 5, 100);   // continues there
  ledger.note_places(0, 0, 15, 80, 100);  // now all places were visited
  ledger.note_places(0, 0, 95, 3, 100);
  EXPECT_EQ(ledger.reached(), 100U);
  EXPECT_TRUE(ledger.has_partial());
  std::vector<ClassLedger::Visit> unread;
  ledger.take_unread(unread);
  ASSERT_EQ(unread.size(), 1U);
  EXPECT_EQ(unread[0].first, 90U);
  EXPECT_EQ(unread[0].count, 100U);
  EXPECT_FALSE(ledger.has_unread());
  ledger.start();
  ledger.note_all(1, 0), ledger.note_all(1, 0), ledger.note_all(0, 2);
  EXPECT_FALSE(ledger.has_partial());
  EXPECT_EQ(ledger.full_groups(), (std::vector<std::uint32_t>{1, 0}));
  ledger.take_unread(unread);
  EXPECT_EQ(unread.size(), 2U);
  EXPECT_TRUE(ledger.visited_all(1));
  EXPECT_EQ(ledger.selects(), 3U);
}

}  // namespace
}  // namespace berth::sched
