// A JSON value that a larger object retains and seldom reads. This header declares only, so that the objects of the
// model, which most files include, do not include json.h; code that looks into the value includes that.
//
// A null takes one pointer. Copies share the value until one of them is written to (see shared.h). Reads as a const
// Value&. As with SharedVector, every access that could write copies a shared value first, so read through a const
// reference. Threads: as Value; copies may live on any number of threads.
#pragma once

#include <cstddef>
#include <string_view>
#include <utility>
#include <vector>

namespace berth::json {

struct Member;
class Value;

class Retained {
 public:
  using value_type = Value;

  Retained() = default;
  Retained(std::nullptr_t) {}  // NOLINT: as Value
  Retained(Value value);       // NOLINT: used like a Value
  Retained(const Retained& other) : held_(other.held_ ? share(other.held_) : nullptr) {}
  Retained(Retained&& other) noexcept : held_(std::exchange(other.held_, nullptr)) {}
  Retained& operator=(Retained other) noexcept {
    std::swap(held_, other.held_);
    return *this;
  }
  ~Retained() {
    if (held_) release(held_);
  }

  const Value& operator*() const;
  const Value* operator->() const { return &**this; }
  operator const Value&() const { return **this; }  // NOLINT: used like a Value
  /// Returns the value for writing; copies it first if other objects share it.
  [[nodiscard]] Value& own();

  // As of Value.
  [[nodiscard]] bool is_null() const { return !held_ || holds_null(); }
  [[nodiscard]] bool is_object() const;
  [[nodiscard]] bool is_array() const;
  [[nodiscard]] std::size_t size() const;
  [[nodiscard]] const std::vector<Value>& items() const;
  [[nodiscard]] std::vector<Value>& items();
  [[nodiscard]] const std::vector<Member>& members() const;
  [[nodiscard]] std::vector<Member>& members();
  [[nodiscard]] const Value* find(std::string_view key) const;
  [[nodiscard]] Value* find(std::string_view key);
  [[nodiscard]] bool has(std::string_view key) const { return find(key) != nullptr; }
  const Value& operator[](std::string_view key) const;
  const Value& operator[](std::size_t index) const;
  Value& set(std::string_view key, Value value);
  bool erase(std::string_view key);
  void push(Value value);

  friend bool operator==(const Retained& a, const Retained& b) { return a.held_ == b.held_ || same(a, b); }
  friend bool operator==(const Retained& a, const Value& b) { return same(a, b); }

 private:
  struct Held;
  static Held* share(Held* held);
  static void release(Held* held);
  static bool same(const Value& a, const Value& b);
  [[nodiscard]] bool holds_null() const;

  Held* held_ = nullptr;  // null: a null value
};

}  // namespace berth::json
