// SharedSlots: positions of contents that versions of jobs share: constraints, base sets, checks of groups. Equal
// contents have one position, which is used again for another content after the last version with it was destroyed.
// History counts the versions.
//
// Each content also has a number that is never used again (StateStore::numbers_). A cache by content that is indexed by
// position stores the number with its entry, and empties the entry when a job brings another number.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/assert.h"

namespace berth::tables {

class SharedSlots {
 public:
  struct Found {
    std::uint32_t slot;
    bool added;
  };
  /// Position of the content. `added`: it had none.
  Found find_or_add(std::string content) {
    const auto [at, added] = slots_.try_emplace(std::move(content), 0);
    if (!added) return {at->second, false};
    if (free_.empty()) {
      at->second = static_cast<std::uint32_t>(contents_.size());
      contents_.push_back(&at->first);
    } else {
      at->second = free_.back();
      free_.pop_back();
      contents_[at->second] = &at->first;
    }
    return {at->second, true};
  }
  /// Ends the content of the position, which may be used again.
  void release(std::uint32_t slot) {
    BERTH_ASSERT(slot < contents_.size() && contents_[slot]);
    slots_.erase(slots_.find(*std::exchange(contents_[slot], nullptr)));
    free_.push_back(slot);
  }
  [[nodiscard]] bool is_used(std::uint32_t slot) const { return slot < contents_.size() && contents_[slot]; }
  /// Number of positions, used and free.
  [[nodiscard]] std::size_t size() const { return contents_.size(); }
  /// Number of contents.
  [[nodiscard]] std::size_t used() const { return slots_.size(); }

 private:
  std::unordered_map<std::string, std::uint32_t> slots_;
  std::vector<const std::string*> contents_;  // by position: key of slots_; null: free
  std::vector<std::uint32_t> free_;
};

}  // namespace berth::tables
