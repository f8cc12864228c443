// Stores: what a server keeps that no scheduler reads: variables, access control, keys; and with them the
// indexes of their tables, their events and a bound on their memory.
//
//   index       every write takes one index of the cluster's log, whatever it changes (R-STORE-48); the writer draws it
//               with Simulation::take_index()
//   tables      touch() says that a write moved a table: long polls on it are looked at (R-API-50)
//   events      tell() hands what was written to the stream of events
//   memory      has_room() before a write that grows: all stores together hold at most `bytes_most`
// Threads: the simulation's.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/json.h"
#include "serve/stores/access.h"
#include "serve/stores/keyring.h"
#include "serve/stores/tables.h"
#include "serve/stores/variables.h"

namespace berth::serve {

class Stores {
 public:
  Stores(std::size_t bytes_most, std::int64_t now) : bytes_most_(bytes_most) { keyring_.begin(now); }

  [[nodiscard]] Variables& variables() { return variables_; }
  [[nodiscard]] Access& access() { return access_; }
  [[nodiscard]] Keyring& keyring() { return keyring_; }
  /// Who sends a request with this secret, where there is access control (R-STORE-61 to 67).
  [[nodiscard]] Asker who(const std::string& secret, std::int64_t now) {
    return access_.who(secret, now, [this](std::string_view text) { return keyring_.is_own(text); });
  }

  [[nodiscard]] std::uint64_t table_index(StoreTable table) const { return tables_[static_cast<std::size_t>(table)]; }
  void touch(StoreTable table, std::uint64_t index) { tables_[static_cast<std::size_t>(table)] = index; }

  using Listener = std::function<void(std::uint64_t index, const char* type, std::vector<StoreEvent> events)>;
  void listen(Listener listener) { listener_ = std::move(listener); }
  /// `type`: of the entry; a literal.
  void tell(std::uint64_t index, const char* type, std::vector<StoreEvent> events) const {
    if (listener_) listener_(index, type, std::move(events));
  }
  /// A variable was written, or is gone (R-STORE-49).
  void variable_written(const Variable& variable, std::uint64_t index, bool deleted);

  [[nodiscard]] bool has_room(std::size_t more) const {
    return variables_.bytes() + access_.bytes() + more <= bytes_most_;
  }

  /// When something happens by itself, in virtual time.
  [[nodiscard]] std::int64_t next_due() const {
    return std::min({variables_.next_due(), access_.next_due(), keyring_.next_due()});
  }
  /// Whatever is due at `now`; each of its entries draws an index.
  void run_due(std::int64_t now, const std::function<std::uint64_t()>& next_index);

  /// All that is stored, for a snapshot; what it gives makes the text, on any thread.
  [[nodiscard]] std::function<json::Value()> copy() const;
  /// What copy() wrote, into empty stores.
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

}  // namespace berth::serve
