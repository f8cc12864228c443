#include "server/ahead.h"

#include <algorithm>
#include <utility>

#include "base/relax.h"
#include "server/lane.h"
#include "server/workers.h"

namespace berth::server {

namespace {

// Posted evaluations: one per thread and one spare. A longer queue would be decided on older state.
constexpr std::uint32_t kSpareSlots = 1;

}  // namespace

void Pace::count(std::int64_t ns) {
  sum_ns_ += ns;
  ++count_;
  const double mean_ns = static_cast<double>(sum_ns_) / count_;
  const auto begin = [&](Phase phase, bool is_ahead) {
    phase_ = phase, is_ahead_ = is_ahead;
    sum_ns_ = 0, count_ = 0;
  };
  switch (phase_) {
    case Phase::in_turn:
      if (count_ < (in_turn_ns_ == 0 ? kFew : kTrial)) return;
      in_turn_ns_ = mean_ns;
      return begin(Phase::ahead, true);
    case Phase::ahead: {
      const bool is_slow = count_ >= kFew && mean_ns > 1.5 * in_turn_ns_;
      if (count_ < kTrial && !is_slow) return;
      const bool is_better = mean_ns < in_turn_ns_;
      length_ = is_better == was_better_ ? std::min(2 * length_, kMost) : kLeast;  // tried less often while it stays
      was_better_ = is_better;
      return begin(Phase::chosen, is_better);
    }
    case Phase::chosen:
      if (count_ == length_) begin(Phase::in_turn, false);
      return;
  }
}

Ahead::Ahead(tables::StateStore& store, std::uint32_t threads, const std::function<std::unique_ptr<Lane>()>& make_lane,
             Decide decide)
    : store_(store), decide_(std::move(decide)) {
  for (std::uint32_t i = 0; i < threads + kSpareSlots; ++i) {
    slots_.push_back(std::make_unique<Slot>());
    slots_.back()->lane = make_lane();
  }
  for (std::uint32_t i = 0; i < threads; ++i) threads_.push_back(std::make_unique<Thread>());
  team_.emplace(
      threads, [this](std::uint32_t i) { fill_view(store_, threads_.size(), threads_[i]->view); },
      [this](std::uint32_t i) { loop(*threads_[i]); });
}

Ahead::~Ahead() {
  stopping_.store(true, std::memory_order_release);
  posted_.fetch_add(1, std::memory_order_release);  // wakes the threads; the slot is no longer read
  posted_.notify_all();
  team_.reset();
}

bool Ahead::wants_more() const {
  return pace_.is_ahead() && posted_.load(std::memory_order_relaxed) - taken_ < slots_.size();
}

void Ahead::post(const EvalRecord& eval, std::uint64_t order_index, const std::optional<Circumstances>& circumstances) {
  const std::uint64_t n = posted_.load(std::memory_order_relaxed);
  Slot& slot = *slots_[n % slots_.size()];
  slot.record = eval;
  slot.lane->record = &slot.record;
  slot.order_index = order_index, slot.circumstances = circumstances;
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
      if (!base::spin_until([&] { return posted_.load(std::memory_order_relaxed) != posted; }))
        posted_.wait(posted, std::memory_order_acquire);
      continue;
    }
    if (!claimed_.compare_exchange_strong(n, n + 1, std::memory_order_acq_rel)) continue;
    Slot& slot = *slots_[n % slots_.size()];
    const std::int64_t began = measured_ns();
    run(thread, slot);
    thread.busy_ns.fetch_add(measured_ns() - began, std::memory_order_relaxed);
    // Publish: pairs with the acquire in take().
    slot.done.store(1, std::memory_order_release);
    slot.done.notify_one();
  }
}

void Ahead::run(Thread& thread, Slot& slot) {
  const base::UseStageClock marks(slot.lane->stages);
  if (slot.lane->stages) slot.lane->stages->start(base::Stage::idle);
  const base::StageScope looking(slot.lane->stages, base::Stage::snapshot);
  slot.failed = false;
  slot.reads.rows.clear();
  slot.reads.all = false;
  // Read before the state is taken: a commit between the two counts as a change that was not seen.
  slot.change = change_.load(std::memory_order_acquire);
  tables::SnapshotRef held;  // if the view would be too large
  const bool views = store_.bring_up(thread.view, kViewBytes / threads_.size());
  if (!views) held = store_.snapshot();
  const tables::Snapshot& state = views ? thread.view.state() : *held;
  slot.epoch = state.nodes.epoch;
  try {
    decide_(state, slot.order_index, *slot.lane, slot.reads);
  } catch (...) {
    slot.failed = true;  // reported in its turn
  }
  thread.view.release();
}

bool Ahead::valid(const Slot& slot, std::uint64_t order_index, const Circumstances& circumstances) const {
  if (slot.failed || slot.order_index != order_index) return false;
  if (slot.circumstances && *slot.circumstances != circumstances) return false;
  if (slot.epoch != store_.current().nodes.epoch) return false;
  if (slot.reads.all) return slot.change == change_.load(std::memory_order_relaxed);
  for (const tables::NodeRow row : slot.reads.rows)
    if (row < last_change_.size() && last_change_[row] > slot.change) return false;
  return true;
}

/// True if a thread took the oldest posted evaluation; waits until it has decided. False: no thread took it, and none
/// will.
bool Ahead::begun(Slot& slot) {
  std::uint64_t n = taken_;
  if (claimed_.compare_exchange_strong(n, taken_ + 1, std::memory_order_acq_rel)) return false;
  if (!base::spin_until([&] { return slot.done.load(std::memory_order_acquire) != 0; }))
    slot.done.wait(0, std::memory_order_acquire);
  return true;
}

bool Ahead::take(broker::EvalRow eval, std::uint64_t order_index, const Circumstances& circumstances) {
  Slot& slot = *slots_[taken_ % slots_.size()];
  BERTH_ASSERT(posted() > 0 && slot.record.row == eval);
  if (!begun(slot)) {
    ++stats_.inline_;
    return false;
  }
  const bool used = valid(slot, order_index, circumstances);
  ++(used ? stats_.used : stats_.redone);
  return used;
}

void Ahead::skip() {
  BERTH_ASSERT(posted() > 0);
  if (begun(*slots_[taken_ % slots_.size()])) ++stats_.redone;
  release();
}

void Ahead::changed(tables::NodeRow row) {
  if (row == tables::kNoRow) return;  // of an allocation whose node the cluster does not have: no decision read it
  // One number per call is enough: a decision is valid if no row it read has a higher number than the one it read.
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
