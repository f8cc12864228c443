// What advice asks of the cluster, again and again: one load of it for all questions, and edited job files tried on it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "advice/advice.h"

namespace berth::advice {

/// The cluster of a question, loaded once: loading costs far more than an answer.
class Loaded {
 public:
  explicit Loaded(const Question& question) : question_(question) {}

  /// Answers about this form of the job, without placing anything of the groups passed over; `config` in place of the
  /// state's. Valid until the next call.
  [[nodiscard]] server::DryRun& about(const model::Registration& registration,
                                      const std::vector<std::string>& passed_over = {},
                                      const std::optional<model::SchedulerConfiguration>& config = {});

  [[nodiscard]] const Question& question() const { return question_; }

  /// Parts (groups, tasks and what they list) of all forms of the job that were read or answered: what trials cost, the
  /// same on every machine.
  [[nodiscard]] std::size_t work() const { return work_; }
  std::size_t add_work(const model::Job& job);  ///< returns what it added

 private:
  const Question& question_;
  std::optional<server::DryRun> dry_run_;
  std::optional<model::SchedulerConfiguration> config_;
  std::size_t work_ = 0;
  std::size_t kept_ = 0;  // parts of all forms since the load: the tables keep each of them
};

/// Tries edits of the job file for one group.
class Trial {
 public:
  /// `registration`: of the file as it is. `idle`: groups that place nothing with it, and would not with an edit of the
  /// group alone, so that they need not be asked each time.
  Trial(Loaded& loaded, const model::Registration& registration, std::string group, std::vector<std::string> idle);

  /// Whether the server would take the file.
  [[nodiscard]] bool accepted(const json::Value& patch) const { return registration(patch).has_value(); }

  /// Whether the group is placed whole, and committed, with the file so edited.
  [[nodiscard]] bool fits(const json::Value& patch);

  /// The same, with nothing left out: the whole file read, and all of its groups planned.
  [[nodiscard]] bool fits_as_a_whole(const json::Value& patch);

  /// The same on the cluster with another configuration, with the file as it is.
  [[nodiscard]] bool fits_with(const model::SchedulerConfiguration& config);

  /// From now on fits() leaves nothing out either.
  void ask_whole() { whole_ = true; }

  /// From now on these nodes count as ready.
  void suppose_ready(std::vector<std::string> node_ids) { ready_ = std::move(node_ids); }

 private:
  [[nodiscard]] bool placed(const server::DryRunAnswer& answer) const;
  [[nodiscard]] std::optional<model::Registration> registration(const json::Value& patch) const;
  [[nodiscard]] std::optional<model::Registration> read(const json::Value& document) const;
  [[nodiscard]] std::optional<json::Value> own_patch(const json::Value& patch) const;

  Loaded& loaded_;
  const model::Registration& base_;
  const std::string group_;
  const std::vector<std::string> idle_;
  [[nodiscard]] server::DryRun& about(const model::Registration& registration,
                                      const std::vector<std::string>& passed_over = {});

  bool whole_ = false;
  std::vector<std::string> ready_;
  std::string place_;      // of the group in the file
  std::string own_place_;  // and in the file with this group alone
  json::Value own_;        // that file; null where the group is not the same in it
};

}  // namespace berth::advice
