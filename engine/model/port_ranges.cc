#include "model/port_ranges.h"

#include <charconv>
#include <optional>

#include "base/text.h"

namespace berth::model {
namespace {

constexpr std::uint64_t kMaxEntries = 65536;

Result<std::uint64_t, std::string> parse_port(std::string_view digits) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error == std::errc::invalid_argument || end != digits.data() + digits.size())
    return tl::unexpected("strconv.ParseUint: parsing " + base::go_quote(digits) + ": invalid syntax");
  if (error == std::errc::result_out_of_range)
    return tl::unexpected("strconv.ParseUint: parsing " + base::go_quote(digits) + ": value out of range");
  return value;
}

std::optional<std::string> check_port(std::uint64_t port) {
  if (port == 0) return "port must be > 0";
  if (port > kPortCount) return "port must be < 65536 but found " + std::to_string(port);
  return std::nullopt;
}

}  // namespace

Result<std::vector<PortRange>, std::string> parse_port_ranges(std::string_view text) {
  std::vector<PortRange> out;
  if (text.empty()) return out;
  std::uint64_t entries = 0;
  for (const std::string_view raw : base::split(text, ',')) {
    const std::string_view part = base::trim_space(raw);
    if (part.empty()) return tl::unexpected(std::string("can't specify empty port"));
    const auto pieces = base::split(part, '-');
    if (pieces.size() > 2)
      return tl::unexpected(std::string("can only parse single port numbers or port ranges (ex. 80,100-120,150)"));
    const auto begin = parse_port(pieces[0]);
    if (!begin) return tl::unexpected(begin.error());
    std::uint64_t end = *begin;
    if (pieces.size() == 2) {
      const auto parsed = parse_port(pieces[1]);
      if (!parsed) return tl::unexpected(parsed.error());
      end = *parsed;
      if (end < *begin)
        return tl::unexpected("invalid range: ending value (" + std::to_string(end) + ") less than starting (" +
                              std::to_string(*begin) + ") value");
    }
    if (auto problem = check_port(end)) return tl::unexpected(*problem);
    if (auto problem = check_port(*begin)) return tl::unexpected(*problem);
    entries += pieces.size() == 2 ? end - *begin : 1;
    if (entries > kMaxEntries) return tl::unexpected(std::string("maximum of 65536 ports can be reserved"));
    out.push_back({static_cast<std::uint32_t>(*begin), static_cast<std::uint32_t>(end)});
  }
  return out;
}

}  // namespace berth::model
