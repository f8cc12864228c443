// Power, energy, carbon and price of a fleet over time. Sums are integers and exact; an event costs O(devices of the
// changed node), whatever the number of nodes and the time that passed.
//
//   power_mw    n x int64: power of each node
//   in_use      n x bool: it runs a task, so it is paid for
//   sums        power of all nodes, price of the nodes in use, and their integrals over time
//
// Carbon is power times intensity, which is constant within an hour and repeats each day. The integral of the intensity
// from time 0 has a closed form, so that a span of any length is one multiplication.
// Time begins at the first advance(). Read first: berth/power.h.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "berth/power.h"

namespace berth::packing {

/// Integral of the carbon intensity over time, in closed form.
class CarbonClock {
 public:
  /// `grams_per_kwh`: 24 values by hour of the day, or none: 0. Rounded to mg.
  explicit CarbonClock(const std::vector<double>& grams_per_kwh);
  __extension__ using Wide = __int128;
  /// Integral from time 0 to `at_ns`, which must be at least 0. In mg per kWh times ns.
  [[nodiscard]] Wide integral(std::int64_t at_ns) const;

 private:
  static constexpr std::size_t kHours = 24;
  std::array<std::int64_t, kHours> mg_per_kwh_{};
  std::array<std::int64_t, kHours + 1> before_{};  ///< sum of the hours before
};

/// What a run used, from the first arrival to the last. Values that the workload does not give are 0.
struct PowerUse {
  double power_mean_kw = 0;  ///< over time; if no time passed, at the end
  double energy_kwh = 0;
  double carbon_kg = 0;
  double price = 0;  ///< of the nodes in use
};

class PowerMeter {
 public:
  /// The rates must outlive it.
  PowerMeter(const strategy::Fleet& fleet, const strategy::RateTable& rates, const std::vector<double>& carbon);

  /// The fleet stayed as it is from the last call until `now_ns`, which may not decrease. Call it before the changes of
  /// that time.
  void advance(const strategy::Fleet& fleet, std::int64_t now_ns);

  /// Of all nodes, as the fleet is now.
  [[nodiscard]] double power_kw(const strategy::Fleet& fleet);
  /// From the first to the last call of advance().
  [[nodiscard]] PowerUse use(const strategy::Fleet& fleet);

 private:
  using Wide = CarbonClock::Wide;
  void follow(const strategy::Fleet& fleet);
  void update(const strategy::Fleet& fleet, strategy::Row row);

  const strategy::RateTable* rates_;
  CarbonClock carbon_;
  std::vector<std::int64_t> power_mw_;
  std::vector<bool> in_use_;
  std::int64_t total_mw_ = 0, price_micro_ = 0;  ///< of all nodes; per hour, of the nodes in use
  std::size_t seen_ = 0;                         ///< number of the fleet's changes applied
  bool started_ = false;
  std::int64_t begin_ns_ = 0, now_ns_ = 0;
  Wide carbon_now_ = 0;                                     ///< carbon_.integral(now_ns_)
  Wide energy_mw_ns_ = 0, carbon_sum_ = 0, price_sum_ = 0;  ///< mW ns; mW ns mg / kWh; micro ns / h
};

}  // namespace berth::packing
