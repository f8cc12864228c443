// The agent that this server plays beside the cluster: its names, its local node, its workers, and what it holds that
// is no part of the state. It stays when another cluster takes the place of the one before. Threads: the simulation's.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "broker/eval.h"

namespace berth::serve {

class Agent {
 public:
  /// `processors`: as many workers as a server has by default.
  Agent(std::string name, std::uint64_t seed, std::uint32_t processors);

  std::string datacenter = "dc1";
  std::string local_node;  ///< the ID of the node whose client this agent is; "": it is a server only (R-STORE-300)

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
  /// Other workers begin. `paused`: the leader pauses most of those that it begins with.
  void set_workers(std::uint32_t count, std::vector<std::string> schedulers, std::int64_t now_ns, bool paused = false);
  /// The queues that the workers serve: none where there are no workers.
  [[nodiscard]] broker::QueueSet queues() const;

  /// Metadata that a machine came with, by the node's ID, once requests have changed it.
  std::map<std::string, std::map<std::string, std::string>> static_meta;

  // --- identities of nodes (R-STORE-187, 188) ---
  /// When the node's identity was renewed last, by its ID; absent: never.
  std::map<std::string, std::int64_t> renewed;

 private:
  const std::string name_, server_id_;
  const std::uint64_t seed_;
  const std::uint32_t processors_;
  std::uint32_t made_ = 0;  // workers so far
  std::vector<Worker> workers_;
  std::vector<std::string> schedulers_;
};

/// The queue of a scheduler's name, "service" for example; nothing: there is none.
[[nodiscard]] std::optional<broker::Queue> scheduler_queue(std::string_view name);

}  // namespace berth::serve
