// The nodes that jobs of one base set may use now: in its pool and datacenters, and ready (R-FEAS-102 to 108).
//
//   candidates   16 B  per such node, ascending by ID
//   members       1 b  per node row
//   datacenter    4 B  per node row, of members: code
//   capacities         distinct values of the amounts that fit and score read
//   of_class           one candidate of each computed class
// The state makes the list of a base set when a job first needs it, and snapshots share it: a worker's first evaluation
// finds it there. After nodes change, a user of the current list copies it and updates it from state to state: it
// visits each changed node and moves the entries after it, 16 B a candidate, without visiting any other node. Threads:
// an object has one owner until it is shared, then it is read-only.
#pragma once

#include <tsl/robin_map.h>

#include <array>
#include <span>

#include "tables/node_table.h"

namespace berth::tables {

/// Distinct (datacenter patterns, pool) of jobs, which determine the list of ready nodes.
struct BaseSetKey {
  std::vector<std::string> datacenters;
  std::string pool;
  friend bool operator==(const BaseSetKey&, const BaseSetKey&) = default;
};

class ReadyNodes {
 public:
  /// The node data that candidate preparation reads, in one place because nodes are visited in random order.
  struct Candidate {
    NodeRow row;
    std::uint32_t computed_class, node_class;  ///< column codes
    std::uint32_t capacity;                    ///< position in `capacities`
    friend bool operator==(const Candidate&, const Candidate&) = default;
  };
  struct Available {
    std::uint32_t datacenter;  ///< code
    std::int32_t count;        ///< number of candidates
  };

  /// Updates the list to `nodes`: visits O(changed nodes), or all of them if too many changed.
  void follow(const NodeTable& nodes, const SymbolTable& symbols, const BaseSetKey& key);
  /// True if the list matches these nodes.
  [[nodiscard]] bool is_of(const NodeTable& nodes) const { return epoch_ == nodes.epoch; }
  [[nodiscard]] std::uint64_t epoch() const { return epoch_; }  ///< of those nodes

  [[nodiscard]] std::size_t size() const { return candidates.size(); }
  [[nodiscard]] bool has(NodeRow row) const {
    return row / 64 < members_.size() && (members_[row / 64] >> row % 64 & 1) != 0;
  }
  /// Candidates per datacenter that a pattern matches and that has candidates, ascending by code.
  [[nodiscard]] std::span<const Available> available() const { return available_; }

  std::vector<Candidate> candidates;
  std::vector<NodeCapacity> capacities;  ///< some may be unused
  std::vector<Candidate> of_class;
  /// Number of candidates of the class of of_class[i].
  [[nodiscard]] std::uint32_t class_count(std::size_t i) const { return class_count_[i]; }

 private:
  using CapacityKey = std::array<std::int64_t, 7>;
  struct CapacityHash {
    std::size_t operator()(const CapacityKey& key) const noexcept;
  };
  struct Edit {
    std::uint32_t position;  ///< in the old list
    bool joins;              ///< before the candidate at that position; else that candidate leaves
    Candidate candidate;
  };

  void make(const NodeTable& nodes);
  bool edit(const NodeTable& nodes, const RowLog& log);
  void apply_edits();
  void match_codes(const NodeTable& nodes, const SymbolTable& symbols, const BaseSetKey& key);
  [[nodiscard]] bool is_wanted(const NodeTable& nodes, NodeRow row) const;
  Candidate enter(const NodeTable& nodes, NodeRow row);
  void leave(NodeRow row, std::uint32_t position);
  std::uint32_t capacity_of(const NodeCapacity& capacity);
  void count_available();

  std::uint64_t epoch_ = ~0ULL;  // of the node table
  std::uint64_t changes_ = 0;    // entries of the log that are included
  std::shared_ptr<const RowLog> log_;
  std::vector<std::uint64_t> members_;
  std::vector<std::uint32_t> datacenter_;
  std::vector<Available> available_;
  std::vector<std::int32_t> in_datacenter_;  // by code: candidates, -1: no pattern matches
  bool every_pool_ = false;
  std::uint32_t pool_ = 0, pools_seen_ = 0;  // code; number of codes examined
  std::vector<std::uint32_t> class_place_;   // computed class -> position in of_class + 1
  std::vector<std::uint32_t> class_count_;   // parallel to of_class
  tsl::robin_map<CapacityKey, std::uint32_t, CapacityHash> capacity_ids_;
  // Scratch of edit().
  std::vector<NodeRow> changed_;
  std::vector<Edit> edits_;
  std::vector<Candidate> tail_;
};

struct BaseSet {
  std::uint64_t number = 0;  ///< never used again, as its id may be (shared_slots.h)
  BaseSetKey key;
  std::shared_ptr<const ReadyNodes> ready;  ///< as of its creation; null: there were no nodes then
};

}  // namespace berth::tables
