// External requests, checked against the state and turned into log entries (R-CTRL-210 to 221, 746 to 765, 1101 to
// 1110, 1120, 1121): the work of a server's endpoints before and after the log.
#pragma once

#include <functional>
#include <map>

#include "fsm/state_log.h"

namespace berth::fsm {

/// Log entries and answer of a request.
struct Answer {
  struct Entry {
    std::uint64_t index = 0;
    const char* kind = "";
    std::string error;
  };
  std::string error;           ///< "" if the request succeeded
  std::vector<Entry> entries;  ///< in log order
  Hooks hooks;
  std::uint64_t index = 0, job_modify_index = 0, eval_create_index = 0;
  std::string eval_id;
  std::string dispatched_job_id;
  std::optional<std::uint64_t> reverted_version;  ///< version that a failed deployment's job was rolled back to
  // For requests on nodes.
  std::vector<std::string> eval_ids;
  std::uint64_t node_modify_index = 0;  ///< 0: no node entry was written
  /// Empties the answer but keeps its memory.
  void clear() {
    error.clear(), entries.clear(), hooks.clear(), eval_id.clear(), dispatched_job_id.clear(), eval_ids.clear();
    reverted_version.reset();
    index = job_modify_index = eval_create_index = node_modify_index = 0;
  }
};

struct RegisterJob {
  std::shared_ptr<const model::Job> job;  ///< in registered form
  std::int64_t eval_priority = 0;         ///< <= 0: the job's
  std::optional<std::uint64_t> enforce_index;
  bool preserve_counts = false, preserve_resources = false;
  std::optional<Submission> submission;  ///< stored only if a version is written
};

struct DeregisterJob {
  std::string name_space, job_id;
  bool purge = false, no_shutdown_delay = false;
  std::int64_t eval_priority = 0;
};

struct ScaleJob {
  std::string name_space, job_id, group;
  std::optional<std::int64_t> count;  ///< none: nothing is scaled, only the event is written
  std::string message = {};
  bool error = false;
  json::Retained meta = {};
  std::uint64_t enforce_index = 0;  ///< above 0: required JobModifyIndex of the job
};

struct RevertJob {
  std::string name_space, job_id;
  std::uint64_t version = 0;
  std::optional<std::uint64_t> enforce_version;  ///< required current version
};

struct TagVersion {
  std::string name_space, job_id, name;
  bool remove = false;
  std::optional<std::uint64_t> version;  ///< none: the newest
  std::string description;
};

struct DispatchJob {
  std::string name_space, job_id;            ///< of the parameterized parent
  std::map<std::string, std::string> meta;   ///< added to the parent's, within its rules (R-MODEL-118)
  std::string payload;                       ///< bytes; stored compressed by Snappy
  std::int64_t priority = 0;                 ///< 0: the parent's
  std::string id_prefix, idempotency_token;  ///< may be empty
};

class Requests {
 public:
  static constexpr std::int64_t kJobCountMax = 50'000;  ///< `job_max_count` (R-CTRL-1108)

  /// `next_id` gives the IDs of new evaluations (R-CTRL-1705). `strict_ready_updates`: refuses reports from nodes that
  /// are not `ready` (R-SEED-50), including `initializing` ones; the caller makes nodes ready.
  Requests(StateLog& log, std::function<std::string()> next_id, bool strict_ready_updates = false)
      : log_(log), next_id_(std::move(next_id)), strict_ready_updates_(strict_ready_updates) {}

