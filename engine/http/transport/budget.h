// Budget: a memory limit for all requests together: arriving bodies, answers waiting to be sent, texts of streams.
//
// Taking never fails. The taker checks afterwards whether it was too much, and the transport then ends the slowest
// connections (Server). So the budget may be exceeded for a moment, by one text per thread.
// Threads: any.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>

namespace berth::http::transport {

class Budget {
 public:
  explicit Budget(std::size_t bytes) : bytes_(bytes) {}
  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  [[nodiscard]] std::size_t used() const { return used_.load(std::memory_order_relaxed); }
  [[nodiscard]] bool is_exceeded() const { return used() > bytes_; }
  /// Limit for one connection, or one stream.
  [[nodiscard]] std::size_t share() const { return bytes_ / 8; }
  void take(std::size_t bytes) { used_.fetch_add(bytes, std::memory_order_relaxed); }
  void give(std::size_t bytes) { used_.fetch_sub(bytes, std::memory_order_relaxed); }

  /// A quarter of the memory that this process may use: of the machine, or of its control group if that is less.
  [[nodiscard]] static std::size_t quarter_of_memory();

 private:
  const std::size_t bytes_;
  std::atomic<std::size_t> used_{0};
};

/// Bytes taken from a budget, returned on destruction.
class Charge {
 public:
  Charge() = default;
  Charge(std::shared_ptr<Budget> budget, std::size_t bytes) : budget_(std::move(budget)) { resize(bytes); }
  Charge(Charge&& other) noexcept : budget_(std::move(other.budget_)), bytes_(std::exchange(other.bytes_, 0)) {}
  Charge& operator=(Charge&& other) noexcept {
    std::swap(budget_, other.budget_), std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~Charge() { resize(0); }

  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  void resize(std::size_t bytes) {
    if (!budget_) return;
    if (bytes > bytes_) budget_->take(bytes - bytes_);
    if (bytes < bytes_) budget_->give(bytes_ - bytes);
    bytes_ = bytes;
  }

 private:
  std::shared_ptr<Budget> budget_;
  std::size_t bytes_ = 0;
};

/// A text shared by several streams. It is stored, and counts, once.
class SharedText {
 public:
  explicit SharedText(std::string text) : text_(std::move(text)) {}
  [[nodiscard]] const std::string& text() const { return text_; }
  /// Counts from the first call on.
  void charge(const std::shared_ptr<Budget>& budget) const {
    if (!is_charged_.exchange(true, std::memory_order_acq_rel)) charge_ = Charge(budget, text_.size());
  }

 private:
  const std::string text_;
  mutable std::atomic<bool> is_charged_{false};
  mutable Charge charge_;  // written by the thread whose exchange() returned false
};
using TextRef = std::shared_ptr<const SharedText>;

}  // namespace berth::http::transport
