// Shapes with resources of their own, in reused memory: the resources of an allocation with ports, devices or cores, as
// an API object and flattened, and the control block that counts its owners. When a state drops the allocation, all
// three return, strings and lists with their memory. So placements allocate nothing once enough allocations have come
// and gone.
//
//   Held      the resources, the shape that points to them, room for the control block
//   free_     by kind of request: one like the last needs the fewest changes
//   Returned  returned since; pushed by the thread that releases the last owner
//
// Threads: a pool belongs to one worker. Shapes may outlive it: Returned is freed with the last of them. The release of
// a push pairs with the acquire of take_returned(), so a worker sees a Held as its last owner left it.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>

#include "base/prefetch.h"
#include "tables/shape.h"

namespace berth::tables {

/// Writes the flattened `resources` to `out`, which keeps its memory; does not change its member `resources`.
void fill_shape(const model::AllocatedResources& resources, ResourceShape& out);

class ShapePool {
 public:
  static constexpr std::size_t kKinds = 256;
  struct Returned;
  struct Held {
    model::AllocatedResources resources;
    ResourceShape shape;
    Held* next = nullptr;
    Returned* home = nullptr;
    std::uint8_t kind = 0;
    static constexpr std::size_t kBlockBytes = 64;
    alignas(std::max_align_t) std::byte block[kBlockBytes];
  };

  ShapePool();
  ~ShapePool();
  ShapePool(const ShapePool&) = delete;
  ShapePool& operator=(const ShapePool&) = delete;

  /// The resources that share() returns next for that kind of request, with their old contents, to be overwritten.
  [[nodiscard]] model::AllocatedResources& next(std::uint8_t kind) {
    if (!free_[kind]) refill(kind);
    return free_[kind]->resources;
  }
  /// Prefetches what overwriting them touches first.
  void prefetch(std::uint8_t kind) const {
    const Held* const held = free_[kind];
    if (!held) return;
    if (!held->resources.tasks.empty()) base::prefetch_to_write(&*held->resources.tasks.begin());
    if (!held->resources.task_lifecycles.empty()) base::prefetch_to_write(&*held->resources.task_lifecycles.begin());
    const model::AllocatedShared& shared = held->resources.shared;
    if (!shared.networks.empty()) base::prefetch_to_write(shared.networks.data());
    if (!shared.ports.empty()) base::prefetch_to_write(shared.ports.data());
  }
  /// The resources from next(), as a shape.
  [[nodiscard]] std::shared_ptr<const ResourceShape> share(std::uint8_t kind);

 private:
  void refill(std::uint8_t kind);
  void take_returned();

  std::array<Held*, kKinds> free_{};
  Returned* returned_;
};

}  // namespace berth::tables
