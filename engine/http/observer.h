// Observes the simulated cluster for the agent's metrics and log: times of evaluations and plans, events of nodes and
// tasks (R-STORE-442, 446, 450 to 454).
#pragma once

#include <optional>

#include "base/log_line.h"
#include "http/simulation.h"

namespace berth::http {

class AgentObserver final : public living::Listener {
 public:
  /// Called with the simulation before it runs, and for each new cluster.
  void attach(Simulation& simulation);

  void attempt(server::Lane& lane) override;
  void decided(server::Lane& lane) override;
  void applying(server::Lane& lane) override;
  void applied(server::Lane& lane) override;
  void settled(server::Lane& lane) override;
  void failed(const server::EvalRecord& record, std::string_view why) override;
  void entry_written(const living::WrittenEntry& what) override;
  void evaluation_decided(const living::DecidedEval& what) override;
  void alloc_changed(const living::AllocChange& what) override;
  void node_changed(const living::NodeChange& what) override;
  void deployment_ended(const model::Deployment& what) override;
  void drain_ended(const living::DrainEnd& what) override;

 private:
  [[nodiscard]] bool logs(LogLevel level) const { return simulation_->monitor_log().wants(level); }
  void log(LogLevel level, std::string_view module, std::string_view message, base::LogFields fields) const {
    log(base::LogLine{level, simulation_->now(), module, message, std::move(fields)});
  }
  /// Writes the line, for its node's log too if it names one.
  void log(std::optional<base::LogLine> line) const;
  [[nodiscard]] std::string node_text(tables::NodeRow node) const;

  Simulation* simulation_ = nullptr;
  Stopwatch attempt_, plan_, whole_;  // of the present evaluation
  bool is_first_attempt_ = true;
};

}  // namespace berth::http
