#include "model/computed_class.h"

#include <bit>
#include <cstdint>
#include <initializer_list>
#include <string_view>

namespace berth::model {
namespace {

using Hash = std::uint64_t;

// 64-bit FNV-1: multiply, then xor.
constexpr Hash kOffset = 0xCBF29CE484222325, kPrime = 0x100000001B3;

constexpr Hash add_byte(Hash h, unsigned char byte) { return (h * kPrime) ^ byte; }
constexpr Hash add_u64(Hash h, std::uint64_t value) {  // little endian
  for (int shift = 0; shift < 64; shift += 8) h = add_byte(h, static_cast<unsigned char>(value >> shift));
  return h;
}
constexpr Hash hash_u64(std::uint64_t value) { return add_u64(kOffset, value); }
constexpr Hash pair(Hash a, Hash b) { return add_u64(hash_u64(a), b); }
constexpr Hash kAbsent = hash_u64(0);  // of any absent optional; an int 0 and a double 0.0 hash alike

constexpr Hash hash(std::string_view text) {
  Hash h = kOffset;
  for (const char c : text) h = add_byte(h, static_cast<unsigned char>(c));
  return h;
}
Hash hash(const std::string& text) { return hash(std::string_view(text)); }
Hash hash(const std::optional<double>& v) { return v ? hash_u64(std::bit_cast<std::uint64_t>(*v)) : kAbsent; }
Hash hash(const std::optional<std::int64_t>& v) { return v ? hash_u64(static_cast<std::uint64_t>(*v)) : kAbsent; }
Hash hash(const std::optional<std::string>& v) { return v ? hash(std::string_view(*v)) : kAbsent; }
Hash hash(const std::optional<bool>& v) { return v ? add_byte(kOffset, *v ? 1 : 0) : kAbsent; }

struct Field {
  std::string_view name;
  Hash value;
};
/// A struct is the xor of its name and its fields, so that the order of fields does not matter.
Hash record(std::string_view name, std::initializer_list<Field> fields) {
  Hash h = hash(name);
  for (const Field& field : fields) h ^= pair(hash(field.name), field.value);
  return h;
}

Hash hash(const Attribute& a) {
  return record("Attribute", {{"Float", hash(a.float_value)},
                              {"Int", hash(a.int_value)},
                              {"String", hash(a.string_value)},
                              {"Bool", hash(a.bool_value)},
                              {"Unit", hash(a.unit)}});
}
Hash hash(const std::optional<Attribute>& a) { return a ? hash(*a) : kAbsent; }

/// Xor over the entries that nodes of one class share: keys that do not begin with `unique.` (R-MODEL-540).
template <class Map>
Hash hash_shared_entries(const Map& map) {
  Hash h = 0;
  for (const auto& [key, value] : map)
    if (!key.starts_with("unique.")) h ^= pair(hash(key), hash(value));
  return h;
}

Hash hash(const NodeDevice& device) {
  return record("NodeDeviceResource", {{"Vendor", hash(device.vendor)},
                                       {"Type", hash(device.type)},
                                       {"Name", hash(device.name)},
                                       {"Attributes", hash_shared_entries(device.attributes)}});
}

Hash hash(const NodeResources& resources) {
  Hash devices = 0;  // a list: order matters (R-MODEL-542)
  for (const NodeDevice& device : resources.devices) devices = pair(devices, hash(device));
  return record("NodeResources", {{"Devices", devices}});
}

}  // namespace

std::string computed_class(const Node& node) {
  const Hash h = record("Node", {{"Datacenter", hash(node.datacenter)},
                                 {"NodeClass", hash(node.node_class)},
                                 {"NodePool", hash(node.node_pool)},
                                 {"Attributes", hash_shared_entries(node.attributes)},
                                 {"Meta", hash_shared_entries(node.meta)},
                                 {"NodeResources", node.node_resources ? hash(*node.node_resources) : kAbsent}});
  return "v1:" + std::to_string(h);
}

}  // namespace berth::model
