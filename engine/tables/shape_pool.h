// Shapes with resources of their own, in memory that is used again: what an allocation with ports, devices or cores
// holds, as an API object and flattened, and the block that counts its owners. A state that forgets the allocation
// gives all three back, strings and lists with their memory; so placements allocate nothing once as many came and went.
//
//   Held      the resources, the shape that points to them, room for the block of counts
//   free_     by kind of ask: what is like the last one needs least besides
//   Returned  what came back since; pushed by whichever thread lets go of the last owner
//
// Threads: a pool is one worker's. Shapes outlive it: Returned goes with the last of them. The release of a push pairs
// with the acquire of take_returned(), so a worker sees a Held as its last owner left it.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>

#include "base/prefetch.h"
#include "tables/shape.h"

namespace berth::tables {

/// Writes what `resources` come to, flattened. `out` keeps its memory; its `resources` are left as they are.
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

  /// The resources that share() hands out next, for an ask of that kind: as somebody left them, to be written over.
  [[nodiscard]] model::AllocatedResources& next(std::uint8_t kind) {
    if (!free_[kind]) refill(kind);
    return free_[kind]->resources;
  }
  /// Asks for what writing over them touches first.
  void ask_ahead(std::uint8_t kind) const {
    const Held* const held = free_[kind];
    if (!held) return;
    if (!held->resources.tasks.empty()) base::prefetch_to_write(&*held->resources.tasks.begin());
    if (!held->resources.task_lifecycles.empty()) base::prefetch_to_write(&*held->resources.task_lifecycles.begin());
    const model::AllocatedShared& shared = held->resources.shared;
    if (!shared.networks.empty()) base::prefetch_to_write(shared.networks.data());
    if (!shared.ports.empty()) base::prefetch_to_write(shared.ports.data());
  }
  /// The resources that next() gave, as a shape.
  [[nodiscard]] std::shared_ptr<const ResourceShape> share(std::uint8_t kind);

 private:
  void refill(std::uint8_t kind);
  void take_returned();

  std::array<Held*, kKinds> free_{};
  Returned* returned_;
};

}  // namespace berth::tables
