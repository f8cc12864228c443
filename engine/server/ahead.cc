#include "server/ahead.h"

#include <algorithm>
#include <chrono>

namespace berth::server {

namespace {

// Decided ahead: what the threads work on and one more. A longer queue would be decided on older state.
constexpr std::uint32_t kSpareSlots = 1;
// Posting pauses when more than this many of so many decisions were redone.
constexpr std::uint32_t kWindow = 32, kRedoneMax = 16;
constexpr std::uint64_t kPauseMin = 256, kPauseMax = 16'384;

std::int64_t steady_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace

Ahead::Ahead(tables::StateStore& store, std::uint32_t threads, const std::function<std::unique_ptr<Lane>()>& make_lane,
             Decide decide)
    : store_(store), decide_(std::move(decide)) {
  for (std::uint32_t i = 0; i < threads + kSpareSlots; ++i) {
    slots_.push_back(std::make_unique<Slot>());
    slots_.back()->lane = make_lane();
  }
  for (std::uint32_t i = 0; i < threads; ++i) threads_.push_back(std::make_unique<Thread>());
  team_.emplace(threads, [this](std::uint32_t i) { loop(*threads_[i]); });
}

Ahead::~Ahead() {
  stopping_.store(true, std::memory_order_release);
  posted_.fetch_add(1, std::memory_order_release);  // wakes; nobody looks at the slot any more
  posted_.notify_all();
  team_.reset();
}

bool Ahead::wants_more() const {
  return pause_ == 0 && posted_.load(std::memory_order_relaxed) - taken_ < slots_.size();
}

void Ahead::post(broker::EvalRow eval, std::uint64_t order_index) {
  const std::uint64_t n = posted_.load(std::memory_order_relaxed);
  Slot& slot = *slots_[n % slots_.size()];
  slot.eval = eval;
  slot.order_index = order_index;
  slot.done.store(0, std::memory_order_relaxed);
  // Publish: pairs with the acquire load of posted_ in loop() and take().
  posted_.store(n + 1, std::memory_order_release);
  posted_.notify_one();
}

void Ahead::loop(Thread& thread) {
  while (true) {
    const std::uint64_t posted = posted_.load(std::memory_order_acquire);
    if (stopping_.load(std::memory_order_acquire)) break;
    std::uint64_t n = claimed_.load(std::memory_order_relaxed);
    if (n >= posted) {
      posted_.wait(posted, std::memory_order_acquire);
      continue;
    }
    if (!claimed_.compare_exchange_strong(n, n + 1, std::memory_order_acq_rel)) continue;
    Slot& slot = *slots_[n % slots_.size()];
    const std::int64_t began = steady_ns();
    run(slot);
    thread.busy_ns.fetch_add(steady_ns() - began, std::memory_order_relaxed);
    // Publish: pairs with the acquire in take().
    slot.done.store(1, std::memory_order_release);
    slot.done.notify_one();
  }
}

void Ahead::run(Slot& slot) {
  const base::UseStageClock marks(slot.lane->stages);
  if (slot.lane->stages) slot.lane->stages->start(base::Stage::idle);
  const base::StageScope looking(slot.lane->stages, base::Stage::snapshot);
  slot.failed = false;
  slot.reads.rows.clear();
  slot.reads.all = false;
  // Read before the snapshot is taken: a commit between the two counts as a change that was not seen.
  slot.change = change_.load(std::memory_order_acquire);
  const tables::SnapshotRef state = store_.snapshot();
  slot.epoch = state->nodes.epoch;
  try {
    decide_(slot.eval, state, slot.order_index, *slot.lane, slot.reads);
  } catch (...) {
    slot.failed = true;  // its turn finds out
  }
}

bool Ahead::valid(const Slot& slot, std::uint64_t order_index) const {
  if (slot.failed || slot.order_index != order_index || slot.epoch != store_.current().nodes.epoch) return false;
  if (slot.reads.all) return slot.change == change_.load(std::memory_order_relaxed);
  for (const tables::NodeRow row : slot.reads.rows)
    if (row < last_change_.size() && last_change_[row] > slot.change) return false;
  return true;
}

bool Ahead::take(broker::EvalRow eval, std::uint64_t order_index) {
  Slot& slot = *slots_[taken_ % slots_.size()];
  BERTH_ASSERT(posted() > 0 && slot.eval == eval);
  if (pause_ > 0) --pause_;
  std::uint64_t n = taken_;
  if (claimed_.compare_exchange_strong(n, taken_ + 1, std::memory_order_acq_rel)) {
    ++stats_.inline_;
    return false;
  }
  slot.done.wait(0, std::memory_order_acquire);
  const bool used = valid(slot, order_index);
  ++(used ? stats_.used : stats_.redone);
  recent_redone_ += !used;
  if (++recent_ == kWindow) {
    if (recent_redone_ > kRedoneMax) {  // longer each time it does not pay
      pause_ = pause_length_ = std::clamp(2 * pause_length_, kPauseMin, kPauseMax);
    } else {
      pause_length_ = 0;
    }
    recent_ = recent_redone_ = 0;
  }
  return used;
}

void Ahead::changed(tables::NodeRow row) {
  // One number per call is enough: a decision is valid if no row it read has a number above the one it saw.
  const std::uint64_t change = change_.load(std::memory_order_relaxed) + 1;
  if (row >= last_change_.size()) last_change_.resize(store_.current().nodes.size());
  last_change_[row] = change;
  change_.store(change, std::memory_order_release);
}

Ahead::Stats Ahead::stats() const {
  Stats out = stats_;
  for (const auto& thread : threads_) out.busy_ns.push_back(thread->busy_ns.load(std::memory_order_relaxed));
  return out;
}

}  // namespace berth::server