  // `now` in unix ns.
  [[nodiscard]] Answer register_job(const RegisterJob& request, std::int64_t now);
  [[nodiscard]] Answer deregister_job(const DeregisterJob& request, std::int64_t now);
  /// Creates an evaluation. With `force_reschedule` failed allocations are replaced regardless of their delay
  /// (R-CTRL-1107). Written even if no allocation is forced.
  [[nodiscard]] Answer evaluate_job(const std::string& name_space, const std::string& job_id, bool force_reschedule,
                                    std::int64_t now);
  /// Changes the count of one group (R-CTRL-1108, R-API-262, 263). Errors with a status of their own begin with
  /// "RPC Error:: 400," or "RPC Error:: 404,"; `index` is the event's.
  [[nodiscard]] Answer scale_job(const ScaleJob& request, std::int64_t now);
  /// Registers a stored version again, as a new one (R-CTRL-1109).
  [[nodiscard]] Answer revert_job(const RevertJob& request, std::int64_t now);
  /// Marks a version as stable or not (R-API-265).
  [[nodiscard]] Answer set_stable(const std::string& name_space, const std::string& job_id, std::uint64_t version,
                                  bool stable);
  /// Tags a version, or removes the tag (R-API-266).
  [[nodiscard]] Answer tag_version(const TagVersion& request, std::int64_t now);
  /// Deletes evaluations by ID. If one does not exist or is not safe to delete, none is deleted (R-API-404).
  [[nodiscard]] Answer delete_evals(const std::vector<std::string>& ids);
  /// True if an evaluation may be deleted: its job has ended, or none of its allocations needs it.
  [[nodiscard]] bool is_safe_to_delete(tables::StoredEvalRow eval) const;
  /// Starts a child of a parameterized job (R-CTRL-1110). Draws the ID of its suffix before that of its evaluation.
  [[nodiscard]] Answer dispatch_job(const DispatchJob& request, std::int64_t now);
  /// Returns only the refusals: this class launches no periodic jobs, so a periodic one gets the answer of a Nomad
  /// whose periodic dispatcher is off.
  [[nodiscard]] Answer force_periodic(const std::string& name_space, const std::string& job_id) const;
  [[nodiscard]] Answer stop_alloc(const std::string& alloc_id, bool reschedule, bool no_shutdown_delay,
                                  std::int64_t now);
  /// Processes one client's report as a batch of its own: received at `now`, written at `flush`.
  [[nodiscard]] Answer update_allocs(std::vector<model::Allocation> reports, std::int64_t now, std::int64_t flush);
  /// Adds one client's report to a batch. Returns "" or the reason for the refusal (R-CTRL-746 to 749, 760 to 765).
  [[nodiscard]] std::string receive_reports(std::vector<model::Allocation> reports, std::int64_t now,
                                            ClientUpdateEntry& batch);
  /// True if the server accepts reports from the node now; why_no_reports() gives the reason if not.
  [[nodiscard]] bool takes_reports(tables::NodeRow node) const;
  [[nodiscard]] std::string why_no_reports(tables::NodeRow node) const;
  /// Adds one report of such a node, a row or an object, to a batch.
  void receive(tables::ClientReport report, std::int64_t now, ClientUpdateEntry& batch);
  void receive(model::Allocation report, std::int64_t now, ClientUpdateEntry& batch);
  /// Writes and empties a batch. Fills `answer`, reusing its memory.
  void write_reports(ClientUpdateEntry& batch, std::int64_t flush, Answer& answer);

 private:
  [[nodiscard]] model::Evaluation new_eval(const model::Job& job, std::string_view trigger, std::int64_t now);
  /// The evaluation that a report requires, if any (R-CTRL-760 to 765); its ID is not drawn yet.
  [[nodiscard]] std::optional<model::Evaluation> eval_of_report(tables::AllocRow row, tables::Client status,
                                                                bool terminal, std::int64_t now);
  void add_eval(std::optional<model::Evaluation> eval, ClientUpdateEntry& batch);
  template <class Payload>
  void write(Answer& answer, const char* kind, Payload&& payload) {
    const std::uint64_t index = log_.next_index();
    std::string error = log_.apply(index, std::forward<Payload>(payload), answer.hooks);
    if (!error.empty()) answer.error = error;
    answer.entries.push_back({index, kind, std::move(error)});
    answer.index = index;
  }

  StateLog& log_;
  std::function<std::string()> next_id_;
  bool strict_ready_updates_;
};

}  // namespace berth::fsm
