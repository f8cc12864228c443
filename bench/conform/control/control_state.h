// The server of a control vector: its state read from `jobs` and `state`, driven by operations, compared as differences
// (FORMAT-control.md, "Log entries and state differences"). What an entry asks of broker and tracker is compared, and
// not done: these have scripts of their own.
#pragma once

#include <map>
#include <memory>

#include "conform/control/control_script.h"
#include "fsm/node_requests.h"
#include "fsm/requests.h"
#include "model/codec/codec.h"
#include "server/server.h"

namespace berth::conform {

/// Modify indexes of summaries may be ignored (FORMAT-control.md): takes them out of an answer's `diff`.
void drop_summary_indexes(json::Value& answer);

class ScriptState {
 public:
  /// Reads the vector's `jobs` and `state`; an error says what could not be read.
  [[nodiscard]] static tl::expected<std::unique_ptr<ScriptState>, std::string> read(const Field& vector);

  [[nodiscard]] server::Server& server() { return server_; }
  [[nodiscard]] fsm::StateLog& log() { return log_; }
  [[nodiscard]] tables::StateStore& store() { return log_.store(); }
  /// The next of the IDs that the recording drew.
  [[nodiscard]] std::function<std::string()> ids() {
    return [this] { return base::to_text(server_.draw_id()); };
  }
  [[nodiscard]] const model::JobTable& jobs() const { return jobs_; }
  /// Entry `index` of the job table, or null.
  [[nodiscard]] std::shared_ptr<const model::Job> job(const Field& index) const;
  [[nodiscard]] model::ReadOptions read_options() const;
  /// Status of a stored job; "" when there is none.
  [[nodiscard]] std::string job_status(const std::string& name_space, const std::string& job_id) const {
    const auto job = log_.job(name_space, job_id);
    return job ? job->status : "";
  }

  /// Replays the vector's script: `step` carries out one operation and fills an answer, to which the difference of the
  /// states is added. Members `ids` and those of `ignored` are not compared; `normalise` is done to both answers.
  using Step =
      std::function<tl::expected<void, std::string>(const Field& step, const Field& recorded, json::Value& got)>;
  [[nodiscard]] Outcome replay(const Vector& vector, const Step& step, std::vector<std::string_view> ignored = {},
                               void (*normalise)(json::Value& answer) = drop_summary_indexes);
  /// Carries out an operation on the log that any scripted file may hold; an error when `op` is none of them. `got`
  /// gets `entries`, `error`, `reply` and `calls`.
  [[nodiscard]] tl::expected<void, std::string> carry_out(const Field& step, json::Value& got);
  /// The difference since the last call (or since read()). A field that `expected` lists as changed is listed with its
  /// present value even if it did not change: the recorder tells an empty list from an absent one.
  [[nodiscard]] json::Value take_diff(const Field& expected);
  /// An entry applied directly: fills `entries`, `error` and `calls`.
  template <class Payload>
  void write_entry(const char* kind, const Payload& payload, json::Value& got) {
    const std::uint64_t index = log_.next_index();
    fsm::Hooks hooks;
    put_entry(index, kind, log_.apply(index, payload, hooks), got);
    put_calls(hooks, got);
  }
  std::string class_text(tables::NodeRow node) const;
  void put_calls(const fsm::Hooks& hooks, json::Value& got) const;
  /// `entries`, `error` and `calls` of a request.
  void put_answer(const fsm::Answer& answer, json::Value& got) const;

 private:
  [[nodiscard]] tl::expected<void, std::string> carry_out_on_job(const Field& step, json::Value& got);
  using Tables = std::map<std::string, std::map<std::string, json::Value>>;

  ScriptState();
  /// A recorded plan commit, as it was decided.
  [[nodiscard]] tl::expected<void, std::string> commit_plan(const Field& step, json::Value& got);
  static void put_entry(std::uint64_t index, const char* kind, const std::string& error, json::Value& got);
  [[nodiscard]] Tables print() const;
  [[nodiscard]] json::Value job_reference(const std::shared_ptr<const model::Job>& job) const;

  DrawnIds* ids_ = nullptr;  // of the operation under way
  server::ManualClock clock_;
  server::Server server_;
  fsm::StateLog& log_;
  model::JobTable jobs_;
  Tables printed_;
};

/// The operation `node_drain`.
[[nodiscard]] fsm::DrainNode read_drain(const Field& step);

}  // namespace berth::conform
