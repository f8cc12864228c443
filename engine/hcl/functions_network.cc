// R-HCL-640 to 643: network addresses. All arithmetic is on 128 bits.
#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <cstdio>

#include "base/text.h"
#include "hcl/function_table.h"

namespace berth::hcl {
namespace {

__extension__ typedef unsigned __int128 Bits;

/// A mask of the `bits` lowest bits.
Bits ones(int bits) { return bits >= 128 ? ~Bits{0} : (Bits{1} << bits) - 1; }

struct Network {
  Bits address = 0;  // the host bits are 0
  int width = 32;    // bits of an address: 32 or 128
  int prefix = 0;

  [[nodiscard]] int host_bits() const { return width - prefix; }
};

std::string ipv4_text(Bits address) {
  std::array<char, 20> text{};
  const auto bits = static_cast<unsigned>(address);
  std::snprintf(text.data(), text.size(), "%u.%u.%u.%u", bits >> 24U, bits >> 16U & 255U, bits >> 8U & 255U,
                bits & 255U);
  return text.data();
}

/// The longest run of two or more zero groups becomes "::", the first one on a tie (RFC 5952).
std::string ipv6_text(Bits address) {
  std::array<unsigned, 8> groups{};
  for (std::size_t i = 0; i < 8; ++i) groups[i] = static_cast<unsigned>(address >> (112 - 16 * i)) & 0xFFFFU;
  std::size_t best = 8;
  std::size_t best_length = 1;
  for (std::size_t i = 0; i < 8; ++i) {
    std::size_t length = 0;
    while (i + length < 8 && groups[i + length] == 0) ++length;
    if (length > best_length) {
      best = i;
      best_length = length;
    }
  }
  std::string text;
  for (std::size_t i = 0; i < 8; ++i) {
    if (i == best) {
      text += "::";
      i += best_length - 1;
      continue;
    }
    if (!text.empty() && !text.ends_with(':')) text += ':';
    std::array<char, 8> group{};
    std::snprintf(group.data(), group.size(), "%x", groups[i]);
    text += group.data();
  }
  return text;
}

std::string address_text(Bits address, int width) {
  if (width == 32) return ipv4_text(address);
  if (address >> 32 == 0xFFFF) return ipv4_text(address);  // Go writes a mapped address as IPv4
  return ipv6_text(address);
}

std::string network_text(const Network& network) {
  return address_text(network.address, network.width) + "/" + std::to_string(network.prefix);
}

tl::expected<Network, std::string> parse_network(const std::string& text) {
  const auto invalid = tl::unexpected("invalid CIDR expression: invalid CIDR address: " + text);
  const auto slash = text.find('/');
  if (slash == std::string::npos) return invalid;
  const std::string address = text.substr(0, slash);
  const std::string_view prefix = std::string_view(text).substr(slash + 1);
  Network network;
  std::array<unsigned char, 16> bytes{};
  if (inet_pton(AF_INET, address.c_str(), bytes.data()) == 1) {
    network.width = 32;
  } else if (inet_pton(AF_INET6, address.c_str(), bytes.data()) == 1) {
    network.width = 128;
  } else {
    return invalid;
  }
  const auto length = base::parse_uint64(prefix);
  if (!length || *length > static_cast<std::uint64_t>(network.width)) return invalid;
  network.prefix = static_cast<int>(*length);
  for (int i = 0; i < network.width / 8; ++i)
    network.address = network.address << 8 | bytes[static_cast<std::size_t>(i)];
  network.address &= ~ones(network.host_bits());
  return network;
}

/// `number` shifted by `shift` bits within an address. A negative number is or-ed in two's complement of any length and
/// so loses its sign, as in the reference.
Bits with_number(const Network& network, std::int64_t number, int shift) {
  const Bits magnitude = number < 0 ? Bits(0) - static_cast<Bits>(number) : static_cast<Bits>(number);
  const Bits shifted = shift >= 128 ? 0 : magnitude << shift;
  if (number >= 0) return network.address | shifted;
  return ((shifted - 1) & ~network.address) + 1;
}

CallOutcome host(Arguments arguments, const FileAccess&) {
  const auto number = to_integer(arguments[1].number());
  if (!number) return fail(number.error());
  const auto network = parse_network(arguments[0].string());
  if (!network) return fail(network.error());
  const Bits most = ones(network->host_bits());
  const Bits magnitude = *number < 0 ? Bits(0) - static_cast<Bits>(*number) : static_cast<Bits>(*number);
  if (*number < 0 ? magnitude - 1 > most : magnitude > most) {
    return fail("prefix of " + std::to_string(network->prefix) + " does not accommodate a host numbered " +
                std::to_string(*number));
  }
  const Bits place = *number < 0 ? most - (magnitude - 1) : magnitude;
  return Value::of(address_text(network->address | place, network->width));
}

CallOutcome netmask(Arguments arguments, const FileAccess&) {
  const auto network = parse_network(arguments[0].string());
  if (!network) return fail(network.error());
  return Value::of(address_text(ones(network->width) & ~ones(network->host_bits()), network->width));
}

CallOutcome subnet(Arguments arguments, const FileAccess&) {
  const auto bits = to_integer(arguments[1].number());
  if (!bits) return fail(bits.error());
  const auto number = to_integer(arguments[2].number());
  if (!number) return fail(number.error());
  auto network = parse_network(arguments[0].string());
  if (!network) return fail(network.error());
  if (*bits > 32) return fail("may not extend prefix by more than 32 bits");
  if (*bits < -network->prefix || *bits > network->host_bits()) {
    return fail("insufficient address space to extend prefix of " + std::to_string(network->prefix) + " by " +
                std::to_string(*bits));
  }
  const Bits magnitude = *number < 0 ? Bits(0) - static_cast<Bits>(*number) : static_cast<Bits>(*number);
  if (magnitude > ones(static_cast<int>(std::max<std::int64_t>(*bits, 0)))) {
    return fail("prefix extension of " + std::to_string(*bits) + " does not accommodate a subnet numbered " +
                std::to_string(*number));
  }
  const int prefix = network->prefix + static_cast<int>(*bits);
  network->address = with_number(*network, *number, network->width - prefix);
  network->prefix = prefix;
  return Value::of(network_text(*network));
}

CallOutcome subnets(Arguments arguments, const FileAccess&) {
  const auto network = parse_network(arguments[0].string());
  if (!network) return fail(network.error());
  std::vector<Value> result;
  Network last;
  for (std::size_t i = 1; i < arguments.size(); ++i) {
    const auto bits = to_integer(arguments[i].number());
    if (!bits) return fail_argument(i, bits.error());
    if (*bits < 1) return fail_argument(i, "must extend prefix by at least one bit");
    if (*bits > 32) return fail_argument(i, "may not extend prefix by more than 32 bits");
    Network next = *network;
    next.prefix += static_cast<int>(*bits);
    if (next.prefix > next.width) {
      return fail_argument(i, "would extend prefix to " + std::to_string(next.prefix) +
                                  " bits, which is too long for an " + (next.width == 32 ? "IPv4" : "IPv6") +
                                  " address");
    }
    if (i > 1) {  // the first aligned address after the last subnet
      const Bits end = last.address + ones(last.host_bits());
      const Bits size_mask = ones(next.host_bits());
      next.address = (end | size_mask) + 1;
      const Bits network_end = network->address | ones(network->host_bits());
      if (end >= network_end || (end | size_mask) >= network_end) {
        return fail_argument(i, "not enough remaining address space for a subnet with a prefix of " +
                                    std::to_string(next.prefix) + " bits after " + network_text(last));
      }
    }
    result.push_back(Value::of(network_text(next)));
    last = next;
  }
  return Value::list(Kind::string, std::move(result));
}

}  // namespace

void add_network_functions(Functions& table) {
  const Parameter prefix{"prefix", Kind::string};
  const Parameter bits{"newbits", Kind::number};
  table.push_back({"cidrhost", {prefix, {"hostnum", Kind::number}}, {}, host});
  table.push_back({"cidrnetmask", {prefix}, {}, netmask});
  table.push_back({"cidrsubnet", {prefix, bits, {"netnum", Kind::number}}, {}, subnet});
  table.push_back({"cidrsubnets", {prefix}, bits, subnets});
}

}  // namespace berth::hcl
