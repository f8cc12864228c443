// Variables: small texts, encrypted in a real cluster and unencrypted here, with check-and-set and locks (R-STORE-1 to
// 49). endpoints/variables.cc reads requests and draws log indexes.
//
//   identity   (namespace, path); rows are ordered by it, bytewise
//   lock       part of its variable. Its timer runs on virtual time: it expires 2 x TTL after it was last acquired or
//              renewed, and LockDelay after that the variable is released (R-STORE-42, 43)
//   cost       O(log rows) per write; a list copies one pointer per shown row
// Threads: the simulation's. Variables are immutable and shared: lists are written on other threads.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/time.h"

namespace berth::http {

struct VariableLock {
  std::string id;
  std::int64_t ttl_ns = 0, delay_ns = 0;
};

struct Variable {
  std::string name_space, path;
  std::map<std::string, std::string> items;
  std::uint64_t create_index = 0, modify_index = 0;
  std::int64_t create_time = 0, modify_time = 0;  ///< virtual, unix ns
  std::optional<VariableLock> lock;
  std::string key_id;  ///< of the root key that was active at its write

  [[nodiscard]] std::size_t bytes() const;  ///< approximate memory
};
using VariableRef = std::shared_ptr<const Variable>;

/// R-STORE-1; `items` false: metadata.
[[nodiscard]] json::Value variable_json(const Variable& variable, bool items, bool lock);
/// The answer to a conflict with an absent variable, or with a lock (R-STORE-28, 36).
[[nodiscard]] json::Value no_variable_json(const std::string& name_space, const std::string& path);
/// Why this path is invalid (R-STORE-5 to 10); "" if valid.
[[nodiscard]] std::string variable_path_problem(std::string_view path);

class Variables {
 public:
  static constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();
  static constexpr std::int64_t kLockDefault = 15 * base::kSecond;  ///< TTL and LockDelay (R-STORE-34)
  static constexpr std::size_t kItemBytesMost = 65'536;             ///< keys and values (R-STORE-11)

  enum class Outcome : std::uint8_t {
    done,
    conflict,     ///< the check index differs; `variable` is the stored one, null: there is none
    locked,       ///< by another holder
    absent,       ///< no such variable
    unlocked,     ///< it has no lock
    nothing_done  ///< removal of an absent variable
  };
  struct Written {
    Outcome outcome = Outcome::done;
    VariableRef variable;
  };
  struct Now {
    std::uint64_t index = 0;  ///< of the log entry
    std::int64_t ns = 0;      ///< virtual
  };

  [[nodiscard]] VariableRef find(const std::string& name_space, const std::string& path) const;
  /// Variables in order; `name_space` "*": of all.
  [[nodiscard]] std::vector<VariableRef> list(const std::string& name_space, const std::string& prefix) const;
  [[nodiscard]] bool any_in(const std::string& name_space) const;
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

  /// Writes a variable. `check`: required ModifyIndex of the stored one; 0: it must be absent (R-STORE-18 to 28, 38).
  Written write(Variable variable, std::optional<std::uint64_t> check, Now now);
  Written remove(const std::string& name_space, const std::string& path, std::optional<std::uint64_t> check);
  Written acquire(Variable variable, Now now);  ///< R-STORE-34 to 37
  Written renew(const std::string& name_space, const std::string& path, const std::string& lock_id, std::int64_t now);
  Written release(const std::string& name_space, const std::string& path, const std::string& lock_id, Now now);

  /// Time of the next timer.
  [[nodiscard]] std::int64_t next_due() const { return timers_.empty() ? kNever : timers_.begin()->at; }
  /// Ends the timers due at `now`, one lock after the other; those of variables without a lock by now write nothing.
  /// `next_index` draws the index of an entry, and `publish` receives what it wrote.
  template <class NextIndex, class Publish>
  void run_due(std::int64_t now, NextIndex next_index, Publish publish) {
    while (next_due() <= now)
      if (const VariableRef held = end_timer()) publish(write_unlocked(*held, next_index()));
  }

  /// Assigns all variables to another root key, without changing indexes.
  void set_key(const std::string& key_id);
  [[nodiscard]] bool any_with_key(const std::string& key_id) const;

  /// Restores a stored variable; restarts the timer of its lock (R-STORE-42).
  void restore(Variable variable, std::int64_t now);

 private:
  using Key = std::pair<std::string, std::string>;
  struct Timer {
    std::int64_t at = 0;
    bool removes = false;  // timer of the delay, not of the time to live
    Key key;
    friend auto operator<=>(const Timer&, const Timer&) = default;
  };
  VariableRef store(Variable variable);
  VariableRef end_timer();
  VariableRef write_unlocked(const Variable& held, std::uint64_t index);
  void start_ttl(const Key& key, std::int64_t at);
  void stop_ttl(const Key& key);
  void start_delay(const Key& key, std::int64_t at);

  std::map<Key, VariableRef> rows_;
  std::set<Timer> timers_;
  std::map<Key, std::int64_t> expiry_of_, removal_of_;  // when the timers of a key end
  std::size_t bytes_ = 0;
};

}  // namespace berth::http
