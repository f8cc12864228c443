// Cluster states in JSON: the `state` of a recorded evaluation.
#pragma once

#include "berth/result.h"
#include "model/codec/codec.h"

namespace berth::io {

/// Reads the `state` object of an evaluation vector. Jobs are indexes into `jobs`; an entry of `Nodes` may refer to an
/// earlier one by `_like`. Nothing is canonicalised or recomputed.
[[nodiscard]] Result<model::ClusterState> read_vector_state(const json::Value& state, const model::JobTable& jobs,
                                                            const std::string& path, const std::string& place);

/// Reads a list of jobs into a table.
[[nodiscard]] Result<model::JobTable> read_job_table(const json::Value& jobs, const std::string& path,
                                                     const std::string& place);

/// Why the tables cannot store the job (counts or priorities beyond their columns); empty if they can.
[[nodiscard]] std::string job_problem(const model::Job& job);
[[nodiscard]] bool is_priority(std::int64_t priority);

}  // namespace berth::io
