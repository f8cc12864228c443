// The stored state of a control vector: read from `jobs` and `state`, driven by operations, compared as differences
// (FORMAT-control.md, "Log entries and state differences").
#pragma once

#include <map>
#include <memory>

#include "conform/control/control_script.h"
#include "fsm/node_requests.h"
#include "fsm/requests.h"
#include "model/codec/codec.h"
#include "plan/apply.h"

namespace berth::conform {

class ScriptState {
 public:
  /// Reads the vector's `jobs` and `state`; an error says what could not be read.
  [[nodiscard]] static tl::expected<std::unique_ptr<ScriptState>, std::string> read(const json::Value& vector);

  [[nodiscard]] fsm::StateLog& log() { return log_; }
  [[nodiscard]] tables::StateStore& store() { return store_; }
  [[nodiscard]] plan::Applier& applier() { return applier_; }  ///< it keeps the job records of log()
  [[nodiscard]] const model::JobTable& jobs() const { return jobs_; }
  /// Entry `index` of the job table, or null.
  [[nodiscard]] std::shared_ptr<const model::Job> job(const json::Value& index) const;
  [[nodiscard]] model::ReadOptions read_options() const;
  /// Status of a stored job; "" when there is none.
  [[nodiscard]] std::string job_status(const std::string& name_space, const std::string& job_id) const {
    const auto job = log_.job(name_space, job_id);
    return job ? job->status : "";
  }

  /// Carries out an operation on the log that any scripted file may hold; false when `op` is none of them. `got` gets
  /// `entries`, `error`, `reply` and `calls`; `ids` are the IDs that the recording drew.
  [[nodiscard]] tl::expected<bool, std::string> carry_out(const json::Value& step, DrawnIds& ids, json::Value& got);
  /// The difference since the last call (or since read()). A field that `expected` lists as changed is listed with its
  /// present value even if it did not change: the recorder tells an empty list from an absent one.
  [[nodiscard]] json::Value take_diff(const json::Value& expected);
  /// An entry applied directly: fills `entries`, `error` and `calls`.
  template <class Payload>
  void write_entry(const char* kind, const Payload& payload, json::Value& got) {
    const std::uint64_t index = log_.next_index();
    fsm::Hooks hooks;
    put_entry(index, kind, log_.apply(index, payload, hooks), got);
    put_calls(hooks, got);
  }
  void put_calls(const fsm::Hooks& hooks, json::Value& got) const;
  /// `entries`, `error` and `calls` of a request.
  void put_answer(const fsm::Answer& answer, json::Value& got) const;

 private:
  [[nodiscard]] tl::expected<bool, std::string> carry_out_on_job(const json::Value& step, fsm::Requests& requests,
                                                                 json::Value& got);
  using Tables = std::map<std::string, std::map<std::string, json::Value>>;

  ScriptState() : log_(store_) { applier_.keep_records(log_); }
  /// A recorded plan commit, as it was decided.
  [[nodiscard]] tl::expected<bool, std::string> commit_plan(const json::Value& step, json::Value& got);
  static void put_entry(std::uint64_t index, const char* kind, const std::string& error, json::Value& got);
  [[nodiscard]] Tables print() const;
  [[nodiscard]] json::Value job_reference(const std::shared_ptr<const model::Job>& job) const;

  tables::StateStore store_;
  fsm::StateLog log_;
  plan::Applier applier_{store_};
  model::JobTable jobs_;
  Tables printed_;
};

/// Modify indexes of summaries may be ignored (FORMAT-control.md): takes them out of an answer's `diff`.
void drop_summary_indexes(json::Value& answer);

/// The operation `node_drain`.
[[nodiscard]] fsm::DrainNode read_drain(const json::Value& step);

}  // namespace berth::conform
