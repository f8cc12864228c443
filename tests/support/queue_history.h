// Histories of a priority queue, and a check whether some order of the operations explains all results.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace berth::testing {

/// One operation: called at `begin`, returned at `end` (time stamps of one clock).
struct QueueOp {
  std::uint64_t begin = 0, end = 0;
  bool is_push = false;
  std::uint32_t level = 0;             ///< push
  std::optional<std::uint32_t> value;  ///< pushed or popped value; none: the queue was empty
  std::uint32_t thread = 0;
};

/// True if the operations have an order that respects time (an operation that ended before another began comes first)
/// and in which a priority queue, first in first out within a level, gives exactly these results. Exhaustive search
/// that caches failed states; meant for about 20 operations, at most 64.
class Linearizer {
 public:
  explicit Linearizer(const std::vector<QueueOp>& ops) : ops_(ops) {
    // The search tries operations in this order: pops as called, pushes in the order of their pops, which is nearly
    // always the answer. The order changes only how long a search takes.
    std::map<std::uint32_t, std::uint64_t> popped;
    for (const QueueOp& op : ops)
      if (!op.is_push && op.value) popped[*op.value] = op.begin;
    const auto rank = [&](const QueueOp& op) {
      if (!op.is_push) return std::pair(0, op.begin);
      const auto at = popped.find(*op.value);
      return std::pair(1, at == popped.end() ? ~std::uint64_t{0} : at->second);
    };
    std::stable_sort(ops_.begin(), ops_.end(), [&](const QueueOp& a, const QueueOp& b) { return rank(a) < rank(b); });
  }
  bool check() { return search(0); }

 private:
  bool search(std::uint64_t done) {
    if (done == (ops_.size() == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << ops_.size()) - 1)) return true;
    if (!failed_.insert(key(done)).second) return false;
    std::uint64_t first_end = ~std::uint64_t{0};
    for (std::size_t i = 0; i < ops_.size(); ++i)
      if (!(done >> i & 1)) first_end = std::min(first_end, ops_[i].end);
    for (std::size_t i = 0; i < ops_.size(); ++i) {
      if (done >> i & 1 || ops_[i].begin > first_end) continue;
      const QueueOp& op = ops_[i];
      if (op.is_push) {
        levels_[op.level].push_back(*op.value);
        if (search(done | std::uint64_t{1} << i)) return true;
        auto& level = levels_[op.level];
        level.pop_back();
        if (level.empty()) levels_.erase(op.level);
      } else if (!op.value) {
        if (levels_.empty() && search(done | std::uint64_t{1} << i)) return true;
      } else if (!levels_.empty() && levels_.rbegin()->second.front() == *op.value) {
        const std::uint32_t at = levels_.rbegin()->first;
        levels_[at].pop_front();
        if (levels_[at].empty()) levels_.erase(at);
        if (search(done | std::uint64_t{1} << i)) return true;
        levels_[at].push_front(*op.value);
      }
    }
    return false;
  }
  std::string key(std::uint64_t done) const {
    std::string out(reinterpret_cast<const char*>(&done), sizeof done);
    for (const auto& [level, values] : levels_)
      for (const std::uint32_t v : values) out.append(reinterpret_cast<const char*>(&v), sizeof v);
    return out;
  }

  std::vector<QueueOp> ops_;
  std::map<std::uint32_t, std::deque<std::uint32_t>> levels_;
  std::set<std::string> failed_;
};

inline std::string to_text(const std::vector<QueueOp>& ops) {
  std::string out;
  for (const QueueOp& op : ops) {
    out +=
        "thread " + std::to_string(op.thread) + " [" + std::to_string(op.begin) + ", " + std::to_string(op.end) + "] ";
    if (op.is_push)
      out += "push " + std::to_string(*op.value) + " at level " + std::to_string(op.level);
    else
      out += op.value ? "pop -> " + std::to_string(*op.value) : std::string("pop -> nothing");
    out += "\n";
  }
  return out;
}

}  // namespace berth::testing
