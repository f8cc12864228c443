// Shared<T> and SharedOptional<T>: copy-on-write values; copies share the value until one of them is written to. For
// members that few objects have, or that few change after copying: 8 bytes if absent, however large T is.
// SharedVector is the same for lists.
//
// Threads: as T; copies may live on any number of threads.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <utility>

#include "base/ref.h"

namespace berth::base {

/// One T, shared.
template <class T>
struct SharedItem {
  std::atomic<std::uint32_t> references{1};
  T value{};
};

/// Reads as a const T&; T{} takes no memory.
template <class T>
class Shared {
 public:
  using value_type = T;

  Shared() = default;
  Shared(T value) { *this = std::move(value); }  // implicit: used like a T
  Shared& operator=(T value) {
    item_ = value == T{} ? Ref<SharedItem<T>>() : Ref<SharedItem<T>>(new SharedItem<T>{1, std::move(value)});
    return *this;
  }

  const T& operator*() const {
    static const T kNone{};
    return item_ ? item_->value : kNone;
  }
  const T* operator->() const { return &**this; }
  operator const T&() const { return **this; }  // as above
  [[nodiscard]] bool empty() const { return !item_ || item_->value == T{}; }
  void clear() { item_ = {}; }

  /// Returns the value for writing; copies it first if other objects share it.
  [[nodiscard]] T& own() {
    if (!item_)
      item_ = Ref<SharedItem<T>>(new SharedItem<T>());
    else if (!item_.unique())
      item_ = Ref<SharedItem<T>>(new SharedItem<T>{1, item_->value});
    return item_->value;
  }

  friend bool operator==(const Shared& a, const Shared& b) { return a.item_.get() == b.item_.get() || *a == *b; }
  friend bool operator==(const Shared& a, const T& b) { return *a == b; }

 private:
  Ref<SharedItem<T>> item_;  // null: T{}
};

/// Like std::optional<T>. Every access that could write copies a shared value first, so read through a const
/// reference.
template <class T>
class SharedOptional {
 public:
  using value_type = T;

  SharedOptional() = default;
  SharedOptional(std::nullopt_t) {}                       // NOLINT: as std::optional
  SharedOptional(T value) { emplace(std::move(value)); }  // as above
  SharedOptional(const std::optional<T>& value) {         // as above
    if (value) emplace(*value);
  }

  [[nodiscard]] bool has_value() const { return static_cast<bool>(item_); }
  explicit operator bool() const { return has_value(); }
  const T& operator*() const { return item_->value; }
  const T* operator->() const { return &item_->value; }
  T& operator*() { return own(); }
  T* operator->() { return &own(); }
  T& emplace(T value = T{}) {
    item_ = Ref<SharedItem<T>>(new SharedItem<T>{1, std::move(value)});
    return item_->value;
  }
  void reset() { item_ = {}; }

  friend bool operator==(const SharedOptional& a, const SharedOptional& b) {
    return a.item_.get() == b.item_.get() || (a && b && *a == *b);
  }

 private:
  T& own() {
    if (!item_.unique()) item_ = Ref<SharedItem<T>>(new SharedItem<T>{1, item_->value});
    return item_->value;
  }

  Ref<SharedItem<T>> item_;
};

}  // namespace berth::base
