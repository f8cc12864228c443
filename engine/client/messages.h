// Messages between clients and servers, as rows: a server's data on a node's allocations, and what clients send.
// Buffers belong to the caller, which clears and reuses them.
#pragma once

#include <vector>

#include "client/task_model.h"

namespace berth::client {

/// A remote task's handle. Only the driver can read it. It contains everything that the driver needs about the work:
/// there is no other record while no client is attached (R-SEED-12, 21).
struct Handle {
  std::uint64_t work = 0;           ///< 0: no handle
  std::int64_t exit_at = kEndless;  ///< time at which the work ends by itself
  std::int32_t exit_code = 0;
  friend bool operator==(const Handle&, const Handle&) = default;
};

/// An allocation that another one waits for (R-CTRL-1510): the one it replaces, or one that it preempted.
struct Upstream {
  tables::AllocRow alloc = 0;
  tables::Client status = tables::Client::pending;
  bool gone = false;  ///< the server no longer has it
};

struct ServerAlloc {
  tables::AllocRow alloc = 0;
  tables::VersionRow job = 0;  ///< with `group` the key of the GroupSpec
  std::uint32_t group = 0;
  const std::shared_ptr<const model::Job>* spec = nullptr;  ///< read during deliver() only
  std::uint32_t name_index = 0;
  std::uint64_t alloc_modify_index = 0;
  std::int64_t create_time = 0;
  tables::Desired desired = tables::Desired::run;
  tables::Client client = tables::Client::pending;
  bool migrate = false, no_shutdown_delay = false;  ///< from the desired transition
  bool has_health = false;                          ///< its deployment status is healthy or unhealthy
  tables::DeploymentRow deployment = tables::kNoRow;
  std::uint32_t upstream_begin = 0, upstream_count = 0;  ///< in ServerAllocs::upstream
  std::uint32_t handles_begin = 0, handles_count = 0;    ///< in ServerAllocs::handles, by task; none without handles
  std::uint32_t statuses_begin = 0, statuses_count = 0;  ///< in ServerAllocs::statuses, by task; none: a fresh start
  tables::TaskLogRef log;                                ///< with statuses: events of its tasks so far

  [[nodiscard]] bool server_terminal() const { return tables::server_terminal(desired); }
  [[nodiscard]] bool terminal() const { return server_terminal() || tables::client_terminal(client); }
};

/// The answer to a pull. A complete one lists every allocation of the node: the client removes all others. Any other
/// answer lists the allocations that changed since the last one, and those that the server deleted.
struct ServerAllocs {
  std::vector<ServerAlloc> allocs;
  std::vector<Upstream> upstream;
  std::vector<Handle> handles;
  std::vector<tables::AllocRow> removed;
  std::vector<TaskStatus> statuses;
  bool complete = true;
  bool resume = false;  ///< running allocations continue as if their client had only restarted
  void clear() {
    allocs.clear(), upstream.clear(), handles.clear(), removed.clear(), statuses.clear();
    complete = true, resume = false;
  }
};

struct AllocReport {
  tables::AllocRow alloc = 0;
  AllocStatus status;
  Health health = Health::unknown;                 ///< healthy, unhealthy or unknown
  std::int64_t health_at = kNoTime;                ///< kNoTime if there is none (R-CTRL-1518)
  std::uint32_t tasks_begin = 0, tasks_count = 0;  ///< in Outbox::tasks and, for remote tasks, Outbox::handles
};

/// An allocation that its node's client will report soon.
struct Expected {
  tables::AllocRow alloc = 0;
  tables::NodeRow node = 0;
};

struct Outbox {
  struct Pull {
    tables::NodeRow node = 0;
    bool complete = false;  ///< the answer must be complete
  };
  struct Request {  ///< one request with all pending reports of the client (R-CTRL-1532)
    tables::NodeRow node = 0;
    std::uint32_t begin = 0, count = 0;  ///< in `reports`
  };
  std::vector<tables::NodeRow> registrations, heartbeats;
  std::vector<Pull> pulls;
  std::vector<Request> requests;
  std::vector<AllocReport> reports;
  std::vector<TaskStatus> tasks;
  std::vector<Handle> handles;  ///< indexed like `tasks`
  /// Not messages: probable subjects of the next reports, so that their rows can be prefetched.
  std::vector<Expected> expected;
  void clear() {
    registrations.clear(), heartbeats.clear(), pulls.clear(), requests.clear();
    reports.clear(), tasks.clear(), handles.clear(), expected.clear();
  }
};

enum class Answer : std::uint8_t { ok, failed, no_leader, not_found };

}  // namespace berth::client
