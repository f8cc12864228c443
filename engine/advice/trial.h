// Tries edited job files on a cluster that is loaded once.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "advice/advice.h"

namespace berth::advice {

/// The cluster of a question, loaded once because loading costs far more than a dry run.
class Loaded {
 public:
  explicit Loaded(const Question& question) : question_(question) {}

  /// The dry run for this form of the job. Places nothing of the groups in `passed_over`; `config` replaces the
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
  std::size_t kept_ = 0;  // job parts added to the tables since the load, of all forms
};

/// Tries edits of the job file for one group.
class Trial {
 public:
  /// `registration`: of the unchanged file. `idle`: groups that place nothing, with the file or with an edit of only
  /// this group; trials can skip them.
  Trial(Loaded& loaded, const model::Registration& registration, std::string group, std::vector<std::string> idle);

  /// True if the server would accept the edited file.
  [[nodiscard]] bool accepted(const json::Value& patch) const { return registration(patch).has_value(); }

  /// True if the edited file has the group placed completely and committed.
  [[nodiscard]] bool fits(const json::Value& patch);

  /// The same without shortcuts: reads the whole file and plans all of its groups.
  [[nodiscard]] bool fits_as_a_whole(const json::Value& patch);

  /// The same for the unchanged file with another scheduler configuration.
  [[nodiscard]] bool fits_with(const model::SchedulerConfiguration& config);

  /// From now on fits() takes no shortcuts either.
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
  std::string own_place_;  // of the group in own_
  json::Value own_;        // the file with this group alone; null if that would change the group
};

}  // namespace berth::advice
