#include "packing/power.h"

#include <cmath>

#include "base/assert.h"

namespace berth::packing {
namespace {
constexpr std::int64_t kHourNs = 3'600'000'000'000;
constexpr double kHour = static_cast<double>(kHourNs);
constexpr double kMilliwattsPerKw = 1e6;
}  // namespace

CarbonClock::CarbonClock(const std::vector<double>& grams_per_kwh) {
  BERTH_ASSERT(grams_per_kwh.empty() || grams_per_kwh.size() == kHours);
  for (std::size_t hour = 0; hour < grams_per_kwh.size(); ++hour)
    mg_per_kwh_[hour] = std::llround(grams_per_kwh[hour] * 1000);
  for (std::size_t hour = 0; hour < kHours; ++hour) before_[hour + 1] = before_[hour] + mg_per_kwh_[hour];
}

CarbonClock::Wide CarbonClock::integral(std::int64_t at_ns) const {
  const std::int64_t hours = at_ns / kHourNs, days = hours / static_cast<std::int64_t>(kHours);
  const auto hour = static_cast<std::size_t>(hours % static_cast<std::int64_t>(kHours));
  return (Wide{days} * before_[kHours] + before_[hour]) * kHourNs + Wide{at_ns % kHourNs} * mg_per_kwh_[hour];
}

PowerMeter::PowerMeter(const strategy::Fleet& fleet, const strategy::RateTable& rates,
                       const std::vector<double>& carbon)
    : rates_(&rates), carbon_(carbon), power_mw_(fleet.size()), in_use_(fleet.size()) {
  for (strategy::Row row = 0; row < fleet.size(); ++row) update(fleet, row);
  seen_ = fleet.changes().size();
}

void PowerMeter::follow(const strategy::Fleet& fleet) {
  for (; seen_ < fleet.changes().size(); ++seen_) update(fleet, fleet.changes()[seen_]);
}

void PowerMeter::advance(const strategy::Fleet& fleet, std::int64_t now_ns) {
  follow(fleet);
  if (!started_) {
    started_ = true, begin_ns_ = now_ns_ = now_ns, carbon_now_ = carbon_.integral(now_ns);
    return;
  }
  if (now_ns == now_ns_) return;
  BERTH_ASSERT(now_ns > now_ns_);
  const Wide carbon = carbon_.integral(now_ns), passed = Wide{now_ns} - now_ns_;
  energy_mw_ns_ += total_mw_ * passed;
  price_sum_ += price_micro_ * passed;
  carbon_sum_ += total_mw_ * (carbon - carbon_now_);
  carbon_now_ = carbon, now_ns_ = now_ns;
}

void PowerMeter::update(const strategy::Fleet& fleet, strategy::Row row) {
  const strategy::Node node = fleet.node(row);
  const std::int64_t power = strategy::node_power_mw(*rates_, node);
  total_mw_ += power - power_mw_[row];
  power_mw_[row] = power;
  const bool in_use = node.state.tasks > 0;
  if (in_use != in_use_[row]) price_micro_ += (in_use ? 1 : -1) * rates_->kinds[node.state.kind].price_micro;
  in_use_[row] = in_use;
}

double PowerMeter::power_kw(const strategy::Fleet& fleet) {
  follow(fleet);
  return static_cast<double>(total_mw_) / kMilliwattsPerKw;
}

PowerUse PowerMeter::use(const strategy::Fleet& fleet) {
  PowerUse out;
  const auto passed = static_cast<double>(now_ns_ - begin_ns_);
  out.energy_kwh = static_cast<double>(energy_mw_ns_) / kMilliwattsPerKw / kHour;
  out.power_mean_kw = passed == 0 ? power_kw(fleet) : static_cast<double>(energy_mw_ns_) / kMilliwattsPerKw / passed;
  out.carbon_kg = static_cast<double>(carbon_sum_) / kMilliwattsPerKw / kHour / 1e6;
  out.price = static_cast<double>(price_sum_) / 1e6 / kHour;
  return out;
}

}  // namespace berth::packing
