// The simulated Nomad agent: its names, local node, workers, and data outside of the cluster's state. It survives when
// the cluster is replaced. Threads: the simulation's.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "broker/eval.h"

namespace berth::http {

class Agent {
 public:
  /// `processors`: determines the number of workers, like the default of a Nomad server.
  Agent(std::string name, std::uint64_t seed, std::uint32_t processors);

  std::string datacenter = "dc1";
  std::string local_node;  ///< ID of the node whose client this agent is; "": server only (R-STORE-300)

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] std::string server_name() const { return name_ + ".global"; }
  [[nodiscard]] const std::string& server_id() const { return server_id_; }
  [[nodiscard]] std::uint32_t processors() const { return processors_; }

  // --- workers (R-STORE-320 to 322) ---
  struct Worker {
    std::string id;
    std::int64_t started_ns = 0;  ///< virtual
    bool paused = false;
  };
  [[nodiscard]] const std::vector<Worker>& workers() const { return workers_; }
  [[nodiscard]] const std::vector<std::string>& schedulers() const { return schedulers_; }
  /// Replaces the workers. `paused`: as on a leader, which pauses most of its workers at the start.
  void set_workers(std::uint32_t count, std::vector<std::string> schedulers, std::int64_t now_ns, bool paused = false);
  /// The queues that the workers serve; none if there are no workers.
  [[nodiscard]] broker::QueueSet queues() const;

  /// Original metadata of machines whose metadata requests have changed, by node ID.
  std::map<std::string, std::map<std::string, std::string>> static_meta;

  // --- identities of nodes (R-STORE-187, 188) ---
  /// Last renewal of a node's identity, by node ID; absent: never.
  std::map<std::string, std::int64_t> renewed;

 private:
  const std::string name_, server_id_;
  const std::uint64_t seed_;
  const std::uint32_t processors_;
  std::uint32_t made_ = 0;  // workers made so far
  std::vector<Worker> workers_;
  std::vector<std::string> schedulers_;
};

/// The queue of a scheduler such as "service"; nullopt if unknown.
[[nodiscard]] std::optional<broker::Queue> scheduler_queue(std::string_view name);

}  // namespace berth::http
