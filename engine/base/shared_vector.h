// SharedVector<T>: a copy-on-write list. For lists that stay unchanged while the object around them is copied, such
// as the task groups of a job whose status changes.
//
// Reading through a const list never copies. Every access that could write copies the list first if it is shared, so
// read through a const reference. Writing through a reference to an element is allowed until the list is copied.
// Threads: as a vector; copies may live on any number of threads.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <utility>
#include <vector>

#include "base/ref.h"

namespace berth::base {

template <class T>
class SharedVector {
 public:
  using value_type = T;
  using iterator = typename std::vector<T>::iterator;
  using const_iterator = typename std::vector<T>::const_iterator;

  SharedVector() = default;
  SharedVector(std::initializer_list<T> items) { own().assign(items); }
  SharedVector(std::vector<T> items) { *this = std::move(items); }  // implicit: used like a list
  SharedVector& operator=(std::initializer_list<T> items) { return *this = std::vector<T>(items); }
  SharedVector& operator=(std::vector<T> items) {
    list_ = items.empty() ? Ref<List>() : Ref<List>(new List{1, std::move(items)});
    return *this;
  }
  [[nodiscard]] const std::vector<T>& list() const { return items(); }
  operator const std::vector<T>&() const { return items(); }  // as above

  [[nodiscard]] std::size_t size() const { return items().size(); }
  [[nodiscard]] bool empty() const { return items().empty(); }
  [[nodiscard]] const_iterator begin() const { return items().begin(); }
  [[nodiscard]] const_iterator end() const { return items().end(); }
  const T& operator[](std::size_t at) const { return items()[at]; }
  [[nodiscard]] const T& at(std::size_t at) const { return items().at(at); }
  [[nodiscard]] const T& front() const { return items().front(); }
  [[nodiscard]] const T& back() const { return items().back(); }

  [[nodiscard]] iterator begin() { return own().begin(); }
  [[nodiscard]] iterator end() { return own().end(); }
  T& operator[](std::size_t at) { return own()[at]; }
  [[nodiscard]] T& at(std::size_t at) { return own().at(at); }
  [[nodiscard]] T& front() { return own().front(); }
  [[nodiscard]] T& back() { return own().back(); }
  void push_back(T item) { own().push_back(std::move(item)); }
  T& emplace_back() { return own().emplace_back(); }
  void resize(std::size_t size) { own().resize(size); }
  void reserve(std::size_t size) { own().reserve(size); }
  void pop_back() { own().pop_back(); }
  void clear() { list_ = {}; }
  template <class Predicate>
  void erase_if(Predicate predicate) {
    std::erase_if(own(), predicate);
  }

  /// True if both share one list; they are then equal without comparing elements.
  [[nodiscard]] bool shares(const SharedVector& other) const { return list_.get() == other.list_.get(); }
  friend bool operator==(const SharedVector& a, const SharedVector& b) { return a.shares(b) || a.items() == b.items(); }

 private:
  struct List {
    std::atomic<std::uint32_t> references{1};
    std::vector<T> items;
  };

  [[nodiscard]] const std::vector<T>& items() const {
    static const std::vector<T> kNone;
    return list_ ? list_->items : kNone;
  }
  std::vector<T>& own() {
    if (!list_ || !list_.unique()) {
      Ref<List> mine(new List());
      if (list_) mine->items = list_->items;
      list_ = std::move(mine);
    }
    return list_->items;
  }

  Ref<List> list_;  // null: empty
};

}  // namespace berth::base
