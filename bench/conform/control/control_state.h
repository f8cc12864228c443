// The server of a control vector: its state is read from `jobs` and `state`, changed by operations, and compared as
// differences (FORMAT-control.md, "Log entries and state differences"). Calls of broker and tracker are compared but
// not executed: these have separate scripts.
#pragma once

#include <map>
#include <memory>

#include "conform/control/control_script.h"
#include "fsm/node_requests.h"
#include "fsm/requests.h"
#include "model/codec/codec.h"
#include "model/job.h"
#include "server/server.h"

namespace berth::conform {

/// Removes modify indexes of summaries, which may be ignored (FORMAT-control.md), from an answer's `diff`.
void drop_summary_indexes(json::Value& answer);

class ScriptState {
 public:
  /// Reads the vector's `jobs` and `state`; the error names what could not be read.
  [[nodiscard]] static tl::expected<std::unique_ptr<ScriptState>, std::string> read(const Field& vector);

  [[nodiscard]] server::Server& server() { return server_; }
  [[nodiscard]] fsm::StateLog& log() { return log_; }
  [[nodiscard]] tables::StateStore& store() { return log_.store(); }
  /// A function that returns the next recorded ID.
  [[nodiscard]] std::function<std::string()> ids() {
    return [this] { return base::to_text(server_.draw_id()); };
  }
  [[nodiscard]] const model::JobTable& jobs() const { return jobs_; }
  /// Entry `index` of the job table, or null.
  [[nodiscard]] std::shared_ptr<const model::Job> job(const Field& index) const;
  [[nodiscard]] model::ReadOptions read_options() const;
  /// Status of a stored job; "" if there is none.
  [[nodiscard]] std::string job_status(const std::string& name_space, const std::string& job_id) const {
    const auto job = log_.job(name_space, job_id);
    return job ? job->status : "";
  }

  /// Replays the vector's script: `step` executes one operation and fills an answer, to which the difference of the
  /// states is added. Members `ids` and those of `ignored` are not compared; `normalise` is applied to both answers.
  using Step =
      std::function<tl::expected<void, std::string>(const Field& step, const Field& recorded, json::Value& got)>;
  [[nodiscard]] Outcome replay(const Vector& vector, const Step& step, std::vector<std::string_view> ignored = {},
                               void (*normalise)(json::Value& answer) = drop_summary_indexes);
  /// Executes an operation on the log that any script may contain; error if `op` is unknown. Adds `entries`, `error`,
  /// `reply` and `calls` to `got`.
  [[nodiscard]] tl::expected<void, std::string> carry_out(const Field& step, json::Value& got);
  /// The difference since the last call (or since read()). Fields listed as changed in `expected` are always included
  /// with their present value, because the recorder distinguishes empty from absent lists.
  [[nodiscard]] json::Value take_diff(const Field& expected);
  /// Applies an entry directly; fills `entries`, `error` and `calls`.
  template <class Payload>
  void write_entry(const char* kind, const Payload& payload, json::Value& got) {
    const std::uint64_t index = log_.next_index();
    fsm::Hooks hooks;
    put_entry(index, kind, log_.apply(index, payload, hooks), got);
    put_calls(hooks, got);
  }
  std::string class_text(tables::NodeRow node) const;
  void put_calls(const fsm::Hooks& hooks, json::Value& got) const;
  /// Adds `entries`, `error` and `calls` of a request.
  void put_answer(const fsm::Answer& answer, json::Value& got) const;

 private:
  [[nodiscard]] tl::expected<void, std::string> carry_out_on_job(const Field& step, json::Value& got);
  using Tables = std::map<std::string, std::map<std::string, json::Value>>;

  ScriptState();
  /// Applies a recorded plan commit.
  [[nodiscard]] tl::expected<void, std::string> commit_plan(const Field& step, json::Value& got);
  static void put_entry(std::uint64_t index, const char* kind, const std::string& error, json::Value& got);
  [[nodiscard]] Tables print() const;
  [[nodiscard]] json::Value job_reference(const std::shared_ptr<const model::Job>& job) const;

  DrawnIds* ids_ = nullptr;  // of the present operation
  server::ManualClock clock_;
  server::Server server_;
  fsm::StateLog& log_;
  model::JobTable jobs_;
  Tables printed_;
};

/// Reads the operation `node_drain`.
[[nodiscard]] fsm::DrainNode read_drain(const Field& step);

}  // namespace berth::conform
