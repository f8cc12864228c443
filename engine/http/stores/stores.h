// Stores: server data that schedulers do not read: variables, access control, keys. Also the indexes of their tables,
// their events and a memory limit.
//
//   index       every write uses one index of the cluster's log (R-STORE-48), drawn with Simulation::take_index()
//   tables      touch() records that a write changed a table, so that long polls on it are checked (R-API-50)
//   events      publish() passes writes to the event stream
//   memory      has_room() must be checked before a growing write: all stores together have at most `bytes_most`
// Threads: the simulation's.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/json.h"
#include "http/stores/access.h"
#include "http/stores/keyring.h"
#include "http/stores/tables.h"
#include "http/stores/variables.h"

namespace berth::http {

class Stores {
 public:
  Stores(std::size_t bytes_most, std::int64_t now) : bytes_most_(bytes_most) { keyring_.begin(now); }

  [[nodiscard]] Variables& variables() { return variables_; }
  [[nodiscard]] Access& access() { return access_; }
  [[nodiscard]] Keyring& keyring() { return keyring_; }
  /// The sender of a request with this secret, with access control on (R-STORE-61 to 67).
  [[nodiscard]] Asker who(const std::string& secret, std::int64_t now) {
    return access_.who(secret, now, [this](std::string_view text) { return keyring_.is_own(text); });
  }

  [[nodiscard]] std::uint64_t table_index(StoreTable table) const { return tables_[static_cast<std::size_t>(table)]; }
  void touch(StoreTable table, std::uint64_t index) { tables_[static_cast<std::size_t>(table)] = index; }

  using Listener = std::function<void(std::uint64_t index, const char* type, std::vector<StoreEvent> events)>;
  void listen(Listener listener) { listener_ = std::move(listener); }
  /// `type`: of the entry; a string literal.
  void publish(std::uint64_t index, const char* type, std::vector<StoreEvent> events) const {
    if (listener_) listener_(index, type, std::move(events));
  }
  /// A variable was written or deleted (R-STORE-49).
  void variable_written(const Variable& variable, std::uint64_t index, bool deleted);

  [[nodiscard]] bool has_room(std::size_t more) const {
    return variables_.bytes() + access_.bytes() + more <= bytes_most_;
  }

  /// Virtual time of the next due work.
  [[nodiscard]] std::int64_t next_due() const {
    return std::min({variables_.next_due(), access_.next_due(), keyring_.next_due()});
  }
  /// Does the work due at `now`; each entry draws an index.
  void run_due(std::int64_t now, const std::function<std::uint64_t()>& next_index);

  /// All stored data, for a snapshot. The returned function makes the JSON, on any thread.
  [[nodiscard]] std::function<json::Value()> copy() const;
  /// Restores the data of copy() into empty stores.
  void restore(const json::Value& stored, std::int64_t now);

 private:
  void collect(std::int64_t now, const std::function<std::uint64_t()>& next_index);

  const std::size_t bytes_most_;
  Variables variables_;
  Access access_;
  Keyring keyring_;
  std::array<std::uint64_t, kStoreTables> tables_{};
  Listener listener_;
};

}  // namespace berth::http
