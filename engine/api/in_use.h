// Records which thread is using a cluster. Refuses a second thread, and also the same thread if it calls back from a
// strategy or a preemption rule, because the state that it would change is being read.
#pragma once

#include <atomic>
#include <string>
#include <string_view>
#include <thread>

#include "berth/result.h"

namespace berth {

class InUse {
 public:
  /// Guard of one call of a cluster's function. False if another call is running.
  class Turn {
   public:
    explicit Turn(InUse& use) : use_(use) {
      std::thread::id none{};
      // Pairs with the release store in the destructor: makes the writes of the last call visible.
      mine_ = use.thread_.compare_exchange_strong(none, std::this_thread::get_id(), std::memory_order_acquire);
    }
    ~Turn() {
      if (mine_) use_.thread_.store(std::thread::id{}, std::memory_order_release);
    }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;
    explicit operator bool() const { return mine_; }

   private:
    InUse& use_;
    bool mine_;
  };

  [[nodiscard]] bool held() const { return thread_.load(std::memory_order_acquire) != std::thread::id{}; }
  /// Why a call without a turn is refused.
  [[nodiscard]] std::string problem() const {
    return thread_.load(std::memory_order_acquire) == std::this_thread::get_id() ? std::string(kSameThread)
                                                                                 : std::string(kOtherThread);
  }
  /// True if the text is one of these problems.
  [[nodiscard]] static bool caused(std::string_view problem) {
    return problem == kSameThread || problem == kOtherThread;
  }
  [[nodiscard]] Error error() const { return {Errc::processing_failed, 0, problem()}; }
  [[nodiscard]] InputError input_error() const { return {"cluster", "", problem(), ""}; }

 private:
  static constexpr std::string_view kSameThread =
      "a strategy or preemption rule called the cluster that is deciding; it may use what it is handed only";
  static constexpr std::string_view kOtherThread =
      "another thread is using this cluster; a cluster belongs to one thread at a time";

  std::atomic<std::thread::id> thread_{};
};

}  // namespace berth
