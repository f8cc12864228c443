// Initial state of a simulation: made-up nodes, a cluster from files, or that of a workload.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "agent/sources.h"
#include "berth/result.h"
#include "http/service.h"

namespace berth::serve {

/// Settings of made-up nodes from an operator's client configuration; "": default.
struct MadeUpSettings {
  std::string datacenter, node_pool;
  std::string node_class;                   ///< "none": no class, as of a client without the setting
  std::map<std::string, std::string> meta;  ///< added to theirs
};

struct StartOptions {
  std::string source;  ///< file, folder or address of a cluster, or a workload's name or file; "": made-up nodes
  agent::SourceOptions source_options = {};
  std::int64_t nodes = 0;  ///< made-up nodes, in addition to those of `source`
  std::uint64_t seed = 1;
  sched::EnabledSources sources;  ///< sources that may serve Selects
  std::uint32_t workers = 1;      ///< threads that decide evaluations
  /// workers commit in any order, like Nomad's; false: in turn, with the decisions of one worker
  bool free_order = false;
  std::int64_t now_ns = 0;      ///< the real time, unix
  std::int64_t begin_ns = 0;    ///< initial virtual time; 0: the latest time in `source`, or now_ns if it has none
  bool keep_addresses = false;  ///< addresses of `source` are served unchanged (addresses.h)
  bool paused = false;          ///< serves only the initial state of a workload, without its events
  /// Template of made-up nodes: a file with a node, or the name or ID of a node of `source`.
  std::string node_template;
  MadeUpSettings made_up;
  std::string self_node;  ///< name or ID of the node whose client the agent is; a made-up one gets this name; "": none
  /// Like a server's settings; 0: those of the workload, else 10 s.
  std::int64_t heartbeat_grace_ns = 0, min_heartbeat_ttl_ns = 0;
};

using http::Start;

[[nodiscard]] Result<Start> prepare(const StartOptions& options);

struct ServiceOptions : http::ServiceOptions {
  StartOptions start;
};

/// Listens, then prepares the cluster: a taken address is found before a long import. Serves nothing before start().
[[nodiscard]] Result<std::unique_ptr<http::Service>> make_service(const ServiceOptions& options);

/// A made-up machine as registered by its client: 8 cores, 16 GiB, common drivers, CNI plugins, Consul and Vault.
[[nodiscard]] model::Node made_up_node(std::uint64_t number, std::uint64_t seed);

}  // namespace berth::serve
