// Recorder: adds every decision and log entry to the digest, and turns changed rows into calls of the listener.
//
// With a listener it keeps a byte per allocation row and per node row: the statuses it reported last.
#pragma once

#include <functional>
#include <map>
#include <vector>

#include "base/digest.h"
#include "fsm/entries.h"
#include "living/listener.h"
#include "tables/changes.h"

namespace berth::fsm {
class StateLog;
}
namespace berth::living {

class Recorder final : public server::Listener {
 public:
  Recorder(const server::Clock& clock, living::Listener* listener) : clock_(clock), listener_(listener) {}
  void bind(const fsm::StateLog& log) { log_ = &log; }

  base::DecisionDigest digest;
  std::function<void(const server::Lane&)> check;  ///< called after each plan, if set

  void event_applied(const Event& event) {
    if (listener_) listener_->event_applied(event);
  }
  void written(const WrittenEntry& entry);
  void evaluation_over() {
    if (listener_) listener_->evaluation_over();
  }
  void changed(const tables::Changes& changes);
  /// A client is about to report on the allocation.
  void expected(tables::AllocRow row) const;
  /// Reports all loaded rows to the listener as new.
  void loaded();

  void lane_made(server::Lane& lane) override {
    if (listener_) listener_->lane_made(lane);
  }
  void attempt(server::Lane& lane) override {
    if (listener_) listener_->attempt(lane);
  }
  void waiting(server::Lane& lane) override {
    if (listener_) listener_->waiting(lane);
  }
  void decided(server::Lane& lane) override {
    if (listener_) listener_->decided(lane);
  }
  void only_reads(bool on) override {
    if (listener_) listener_->only_reads(on);
  }
  void applying(server::Lane& lane) override {
    if (listener_) listener_->applying(lane);
  }
  void applied(server::Lane& lane) override;
  void settled(server::Lane& lane) override;
  void released(server::EvalRecord& record) override {
    if (listener_) listener_->released(record);
  }
  void failed(const server::EvalRecord& record, std::string_view why) override {
    if (listener_) listener_->failed(record, why);
  }

 private:
  void alloc_changed(tables::AllocRow row);
  void node_changed(tables::NodeRow row);
  void deployment_changed(std::uint32_t row);

  const server::Clock& clock_;
  living::Listener* const listener_;
  const fsm::StateLog* log_ = nullptr;
  std::uint64_t evaluations_ = 0;
  // Reported statuses by row; 0: no such row.
  static constexpr std::uint8_t kThere = 0x80;
  std::vector<std::uint8_t> allocs_, nodes_;
  std::map<tables::NodeRow, std::int64_t> drains_;                                 // begin of the drain, unix ns
  std::map<std::uint32_t, std::shared_ptr<const model::Deployment>> deployments_;  // active
};

}  // namespace berth::living
