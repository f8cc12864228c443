#include "model/update/job_diff.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/json_members.h"
#include "model/codec/codec.h"
#include "model/update/diff_annotations.h"
#include "model/update/spec_changed.h"

namespace berth::model {
namespace {

using json::Value;
using Names = std::span<const std::string_view>;

/// What is listed of a kind of block whose fields do not follow from its JSON alone.
struct Kind {
  std::string_view name;
  std::vector<std::pair<std::string_view, std::string_view>> fields;  ///< name, text when the JSON lacks it
  bool equal_fields = true;                                           ///< equal fields are listed when others differ
  bool nested = true;
};

const Kind* find_kind(std::string_view name) {
  static const std::array kKinds = {
      Kind{"Scaling", {{"Enabled", ""}, {"Max", ""}, {"Min", ""}}, false, false},
      Kind{"Network", {{"Hostname", ""}, {"Mode", ""}}},
      Kind{"Dynamic Port", {{"HostNetwork", ""}, {"Label", ""}, {"To", "0"}}},
      Kind{"Static Port",
           {{"HostNetwork", ""}, {"IgnoreCollision", "false"}, {"Label", ""}, {"To", "0"}, {"Value", "0"}}},
      Kind{"Update",
           {{"AutoPromote", "false"},
            {"AutoRevert", "false"},
            {"Canary", "0"},
            {"HealthCheck", ""},
            {"HealthyDeadline", "0"},
            {"MaxParallel", "0"},
            {"MinHealthyTime", "0"},
            {"ProgressDeadline", "0"}}},
      Kind{"Disconnect", {{"LostAfter", "0"}, {"Reconcile", ""}, {"Replace", "nil"}, {"StopOnClientAfter", "nil"}}},
      Kind{"Service",
           {{"Address", ""},
            {"AddressMode", ""},
            {"Cluster", ""},
            {"EnableTagOverride", "false"},
            {"Kind", ""},
            {"Name", ""},
            {"Namespace", ""},
            {"OnUpdate", ""},
            {"PortLabel", ""},
            {"Provider", ""},
            {"TaskName", ""}}},
      Kind{"Identity",
           {{"ChangeMode", ""},
            {"ChangeSignal", ""},
            {"Env", "false"},
            {"File", "false"},
            {"Filepath", ""},
            {"Name", ""},
            {"ServiceName", ""},
            {"TTL", "0"}}},
      Kind{"Resources",
           {{"CPU", "0"},
            {"Cores", "0"},
            {"DiskMB", "0"},
            {"IOPS", "0"},
            {"MemoryMB", "0"},
            {"MemoryMaxMB", "0"},
            {"SecretsMB", "0"}}},
      Kind{"Device", {{"Count", "0"}, {"Name", ""}}},
      Kind{"Template",
           {{"ChangeMode", ""},
            {"ChangeSignal", ""},
            {"DestPath", ""},
            {"EmbeddedTmpl", ""},
            {"Envvars", "false"},
            {"ErrMissingKey", "false"},
            {"LeftDelim", ""},
            {"Once", "false"},
            {"Perms", ""},
            {"RightDelim", ""},
            {"SourcePath", ""},
            {"Splay", "0"},
            {"VaultGrace", "0"}}},
      Kind{"Wait", {{"Max", "nil"}, {"Min", "nil"}}},
      Kind{"ParameterizedJob", {{"Payload", ""}}},
      Kind{"Volume",
           {{"AccessMode", ""},
            {"AttachmentMode", ""},
            {"Name", ""},
            {"PerAlloc", "false"},
            {"ReadOnly", "false"},
            {"Source", ""},
            {"Sticky", "false"},
            {"Type", ""}}},
  };
  for (const Kind& kind : kKinds)
    if (kind.name == name) return &kind;
  return nullptr;
}

/// Names of the objects that the blocks of a JSON key become.
std::string_view object_name(std::string_view key) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 16> kNames = {
      {{"Constraints", "Constraint"},
       {"Affinities", "Affinity"},
       {"Spreads", "Spread"},
       {"Networks", "Network"},
       {"ReservedPorts", "Static Port"},
       {"DynamicPorts", "Dynamic Port"},
       {"Devices", "Device"},
       {"Services", "Service"},
       {"Checks", "Check"},
       {"Connect", "ConsulConnect"},
       {"Templates", "Template"},
       {"Artifacts", "Artifact"},
       {"VolumeMounts", "VolumeMount"},
       {"Identities", "Identity"},
       {"Volumes", "Volume"},
       {"Secrets", "Secret"}}};
  for (const auto& [from, to] : kNames)
    if (from == key) return to;
  return key;
}

bool is_primitive(const Value& v) { return v.is_bool() || v.is_number() || v.is_string(); }

std::string text_of(const Value& v) {
  if (v.is_bool()) return v.as_bool() ? "true" : "false";
  if (v.is_string()) return v.as_string();
  if (v.is_double() && std::abs(v.as_double()) < 1e15 && v.as_double() == std::trunc(v.as_double()))
    return std::to_string(static_cast<std::int64_t>(v.as_double()));
  return is_primitive(v) ? json::to_text(v) : std::string();
}

const char* type_of(const std::string& before, const std::string& after) {
  if (before == after) return "None";
  return before.empty() ? "Added" : after.empty() ? "Deleted" : "Edited";
}

Value field(const std::string& name, const std::string& before, const std::string& after) {
  Value out = Value::object();
  out.set("Annotations", Value());
  out.set("Name", name), out.set("New", after), out.set("Old", before), out.set("Type", type_of(before, after));
  return out;
}

/// "args[0]", "logging[driver]": the leaves of a value as named texts.
void flatten(const std::string& name, const Value& v, std::map<std::string, std::string>& out) {
  if (is_primitive(v)) out[name] = text_of(v);
  for (const json::Member& m : v.members()) flatten(name + "[" + m.key + "]", m.value, out);
  for (std::size_t i = 0; i < v.items().size(); ++i) flatten(name + "[" + std::to_string(i) + "]", v.items()[i], out);
}

/// Fields of two maps of texts, by name.
void add_fields(const std::map<std::string, std::string>& before, const std::map<std::string, std::string>& after,
                bool equal_fields, Value& out) {
  static const std::string kNone;
  std::map<std::string, std::pair<const std::string*, const std::string*>> both;
  for (const auto& [name, text] : before) both[name] = {&text, &kNone};
  for (const auto& [name, text] : after) {
    auto& entry = both[name];
    if (!entry.first) entry.first = &kNone;
    entry.second = &text;
  }
  for (const auto& [name, texts] : both)
    if (equal_fields || *texts.first != *texts.second) out.push(field(name, *texts.first, *texts.second));
}

bool differs(const Value& fields) {
  return std::any_of(fields.items().begin(), fields.items().end(),
                     [](const Value& f) { return f["Type"].as_string() != "None"; });
}

Value null_if_empty(Value list) { return list.size() == 0 ? Value() : list; }

Value object(std::string_view name, std::string_view type, Value fields, Value objects) {
  Value out = Value::object();
  out.set("Fields", null_if_empty(std::move(fields)));
  out.set("Name", name);
  out.set("Objects", null_if_empty(std::move(objects)));
  out.set("Type", type);
  return out;
}

/// A list of texts as one object with a field per text, sorted by old and new text. Null when there is nothing to say;
/// `always`: equal lists are listed too, unless empty.
Value text_list(std::string_view name, const Value& before, const Value& after, bool always) {
  std::vector<std::pair<std::string, std::string>> entries;
  const auto texts_of = [](const Value& list) {
    std::unordered_set<std::string> out;
    for (const Value& v : list.items()) out.insert(text_of(v));
    return out;
  };
  const std::unordered_set<std::string> had = texts_of(before), has = texts_of(after);
  bool added = false, deleted = false;
  for (const Value& v : before.items()) {
    const std::string text = text_of(v);
    const bool kept = has.contains(text);
    entries.emplace_back(text, kept ? text : "");
    deleted |= !kept;
  }
  for (const Value& v : after.items())
    if (std::string text = text_of(v); !had.contains(text)) {
      entries.emplace_back("", std::move(text));
      added = true;
    }
  if (entries.empty() || (!added && !deleted && !always)) return {};
  std::sort(entries.begin(), entries.end());
  entries.erase(std::unique(entries.begin(), entries.end()), entries.end());
  Value fields = Value::array();
  for (const auto& [from, to] : entries) fields.push(field(std::string(name), from, to));
  return object(name,
                added && deleted ? "Edited"
                : added          ? "Added"
                : deleted        ? "Deleted"
                                 : "None",
                std::move(fields), {});
}

Value block(std::string_view name, const Value& before, const Value& after);

bool is_text_list(const Value& v) {
  return v.is_array() && v.size() > 0 && std::all_of(v.items().begin(), v.items().end(), is_primitive);
}
bool is_block_list(const Value& v) {
  return v.is_array() && v.size() > 0 &&
         std::all_of(v.items().begin(), v.items().end(), [](const Value& item) { return item.is_object(); });
}

/// Maps whose entries are fields of the block itself, `GetterOptions[depth]`.
bool is_field_map(std::string_view key) {
  return key == "Meta" || key == "Env" || key == "GetterOptions" || key == "GetterHeaders" || key == "CanaryMeta" ||
         key == "Options";
}

/// Absent members of a block are zero, and the ID of a scaling policy is the server's; a disconnect block tells an
/// absent Replace from a false one.
bool same_block(std::string_view name, const Value& a, const Value& b) {
  if (json::equal_ignoring_member_order(a, b)) return true;
  if (name == "Disconnect") return false;
  Value x = without_zeros(a), y = without_zeros(b);
  if (name == "Scaling") x.erase("ID"), y.erase("ID");
  return json::equal_ignoring_member_order(x, y);
}

/// A text that two blocks share exactly if they are the same_block(); not of a disconnect block, which is in no list.
std::string block_key(std::string_view name, const Value& v) {
  Value stripped = without_zeros(v);
  if (name == "Scaling") stripped.erase("ID");
  std::string out;
  json::append_canonical(out, stripped);
  return out;
}

/// Positions of a list by a key of each entry; the first one that is left is taken each time.
class Positions {
 public:
  void add(std::string key, std::size_t position) { by_key_[std::move(key)].list.push_back(position); }
  /// kNone when no entry with this key is left. `gone`: positions that something else took.
  std::size_t take(const std::string& key, const std::vector<bool>& gone) {
    const auto found = by_key_.find(key);
    if (found == by_key_.end()) return kNone;
    Entries& entries = found->second;
    while (entries.next < entries.list.size() && gone[entries.list[entries.next]]) ++entries.next;
    return entries.next < entries.list.size() ? entries.list[entries.next++] : kNone;
  }
  static constexpr std::size_t kNone = ~std::size_t{0};

