// Node pools and namespaces (R-API-461 to 465).
#include <algorithm>

#include "base/json.h"
#include "fsm/change.h"

namespace berth::fsm {

namespace {

/// The object of that name, or null.
template <class Object>
const Object* named(const std::vector<Object>& all, std::string_view name) {
  const auto at = std::find_if(all.begin(), all.end(), [&](const Object& object) { return object.name == name; });
  return at == all.end() ? nullptr : &*at;
}

}  // namespace

std::string StateLog::apply(std::uint64_t index, const NodePoolUpsertEntry& entry, Hooks&) {
  seen(index);
  tables::Commit commit = store_.begin_commit(index);
  Change change{commit, this, EntryKind::pool_upsert};
  for (model::NodePool pool : entry.pools) {
    const model::NodePool* before = named(store_.current().cold->node_pools, pool.name);
    pool.create_index = before ? before->create_index : index;
    pool.modify_index = index;
    change.commit.upsert_node_pool(pool);
    change.note(&EntryRows::pools, pool.name);
  }
  touch(change, Table::node_pools);
  return "";
}

std::string StateLog::apply(std::uint64_t index, const NodePoolDeleteEntry& entry, Hooks&) {
  seen(index);
  for (const std::string& name : entry.names)
    if (!named(store_.current().cold->node_pools, name)) return "node pool " + name + " not found";
  tables::Commit commit = store_.begin_commit(index);
  Change change{commit, this, EntryKind::pool_delete};
  for (const std::string& name : entry.names) {
    change.note(&EntryRows::deleted_pools, *named(store_.current().cold->node_pools, name));
    change.commit.remove_node_pool(name);
  }
  touch(change, Table::node_pools);
  return "";
}

std::string StateLog::apply(std::uint64_t index, const NamespaceUpsertEntry& entry, Hooks&) {
  seen(index);
  tables::Commit commit = store_.begin_commit(index);
  Change change{commit};
  for (model::Namespace name_space : entry.namespaces) {
    const model::Namespace* before = named(store_.current().cold->namespaces, name_space.name);
    // An export may lack a namespace's creation index; `default` exists from the start (R-STORE-500).
    const std::uint64_t created = before ? before->extra["CreateIndex"].as_uint() : 0;
    const bool was_there = before || name_space.name == "default";
    name_space.extra.set("CreateIndex", was_there ? std::max<std::uint64_t>(created, 1) : index);
    name_space.extra.set("ModifyIndex", index);
    change.commit.upsert_namespace(name_space);
  }
  touch(change, Table::namespaces);
  return "";
}

std::string StateLog::apply(std::uint64_t index, const NamespaceDeleteEntry& entry, Hooks&) {
  seen(index);
  for (const std::string& name : entry.names)
    if (!named(store_.current().cold->namespaces, name)) return "namespace not found";
  tables::Commit commit = store_.begin_commit(index);
  Change change{commit};
  for (const std::string& name : entry.names) change.commit.remove_namespace(name);
  touch(change, Table::namespaces);
  return "";
}

}  // namespace berth::fsm
