#include "base/retained_json.h"

#include "base/json.h"
#include "base/shared.h"

namespace berth::json {
namespace {

const Value& none() {
  static const Value kNone;
  return kNone;
}

}  // namespace

struct Retained::Held {
  std::atomic<std::uint32_t> references{1};
  Value value;
};

Retained::Retained(Value value) : held_(value.is_null() ? nullptr : new Held{1, std::move(value)}) {}

// Counts as base::Ref does, with which this shares no code because its functions would require the whole type here.
Retained::Held* Retained::share(Held* held) {
  held->references.fetch_add(1, std::memory_order_relaxed);
  return held;
}
void Retained::release(Held* held) {
  if (held->references.fetch_sub(1, std::memory_order_acq_rel) == 1) delete held;
}

bool Retained::same(const Value& a, const Value& b) { return a == b; }
bool Retained::holds_null() const { return held_->value.is_null(); }

const Value& Retained::operator*() const { return held_ ? held_->value : none(); }

Value& Retained::own() {
  if (!held_)
    held_ = new Held;
  else if (held_->references.load(std::memory_order_acquire) != 1)
    release(std::exchange(held_, new Held{1, held_->value}));
  return held_->value;
}

bool Retained::is_object() const { return (**this).is_object(); }
bool Retained::is_array() const { return (**this).is_array(); }
std::size_t Retained::size() const { return (**this).size(); }
const Array& Retained::items() const { return (**this).items(); }
Array& Retained::items() { return own().items(); }
const Object& Retained::members() const { return (**this).members(); }
Object& Retained::members() { return own().members(); }
const Value* Retained::find(std::string_view key) const { return (**this).find(key); }
Value* Retained::find(std::string_view key) { return held_ ? own().find(key) : nullptr; }
const Value& Retained::operator[](std::string_view key) const { return (**this)[key]; }
const Value& Retained::operator[](std::size_t index) const { return (**this)[index]; }
Value& Retained::set(std::string_view key, Value value) { return own().set(key, std::move(value)); }
bool Retained::erase(std::string_view key) { return has(key) && own().erase(key); }
void Retained::push(Value value) { own().push(std::move(value)); }

}  // namespace berth::json
