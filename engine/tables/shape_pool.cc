#include "tables/shape_pool.h"

#include <utility>

#include "base/assert.h"
#include "base/prefetch.h"

namespace berth::tables {

struct ShapePool::Returned {
  std::atomic<Held*> head{nullptr};
  std::atomic<std::size_t> owners{1};  // the pool, and every shape in use

  static void delete_all(Held* held) {
    while (held) delete std::exchange(held, held->next);
  }
  void destroy_removed() {
    if (owners.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
    delete_all(head.load(std::memory_order_acquire));
    delete this;
  }
  void push(Held& held) {
    held.next = head.load(std::memory_order_relaxed);
    while (!head.compare_exchange_weak(held.next, &held, std::memory_order_release, std::memory_order_relaxed)) {
    }
    destroy_removed();
  }
};

namespace {

/// Allocates the control block inside its Held. The Held returns when the block is freed: after the last owner and the
/// last weak reference.
template <class T>
struct InHeld {
  using value_type = T;
  ShapePool::Held* held;
  void (*give_back)(ShapePool::Held&);

  InHeld(ShapePool::Held* of, void (*back)(ShapePool::Held&)) : held(of), give_back(back) {}
  template <class U>
  InHeld(const InHeld<U>& other) : held(other.held), give_back(other.give_back) {}
  T* allocate([[maybe_unused]] std::size_t count) {
    static_assert(sizeof(T) <= ShapePool::Held::kBlockBytes);
    BERTH_ASSERT(count == 1);
    return reinterpret_cast<T*>(held->block);
  }
  void deallocate(T*, std::size_t) { give_back(*held); }
  template <class U>
  bool operator==(const InHeld<U>& other) const {
    return held == other.held;
  }
};

}  // namespace

ShapePool::ShapePool() : returned_(new Returned) {}

ShapePool::~ShapePool() {
  for (Held* const held : free_) Returned::delete_all(held);
  returned_->destroy_removed();
}

void ShapePool::take_returned() {
  Held* held = returned_->head.exchange(nullptr, std::memory_order_acquire);
  while (held) {
    Held* const next = held->next;
    held->next = std::exchange(free_[held->kind], held);
    held = next;
  }
}

void ShapePool::refill(std::uint8_t kind) {
  take_returned();
  if (free_[kind]) return;
  Held* const held = new Held;
  held->kind = kind;
  held->home = returned_;
  // The shape is freed with its resources, so it need not own them.
  held->shape.resources = std::shared_ptr<const model::AllocatedResources>(std::shared_ptr<void>(), &held->resources);
  free_[kind] = held;
}

std::shared_ptr<const ResourceShape> ShapePool::share(std::uint8_t kind) {
  Held* const held = std::exchange(free_[kind], free_[kind]->next);
  if (const auto* const after = reinterpret_cast<const char*>(free_[kind]))  // for the next placement
    for (std::size_t line = 0; line < sizeof(Held); line += 64) base::prefetch_to_write(after + line);
  fill_shape(held->resources, held->shape);
  returned_->owners.fetch_add(1, std::memory_order_relaxed);
  return {&held->shape, [](const ResourceShape*) {}, InHeld<ResourceShape>(held, [](Held& of) { of.home->push(of); })};
}

}  // namespace berth::tables
