#include "http/telemetry.h"

#include <algorithm>
#include <cmath>

#include "base/random.h"

namespace berth::http {

std::string labels_text(const Labels& labels) {
  std::string out;
  for (const auto& [name, value] : labels) out += (out.empty() ? "" : ";") + name + "=" + value;
  return out;
}

void Telemetry::Sums::add(double value) {
  min = count == 0 ? value : std::min(min, value);
  max = count == 0 ? value : std::max(max, value);
  ++count;
  sum += value, squares += value * value;
}

double Telemetry::Sums::deviation() const {
  if (count < 2) return 0;
  const auto n = static_cast<double>(count);
  return std::sqrt(std::max(0.0, (n * squares - sum * sum) / (n * (n - 1))));
}

/// Completes the present interval; removes series without recent events.
void Telemetry::roll(Clock::time_point now) {
  const std::int64_t interval = (now - began_) / kInterval;
  if (interval <= interval_) return;
  const bool next = interval == interval_ + 1;
  constexpr std::int64_t kKept = kExpiry / kInterval;
  for (Table* table : {&counters_, &samples_})
    for (auto at = table->begin(); at != table->end();) {
      Series& series = at->second;
      if (interval - series.touched > kKept) {
        at = table->erase(at);
        continue;
      }
      series.last = next ? std::exchange(series.now, {}) : Sums{};
      series.now = {};
      series.values_before = next ? std::exchange(series.values, {}) : std::vector<double>();
      series.values.clear();
      ++at;
    }
  interval_ = interval;
}

Telemetry::Series* Telemetry::touch(Table& table, std::string_view name, const Labels& labels) {
  key_.assign(name);
  key_ += '\0';
  for (const auto& [label, value] : labels) key_.append(label).append("=").append(value).append(";");
  auto at = table.find(key_);
  if (at == table.end()) {
    if (counters_.size() + samples_.size() >= kSeries) {
      ++left_out_;
      return nullptr;
    }
    at = table.emplace(key_, Series{}).first;
    at->second.labels = labels;
  }
  at->second.touched = interval_;
  return &at->second;
}

void Telemetry::count_at(Clock::time_point now, std::string_view name, const Labels& labels, double by) {
  const std::lock_guard lock(mutex_);
  roll(now);
  Series* series = touch(counters_, name, labels);
  if (!series) return;
  series->now.add(by);
  ++series->total_count, series->total += by;
}

void Telemetry::sample_at(Clock::time_point now, std::string_view name, const Labels& labels, double milliseconds) {
  const std::lock_guard lock(mutex_);
  roll(now);
  Series* series = touch(samples_, name, labels);
  if (!series) return;
  series->now.add(milliseconds);
  ++series->total_count, series->total += milliseconds;
  if (series->values.size() < kValues) return series->values.push_back(milliseconds);
  const std::uint64_t at = base::mix64(++draws_) % series->now.count;  // reservoir sampling
  if (at < kValues) series->values[at] = milliseconds;
}

Telemetry::Report Telemetry::report(Clock::time_point now) {
  const std::lock_guard lock(mutex_);
  roll(now);
  Report out;
  const bool has_last = interval_ > 0;
  if (has_last) out.age_seconds = std::chrono::duration_cast<std::chrono::seconds>((now - began_) % kInterval).count();
  const auto rows = [&](const Table& table, std::vector<Row>& to) {
    for (const auto& [key, series] : table) {
      Row& row = to.emplace_back();
      row.name = key.substr(0, key.find('\0'));
      row.labels = series.labels;
      row.interval = has_last ? series.last : series.now;
      row.total_count = series.total_count, row.total = series.total;
      std::vector<double> values = series.values_before;
      values.insert(values.end(), series.values.begin(), series.values.end());
      if (values.empty()) continue;
      std::sort(values.begin(), values.end());
      for (const double share : {0.5, 0.9, 0.99}) {
        const auto rank = static_cast<std::size_t>(std::ceil(share * static_cast<double>(values.size())));
        row.quantiles.push_back(values[std::max<std::size_t>(rank, 1) - 1]);
      }
    }
  };
  rows(counters_, out.counters), rows(samples_, out.samples);
  return out;
}

std::uint64_t Telemetry::left_out() {
  const std::lock_guard lock(mutex_);
  return left_out_;
}

}  // namespace berth::http
