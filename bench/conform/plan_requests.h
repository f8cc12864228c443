// Replays recorded requests of the plan endpoint: an export of a cluster with a folder `plans`.
//
//   stage-NN.json.gz               the cluster, as import_cluster reads it
//   plans/plan-NN.request.json     {"Job": ...}
//   plans/plan-NN.stage            {"stage", "file", "path", "unix_ns"}: which cluster, which job file, when
//   plans/plan-NN.response.json    the endpoint's answer
//   plans/plan-NN.text, .exit      output of `nomad job plan` and its exit code; also .verbose.text, .verbose.exit
//
// Answer, text and verbose text are separate runs of a scheduler that shuffles the nodes by a random ID. So each is
// compared with berth's results for kOrders visiting orders and must equal one of them completely. Not compared: IDs
// and times of generated evaluations, AllocationTime, and the time until a launch.
#pragma once

#include "conform/run.h"

namespace berth::conform {

[[nodiscard]] bool has_plan_requests(const std::string& folder);

/// Counts each request as one vector. Keeps the differences of the closest order.
[[nodiscard]] Result<FileReport> replay_plan_requests(const std::string& folder, const RunOptions& options,
                                                      std::vector<KeptDifference>& kept);

}  // namespace berth::conform
