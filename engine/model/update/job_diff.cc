// Jobs, groups and tasks (R-REG-520 to 537, 545); services are in job_diff_services.cc.
#include "model/update/job_diff.h"

#include <set>
#include <utility>

#include "model/codec/codec.h"
#include "model/job.h"
#include "model/update/diff_annotations.h"
#include "model/update/diff_objects.h"
#include "model/update/job_diff_blocks.h"
#include "model/update/spec_changed.h"

namespace berth::model {
namespace diff {
namespace {

Value constraint_pair(const Value& a, const Value& b) {
  static constexpr auto fields = {std::pair{"LTarget", ""}, std::pair{"Operand", ""}, std::pair{"RTarget", ""}};
  return by_fields("Constraint", scalars(a, fields), scalars(b, fields));
}

Value affinity_pair(const Value& a, const Value& b) {
  static constexpr auto fields = {std::pair{"LTarget", ""}, std::pair{"Operand", ""}, std::pair{"RTarget", ""},
                                  std::pair{"Weight", "0"}};
  return by_fields("Affinity", scalars(a, fields), scalars(b, fields));
}

std::string by_content(const Value& v) { return json::to_text(v); }
std::string by_name(const Value& v) { return v["Name"].as_string(); }
std::string by_printed_form(const Value& v) {  // R-MODEL-107
  return v["LTarget"].as_string() + " " + v["Operand"].as_string() + " " + v["RTarget"].as_string();
}

void add_targets(const Value& a, const Value& b, Value& out) {
  keyed(a["Constraints"], b["Constraints"], by_printed_form, constraint_pair, out);
  keyed(a["Affinities"], b["Affinities"], by_content, affinity_pair, out);
}

/// A block whose type is determined by its fields.
Value plain(const char* name, const Value& a, const Value& b, Fields fields) {
  return by_fields(name, scalars(a, fields), scalars(b, fields));
}

Value port_pair(const char* name, Fields fields, const Value& a, const Value& b) { return plain(name, a, b, fields); }

/// Options, searches and servers, each in one text (R-REG-530).
Value dns(const Value& a, const Value& b) {
  const auto texts = [](const Value& block) {
    Texts out;
    for (const char* key : {"Options", "Searches", "Servers"}) {
      std::string joined;
      for (const Value& item : block[key].items()) joined += (joined.empty() ? "" : ",") + item.as_string();
      if (!joined.empty()) out[key] = std::move(joined);
    }
    return out;
  };
  return deep("DNS", a, b, fields_of(texts(a), texts(b), Equal::listed));
}

Value network_pair(const Value& a, const Value& b) {
  static constexpr auto fields = {std::pair{"Hostname", ""}, std::pair{"Mode", ""}};
  Value objects = Value::array();
  const auto label = [](const Value& port) { return port["Label"].as_string(); };
  keyed(
      a["ReservedPorts"], b["ReservedPorts"], label,
      [](const Value& x, const Value& y) {
        return port_pair(
            "Static Port",
            {{"HostNetwork", ""}, {"IgnoreCollision", "false"}, {"Label", ""}, {"To", "0"}, {"Value", "0"}}, x, y);
      },
      objects);
  keyed(
      a["DynamicPorts"], b["DynamicPorts"], label,
      [](const Value& x, const Value& y) {
        return port_pair("Dynamic Port", {{"HostNetwork", ""}, {"Label", ""}, {"To", "0"}}, x, y);
      },
      objects);
  append(dns(a["DNS"], b["DNS"]), objects);
  append(by_fields("CNIConfig", flattened(a["CNI"]["Args"]), flattened(b["CNI"]["Args"])), objects);
  return deep("Network", a, b, fields_of(scalars(a, fields), scalars(b, fields), Equal::listed), std::move(objects));
}

void add_networks(const Value& a, const Value& b, Value& out) {
  keyed(a["Networks"], b["Networks"], by_content, network_pair, out);
}

Value scaling(const Value& a, const Value& b) {
  static constexpr auto fields = {std::pair{"Enabled", "false"}, std::pair{"Max", "0"}, std::pair{"Min", "0"}};
  Value x = a, y = b;  // without the ID, which is the server's own
  if (is_there(x)) x.erase("ID");
  if (is_there(y)) y.erase("ID");
  Value objects = Value::array();
  append(deep("Policy", a["Policy"], b["Policy"],
              fields_of(flattened(a["Policy"]), flattened(b["Policy"]), Equal::left_out)),
         objects);
  return deep("Scaling", x, y, fields_of(scalars(a, fields), scalars(b, fields), Equal::left_out), std::move(objects));
}

Value disconnect(const Value& a, const Value& b) {
  const bool had = is_there(a), has = is_there(b);
  if (had == has && json::equal_ignoring_member_order(a, b)) return {};
  return object("Disconnect",
                !had   ? "Added"
                : !has ? "Deleted"
                       : "Edited",
                fields_of(flattened(a, true), flattened(b, true), Equal::listed));
}

Value mount_options(const Value& a, const Value& b) {
  Value objects = Value::array();
  append(text_set("MountFlags", a["MountFlags"], b["MountFlags"], Equal::listed), objects);
  return deep("MountOptions", a, b,
              fields_of(scalars(a, {{"FSType", ""}}), scalars(b, {{"FSType", ""}}), Equal::listed), std::move(objects));
}

Value volume(const Value& a, const Value& b) {
  static constexpr auto fields = {std::pair{"AccessMode", ""},    std::pair{"AttachmentMode", ""},
                                  std::pair{"Name", ""},          std::pair{"PerAlloc", "false"},
                                  std::pair{"ReadOnly", "false"}, std::pair{"Source", ""},
                                  std::pair{"Sticky", "false"},   std::pair{"Type", ""}};
  Value objects = Value::array();
  append(mount_options(a["MountOptions"], b["MountOptions"]), objects);
  return deep("Volume", a, b, fields_of(scalars(a, fields), scalars(b, fields), Equal::listed), std::move(objects));
}

/// Old aliases, then new ones, ascending; Nomad's order is that of a map (R-REG-526).
void add_volumes(const Value& a, const Value& b, Value& out) {
  std::map<std::string, const Value*> olds, news;
  for (const json::Member& m : a.members()) olds[m.key] = &m.value;
  for (const json::Member& m : b.members()) news[m.key] = &m.value;
  for (const auto& [alias, block] : olds) {
    const auto other = news.find(alias);
    append(volume(*block, other == news.end() ? Value() : *other->second), out);
  }
  for (const auto& [alias, block] : news)
    if (!olds.contains(alias)) append(volume({}, *block), out);
}

Value numa(const Value& a, const Value& b) {
  return deep("NUMA", a, b, fields_of(scalars(a, {{"Affinity", ""}}), scalars(b, {{"Affinity", ""}}), Equal::listed));
}

Value artifact_pair(const Value& a, const Value& b) {
  static constexpr auto fields = {std::pair{"Chown", "false"}, std::pair{"GetterInsecure", "false"},
                                  std::pair{"GetterMode", ""}, std::pair{"GetterSource", ""},
                                  std::pair{"RelativeDest", ""}};
  return by_fields("Artifact", scalars(a, fields, {"GetterHeaders", "GetterOptions"}),
                   scalars(b, fields, {"GetterHeaders", "GetterOptions"}));
}

Value wait(const Value& a, const Value& b) {  // goes by the template's name
  const auto texts = [](const Value& block) { return scalars(block, {{"Max", "nil"}, {"Min", "nil"}}); };
  return deep("Template", a, b, fields_of(texts(a), texts(b), Equal::listed));
}

Value change_script(const Value& a, const Value& b) {
  static constexpr auto fields = {std::pair{"Command", ""}, std::pair{"FailOnError", "false"},
                                  std::pair{"RunOnFirstRender", "false"}, std::pair{"Timeout", "0"}};
  Value objects = Value::array();
  append(text_set("Args", a["Args"], b["Args"], Equal::listed), objects);
  return deep("ChangeScript", a, b, fields_of(scalars(a, fields), scalars(b, fields), Equal::listed),
              std::move(objects));
}

Value template_pair(const Value& a, const Value& b) {
  const auto texts = [](const Value& block) {
    Texts out = scalars(block, {{"ChangeMode", ""},
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
                                {"VaultGrace", "0"}});
    for (const char* key : {"Gid", "Uid"})
      if (!block[key].is_null()) flatten(key, block[key], out);
    return out;
  };
  Value objects = Value::array();
  append(wait(a["Wait"], b["Wait"]), objects);
  append(change_script(a["ChangeScript"], b["ChangeScript"]), objects);
  return deep("Template", a, b, fields_of(texts(a), texts(b), Equal::listed), std::move(objects));
}

/// A single template on each side is a pair; otherwise templates with the same destination pair up (R-REG-545).
void add_templates(const Value& a, const Value& b, Value& out) {
  if (a.size() == 1 && b.size() == 1) return append(template_pair(a.items()[0], b.items()[0]), out);
  std::map<std::string_view, std::vector<const Value*>> by_path;  // of the new ones, the first at the back
  for (std::size_t i = b.size(); i-- > 0;) by_path[b.items()[i]["DestPath"].as_string()].push_back(&b.items()[i]);
  std::set<const Value*> taken;
  Array list;
  for (const Value& old : a.items()) {
    auto& candidates = by_path[old["DestPath"].as_string()];
    if (candidates.empty()) {
      list.push_back(template_pair(old, {}));
      continue;
    }
    list.push_back(template_pair(old, *candidates.back()));
    taken.insert(candidates.back());
    candidates.pop_back();
  }
  for (const Value& fresh : b.items())
    if (!taken.contains(&fresh)) list.push_back(template_pair({}, fresh));
  append(std::move(list), out);
}

Value secret_pair(const Value& a, const Value& b) {
  const auto texts = [](const Value& block) {
    return scalars(block, {{"Name", ""}, {"Path", ""}, {"Provider", ""}}, {"Config", "Env"});
  };
  return deep("Secret", a, b, fields_of(texts(a), texts(b), Equal::listed));
}

Value action_pair(const Value& a, const Value& b) {
  Value objects = Value::array();
  append(text_set("Args", a["Args"], b["Args"], Equal::listed), objects);
  static constexpr auto fields = {std::pair{"Command", ""}, std::pair{"Name", ""}};
  return deep("Action", a, b, fields_of(scalars(a, fields), scalars(b, fields), Equal::listed), std::move(objects));
}

Value vault(const Value& a, const Value& b) {
  static constexpr auto fields = {std::pair{"AllowTokenExpiration", "false"},
                                  std::pair{"ChangeMode", ""},
                                  std::pair{"ChangeSignal", ""},
                                  std::pair{"Cluster", ""},
                                  std::pair{"DisableFile", "false"},
                                  std::pair{"Env", "false"},
                                  std::pair{"Namespace", ""},
                                  std::pair{"Role", ""}};
  return deep("Vault", a, b, fields_of(scalars(a, fields), scalars(b, fields), Equal::listed));
}

Value consul(const Value& a, const Value& b) {
  return plain("Consul", a, b, {{"Cluster", ""}, {"Namespace", ""}, {"Partition", ""}});
}

std::string_view change(const Value& a, const Value& b, bool edited) {
  return a.is_null() ? "Added" : b.is_null() ? "Deleted" : edited ? "Edited" : "None";
}

/// The last item of each name on both sides, by name (R-REG-507).
std::map<std::string, std::pair<const Value*, const Value*>> pairs_by_name(const Value& a, const Value& b) {
  static const Value kNone;
  std::map<std::string, std::pair<const Value*, const Value*>> out;
  for (const Value& v : a.items()) out[v["Name"].as_string()] = {&v, &kNone};
  for (const Value& v : b.items()) {
    auto& entry = out[v["Name"].as_string()];
    if (!entry.first) entry.first = &kNone;
    entry.second = &v;
  }
  return out;
}

Value task_diff(const std::string& name, const Value& a, const Value& b) {
  static constexpr auto fields = {std::pair{"Driver", ""},       std::pair{"KillSignal", ""},
                                  std::pair{"KillTimeout", "0"}, std::pair{"Kind", ""},
                                  std::pair{"Leader", "false"},  std::pair{"ShutdownDelay", "0"},
                                  std::pair{"User", ""}};
  Value objects = Value::array();
  add_targets(a, b, objects);
  append(config_block("Config", a["Config"], b["Config"]), objects);
  append(resources(a["Resources"], b["Resources"]), objects);
  append(logs(a["LogConfig"], b["LogConfig"]), objects);
  append(plain("DispatchPayload", a["DispatchPayload"], b["DispatchPayload"], {{"File", ""}}), objects);
  keyed(
      a["Artifacts"], b["Artifacts"],
      [](const Value& v) {
        const std::string& to = v["RelativeDest"].as_string();
        return to.empty() ? '\0' + json::to_text(v) : to;
      },
      artifact_pair, objects);
  add_services(a["Services"], b["Services"], objects);
  append(vault(a["Vault"], b["Vault"]), objects);
  keyed(a["Secrets"], b["Secrets"], by_name, secret_pair, objects);
  append(consul(a["Consul"], b["Consul"]), objects);
  add_templates(a["Templates"], b["Templates"], objects);
  append(identity(a["Identity"], b["Identity"]), objects);
  keyed(a["Identities"], b["Identities"], by_name, identity, objects);
  positional(a["Actions"], b["Actions"], action_pair, objects);
  positional(a["VolumeMounts"], b["VolumeMounts"], mount, objects);
  Value out = Value::object();
  out.set("Annotations", Value());
  out.set("Fields", null_if_empty(fields_of(scalars(a, fields, {"Env", "Meta"}), scalars(b, fields, {"Env", "Meta"}),
                                            Equal::left_out)));
  out.set("Name", name);
  out.set("Objects", null_if_empty(std::move(objects)));
  out.set("Type", change(a, b, !same(a, b)));
  return out;
}

Value group_diff(const std::string& name, const Value& a, const Value& b) {
  const bool both = is_there(a) && is_there(b);
  const auto texts = [&](const Value& group) {
    Texts out = scalars(group, {{"Count", "0"}, {"PreventRescheduleOnLost", "false"}}, {"Meta"});
    if (both) out["ShutdownDelay"] = scalars(group, {{"ShutdownDelay", ""}})["ShutdownDelay"];
    return out;
  };
  Value objects = Value::array(), tasks = Value::array();
  add_targets(a, b, objects);
  append(plain("RestartPolicy", a["RestartPolicy"], b["RestartPolicy"],
               {{"Attempts", "0"}, {"Delay", "0"}, {"Interval", "0"}, {"Mode", ""}, {"RenderTemplates", "false"}}),
         objects);
  append(plain("Migrate", a["Migrate"], b["Migrate"],
               {{"HealthCheck", ""}, {"HealthyDeadline", "0"}, {"MaxParallel", "0"}, {"MinHealthyTime", "0"}}),
         objects);
  append(plain("ReschedulePolicy", a["ReschedulePolicy"], b["ReschedulePolicy"],
               {{"Attempts", "0"},
                {"Delay", "0"},
                {"DelayFunction", ""},
                {"Interval", "0"},
                {"MaxDelay", "0"},
                {"Unlimited", "false"}}),
         objects);
  append(plain("EphemeralDisk", a["EphemeralDisk"], b["EphemeralDisk"],
               {{"Migrate", "false"}, {"SizeMB", "0"}, {"Sticky", "false"}}),
         objects);
  append(consul(a["Consul"], b["Consul"]), objects);
  append(plain("Update", a["Update"], b["Update"],
               {{"AutoPromote", "false"},
                {"AutoRevert", "false"},
                {"Canary", "0"},
                {"HealthCheck", ""},
                {"HealthyDeadline", "0"},
                {"MaxParallel", "0"},
                {"MinHealthyTime", "0"},
                {"ProgressDeadline", "0"}}),
         objects);
  append(disconnect(a["Disconnect"], b["Disconnect"]), objects);
  add_networks(a, b, objects);
  append(scaling(a["Scaling"], b["Scaling"]), objects);
  add_services(a["Services"], b["Services"], objects);
  add_volumes(a["Volumes"], b["Volumes"], objects);
  for (const auto& [task, pair] : pairs_by_name(a["Tasks"], b["Tasks"]))
    tasks.push(task_diff(task, *pair.first, *pair.second));
  Value x = a, y = b;  // the ID of a scaling policy is the server's own
  for (Value* side : {&x, &y})
    if (Value* block = side->find("Scaling"); block && block->is_object()) block->erase("ID");
  Value out = Value::object();
  out.set("Fields", null_if_empty(fields_of(texts(a), texts(b), Equal::left_out)));
  out.set("Name", name);
  out.set("Objects", null_if_empty(std::move(objects)));
  out.set("Tasks", null_if_empty(std::move(tasks)));
  out.set("Type", change(a, b, !same(x, y)));
  return out;
}

Value periodic(const Value& a, const Value& b) {
  static constexpr auto fields = {std::pair{"Enabled", "false"}, std::pair{"ProhibitOverlap", "false"},
                                  std::pair{"Spec", ""}, std::pair{"SpecType", ""}, std::pair{"TimeZone", ""}};
  Value objects = Value::array();
  append(text_set("Specs", a["Specs"], b["Specs"], Equal::left_out), objects);
  return deep("Periodic", a, b, fields_of(scalars(a, fields), scalars(b, fields), Equal::listed), std::move(objects));
}

Value parameterized(const Value& a, const Value& b) {
  Value objects = Value::array();
  for (const char* list : {"MetaOptional", "MetaRequired"})
    append(text_set(list, a[list], b[list], Equal::listed), objects);
  return deep("ParameterizedJob", a, b,
              fields_of(scalars(a, {{"Payload", ""}}), scalars(b, {{"Payload", ""}}), Equal::listed),
              std::move(objects));
}

Value region_pair(const Value& a, const Value& b) {
  static constexpr auto fields = {std::pair{"Count", "0"}, std::pair{"Name", ""}, std::pair{"NodePool", ""}};
  Value objects = Value::array();
  append(text_set("Datacenters", a["Datacenters"], b["Datacenters"], Equal::listed), objects);
  return deep("Region", a, b, fields_of(scalars(a, fields, {"Meta"}), scalars(b, fields, {"Meta"}), Equal::listed),
              std::move(objects));
}

Value multiregion(const Value& a, const Value& b) {
  Value objects = Value::array();
  append(plain("Strategy", a["Strategy"], b["Strategy"], {{"MaxParallel", "0"}, {"OnFailure", ""}}), objects);
  keyed(a["Regions"], b["Regions"], by_name, region_pair, objects);
  if (objects.size() > 0) sort_objects(objects.items());
  return deep("Multiregion", a, b, {}, std::move(objects));
}

Value ui(const Value& a, const Value& b) {
  Value objects = Value::array();
  positional(
      a["Links"], b["Links"],
      [](const Value& x, const Value& y) {
        static constexpr auto fields = {std::pair{"Label", ""}, std::pair{"Url", ""}};
        return deep("Link", x, y, fields_of(scalars(x, fields), scalars(y, fields), Equal::listed));
      },
      objects);
  return deep("UI", a, b,
              fields_of(scalars(a, {{"Description", ""}}), scalars(b, {{"Description", ""}}), Equal::listed),
              std::move(objects));
}

}  // namespace

Value config_block(const char* name, const Value& a, const Value& b) {
  const bool had = a.size() > 0, has = b.size() > 0;
  if (!had && !has) return {};
  const Texts from = flattened(a, true), to = flattened(b, true);
  if (from == to) return {};
  return object(name, !had ? "Added" : !has ? "Deleted" : "Edited", fields_of(from, to, Equal::listed));
}

Value resources(const Value& a, const Value& b) {
  static constexpr auto fields = {std::pair{"CPU", "0"},      std::pair{"Cores", "0"},    std::pair{"DiskMB", "0"},
                                  std::pair{"IOPS", "0"},     std::pair{"MemoryMB", "0"}, std::pair{"MemoryMaxMB", "0"},
                                  std::pair{"SecretsMB", "0"}};
  Value objects = Value::array();
  add_networks(a, b, objects);
  keyed(
      a["Devices"], b["Devices"], by_name,
      [](const Value& x, const Value& y) {
        static constexpr auto device = {std::pair{"Count", "0"}, std::pair{"Name", ""}};
        return deep("Device", x, y, fields_of(scalars(x, device), scalars(y, device), Equal::listed));
      },
      objects);
  append(numa(a["NUMA"], b["NUMA"]), objects);
  return deep("Resources", a, b, fields_of(scalars(a, fields), scalars(b, fields), Equal::listed), std::move(objects));
}

Value logs(const Value& a, const Value& b) {
  return plain("LogConfig", a, b, {{"Disabled", "false"}, {"MaxFileSizeMB", "0"}, {"MaxFiles", "0"}});
}

Value identity(const Value& a, const Value& b) {
  static constexpr auto fields = {std::pair{"ChangeMode", ""},  std::pair{"ChangeSignal", ""},
                                  std::pair{"Env", "false"},    std::pair{"File", "false"},
                                  std::pair{"Filepath", ""},    std::pair{"Name", ""},
                                  std::pair{"ServiceName", ""}, std::pair{"TTL", "0"}};
  Value objects = Value::array();
  append(text_set("Audience", a["Audience"], b["Audience"], Equal::listed), objects);
  return deep("Identity", a, b, fields_of(scalars(a, fields), scalars(b, fields), Equal::listed), std::move(objects));
}

Value mount(const Value& a, const Value& b) {
  static constexpr auto fields = {std::pair{"Destination", ""}, std::pair{"PropagationMode", ""},
                                  std::pair{"ReadOnly", "false"}, std::pair{"SELinuxLabel", ""},
                                  std::pair{"Volume", ""}};
  return deep("VolumeMount", a, b, fields_of(scalars(a, fields), scalars(b, fields), Equal::listed));
}

}  // namespace diff

tl::expected<json::Value, std::string> job_diff(const Job* old_job, const Job* new_job) {
  using json::Value;
  if (old_job && new_job && old_job->id != new_job->id)
    return tl::unexpected("can not diff jobs with different IDs: \"" + old_job->id + "\" and \"" + new_job->id + "\"");
  static constexpr auto fields = {std::pair{"AllAtOnce", "false"},
                                  std::pair{"ConsulNamespace", ""},
                                  std::pair{"DispatchIdempotencyToken", ""},
                                  std::pair{"Dispatched", "false"},
                                  std::pair{"Name", ""},
                                  std::pair{"Namespace", ""},
                                  std::pair{"NodePool", ""},
                                  std::pair{"ParentID", ""},
                                  std::pair{"Priority", "0"},
                                  std::pair{"Region", ""},
                                  std::pair{"Stop", "false"},
                                  std::pair{"Type", ""},
                                  std::pair{"VaultNamespace", ""}};
  const Value a = old_job ? to_json(*old_job) : Value(), b = new_job ? to_json(*new_job) : Value();
  Value own =
      diff::fields_of(diff::scalars(a, fields, {"Meta"}), diff::scalars(b, fields, {"Meta"}), diff::Equal::left_out);
  Value objects = Value::array(), groups = Value::array();
  diff::append(diff::text_set("Datacenters", a["Datacenters"], b["Datacenters"], diff::Equal::left_out), objects);
  diff::add_targets(a, b, objects);
  diff::append(diff::periodic(a["Periodic"], b["Periodic"]), objects);
  diff::append(diff::parameterized(a["ParameterizedJob"], b["ParameterizedJob"]), objects);
  diff::append(diff::multiregion(a["Multiregion"], b["Multiregion"]), objects);
  diff::append(diff::ui(a["UI"], b["UI"]), objects);
  bool edited = own.size() > 0 || objects.size() > 0;  // spreads do not count (R-REG-506)
  for (const auto& [name, pair] : diff::pairs_by_name(a["TaskGroups"], b["TaskGroups"])) {
    Value group = diff::group_diff(name, *pair.first, *pair.second);
    edited |= std::as_const(group)["Type"].as_string() != "None";
    groups.push(std::move(group));
  }
  Value out = Value::object();
  out.set("Fields", diff::null_if_empty(std::move(own)));
  out.set("ID", new_job ? new_job->id : old_job ? old_job->id : std::string());
  out.set("Objects", diff::null_if_empty(std::move(objects)));
  out.set("TaskGroups", diff::null_if_empty(std::move(groups)));
  out.set("Type", diff::change(a, b, edited));
  return out;
}

Result<void> write_annotations(json::Value& diff, const std::map<std::string, DesiredUpdates>& updates) {
  auto annotations = annotate_diff(diff, updates);
  if (!annotations) return tl::unexpected(annotations.error());
  const auto list = [](const std::vector<std::string>& texts) {
    json::Value out = json::Value::array();
    for (const std::string& text : texts) out.push(text);
    return diff::null_if_empty(std::move(out));
  };
  json::Value* groups = diff.find("TaskGroups");
  if (!groups || !groups->is_array()) return {};
  for (std::size_t i = 0; i < groups->size(); ++i) {
    json::Value& group = groups->items()[i];
    const GroupAnnotations& of = (*annotations)[i];
    json::Value& counts = group.set("Updates", json::Value::object());
    for (const auto& [name, count] : of.updates) counts.set(name, count);
    if (json::Value* fields = group.find("Fields"); fields && fields->is_array())
      for (json::Value& f : fields->items())
        if (f["Name"].as_string() == "Count" && f["Type"].as_string() != "None") f.set("Annotations", list(of.count));
    if (json::Value* tasks = group.find("Tasks"); tasks && tasks->is_array())
      for (json::Value& task : tasks->items())
        if (const auto found = of.tasks.find(task["Name"].as_string()); found != of.tasks.end())
          task.set("Annotations", list(found->second));
  }
  return {};
}

}  // namespace berth::model
