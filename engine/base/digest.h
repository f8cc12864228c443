// A 64-bit fingerprint of all decisions of a run. Equal decisions give equal digests on every machine, instruction
// set and number of threads; different decisions give equal digests with probability 2^-64.
#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/random.h"

namespace berth::base {

/// Depends on the order. Version 1 hashes, per evaluation, its sequence number and, per placement in plan order, the
/// node's ID, the allocation's name index and the bits of the final score. A failed placement has the nil node and
/// score 0.
class DecisionDigest {
 public:
  static constexpr int kVersion = 1;

  void begin_evaluation(std::uint64_t sequence) { add(0x6576616cULL), add(sequence); }
  void placement(base::Uuid node, std::uint64_t name_index, double score) {
    add(node.hi), add(node.lo), add(name_index), add(std::bit_cast<std::uint64_t>(score));
  }
  void failure(std::string_view group, std::uint64_t count) { add(text_hash(group)), add(count), add(0x6661696cULL); }
  void stopped(base::Uuid alloc) { add(alloc.hi), add(alloc.lo), add(0x73746f70ULL); }
  /// Adds a log entry, for runs that keep a log.
  void entry(std::string_view kind, std::uint64_t index, std::int64_t at) {
    add(text_hash(kind)), add(index), add(static_cast<std::uint64_t>(at));
  }

  [[nodiscard]] std::uint64_t value() const { return state_; }
  [[nodiscard]] std::string text() const {
    static constexpr char kHex[] = "0123456789abcdef";
    std::string out;
    for (int shift = 60; shift >= 0; shift -= 4) out += kHex[state_ >> shift & 15];
    return out;
  }

 private:
  static std::uint64_t text_hash(std::string_view text) {
    std::uint64_t hash = 0xcbf29ce484222325ULL;  // FNV-1a
    for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
    return hash;
  }
  void add(std::uint64_t value) { state_ = mix64(state_ ^ value); }

  std::uint64_t state_ = mix64(kVersion);
};

}  // namespace berth::base
