// What a simulation starts with: nodes made up, a cluster from files, or that of a workload.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "berth/result.h"
#include "living/living.h"

namespace berth::serve {

struct StartOptions {
  std::string source;      ///< file or folder of a cluster, or a workload's name or file; "": nodes that are made up
  std::int64_t nodes = 0;  ///< that are made up, beside those of `source`
  std::uint64_t seed = 1;
  sched::EnabledSources sources;  ///< that may answer Selects
  std::int64_t now_ns = 0;        ///< the real time, unix
  std::int64_t begin_ns = 0;    ///< virtual time begins here; 0: at the latest time in `source`, without any at now_ns
  bool keep_addresses = false;  ///< those of `source` are served unchanged (addresses.h)
  std::int64_t heartbeat_grace_ns = 10 * base::kSecond, min_heartbeat_ttl_ns = 10 * base::kSecond;  ///< as a server's
};

struct Start {
  living::Config config;
  model::ClusterState state;
  std::vector<std::string> warnings;  ///< of an import
};

[[nodiscard]] Result<Start> prepare(const StartOptions& options);

/// A machine as its client registers it: 8 cores, 16 GiB, drivers `mock_driver`, `docker`, `exec` and `raw_exec`.
[[nodiscard]] model::Node made_up_node(std::uint64_t number, std::uint64_t seed);

}  // namespace berth::serve
