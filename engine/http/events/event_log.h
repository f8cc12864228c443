// EventLog: buffer of the event stream (R-API-580 to 587). Stores the last hundred frames, one per log entry, and the
// readers.
//
// It receives every entry (fsm::EntryListener) and stores the objects that the entry wrote. Text is made at the first
// read, once per event. For entries with very many rows, such as reports of a large cluster's clients, it stores only
// the rows while there is no reader; a later reader gets the objects' present state. So an entry costs a copy of its
// list of rows, not of its objects. Threads: the simulation's.
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
#include "http/stores/tables.h"
#include "http/transport/budget.h"

namespace berth::http {

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
  mutable transport::TextRef text;  ///< of the whole event, shared by all readers; null: not made yet
};

struct StreamFrame {
  std::uint64_t index = 0;
  const char* type = "";  ///< of the entry (R-API-586)
  std::vector<StreamEvent> events;
  // Rows whose events are not made yet, with their IDs at that time.
  std::vector<std::pair<base::Uuid, tables::AllocRow>> late_allocs;
  std::vector<std::pair<base::Uuid, tables::NodeRow>> late_nodes;
};

/// The events that a reader requests (R-API-583).
class EventTopics {
 public:
  /// `topics`: "Topic" or "Topic:key"; none: everything. The error is Nomad's text.
  [[nodiscard]] static tl::expected<EventTopics, std::string> parse(const std::vector<std::string>& topics,
                                                                    std::string name_space);
  [[nodiscard]] bool pass(const StreamEvent& event) const;
  /// Adds a condition that events must also pass.
  void set_test(std::function<bool(const StreamEvent&)> test) { test_ = std::move(test); }

 private:
  std::map<std::string, std::set<std::string>, std::less<>> topics_;
  std::string name_space_;
  std::function<bool(const StreamEvent&)> test_;
};

class EventLog final : public fsm::EntryListener {
 public:
  static constexpr std::size_t kFrames = 100;
  static constexpr std::size_t kKept = 64;  ///< max. allocations and nodes of an entry stored as objects

  /// Receives lines in pieces; returns false if the reader is gone. A line without pieces only checks that.
  using Line = std::vector<transport::TextRef>;
  using Reader = std::function<bool(const Line& line)>;
  /// Maximum bytes of cached texts of events; older ones are made again if needed.
  static constexpr std::size_t kTextBytes = 64 << 20;

  /// To be called again when the log is replaced; drops the frames of the old one. A new cluster begins with events of
  /// its nodes: each registers and becomes ready.
  void attach(fsm::StateLog& log);
  void entry_applied(fsm::EntryKind kind, std::uint64_t index, const fsm::EntryRows& rows) override;
  /// Adds the events of a store's write.
  void store_written(std::uint64_t index, const char* type, std::vector<StoreEvent> events);
  /// Sends the stored frames from `index` on (R-API-584), and then new ones.
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
  /// The frame with its passing events as a line; empty if there are none.
  [[nodiscard]] Line line(StreamFrame& frame, const EventTopics& topics) const;
  void forget_texts();

  fsm::StateLog* log_ = nullptr;
  std::deque<StreamFrame> frames_;
  std::vector<Subscription> readers_;
};

}  // namespace berth::http
