// Finds nodes that the applier rejects so often that they are probably faulty (R-CTRL-629 to 632).
//
// Exact: a node's rejections are stored while they are within the window. Threads: the applier's.
#pragma once

#include <cstdint>
#include <deque>

#include <tsl/robin_map.h>

#include "base/uuid.h"

namespace berth::plan {

struct RejectionLimits {
  std::int64_t threshold = 100;  ///< rejections within the window
  std::int64_t window_ns = 300'000'000'000;
  std::int64_t burst = 10;                                 ///< capacity of the token bucket, initially full
  std::int64_t refill = 5, refill_ns = 1'800'000'000'000;  ///< tokens added per time
};

class RejectionTracker {
 public:
  explicit RejectionTracker(const RejectionLimits& limits = {}) : limits_(limits) {}
  /// Records a rejection at `now_ns`. True if the node reached the threshold and the bucket had a token: mark it
  /// ineligible.
  [[nodiscard]] bool add(base::Uuid node, std::int64_t now_ns);

 private:
  bool take_token(std::int64_t now_ns);

  RejectionLimits limits_;
  tsl::robin_map<base::Uuid, std::deque<std::int64_t>, base::UuidHash> rejections_;  // ns, ascending
  double tokens_ = 0;
  std::int64_t filled_ns_ = 0;
  bool started_ = false;
};

}  // namespace berth::plan
