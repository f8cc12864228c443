// The fields of an allocation that the reconcilers read, and its class (R-RECON-19, 40 to 55, 105 to 110).
//
// AllocFacts: one per allocation of the job, 48 bytes, built from the tables or from a model value.
//   field               bytes  read
//   desired .. flags        5  for every allocation: enough for the usual one (running, wanted, node fine)
//   name_index, group       8  grouping, order K (R-RECON-7)
//   job_version, ..        16  batch jobs, deployments, reconnects
//   alloc                  16  only for the rest: states, tracker, task states, texts
// Facts are written before a run and read-only during it. Facts that point to existing allocations may be read by any
// thread. An AllocRef that makes its allocation on demand belongs to one thread.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/rows.h"
#include "base/uuid.h"
#include "model/alloc.h"
#include "model/node.h"
#include "model/status.h"

namespace berth::reconcile {

/// What is wrong with an allocation's node (R-RECON-19). A draining node may have any status.
enum class NodeTaint : std::uint8_t {
  none,          ///< not tainted
  gone,          ///< not in state
  ready,         ///< draining, status `ready`
  initializing,  ///< draining, status `initializing`
  down,
  disconnected,
};

/// Writes out API objects of allocations that the tables hold by columns.
class AllocSource {
 public:
  /// The object of `row`, valid as long as the facts that name the row.
  [[nodiscard]] virtual const model::Allocation& make(base::AllocRow row) = 0;
  [[nodiscard]] virtual base::Uuid id_of(base::AllocRow row) const = 0;

 protected:
  ~AllocSource() = default;
};

/// Refers to an existing allocation, or to a row whose allocation is made at first access; most never are.
class AllocRef {
 public:
  AllocRef() = default;
  AllocRef(const model::Allocation* alloc) : word_(reinterpret_cast<std::uintptr_t>(alloc)) {}  // NOLINT: refers to it
  AllocRef(AllocSource& source, base::AllocRow row) : word_(std::uintptr_t{row} << 1 | kNotMade), source_(&source) {}
  const model::Allocation& operator*() const {
    if ((word_ & kNotMade) != 0) word_ = reinterpret_cast<std::uintptr_t>(&source_->make(base::AllocRow(word_ >> 1)));
    return *reinterpret_cast<const model::Allocation*>(word_);
  }
  const model::Allocation* operator->() const { return &**this; }
  /// The allocation's ID. Writes it to `scratch` if the allocation is not made yet, and does not make it.
  [[nodiscard]] const std::string& id(std::string& scratch) const {
    if ((word_ & kNotMade) == 0) return (*this)->id;
    base::write_text(source_->id_of(base::AllocRow(word_ >> 1)), scratch);
    return scratch;
  }
  /// True if this ID comes before the other's as text. Numeric IDs compare in the same order as their texts.
  [[nodiscard]] bool id_before(const AllocRef& other) const {
    if ((word_ & other.word_ & kNotMade) != 0)
      return source_->id_of(base::AllocRow(word_ >> 1)) < other.source_->id_of(base::AllocRow(other.word_ >> 1));
    std::string scratch, other_scratch;
    return id(scratch) < other.id(other_scratch);
  }

 private:
  static constexpr std::uintptr_t kNotMade = 1;  // no allocation has an odd address
  mutable std::uintptr_t word_ = 0;              // the allocation, or its row and kNotMade
  AllocSource* source_ = nullptr;
};

struct AllocFacts {
  // Bits of `transition` (R-MODEL-153): the flag is present and true.
  static constexpr std::uint8_t kMigrate = 1, kReschedule = 2, kForceReschedule = 4, kMigrateDisablePlacement = 8;
  // Bits of `flags`.
  static constexpr std::uint8_t kHasStates = 1;       ///< some alloc state is recorded
  static constexpr std::uint8_t kCanary = 2;          ///< R-RECON-54
  static constexpr std::uint8_t kHealthy = 4;         ///< R-RECON-54
  static constexpr std::uint8_t kUnhealthy = 8;       ///< R-RECON-54
  static constexpr std::uint8_t kBatchJob = 16;       ///< the allocation's own job is of type batch
  static constexpr std::uint8_t kHasFollowup = 32;    ///< a follow-up evaluation is named
  static constexpr std::uint8_t kHasNext = 64;        ///< a replacement is named
  static constexpr std::uint8_t kOfDeployment = 128;  ///< belongs to the job's latest deployment

  AllocRef alloc;
  std::uint64_t job_version = 0, job_create_index = 0;  ///< of the allocation's own job
  std::uint32_t name_index = 0;                         ///< R-RECON-41, larger values as the largest
  std::uint32_t group = 0;                              ///< position in the caller's list of group names
  model::DesiredStatus desired = model::DesiredStatus::none;
  model::ClientStatus client = model::ClientStatus::none;
  NodeTaint taint = NodeTaint::none;
  std::uint8_t transition = 0, flags = 0;

  [[nodiscard]] bool server_terminal() const { return model::is_server_terminal(desired); }
  [[nodiscard]] bool client_terminal() const { return model::is_client_terminal(client); }
  [[nodiscard]] bool terminal() const { return server_terminal() || client_terminal(); }
  [[nodiscard]] bool has(std::uint8_t flag) const { return (flags & flag) != 0; }
  [[nodiscard]] bool wants(std::uint8_t bit) const { return (transition & bit) != 0; }
  /// True if desired and starting or running, with no transition requested and no state recorded. Only its node can
  /// then require an action.
  [[nodiscard]] bool is_calm() const {
    return desired == model::DesiredStatus::run && transition == 0 && !has(kHasStates) &&
           (client == model::ClientStatus::running || client == model::ClientStatus::pending);
  }
  /// The name index if the allocation is calm and its node untainted; else kUnsettled.
  [[nodiscard]] std::uint32_t slot() const { return taint == NodeTaint::none && is_calm() ? name_index : kUnsettled; }
  static constexpr std::uint32_t kUnsettled = ~0u;
};

/// Reads an allocation. `group` as in AllocFacts; `latest_deployment_id` is "" if the job has no deployment.
[[nodiscard]] AllocFacts read_facts(const model::Allocation& alloc, std::uint32_t group, NodeTaint taint,
                                    std::string_view latest_deployment_id);

/// AllocFacts::slot() of each allocation.
[[nodiscard]] std::vector<std::uint32_t> slots_of(std::span<const AllocFacts> allocs);

enum class AllocClass : std::uint8_t { untainted, migrate, lost, disconnecting, reconnecting, ignore, expiring };
[[nodiscard]] std::string_view to_text(AllocClass alloc_class);

/// Classifies by all rows of R-RECON-106.
[[nodiscard]] AllocClass classify_unusual(const AllocFacts& facts, std::int64_t now, bool disconnect_support = true);

/// The class of one allocation at `now`. The usual case takes about a nanosecond and reads five bytes. Without
/// `disconnect_support` no allocation reconnects, and allocations on a disconnected node are lost (R-SEED-61).
[[nodiscard]] inline AllocClass classify(const AllocFacts& facts, std::int64_t now, bool disconnect_support = true) {
  if (facts.taint == NodeTaint::none && facts.is_calm()) return AllocClass::untainted;  // row 14
  return classify_unusual(facts, now, disconnect_support);
}

}  // namespace berth::reconcile
