// What a dry run is asked about: a job file and the cluster that it is for.
#pragma once

#include "base/json.h"
#include "berth/result.h"
#include "model/cluster.h"
#include "model/registration/register_job.h"

namespace berth::advice {

/// A dry run as it was asked for. What it refers to must outlive it.
struct Question {
  const model::ClusterState& state;
  const json::Value& document;   ///< the job file
  std::string path, name_space;  ///< of the file; "" or the namespace to register in
  model::Options options;
  std::int64_t now_ns = 0;
  std::uint64_t order = 0;
};

/// The job of `document`, {"Job": ...} or the bare object, as the server of that cluster takes or refuses it.
/// `name_space` "": the job's own.
[[nodiscard]] Result<model::Registration> read_job(const model::ClusterState& state, const json::Value& document,
                                                   const std::string& path, const std::string& name_space,
                                                   const model::Options& options = {});

}  // namespace berth::advice
