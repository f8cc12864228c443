// What a simulation starts with: nodes made up, a cluster from files, or that of a workload.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "agent/sources.h"
#include "berth/result.h"
#include "living/living.h"
#include "serve/simulation.h"

namespace berth::serve {

/// What an operator's configuration of clients says of made-up nodes; "": as they are made up.
struct MadeUpSettings {
  std::string datacenter, node_class, node_pool;
  std::map<std::string, std::string> meta;  ///< beside theirs
};

struct StartOptions {
  std::string source;  ///< file, folder or address of a cluster, or a workload's name or file; "": made-up nodes
  agent::SourceOptions source_options = {};
  std::int64_t nodes = 0;  ///< that are made up, beside those of `source`
  std::uint64_t seed = 1;
  sched::EnabledSources sources;  ///< that may answer Selects
  std::uint32_t workers = 1;      ///< threads that decide evaluations
  bool free_order = false;      ///< they commit as they come, as Nomad's do; else in turn, with one worker's decisions
  std::int64_t now_ns = 0;      ///< the real time, unix
  std::int64_t begin_ns = 0;    ///< virtual time begins here; 0: at the latest time in `source`, without any at now_ns
  bool keep_addresses = false;  ///< those of `source` are served unchanged (addresses.h)
  bool paused = false;          ///< a workload is not lived: its starting state alone is served
  /// Where made-up nodes get what machines differ in: a file with a node, or the name or ID of a node of `source`.
  std::string node_template;
  MadeUpSettings made_up;
  std::string self_node;  ///< name or ID of the node whose client the agent is; a made-up one gets the name; "": none
  /// As a server's; 0: those of a workload's life, else 10 s.
  std::int64_t heartbeat_grace_ns = 0, min_heartbeat_ttl_ns = 0;
};

class WorkloadScript;

struct Start {
  living::Config config;
  model::ClusterState state;
  std::vector<std::string> warnings, notes;  ///< of an import
  std::shared_ptr<Script> script;            ///< what a workload has happen; null: nothing
  std::shared_ptr<WorkloadScript> life;      ///< the same
  std::string local_node;                    ///< ID of the agent's own node; "": it has none
};

[[nodiscard]] Result<Start> prepare(const StartOptions& options);

/// A machine as its client registers it: 8 cores, 16 GiB, the usual drivers, CNI plugins, Consul and Vault.
[[nodiscard]] model::Node made_up_node(std::uint64_t number, std::uint64_t seed);

}  // namespace berth::serve
