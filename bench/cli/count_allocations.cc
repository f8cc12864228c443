// operator new of the program: mimalloc's with a counter. With a sanitizer its own operator new is used and nothing is
// counted.
//
// Layout: one cache line per thread; the owner stores, others load. Threads beyond kSlots share the last line and add
// atomically. A line is never released: the counts of an ended thread remain.
#include "cli/count_allocations.h"

#include <mimalloc.h>

#include <algorithm>
#include <atomic>
#include <new>

#include "cli/whole_program.h"

namespace berth::cli {
namespace {

struct alignas(64) Slot {
  std::atomic<std::uint64_t> count{0}, bytes{0};
};
constexpr std::size_t kSlots = 512;
constinit Slot slots[kSlots];
constinit std::atomic<std::size_t> slots_taken{0};
[[maybe_unused]] constinit thread_local Slot* own_slot = nullptr;

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
void count(std::size_t bytes) noexcept {
  // Relaxed: the reader needs only the sum, and reads it after the relevant threads have ended (join orders the
  // writes).
  if (own_slot == nullptr) own_slot = &slots[std::min(slots_taken.fetch_add(1, std::memory_order_relaxed), kSlots - 1)];
  Slot& slot = *own_slot;
  if (&slot == &slots[kSlots - 1]) {
    slot.count.fetch_add(1, std::memory_order_relaxed);
    slot.bytes.fetch_add(bytes, std::memory_order_relaxed);
    return;
  }
  slot.count.store(slot.count.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  slot.bytes.store(slot.bytes.load(std::memory_order_relaxed) + bytes, std::memory_order_relaxed);
}

/// Calls the new handler as the standard requires. mimalloc's own operator new does not find the C++ library's handler
/// and aborts. Without a handler, main() has not begun: objects of libraries are made, where an exception would abort.
template <class Allocate>
void* allocate(std::size_t bytes, Allocate allocate_once) {
  count(bytes);
  for (;;) {
    if (void* const p = allocate_once()) return p;
    const std::new_handler handler = std::get_new_handler();
    if (!handler) out_of_memory();
    handler();
  }
}
#endif

}  // namespace

run::AllocationCount count_allocations() {
  run::AllocationCount out;
  const std::size_t taken = std::min(slots_taken.load(std::memory_order_relaxed), kSlots);
  for (std::size_t i = 0; i < taken; ++i) {
    out.count += slots[i].count.load(std::memory_order_relaxed);
    out.bytes += slots[i].bytes.load(std::memory_order_relaxed);
  }
  return out;
}

void give_back_freed_memory() { mi_collect(true); }

}  // namespace berth::cli

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
void* operator new(std::size_t bytes) {
  return berth::cli::allocate(bytes, [&] { return mi_malloc(bytes); });
}
void* operator new[](std::size_t bytes) {
  return berth::cli::allocate(bytes, [&] { return mi_malloc(bytes); });
}
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  berth::cli::count(bytes);
  return mi_malloc(bytes);
}
void* operator new[](std::size_t bytes, const std::nothrow_t&) noexcept {
  berth::cli::count(bytes);
  return mi_malloc(bytes);
}
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return berth::cli::allocate(bytes, [&] { return mi_malloc_aligned(bytes, static_cast<std::size_t>(alignment)); });
}
void* operator new[](std::size_t bytes, std::align_val_t alignment) {
  return berth::cli::allocate(bytes, [&] { return mi_malloc_aligned(bytes, static_cast<std::size_t>(alignment)); });
}
void operator delete(void* p) noexcept { mi_free(p); }
void operator delete[](void* p) noexcept { mi_free(p); }
void operator delete(void* p, std::size_t bytes) noexcept { mi_free_size(p, bytes); }
void operator delete[](void* p, std::size_t bytes) noexcept { mi_free_size(p, bytes); }
void operator delete(void* p, const std::nothrow_t&) noexcept { mi_free(p); }
void operator delete[](void* p, const std::nothrow_t&) noexcept { mi_free(p); }
void operator delete(void* p, std::align_val_t alignment) noexcept {
  mi_free_aligned(p, static_cast<std::size_t>(alignment));
}
void operator delete[](void* p, std::align_val_t alignment) noexcept {
  mi_free_aligned(p, static_cast<std::size_t>(alignment));
}
void operator delete(void* p, std::size_t, std::align_val_t alignment) noexcept {
  mi_free_aligned(p, static_cast<std::size_t>(alignment));
}
void operator delete[](void* p, std::size_t, std::align_val_t alignment) noexcept {
  mi_free_aligned(p, static_cast<std::size_t>(alignment));
}
#endif
