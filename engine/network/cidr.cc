#include "network/cidr.h"

#include <arpa/inet.h>

#include <algorithm>
#include <charconv>

namespace berth::network {
namespace {

bool maps_ipv4(const IpAddress& address) {
  static constexpr std::array<std::uint8_t, 12> kPrefix = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  return std::equal(kPrefix.begin(), kPrefix.end(), address.bytes.begin());
}

std::string dotted(const std::uint8_t* bytes) {
  std::string out = std::to_string(bytes[0]);
  for (int i = 1; i < 4; ++i) out.append(1, '.').append(std::to_string(bytes[i]));
  return out;
}

std::optional<IpAddress> parse_address(const std::string& text) {
  IpAddress out;
  if (inet_pton(AF_INET, text.c_str(), out.bytes.data()) == 1) {
    out.v4 = true;
    return out;
  }
  if (inet_pton(AF_INET6, text.c_str(), out.bytes.data()) == 1) return out;
  return std::nullopt;
}

}  // namespace

std::string to_text(const IpAddress& address) {
  if (address.v4) return dotted(address.bytes.data());
  if (maps_ipv4(address)) return dotted(address.bytes.data() + 12);
  std::array<unsigned, 8> groups{};
  for (std::size_t i = 0; i < 8; ++i) groups[i] = address.bytes[2 * i] * 256U + address.bytes[2 * i + 1];
  std::size_t run_begin = 8, run_end = 8;  // longest run of at least two zero groups, the first among equals
  for (std::size_t i = 0; i < 8; ++i) {
    std::size_t j = i;
    while (j < 8 && groups[j] == 0) ++j;
    if (j > i + 1 && j - i > run_end - run_begin) run_begin = i, run_end = j;
    if (j > i) i = j;
  }
  std::string out;
  for (std::size_t i = 0; i < 8; ++i) {
    if (i == run_begin) {
      out += "::";
      i = run_end;
      if (i >= 8) break;
    } else if (i > 0) {
      out += ':';
    }
    char hex[8];
    const auto [end, error] = std::to_chars(hex, hex + sizeof hex, groups[i], 16);
    out.append(hex, end);
  }
  return out;
}

IpAddress next(IpAddress address) {
  for (int i = address.size() - 1; i >= 0; --i)
    if (++address.bytes[static_cast<std::size_t>(i)] != 0) break;
  return address;
}

std::optional<CidrBlock> parse_cidr(std::string_view text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos || text.find('\0') != std::string_view::npos) return std::nullopt;
  const auto address = parse_address(std::string(text.substr(0, slash)));
  if (!address) return std::nullopt;
  const std::string_view digits = text.substr(slash + 1);
  if (digits.empty() || digits.find_first_not_of("0123456789") != std::string_view::npos) return std::nullopt;
  int prefix = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), prefix);
  if (error != std::errc() || prefix > address->size() * 8) return std::nullopt;
  CidrBlock out{*address, *address};
  for (int bit = prefix; bit < address->size() * 8; ++bit) {
    const auto byte = static_cast<std::size_t>(bit / 8);
    const auto mask = static_cast<std::uint8_t>(0x80U >> (bit % 8));
    out.first.bytes[byte] = static_cast<std::uint8_t>(out.first.bytes[byte] & ~mask);
    out.last.bytes[byte] = static_cast<std::uint8_t>(out.last.bytes[byte] | mask);
  }
  return out;
}

}  // namespace berth::network
