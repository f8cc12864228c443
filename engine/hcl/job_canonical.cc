// The API's defaults on a decoded job (R-HCL-732). The model has them for the registered form of a job, which omits
// unset and some other fields. They are filled in on a copy in that form and merged into the decoded job.
#include <algorithm>
#include <array>

#include "hcl/job_file.h"
#include "hcl/job_tables.h"
#include "model/codec/api_defaults.h"

namespace berth::hcl {
namespace {

/// A copy without null members.
json::Value without_nulls(const json::Value& value) {
  if (value.is_array()) {
    json::Value list = json::Value::array();
    for (const json::Value& item : value.items()) list.push(without_nulls(item));
    return list;
  }
  if (!value.is_object()) return value;
  json::Object members;
  for (const json::Member& member : value.members()) {
    if (!member.value.is_null()) members.push_back({member.key, without_nulls(member.value)});
  }
  return members;
}

/// Adds what `filled` has and `value` lacks. Members that only `value` has stay, and so do lists whose lengths differ.
void lay_over(json::Value& value, const json::Value& filled) {
  if (value.is_object() && filled.is_object()) {
    // The members of `filled` are in the order of `value`'s, without the nulls; added members follow them.
    std::size_t next = 0;
    for (const json::Member& member : filled.members()) {
      const json::Object& own_members = value.members();
      while (next < own_members.size() && own_members[next].value.is_null() && own_members[next].key != member.key) {
        ++next;
      }
      const bool in_order = next < own_members.size() && own_members[next].key == member.key;
      if (json::Value* own = in_order ? &value.members()[next++].value : value.find(member.key)) {
        lay_over(*own, member.value);
      } else {
        value.members().push_back(member);
      }
    }
  } else if (value.is_array() && filled.is_array()) {
    if (value.size() != filled.size()) return;
    for (std::size_t i = 0; i < value.size(); ++i) lay_over(value.items()[i], filled.items()[i]);
  } else {
    value = filled;
  }
}

/// Adds the members that a block created by a default lacks, recursively.
void complete(json::Value& value, const Table& table) {
  if (!value.is_object()) return;
  for (const json::Member& member : table.unset) {
    if (!value.has(member.key)) value.members().push_back(member);
  }
  for (const BlockField& block : table.blocks) {
    json::Value* part = value.find(table.unset[block.place].key);
    if (block.table == nullptr || part == nullptr) continue;
    if (block.shape == Shape::one) {
      complete(*part, *block.table);
    } else if (block.shape == Shape::list && part->is_array()) {
      for (json::Value& item : part->items()) complete(item, *block.table);
    } else if (part->is_object()) {
      for (json::Member& member : part->members()) complete(member.value, *block.table);
    }
  }
}

void zero_if_null(json::Value& object, std::initializer_list<const char*> keys, const json::Value& zero) {
  for (const char* key : keys) {
    if (json::Value* field = object.find(key); field != nullptr && field->is_null()) *field = zero;
  }
}

/// Fields that the API sets to zero values if unset.
void fill_zeros(json::Value& job) {
  zero_if_null(
      job, {"NodePool", "ConsulNamespace", "VaultNamespace", "NomadTokenID", "ParentID", "Status", "StatusDescription"},
      "");
  zero_if_null(job, {"AllAtOnce", "Stable", "Stop"}, false);
  zero_if_null(job, {"CreateIndex", "ModifyIndex", "JobModifyIndex", "Version"}, 0);
  json::Value& periodic = *job.find("Periodic");
  zero_if_null(periodic, {"Spec"}, "");
  zero_if_null(periodic, {"Specs"}, json::Value::array());
  zero_if_null(periodic, {"ProhibitOverlap"}, false);
  if (json::Value* regions = job.find("Multiregion")->find("Regions"); regions != nullptr && regions->is_array()) {
    for (json::Value& region : regions->items()) {
      zero_if_null(region, {"Datacenters"}, json::Value::array());
      zero_if_null(region, {"Meta"}, json::Value::object());
    }
  }
  json::Value& groups = *job.find("TaskGroups");
  if (!groups.is_array()) return;
  for (json::Value& group : groups.items()) {
    zero_if_null(*group.find("EphemeralDisk"), {"Sticky", "Migrate"}, false);
  }
}

/// The registered form has a gateway mode for each upstream; the API's does not.
void drop_made_gateways(json::Value& services, const json::Value& before) {
  if (!services.is_array()) return;
  for (std::size_t s = 0; s < services.size(); ++s) {
    json::Value* part = &services.items()[s];
    const json::Value* old = &before[s];
    for (const char* key : {"Connect", "SidecarService", "Proxy", "Upstreams"}) {
      part = part == nullptr ? nullptr : part->find(key);
      old = &(*old)[key];
    }
    if (part == nullptr || !part->is_array()) continue;
    for (std::size_t u = 0; u < part->size(); ++u) {
      if (json::Value* gateway = part->items()[u].find("MeshGateway")) *gateway = (*old)[u]["MeshGateway"];
    }
  }
}

}  // namespace

void canonicalize(json::Value& job) {
  json::Value filled = without_nulls(job);
  model::fill_api_defaults(filled, true);
  const json::Value before = job;
  lay_over(job, filled);
  complete(job, job_table("job"));
  fill_zeros(job);
  json::Value& groups = *job.find("TaskGroups");
  if (!groups.is_array()) return;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    json::Value& group = groups.items()[g];
    const json::Value& old = before["TaskGroups"][g];
    drop_made_gateways(*group.find("Services"), old["Services"]);
    json::Value& tasks = *group.find("Tasks");
    if (!tasks.is_array()) continue;
    for (std::size_t t = 0; t < tasks.size(); ++t) {
      json::Value& task = tasks.items()[t];
      drop_made_gateways(*task.find("Services"), old["Tasks"][t]["Services"]);
      if (old["Tasks"][t]["CSIPluginConfig"].is_null()) task.erase("CSIPluginConfig");  // R-HCL-400
    }
  }
}

}  // namespace berth::hcl
