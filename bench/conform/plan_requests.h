// Replays recorded requests of the plan endpoint: an export of a cluster with a folder `plans`.
//
//   stage-NN.json.gz               the cluster, as import_cluster reads it
//   plans/plan-NN.request.json     {"Job": ...}
//   plans/plan-NN.stage            {"stage", "file", "path", "unix_ns"}: which cluster, which job file, when
//   plans/plan-NN.response.json    what the endpoint answered
//   plans/plan-NN.text, .exit      what `nomad job plan` printed, its exit code; likewise .verbose.text, .verbose.exit
//
// Answer, text and verbose text are separate runs of a scheduler that shuffles the nodes by a random ID, so each is
// compared with what berth gives for kOrders visiting orders and must equal one of them in full. Not compared: IDs and
// times of evaluations that the run made up, AllocationTime, and the time left until a launch.
#pragma once

#include "conform/run.h"

namespace berth::conform {

[[nodiscard]] bool has_plan_requests(const std::string& folder);

/// Counts each request as one vector; the kept differences are those of the order that comes closest.
[[nodiscard]] Result<FileReport> replay_plan_requests(const std::string& folder, const RunOptions& options,
                                                      std::vector<KeptDifference>& kept);

}  // namespace berth::conform
