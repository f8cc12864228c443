// Ref: an intrusive reference to an object that counts its references itself.
// Threads: counts are atomic. Releasing a reference (acq_rel) pairs with the acquire load in unique(), so a sole
// holder that writes in place sees all reads done.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

namespace berth::base {

/// T must have a member `std::atomic<std::uint32_t> references{1}`.
template <class T>
class Ref {
 public:
  Ref() = default;
  explicit Ref(T* owned) : object_(owned) {}  ///< takes over one reference
  Ref(const Ref& other) : object_(other.object_) {
    if (object_) object_->references.fetch_add(1, std::memory_order_relaxed);
  }
  Ref(Ref&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Ref& operator=(Ref other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Ref() {
    // Releases our reads and writes; the last holder acquires those of all others before it frees the object.
    if (object_ && object_->references.fetch_sub(1, std::memory_order_acq_rel) == 1) delete object_;
  }
  [[nodiscard]] T* get() const { return object_; }
  T* operator->() const { return object_; }
  T& operator*() const { return *object_; }
  explicit operator bool() const { return object_ != nullptr; }
  /// True if this is the only reference; pairs with the release in ~Ref() of the last other holder.
  [[nodiscard]] bool unique() const { return object_->references.load(std::memory_order_acquire) == 1; }

 private:
  T* object_ = nullptr;
};

}  // namespace berth::base
