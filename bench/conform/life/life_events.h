// What happens in a life: registrations, scalings, reports of clients, failures, drains, nodes that come and go,
// promotions, stops, changes of the configuration. Each event is drawn and then asked of the server.
#pragma once

#include <fmt/format.h>

#include <utility>

#include "conform/life/life_draw.h"
#include "conform/life/life_server.h"

namespace berth::conform {

class LifeEvents {
 public:
  LifeEvents(Draw& draw, LifeServer& server, LifeWatch& watch) : draw_(draw), server_(server), watch_(watch) {}

  /// One event, or one of each node's client; the first two are registrations.
  void happen();
  /// What may come between the making of a plan and its commit: a node that it names goes down or away.
  void interfere(const sched::EvalResult& result);
  /// A stored job; null when there is none.
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
  /// A node that is there; kNoRow when none is left.
  [[nodiscard]] tables::NodeRow any_node();

  Draw& draw_;
  LifeServer& server_;
  LifeWatch& watch_;
  std::uint64_t happened_ = 0, joined_ = 0;
  std::vector<model::Node> left_;  // nodes that went away and may come back
};

}  // namespace berth::conform
