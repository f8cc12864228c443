// The tables of the stores, for long polls, and the events that writes to them send to the event stream.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/retained_json.h"

namespace berth::http {

enum class StoreTable : std::uint8_t {
  variables,
  acl_policies,
  acl_tokens,
  acl_roles,
  acl_auth_methods,
  acl_binding_rules,
  root_keys,
  // Rows of these are in the cluster's state; here only the index of the last deletion.
  host_volumes,
  volume_claims,
  csi_volumes
};
inline constexpr const char* kStoreTableNames[] = {"variables",        "acl_policy",        "acl_token", "acl_roles",
                                                   "acl_auth_methods", "acl_binding_rules", "root_keys", "host_volumes",
                                                   "task_volume",      "csi_volumes"};
inline constexpr std::size_t kStoreTables = 10;

struct StoreEvent {
  const char* topic = "";
  std::string key, name_space;
  std::vector<std::string> filter_keys;  ///< empty: null
  json::Retained payload;
};

}  // namespace berth::http
