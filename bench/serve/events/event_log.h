// The event stream's memory (R-API-580 to 587): a frame of events per log entry, the last hundred of them, and who
// reads along.
//
// It is told of every entry (fsm::EntryListener) and keeps the objects that the entry wrote as they were then. Text is
// made when somebody reads it, once per event. Of entries with very many rows, such as reports of a large cluster's
// clients, it keeps the rows alone while nobody reads along: who asks for them later gets the objects as they are by
// then. So an entry costs a copy of its list of rows, not of its objects. Threads: the simulation's.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <tl/expected.hpp>
#include <variant>
#include <vector>

#include "fsm/state_log.h"
#include "serve/http/budget.h"
#include "serve/stores/tables.h"

namespace berth::serve {

/// An object that an entry wrote.
struct StreamEvent {
  const char* topic = "";
  std::string key, name_space;
  std::vector<std::string> filter_keys;  ///< empty: null
  std::variant<std::shared_ptr<const model::Job>, std::shared_ptr<const model::Evaluation>,
               std::shared_ptr<const model::Allocation>, std::shared_ptr<const model::Deployment>,
               std::shared_ptr<const model::Node>, model::NodePool, std::shared_ptr<const json::Value>>
      object;  ///< JSON: the whole payload
  bool deleted = false;
  mutable http::TextRef text;  ///< of the whole event, shared by all who read it; null: not made yet
};

struct StreamFrame {
  std::uint64_t index = 0;
  const char* type = "";  ///< of the entry (R-API-586)
  std::vector<StreamEvent> events;
  // Rows whose events are not made yet, by the IDs that they had.
  std::vector<std::pair<base::Uuid, tables::AllocRow>> late_allocs;
  std::vector<std::pair<base::Uuid, tables::NodeRow>> late_nodes;
};

/// Which events somebody asks for (R-API-583).
class EventTopics {
 public:
  /// `topics`: "Topic" or "Topic:key"; none: everything. The error is Nomad's text.
  [[nodiscard]] static tl::expected<EventTopics, std::string> parse(const std::vector<std::string>& topics,
                                                                    std::string name_space);
  [[nodiscard]] bool pass(const StreamEvent& event) const;
  /// Only events that pass this as well.
  void set_test(std::function<bool(const StreamEvent&)> test) { test_ = std::move(test); }

 private:
  std::map<std::string, std::set<std::string>, std::less<>> topics_;
  std::string name_space_;
  std::function<bool(const StreamEvent&)> test_;
};

class EventLog final : public fsm::EntryListener {
 public:
  static constexpr std::size_t kFrames = 100;
  static constexpr std::size_t kKept = 64;  ///< allocations and nodes of an entry that are kept as they were

  /// Where readers' lines go, in pieces; false: nobody reads them any more. No piece only asks that.
  using Line = std::vector<http::TextRef>;
  using Reader = std::function<bool(const Line& line)>;
  /// Texts of events that are kept at most, in bytes; older ones are made again when they are asked for.
  static constexpr std::size_t kTextBytes = 64 << 20;

  /// Must be called again when another log takes the place of this one; what was kept of that is forgotten. A cluster
  /// in which nothing ran yet begins with its nodes: each registers, and becomes ready.
  void attach(fsm::StateLog& log);
  void entry_applied(fsm::EntryKind kind, std::uint64_t index, const fsm::EntryRows& rows) override;
  /// What a store wrote.
  void store_written(std::uint64_t index, const char* type, std::vector<StoreEvent> events);
  /// Sends what is kept from `index` on (R-API-584), and from now on what comes.
  void subscribe(EventTopics topics, std::uint64_t index, Reader reader);
  [[nodiscard]] const std::deque<StreamFrame>& frames() const { return frames_; }
  [[nodiscard]] std::size_t readers() const { return readers_.size(); }

 private:
  struct Subscription {
    EventTopics topics;
    Reader reader;
  };
  void begin_with_nodes();
  void add(StreamFrame frame);
  void take_jobs(const fsm::EntryRows& rows, StreamFrame& frame) const;
  void take_rest(const fsm::EntryRows& rows, StreamFrame& frame) const;
  void take_volumes(tables::NodeRow row, StreamFrame& frame) const;
  void take_pools(const fsm::EntryRows& rows, StreamFrame& frame) const;
  void make_late(StreamFrame& frame) const;
  /// The frame with those of its events that pass, as a line; empty when none does.
  [[nodiscard]] Line line(StreamFrame& frame, const EventTopics& topics) const;
  void forget_texts();

  fsm::StateLog* log_ = nullptr;
  std::deque<StreamFrame> frames_;
  std::vector<Subscription> readers_;
};

}  // namespace berth::serve
