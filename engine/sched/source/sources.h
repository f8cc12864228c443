// Names, switches and counts of the sources that answer the Selects of the generic stack. The general source is always
// on. All other sources and their helpers can be switched off without changing a decision (`--sources`).
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "berth/result.h"
#include "tables/needs.h"

namespace berth::sched {

using tables::Need;
using tables::Needs;

enum class SourceKind : std::uint8_t { index, full, none_fits, few_fit, failed_attempt, bounds, columns, general };
inline constexpr std::array<const char*, 8> kSourceNames = {
    "index", "full", "none with room", "few with room", "attempt failed before", "bounds", "columns", "general"};

/// Sources that can be switched off (see kSourceNames), and two helpers of sources.
enum class Switch : std::uint8_t {
  index,
  full,
  table,  ///< nodes with room, from the table of the request (by_table.h)
  failed_attempt,
  bounds,
  columns,
  scores,   ///< results of requests on untouched nodes, for the columns, from the same table (ask_table.h)
  amounts,  ///< fit of nodes with ports, devices or cores from numeric columns, and bounds of evictions
};
inline constexpr std::array<const char*, 8> kSwitchNames = {"index",  "full",    "table",  "failed-attempt",
                                                            "bounds", "columns", "scores", "amounts"};

class EnabledSources {
 public:
  /// All of them.
  constexpr EnabledSources() = default;
  [[nodiscard]] static constexpr EnabledSources none() {
    EnabledSources out;
    out.bits_ = 0;
    return out;
  }
  /// Parses `all`, `none`, or names separated by commas; `no-NAME` switches one off. `mixed` or `mixed:SEED`: all, but
  /// for each Select a random subset is drawn. The error text says what is wrong.
  [[nodiscard]] static Result<EnabledSources, std::string> parse(std::string_view text);
  [[nodiscard]] std::string text() const;

  [[nodiscard]] constexpr bool has(Switch which) const { return (bits_ >> static_cast<std::uint32_t>(which) & 1) != 0; }
  constexpr void set(Switch which, bool on) {
    const auto bit = static_cast<std::uint16_t>(1U << static_cast<std::uint32_t>(which));
    bits_ = static_cast<std::uint16_t>(on ? bits_ | bit : bits_ & ~bit);
  }
  /// Seed of the random subsets; 0: no subsets are drawn.
  [[nodiscard]] constexpr std::uint32_t seed() const { return seed_; }
  constexpr void mix(std::uint32_t seed) { seed_ = seed; }
  /// Returns the subset that Select number `select` of an attempt on state `index` may use.
  [[nodiscard]] EnabledSources drawn(std::uint64_t index, std::uint32_t select) const;
  friend constexpr bool operator==(EnabledSources, EnabledSources) = default;

 private:
  std::uint16_t bits_ = (1U << kSwitchNames.size()) - 1;
  std::uint32_t seed_ = 0;
};

/// Counts that `berth profile` reports. They show which Selects no fast source serves.
struct SourceCounts {
  std::array<std::uint64_t, kSourceNames.size()> selects{};
  /// Selects of the general source by a need that the columns do not serve; the last place: columns switched off.
  std::array<std::uint64_t, Needs::kBits + 1> unmet{};
  std::uint64_t options = 0;  ///< visits that built the resources the group would get on the node
  std::uint64_t known = 0;    ///< visits of nodes whose result was cached (ask_table.h)

  void add(SourceKind source) { ++selects[static_cast<std::size_t>(source)]; }
  void add_unmet(Needs needs) {
    needs.each([&](std::uint32_t bit) { ++unmet[bit]; });
  }
  SourceCounts& operator+=(const SourceCounts& other) {
    for (std::size_t i = 0; i < selects.size(); ++i) selects[i] += other.selects[i];
    for (std::size_t i = 0; i < unmet.size(); ++i) unmet[i] += other.unmet[i];
    options += other.options;
    known += other.known;
    return *this;
  }
};
[[nodiscard]] std::string unmet_name(std::size_t bit);

}  // namespace berth::sched
