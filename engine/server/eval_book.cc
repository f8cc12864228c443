#include "server/eval_book.h"

namespace berth::server {

std::optional<broker::EvalRow> EvalBook::add() {
  broker::EvalRow row{};
  {
    const std::lock_guard lock(mutex_);
    if (!free_.empty()) {
      row = free_.back();
      free_.pop_back();
    } else if (used_ < capacity_) {
      row = broker::EvalRow{used_++};
    } else {
      return std::nullopt;
    }
  }
  auto& chunk = chunks_[static_cast<std::uint32_t>(row) / kChunk];
  if (!chunk) chunk = std::make_unique<EvalRecord[]>(kChunk);
  EvalRecord& record = (*this)[row];
  record = {};
  record.row = row;
  return row;
}

bool EvalBook::full() {
  const std::lock_guard lock(mutex_);
  return free_.empty() && used_ == capacity_;
}

void EvalBook::release(broker::EvalRow row) {
  const std::lock_guard lock(mutex_);
  free_.push_back(row);
}

std::size_t EvalBook::in_use() {
  const std::lock_guard lock(mutex_);
  return used_ - free_.size();
}

}  // namespace berth::server
