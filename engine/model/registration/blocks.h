// Helpers over the blocks that a job retains as JSON: services, Connect, templates, identities. Part of registration.
#pragma once

#include <string>
#include <string_view>

#include "base/json.h"

namespace berth::model {

inline const std::string& text_at(const json::Value& block, std::string_view key) { return block[key].as_string(); }

inline void default_text(json::Value& block, std::string_view key, std::string_view text) {
  if (block[key].as_string().empty()) block.set(key, text);
}
/// Removes the member if it is an empty list, an empty object or null.
inline void drop_empty(json::Value& block, std::string_view key) {
  const json::Value* value = block.find(key);
  if (value && (value->is_null() || value->is_array() || value->is_object()) && value->size() == 0) block.erase(key);
}
/// Returns the member of that name; turns it into an object if it is none.
inline json::Value& object_at(json::Value& block, std::string_view key) {
  json::Value* value = block.find(key);
  return value && value->is_object() ? *value : block.set(key, json::Value::object());
}
inline std::string upper_case(std::string text) {
  for (char& c : text)
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  return text;
}
inline std::string lower_case(std::string text) {
  for (char& c : text)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return text;
}
[[nodiscard]] inline bool has_upper_case(std::string_view text) {
  for (const char c : text)
    if (c >= 'A' && c <= 'Z') return true;
  return false;
}
inline bool is_default_cluster(const std::string& cluster) { return cluster.empty() || cluster == "default"; }
/// An absent provider means Consul.
inline bool is_provider(const json::Value& service, std::string_view provider) {
  const std::string& given = text_at(service, "Provider");
  return given == provider || (given.empty() && provider == "consul");
}
inline bool is_netns(std::string_view network_mode) {
  return network_mode == "bridge" || network_mode.starts_with("cni/");
}

/// `host:port`, the host in brackets if it is an IPv6 address.
[[nodiscard]] std::string join_host_port(const std::string& host, const std::string& port);
/// Removes `.`, `..` and double slashes from a path, as text; "" becomes ".". A `..` above the start stays.
[[nodiscard]] std::string clean_path(std::string_view path);

}  // namespace berth::model
