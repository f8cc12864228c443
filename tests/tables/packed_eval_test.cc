// Evaluations as rows: each one is restored field by field; only contents that few have make an EvalMore.
#include "tables/packed_eval.h"
#include "base/json.h"

#include <gtest/gtest.h>

#include <functional>

namespace berth::tables {
namespace {

using model::Evaluation;

constexpr const char* kId = "8d3f2a10-0000-4000-8000-00000000abcd";

Evaluation plain() {
  Evaluation eval;
  eval.id = kId, eval.namespace_ = "default", eval.job_id = "web";
  eval.priority = 50, eval.type = "batch", eval.triggered_by = "job-register", eval.status = "complete";
  eval.job_modify_index = 7, eval.snapshot_index = 9, eval.create_index = 8, eval.modify_index = 11;
  eval.create_time = 1'700'000'000'000'000'001, eval.modify_time = 1'700'000'000'000'000'002;
  eval.queued_allocations.emplace()["web"] = 3;
  eval.plan_annotations.emplace().desired_tg_updates["web"].place = 3;
  return eval;
}

struct EvalCase {
  const char* name;
  std::function<void(Evaluation&)> change;
  bool is_all_numbers;
};

class PackedEvals : public ::testing::TestWithParam<EvalCase> {};

TEST_P(PackedEvals, RoundTripFieldByField) {
  Evaluation eval = plain();
  GetParam().change(eval);
  SymbolTable symbols;
  const std::string name_space = "default", job = "web";
  const EvalColumns columns{*base::parse_uuid(kId), name_space, job, 50, eval_status(eval.status), 8, 11};
  Evaluation given = eval;
  const EvalContents contents = pack(std::move(given), columns, symbols);
  EXPECT_EQ(contents.more == nullptr, GetParam().is_all_numbers);
  EXPECT_EQ(unpack(contents.packed, contents.more.get(), columns, symbols), eval);
}

INSTANTIATE_TEST_SUITE_P(
    Each, PackedEvals,
    ::testing::Values(
        EvalCase{"plain", [](Evaluation&) {}, true},
        EvalCase{"service", [](Evaluation& e) { e.type = "service"; }, true},
        EvalCase{"core", [](Evaluation& e) { e.type = "_core"; }, true},
        EvalCase{"other_type", [](Evaluation& e) { e.type = "cron"; }, false},
        EvalCase{"trigger", [](Evaluation& e) { e.triggered_by = "deployment-watcher"; }, true},
        EvalCase{"no_trigger", [](Evaluation& e) { e.triggered_by.clear(); }, true},
        EvalCase{"deployment", [](Evaluation& e) { e.deployment_id = kId; }, true},
        EvalCase{"deployment_in_capitals",
                 [](Evaluation& e) { e.deployment_id = "8D3F2A10-0000-4000-8000-00000000ABCD"; }, false},
        EvalCase{"deployment_that_is_no_uuid", [](Evaluation& e) { e.deployment_id = "one"; }, false},
        EvalCase{"id_in_capitals", [](Evaluation& e) { e.id = "8D3F2A10-0000-4000-8000-00000000ABCD"; }, false},
        EvalCase{"no_queued", [](Evaluation& e) { e.queued_allocations.reset(); }, true},
        EvalCase{"empty_queued", [](Evaluation& e) { e.queued_allocations->clear(); }, true},
        EvalCase{"two_queued", [](Evaluation& e) { (*e.queued_allocations)["db"] = 1; }, false},
        EvalCase{"most_queued", [](Evaluation& e) { (*e.queued_allocations)["web"] = 65535; }, true},
        EvalCase{"too_many_queued", [](Evaluation& e) { (*e.queued_allocations)["web"] = 65536; }, false},
        EvalCase{"negative_queued", [](Evaluation& e) { (*e.queued_allocations)["web"] = -1; }, false},
        EvalCase{"no_updates", [](Evaluation& e) { e.plan_annotations.reset(); }, true},
        EvalCase{"empty_updates", [](Evaluation& e) { e.plan_annotations->desired_tg_updates.clear(); }, true},
        EvalCase{"two_updates", [](Evaluation& e) { e.plan_annotations->desired_tg_updates["db"].stop = 1; }, false},
        EvalCase{"all_updates",
                 [](Evaluation& e) {
                   e.plan_annotations->desired_tg_updates["web"] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 65535};
                 },
                 true},
        EvalCase{"too_many_updates",
                 [](Evaluation& e) { e.plan_annotations->desired_tg_updates["web"].migrate = 65536; }, false},
        EvalCase{"preempted", [](Evaluation& e) { e.plan_annotations->preempted_allocs = json::Value::array(); },
                 false},
        EvalCase{"other_namespace", [](Evaluation& e) { e.namespace_ = "qa"; }, false},
        EvalCase{"other_job", [](Evaluation& e) { e.job_id = "Web"; }, false},
        EvalCase{"other_priority", [](Evaluation& e) { e.priority = 51; }, false},
        EvalCase{"large_priority", [](Evaluation& e) { e.priority = (1LL << 32) + 50; }, false},
        EvalCase{"pending", [](Evaluation& e) { e.status = "pending"; }, true},
        EvalCase{"no_status", [](Evaluation& e) { e.status.clear(); }, true},
        EvalCase{"other_status", [](Evaluation& e) { e.status = "done"; }, false},
        EvalCase{"status_description", [](Evaluation& e) { e.status_description = "why"; }, false},
        EvalCase{"node", [](Evaluation& e) { e.node_id = kId; }, false},
        EvalCase{"node_index", [](Evaluation& e) { e.node_modify_index = 1; }, false},
        EvalCase{"wait", [](Evaluation& e) { e.wait = 1; }, false},
        EvalCase{"wait_until", [](Evaluation& e) { e.wait_until.ns = 0; }, false},
        EvalCase{"next", [](Evaluation& e) { e.next_eval = kId; }, false},
        EvalCase{"previous", [](Evaluation& e) { e.previous_eval = kId; }, false},
        EvalCase{"blocked", [](Evaluation& e) { e.blocked_eval = kId; }, false},
        EvalCase{"blocked_in_capitals", [](Evaluation& e) { e.blocked_eval = "8D3F2A10-0000-4000-8000-00000000ABCD"; },
                 false},
        EvalCase{"node_that_is_no_uuid", [](Evaluation& e) { e.node_id = "one"; }, false},
        EvalCase{"related", [](Evaluation& e) { e.related_evals = json::Value::array(); }, false},
        EvalCase{"failed", [](Evaluation& e) { e.failed_tg_allocs["web"]; }, false},
        EvalCase{"classes", [](Evaluation& e) { e.class_eligibility.emplace(); }, false},
        EvalCase{"quota", [](Evaluation& e) { e.quota_limit_reached = "q"; }, false},
        EvalCase{"escaped", [](Evaluation& e) { e.escaped_computed_class = true; }, true},
        EvalCase{"annotate", [](Evaluation& e) { e.annotate_plan = true; }, true},
        EvalCase{"missing", [](Evaluation& e) { e.missing_non_node_resources = {"x"}; }, false},
        EvalCase{"acl", [](Evaluation& e) { e.leader_acl = "x"; }, false},
        EvalCase{"extra", [](Evaluation& e) { e.extra = json::Value::array(); }, false},
        EvalCase{"job_index", [](Evaluation& e) { e.job_modify_index = 1ULL << 40; }, true},
        EvalCase{"no_snapshot", [](Evaluation& e) { e.snapshot_index = 0; }, true},
        EvalCase{"no_times", [](Evaluation& e) { e.create_time = e.modify_time = 0; }, true}),
    [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace berth::tables
