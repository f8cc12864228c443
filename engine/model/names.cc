#include "model/names.h"

#include <charconv>
#include <limits>

namespace berth::model {

std::string alloc_name(std::string_view job, std::string_view group, std::uint64_t index) {
  char digits[20];
  const auto [end, error] = std::to_chars(digits, digits + sizeof digits, index);
  std::string out;
  out.reserve(job.size() + group.size() + static_cast<std::size_t>(end - digits) + 3);
  out.append(job).append(1, '.').append(group).append(1, '[').append(digits, end).append(1, ']');
  return out;
}

std::uint64_t alloc_index(std::string_view name, std::string_view job_id, std::string_view group) {
  const std::size_t prefix = job_id.size() + group.size() + 2;
  if (name.size() <= 3 || name.size() <= prefix) return 0;
  std::string_view digits = name.substr(prefix, name.size() - 1 - prefix);
  bool negative = false;
  if (!digits.empty() && (digits[0] == '+' || digits[0] == '-')) {
    negative = digits[0] == '-';
    digits.remove_prefix(1);
  }
  if (digits.empty()) return 0;
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error == std::errc::invalid_argument || end != digits.data() + digits.size()) return 0;
  constexpr auto kMax = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  const std::uint64_t limit = negative ? kMax + 1 : kMax;  // beyond it the value is clamped
  if (error == std::errc::result_out_of_range || value > limit) value = limit;
  return negative ? 0 - value : value;
}

std::string_view alloc_suffix(std::string_view name) {
  const std::size_t at = name.rfind('[');
  return at == std::string_view::npos ? std::string_view() : name.substr(at);
}

std::string_view parent_job_id(std::string_view job_id) {
  if (job_id.starts_with('/')) return job_id;
  for (const std::string_view infix : {"/dispatch-", "/periodic-"})
    if (const std::size_t at = job_id.find(infix); at != std::string_view::npos) job_id = job_id.substr(0, at);
  return job_id;
}

std::string dispatched_job_id(std::string_view parent, std::string_view prefix, std::int64_t unix_seconds,
                              std::string_view hex) {
  std::string out(parent);
  out += "/dispatch-";
  if (!prefix.empty()) out.append(prefix).append(1, '-');
  return out.append(std::to_string(unix_seconds)).append(1, '-').append(hex);
}

}  // namespace berth::model
