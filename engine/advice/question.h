// The input of a dry run: a job file and its cluster.
#pragma once

#include "base/json.h"
#include "berth/result.h"
#include "model/cluster.h"
#include "model/registration/register_job.h"
#include "server/surroundings.h"

namespace berth::advice {

/// Input of a dry run. All referenced objects must outlive it.
struct Question {
  const model::ClusterState& state;
  const json::Value& document;   ///< the job file
  std::string path, name_space;  ///< of the file; namespace to register in, "" = the job's own
  model::Options options;
  std::int64_t now_ns = 0;
  std::uint64_t order = 0;
  const server::ScoringStrategy* strategy = nullptr;  ///< null: Nomad's fit
};

/// Registers the job of `document`, {"Job": ...} or the bare object, as the server of that cluster would accept or
/// refuse it. `name_space` "": the job's own.
[[nodiscard]] Result<model::Registration> read_job(const model::ClusterState& state, const json::Value& document,
                                                   const std::string& path, const std::string& name_space,
                                                   const model::Options& options = {});

}  // namespace berth::advice