 private:
  struct Entries {
    std::vector<std::size_t> list;
    std::size_t next = 0;
  };
  std::unordered_map<std::string, Entries> by_key_;
};

/// The blocks of a list. Equal ones are not listed; of the rest those of one name (Device, Identity) or else of one
/// position are a pair, but constraints, affinities, spreads, ports and networks are never edited, only exchanged.
void block_list(std::string_view name, const Value& before, const Value& after, Value& out) {
  const json::Array& old = before.items();
  std::vector<bool> gone(old.size());  // paired with an entry of `after`
  std::vector<const Value*> come;
  Positions equal;
  if (!old.empty() && !after.items().empty())
    for (std::size_t i = 0; i < old.size(); ++i) equal.add(block_key(name, old[i]), i);
  for (const Value& v : after.items()) {
    const std::size_t same = old.empty() ? Positions::kNone : equal.take(block_key(name, v), gone);
    if (same != Positions::kNone)
      gone[same] = true;
    else
      come.push_back(&v);
  }
  static constexpr std::array<std::string_view, 6> kExchanged = {"Constraint", "Affinity",     "Spread",
                                                                 "Network",    "Dynamic Port", "Static Port"};
  std::vector<Value> edited, added, deleted;
  if (std::find(kExchanged.begin(), kExchanged.end(), name) == kExchanged.end()) {
    Positions pairs;  // under one key where any two are a pair
    const bool by_name = name == "Device" || name == "Identity";
    const auto key = [&](const Value& v) { return by_name ? json::to_text(v["Name"]) : std::string(); };
    for (std::size_t i = 0; i < old.size(); ++i)
      if (!gone[i]) pairs.add(key(old[i]), i);
    std::vector<const Value*> left;
    for (const Value* v : come) {
      const std::size_t pair = pairs.take(key(*v), gone);
      if (pair == Positions::kNone) {
        left.push_back(v);
        continue;
      }
      edited.push_back(block(name, old[pair], *v));
      gone[pair] = true;
    }
    come = std::move(left);
  }
  const auto sorted = [&](std::vector<Value> list) {
    std::vector<std::pair<std::string, Value>> by_text;
    for (Value& v : list)
      if (!v.is_null()) by_text.emplace_back(json::to_text(v), std::move(v));
    std::stable_sort(by_text.begin(), by_text.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    for (auto& [text, v] : by_text) out.push(std::move(v));
  };
  for (const Value* v : come) added.push_back(block(name, {}, *v));
  for (std::size_t i = 0; i < old.size(); ++i)
    if (!gone[i]) deleted.push_back(block(name, old[i], {}));
  sorted(std::move(edited)), sorted(std::move(added)), sorted(std::move(deleted));
}

std::map<std::string, std::string> fields_of(std::string_view name, const Value& v) {
  std::map<std::string, std::string> out;
  if (!v.is_object()) return out;
  const Kind* kind = find_kind(name);
  for (const json::Member& m : v.members()) {
    if (is_field_map(m.key)) flatten(m.key, m.value, out);
    if (!kind && is_primitive(m.value)) out[m.key] = text_of(m.value);
  }
  if (!kind) return out;
  for (const auto& [key, absent] : kind->fields) {
    const Value& value = v[key];
    out[std::string(key)] = is_primitive(value) ? text_of(value) : std::string(absent);
  }
  for (const char* key : {"Gid", "Uid"})
    if (const Value* id = v.find(key); id && is_primitive(*id)) out[key] = text_of(*id);
  return out;
}

/// Members that are blocks or lists, of either side: first those of `order`, then the others by name.
std::vector<std::string> nested_keys(const Value& before, const Value& after) {
  static constexpr std::array<std::string_view, 4> kFirst = {"ReservedPorts", "DynamicPorts", "CanaryTags", "Tags"};
  std::vector<std::string> keys;
  for (const Value* side : {&before, &after})
    for (const json::Member& m : side->members())
      if ((m.value.is_object() || m.value.is_array()) && !is_field_map(m.key)) keys.push_back(m.key);
  const auto rank = [](const std::string& key) {
    return std::find(kFirst.begin(), kFirst.end(), key) - kFirst.begin();
  };
  std::sort(keys.begin(), keys.end(),
            [&](const std::string& a, const std::string& b) { return rank(a) != rank(b) ? rank(a) < rank(b) : a < b; });
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  return keys;
}

/// A member that is a block, a list of blocks or a list of texts.
void add_nested(std::string_view key, const Value& before, const Value& after, bool always, Value& out) {
  const std::string_view name = object_name(key);
  if (is_block_list(before) || is_block_list(after)) {
    block_list(name, before, after, out);
  } else if (is_text_list(before) || is_text_list(after)) {
    if (Value list = text_list(name, before, after, always); !list.is_null()) out.push(std::move(list));
  } else if (before.is_object() || after.is_object()) {
    if (Value inner = block(name, before, after); !inner.is_null()) out.push(std::move(inner));
  }
}

/// Null when the two are equal or both absent.
Value block(std::string_view name, const Value& before, const Value& after) {
  const bool had = before.is_object(), has = after.is_object();
  if (!had && !has) return {};
  if (had && has && same_block(name, before, after)) return {};
  const Kind* kind = find_kind(name);
  Value fields = Value::array(), objects = Value::array();
  add_fields(fields_of(name, before), fields_of(name, after), !kind || kind->equal_fields, fields);
  if (!kind || kind->nested)
    for (const std::string& key : nested_keys(before, after))
      add_nested(key, before[key], after[key], name == "Service", objects);
  // The two bounds of a template's wait go by the template's name.
  return object(name == "Wait" ? "Template" : name,
                !had   ? "Added"
                : !has ? "Deleted"
                       : "Edited",
                std::move(fields), std::move(objects));
}

Value config(const Value& before, const Value& after) {
  const bool had = before.is_object() && before.size() > 0, has = after.is_object() && after.size() > 0;
  if (!had && !has) return {};
  std::map<std::string, std::string> from, to;
  for (const json::Member& m : before.members()) flatten(m.key, m.value, from);
  for (const json::Member& m : after.members()) flatten(m.key, m.value, to);
  if (from == to) return {};
  Value fields = Value::array();
  add_fields(from, to, false, fields);
  return object("Config", !had ? "Added" : !has ? "Deleted" : "Edited", std::move(fields), {});
}

/// Fields at the level of job, group and task: only those that differ.
Value own_fields(Names names, const Value& before, const Value& after) {
  std::map<std::string, std::string> from, to;
  const auto collect = [&](const Value& v, std::map<std::string, std::string>& out) {
    if (!v.is_object()) return;
    for (const std::string_view name : names) {
      const Value& value = v[name];
      if (is_primitive(value)) out[std::string(name)] = text_of(value);
    }
    for (const char* map : {"Meta", "Env"}) flatten(map, v[map], out);
  };
  collect(before, from), collect(after, to);
  Value fields = Value::array();
  add_fields(from, to, false, fields);
  return fields;
}

void add_objects(Names keys, const Value& before, const Value& after, Value& out) {
  for (const std::string_view key : keys) {
    if (key == "Config") {
      if (Value inner = config(before[key], after[key]); !inner.is_null()) out.push(std::move(inner));
    } else if (key == "Volumes") {  // a map by name; its blocks name themselves
      Value from = Value::array(), to = Value::array();
      for (const json::Member& m : before[key].members()) from.push(m.value);
      for (const json::Member& m : after[key].members()) to.push(m.value);
      add_nested(key, from, to, false, out);
    } else {
      add_nested(key, before[key], after[key], false, out);
    }
  }
}

std::string_view change(const Value& before, const Value& after, bool edited) {
  return before.is_null() ? "Added" : after.is_null() ? "Deleted" : edited ? "Edited" : "None";
}

/// Names in either list, ascending.
std::vector<std::string> names_of(const Value& before, const Value& after) {
  std::vector<std::string> out;
  for (const Value* list : {&before, &after})
    for (const Value& v : list->items()) out.push_back(v["Name"].as_string());
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

/// Finds the first entry of a name.
class ByName {
 public:
  explicit ByName(const Value& list) {
    for (const Value& v : list.items()) first_.try_emplace(v["Name"].as_string(), &v);
  }
  const Value& operator[](const std::string& name) const {
    static const Value kNull;
    const auto found = first_.find(name);
    return found == first_.end() ? kNull : *found->second;
  }

 private:
  std::unordered_map<std::string_view, const Value*> first_;
};

Value task_diff(const std::string& name, const Value& before, const Value& after) {
  static constexpr std::array<std::string_view, 7> kFields = {"Driver", "KillSignal",    "KillTimeout", "Kind",
                                                              "Leader", "ShutdownDelay", "User"};
  // A task is edited, though nothing is listed, when its lifecycle or its restart policy differs.
  static constexpr std::array<std::string_view, 17> kObjects = {
      "Constraints", "Affinities",   "Config",          "Resources", "LogConfig", "DispatchPayload",
      "Artifacts",   "Services",     "Vault",           "Consul",    "Templates", "Identity",
      "Identities",  "VolumeMounts", "CSIPluginConfig", "Actions",   "Schedule"};
  Value fields = own_fields(kFields, before, after), objects = Value::array();
  add_objects(kObjects, before, after, objects);
  const std::string_view type = change(before, after, !same_block("Task", before, after));
  Value out = Value::object();
  out.set("Annotations", Value());
  out.set("Fields", null_if_empty(std::move(fields)));
  out.set("Name", name);
  out.set("Objects", null_if_empty(std::move(objects)));
  out.set("Type", type);
  return out;
}

Value group_diff(const std::string& name, const Value& before, const Value& after) {
  static constexpr std::array<std::string_view, 6> kFields = {"Count",          "MaxClientDisconnect",
                                                              "MaxRunDuration", "PreventRescheduleOnLost",
                                                              "ShutdownDelay",  "StopAfterClientDisconnect"};
  // Nomad does not show the spreads of a group, nor those of a job.
  static constexpr std::array<std::string_view, 13> kObjects = {
      "Constraints", "Affinities", "RestartPolicy", "Migrate", "ReschedulePolicy", "EphemeralDisk", "Update",
      "Disconnect",  "Networks",   "Volumes",       "Scaling", "Consul",           "Services"};
  Value fields = own_fields(kFields, before, after), objects = Value::array(), tasks = Value::array();
  add_objects(kObjects, before, after, objects);
  bool edited = differs(fields) || objects.size() > 0 || !same_block("Spreads", before["Spreads"], after["Spreads"]);
  const ByName tasks_before(before["Tasks"]), tasks_after(after["Tasks"]);
  for (const std::string& task : names_of(before["Tasks"], after["Tasks"])) {
    Value diff = task_diff(task, tasks_before[task], tasks_after[task]);
    edited |= diff["Type"].as_string() != "None";
    tasks.push(std::move(diff));
  }
  Value out = Value::object();
  out.set("Fields", null_if_empty(std::move(fields)));
  out.set("Name", name);
  out.set("Objects", null_if_empty(std::move(objects)));
  out.set("Tasks", null_if_empty(std::move(tasks)));
  out.set("Type", change(before, after, edited));
  return out;
}

}  // namespace

tl::expected<Value, std::string> job_diff(const Job* old_job, const Job* new_job) {
  static constexpr std::array<std::string_view, 13> kFields = {"AllAtOnce",
                                                               "ConsulNamespace",
                                                               "DispatchIdempotencyToken",
                                                               "Dispatched",
                                                               "Name",
                                                               "Namespace",
                                                               "NodePool",
                                                               "ParentID",
                                                               "Priority",
                                                               "Region",
                                                               "Stop",
                                                               "Type",
                                                               "VaultNamespace"};
  static constexpr std::array<std::string_view, 7> kObjects = {
      "Datacenters", "Constraints", "Affinities", "Periodic", "ParameterizedJob", "Multiregion", "UI"};
  if (old_job && new_job && old_job->id != new_job->id)
    return tl::unexpected("can not diff jobs with different IDs: \"" + old_job->id + "\" and \"" + new_job->id + "\"");
  const Value before = old_job ? to_json(*old_job) : Value(), after = new_job ? to_json(*new_job) : Value();
  Value fields = own_fields(kFields, before, after), objects = Value::array(), groups = Value::array();
  add_objects(kObjects, before, after, objects);
  bool edited = differs(fields) || objects.size() > 0 || !same_block("Spreads", before["Spreads"], after["Spreads"]);
  const ByName groups_before(before["TaskGroups"]), groups_after(after["TaskGroups"]);
  for (const std::string& group : names_of(before["TaskGroups"], after["TaskGroups"])) {
    Value diff = group_diff(group, groups_before[group], groups_after[group]);
    edited |= diff["Type"].as_string() != "None";
    groups.push(std::move(diff));
  }
  Value out = Value::object();
  out.set("Fields", null_if_empty(std::move(fields)));
  out.set("ID", new_job ? new_job->id : old_job ? old_job->id : std::string());
  out.set("Objects", null_if_empty(std::move(objects)));
  out.set("TaskGroups", null_if_empty(std::move(groups)));
  out.set("Type", change(before, after, edited));
  return out;
}

Result<void> write_annotations(Value& diff, const std::map<std::string, DesiredUpdates>& updates) {
  auto annotations = annotate_diff(diff, updates);
  if (!annotations) return tl::unexpected(annotations.error());
  const auto list = [](const std::vector<std::string>& texts) {
    Value out = Value::array();
    for (const std::string& text : texts) out.push(text);
    return null_if_empty(std::move(out));
  };
  Value* groups = diff.find("TaskGroups");
  if (!groups || !groups->is_array()) return {};
  for (std::size_t i = 0; i < groups->size(); ++i) {
    Value& group = groups->items()[i];
    const GroupAnnotations& of = (*annotations)[i];
    Value& counts = group.set("Updates", Value::object());
    for (const auto& [name, count] : of.updates) counts.set(name, count);
    if (Value* fields = group.find("Fields"); fields && fields->is_array())
      for (Value& f : fields->items())
        if (f["Name"].as_string() == "Count" && f["Type"].as_string() != "None") f.set("Annotations", list(of.count));
    if (Value* tasks = group.find("Tasks"); tasks && tasks->is_array())
      for (Value& task : tasks->items())
        if (const auto found = of.tasks.find(task["Name"].as_string()); found != of.tasks.end())
          task.set("Annotations", list(found->second));
  }
  return {};
}

}  // namespace berth::model
