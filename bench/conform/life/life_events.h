// The events of a simulation: registrations, scalings, client reports, failures, drains, joining and leaving nodes,
// promotions, stops, changes of the configuration. Each event is drawn and then sent to the server.
#pragma once

#include <fmt/format.h>

#include <utility>

#include "conform/life/life_draw.h"
#include "conform/life/life_server.h"

namespace berth::conform {

class LifeEvents {
 public:
  LifeEvents(Draw& draw, LifeServer& server, LifeWatch& watch) : draw_(draw), server_(server), watch_(watch) {}

  /// Makes one event, or one per node's client; `registers`: a registration.
  void happen(bool registers);
  /// An event between a plan and its commit: one of its nodes goes down or leaves.
  void interfere(const sched::EvalResult& result);
  /// A stored job; null if there is none.
  [[nodiscard]] std::shared_ptr<const model::Job> any_job();

 private:
  template <class... Args>
  void tell(fmt::format_string<Args...> format, Args&&... args) {
    watch_.tell(fmt::format(format, std::forward<Args>(args)...));
  }
  void register_job();
  void ask_of_job(const model::Job& job);
  void deregister_job();
  void report_from(tables::NodeRow node);
  void change_node();
  void set_status(const std::string& node_id, const std::string& name, const char* status);
  void join();
  void leave(tables::NodeRow node);
  void drain(const model::Node& node, bool on);
  void change_deployment();
  void stop_alloc();
  void change_configuration();
  void let_time_pass();
  [[nodiscard]] std::vector<tables::AllocRow> allocs_on(tables::NodeRow node) const;
  /// An existing node; kNoRow if none is left.
  [[nodiscard]] tables::NodeRow any_node();

  Draw& draw_;
  LifeServer& server_;
  LifeWatch& watch_;
  std::uint64_t joined_ = 0;
  std::vector<model::Node> left_;  // nodes that have left and may return
};

}  // namespace berth::conform
