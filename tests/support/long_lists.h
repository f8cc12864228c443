// Jobs and nodes in which one list has any length, for every list of a job file and of a node. For tests that reading
// these lists takes linear time and memory.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/json.h"

namespace berth::testing {

using Lists = std::vector<std::pair<std::string, json::Value (*)(std::size_t)>>;

namespace long_lists {

inline std::string numbered(const char* name, std::size_t i) { return name + std::to_string(i); }

/// A list of make(0) to make(count - 1).
template <class Make>
json::Value list(std::size_t count, Make make) {
  json::Value out = json::Value::array();
  for (std::size_t i = 0; i < count; ++i) out.push(make(i));
  return out;
}

/// A map of that many texts.
inline json::Value map(std::size_t count) {
  json::Value out = json::Value::object();
  for (std::size_t i = 0; i < count; ++i) out.members().push_back({numbered("key", i), "x"});
  return out;
}

inline json::Value task() {
  return json::Object{{"Name", "t"},
                      {"Driver", "exec"},
                      {"Config", json::Object{{"command", "x"}}},
                      {"LogConfig", json::Object{{"MaxFiles", 1}, {"MaxFileSizeMB", 5}}},
                      {"Resources", json::Object{{"CPU", 1}, {"MemoryMB", 10}}}};
}
inline json::Value group() {
  return json::Object{
      {"Name", "g"}, {"Count", 1}, {"EphemeralDisk", json::Object{{"SizeMB", 10}}}, {"Tasks", json::Array{task()}}};
}
inline json::Value job() {
  return json::Object{{"Job", json::Object{{"ID", "j"},
                                           {"Name", "j"},
                                           {"Type", "service"},
                                           {"Datacenters", json::Array{json::Value("*")}},
                                           {"TaskGroups", json::Array{group()}}}}};
}
inline json::Value& body(json::Value& job) { return *job.find("Job"); }
inline json::Value& group(json::Value& job) { return body(job).find("TaskGroups")->items()[0]; }
inline json::Value& task(json::Value& job) { return group(job).find("Tasks")->items()[0]; }

inline json::Value constraint(std::size_t i) {
  return json::Object{{"LTarget", "${attr.kernel.name}"}, {"RTarget", numbered("v", i)}, {"Operand", "!="}};
}
inline json::Value unmet(std::size_t i) {
  return json::Object{{"LTarget", numbered("${meta.m", i) + "}"}, {"RTarget", "v"}, {"Operand", "="}};
}
inline json::Value affinity(std::size_t i) {
  return json::Object{
      {"LTarget", "${attr.kernel.name}"}, {"RTarget", numbered("v", i)}, {"Operand", "="}, {"Weight", 50}};
}
inline json::Value spread(std::size_t i) {
  return json::Object{{"Attribute", numbered("${meta.m", i) + "}"}, {"Weight", 50}};
}
inline json::Value service(std::size_t i) {
  return json::Object{{"Name", numbered("s", i)}, {"Provider", "nomad"}, {"TaskName", "t"}};
}
template <class Set>
json::Value with(Set set) {
  json::Value out = job();
  set(out);
  return out;
}
/// A job of `count` groups with one allocation each; `set` changes each group.
template <class Set>
json::Value with_groups(std::size_t count, Set set) {
  return with([&](json::Value& j) {
    body(j).set("TaskGroups", list(count, [&](std::size_t i) {
                  json::Value one = group();
                  one.set("Name", numbered("g", i));
                  set(one);
                  return one;
                }));
  });
}
template <class Set>
json::Value with_service(Set set) {
  return with([&](json::Value& j) {
    json::Value one = service(0);
    set(one);
    group(j).set("Services", json::Array{std::move(one)});
  });
}
template <class Set>
json::Value with_network(Set set) {
  return with([&](json::Value& j) {
    json::Value one = json::Object{{"Mode", "host"}};
    set(one);
    group(j).set("Networks", json::Array{std::move(one)});
  });
}

}  // namespace long_lists

/// Job files by the name of their long list.
inline const Lists& job_lists() {
  using namespace long_lists;
  static const Lists kLists = {
      {"job constraints",
       [](std::size_t n) { return with([&](auto& j) { body(j).set("Constraints", list(n, constraint)); }); }},
      {"group constraints",
       [](std::size_t n) { return with([&](auto& j) { group(j).set("Constraints", list(n, constraint)); }); }},
      {"task constraints",
       [](std::size_t n) { return with([&](auto& j) { task(j).set("Constraints", list(n, constraint)); }); }},
      {"unmet constraints",
       [](std::size_t n) { return with([&](auto& j) { group(j).set("Constraints", list(n, unmet)); }); }},
      {"distinct properties",
       [](std::size_t n) {
         return with([&](auto& j) {
           group(j).set("Constraints", list(n, [](std::size_t i) -> json::Value {
                          return json::Object{{"LTarget", numbered("${meta.m", i) + "}"},
                                              {"RTarget", "1"},
                                              {"Operand", "distinct_property"}};
                        }));
         });
       }},
      {"job affinities",
       [](std::size_t n) { return with([&](auto& j) { body(j).set("Affinities", list(n, affinity)); }); }},
      {"group affinities",
       [](std::size_t n) { return with([&](auto& j) { group(j).set("Affinities", list(n, affinity)); }); }},
      {"task affinities",
       [](std::size_t n) { return with([&](auto& j) { task(j).set("Affinities", list(n, affinity)); }); }},
      {"job spreads", [](std::size_t n) { return with([&](auto& j) { body(j).set("Spreads", list(n, spread)); }); }},
      {"group spreads", [](std::size_t n) { return with([&](auto& j) { group(j).set("Spreads", list(n, spread)); }); }},
      {"spread targets",
       [](std::size_t n) {
         return with([&](auto& j) {
           json::Value one = spread(0);
           one.set("SpreadTarget", list(n, [](std::size_t i) -> json::Value {
                     return json::Object{{"Value", numbered("v", i)}, {"Percent", 0}};
                   }));
           group(j).set("Spreads", json::Array{std::move(one)});
         });
       }},
      {"groups",
       [](std::size_t n) {
         return with([&](auto& j) {
           body(j).set("TaskGroups", list(n, [](std::size_t i) {
                         json::Value one = group();
                         one.set("Name", numbered("g", i));
                         one.set("Count", i == 0 ? 1 : 0);
                         return one;
                       }));
         });
       }},
      {"placed groups", [](std::size_t n) { return with_groups(n / 4, [](json::Value&) {}); }},
      {"unmet groups",
       [](std::size_t n) {
         return with_groups(n / 4, [](json::Value& g) { g.set("Constraints", json::Array{unmet(0)}); });
       }},
      {"tasks",
       [](std::size_t n) {
         return with([&](auto& j) {
           group(j).set("Tasks", list(n, [](std::size_t i) {
                          json::Value one = task();
                          one.set("Name", numbered("t", i));
                          return one;
                        }));
           group(j).find("EphemeralDisk")->set("SizeMB", 1'000'000);
         });
       }},
      {"group services",
       [](std::size_t n) { return with([&](auto& j) { group(j).set("Services", list(n, service)); }); }},
      {"task services",
       [](std::size_t n) { return with([&](auto& j) { task(j).set("Services", list(n, service)); }); }},
      {"checks",
       [](std::size_t n) {
         return with_service([&](auto& s) {
           s.set("PortLabel", "80");
           s.set("Checks", list(n, [](std::size_t i) -> json::Value {
                   return json::Object{{"Name", numbered("c", i)},
                                       {"Type", "http"},
                                       {"Path", "/"},
                                       {"Interval", 10'000'000'000},
                                       {"Timeout", 1'000'000'000}};
                 }));
         });
       }},
      {"tags",
       [](std::size_t n) {
         return with_service(
             [&](auto& s) { s.set("Tags", list(n, [](std::size_t i) -> json::Value { return numbered("t", i); })); });
       }},
      {"service meta", [](std::size_t n) { return with_service([&](auto& s) { s.set("Meta", map(n)); }); }},
      {"networks",
       [](std::size_t n) {
         return with([&](auto& j) {
           group(j).set("Networks", list(n, [](std::size_t) -> json::Value { return json::Object{{"Mode", "host"}}; }));
         });
       }},
      {"dynamic ports",
       [](std::size_t n) {
         return with_network([&](auto& w) {
           w.set("DynamicPorts", list(n, [](std::size_t i) -> json::Value {
                   return json::Object{{"Label", numbered("p", i)}};
                 }));
         });
       }},
      {"static ports",
       [](std::size_t n) {
         return with_network([&](auto& w) {
           w.set("ReservedPorts", list(n, [](std::size_t i) -> json::Value {
                   return json::Object{{"Label", numbered("p", i)}, {"Value", static_cast<std::int64_t>(1'000 + i)}};
                 }));
         });
       }},
      {"dns servers",
       [](std::size_t n) {
         return with_network([&](auto& w) {
           w.set("DNS",
                 json::Object{{"Servers", list(n, [](std::size_t i) -> json::Value { return numbered("d", i); })}});
         });
       }},
      {"cni arguments",
       [](std::size_t n) { return with_network([&](auto& w) {
                             w.set("CNI", json::Object{{"Args", map(n)}});
                           }); }},
      {"templates",
       [](std::size_t n) {
         return with([&](auto& j) {
           task(j).set("Templates", list(n, [](std::size_t i) -> json::Value {
                         return json::Object{{"DestPath", numbered("local/", i)}, {"EmbeddedTmpl", "x"}};
                       }));
         });
       }},
      {"artifacts",
       [](std::size_t n) {
         return with([&](auto& j) {
           task(j).set(
               "Artifacts", list(n, [](std::size_t i) -> json::Value {
                 return json::Object{{"GetterSource", numbered("http://h/", i)}, {"RelativeDest", numbered("l/", i)}};
               }));
         });
       }},
      {"volumes and mounts",
       [](std::size_t n) {
         return with([&](auto& j) {
           json::Value volumes = json::Value::object();
           for (std::size_t i = 0; i < n; ++i)
             volumes.members().push_back(
                 {numbered("v", i), json::Object{{"Name", numbered("v", i)}, {"Type", "host"}, {"Source", "data"}}});
           group(j).set("Volumes", std::move(volumes));
           task(j).set("VolumeMounts", list(n, [](std::size_t i) -> json::Value {
                         return json::Object{{"Volume", numbered("v", i)}, {"Destination", numbered("/", i)}};
                       }));
         });
       }},
      {"csi volumes",
       [](std::size_t n) {
         return with([&](auto& j) {
           json::Value volumes = json::Value::object();
           for (std::size_t i = 0; i < n; ++i)
             volumes.members().push_back({numbered("v", i), json::Object{{"Name", numbered("v", i)},
                                                                         {"Type", "csi"},
                                                                         {"Source", numbered("s", i)},
                                                                         {"AccessMode", "single-node-writer"},
                                                                         {"AttachmentMode", "file-system"}}});
           group(j).set("Volumes", std::move(volumes));
         });
       }},
      {"unknown keys",
       [](std::size_t n) {
         return with([&](auto& j) {
           for (std::size_t i = 0; i < n; ++i) group(j).members().push_back({numbered("unknown", i), 1});
         });
       }},
      {"devices",
       [](std::size_t n) {
         return with([&](auto& j) {
           task(j).find("Resources")->set("Devices", list(n, [](std::size_t i) -> json::Value {
                                            return json::Object{{"Name", numbered("nvidia/gpu/", i)}, {"Count", 1}};
                                          }));
         });
       }},
      {"device constraints",
       [](std::size_t n) {
         return with([&](auto& j) {
           task(j)
               .find("Resources")
               ->set("Devices",
                     json::Array{json::Object{
                         {"Name", "gpu"}, {"Count", 1}, {"Constraints", list(n, [](std::size_t i) -> json::Value {
                                                           return json::Object{{"LTarget", "${device.model}"},
                                                                               {"RTarget", numbered("v", i)},
                                                                               {"Operand", "!="}};
                                                         })}}});
         });
       }},
      {"env", [](std::size_t n) { return with([&](auto& j) { task(j).set("Env", map(n)); }); }},
      {"driver configuration", [](std::size_t n) { return with([&](auto& j) { task(j).set("Config", map(n)); }); }},
      {"driver arguments",
       [](std::size_t n) {
         return with([&](auto& j) {
           task(j).set("Config",
                       json::Object{{"args", list(n, [](std::size_t i) -> json::Value { return numbered("a", i); })}});
         });
       }},
      {"job meta", [](std::size_t n) { return with([&](auto& j) { body(j).set("Meta", map(n)); }); }},
      {"group meta", [](std::size_t n) { return with([&](auto& j) { group(j).set("Meta", map(n)); }); }},
      {"task meta", [](std::size_t n) { return with([&](auto& j) { task(j).set("Meta", map(n)); }); }},
      {"datacenters",
       [](std::size_t n) {
         return with([&](auto& j) {
           body(j).set("Datacenters", list(n, [](std::size_t i) -> json::Value { return numbered("dc", i); }));
         });
       }},
      {"identities",
       [](std::size_t n) {
         return with([&](auto& j) {
           task(j).set("Identities", list(n, [](std::size_t i) -> json::Value {
                         return json::Object{{"Name", numbered("i", i)},
                                             {"Audience", json::Array{json::Value("x")}},
                                             {"TTL", 3'600'000'000'000}};
                       }));
         });
       }},
      {"actions",
       [](std::size_t n) {
         return with([&](auto& j) {
           task(j).set("Actions", list(n, [](std::size_t i) -> json::Value {
                         return json::Object{{"Name", numbered("a", i)}, {"Command", "/bin/x"}};
                       }));
         });
       }},
      {"secrets",
       [](std::size_t n) {
         return with([&](auto& j) {
           task(j).set("Secrets", list(n, [](std::size_t i) -> json::Value {
                         return json::Object{{"Name", numbered("s", i)}, {"Provider", "nomad"}, {"Path", "p"}};
                       }));
         });
       }},
  };
  return kLists;
}

/// Nodes by the name of their long list, in the API's form.
inline const Lists& node_lists() {
  using namespace long_lists;
  static const auto node = [] {
    return json::Value(json::Object{
        {"ID", "00000001-1111-4111-8111-111111111111"},
        {"Name", "n1"},
        {"Datacenter", "dc0"},
        {"NodePool", "default"},
        {"Status", "ready"},
        {"SchedulingEligibility", "eligible"},
        {"Attributes",
         json::Object{{"kernel.name", "linux"}, {"nomad.version", "1.11.0"}, {"nomad.service_discovery", "true"}}},
        {"Drivers", json::Object{{"exec", json::Object{{"Detected", true}, {"Healthy", true}}}}},
        {"NodeResources",
         json::Object{{"Cpu", json::Object{{"CpuShares", 1'000'000}}},
                      {"Memory", json::Object{{"MemoryMB", 10'000'000}}},
                      {"Disk", json::Object{{"DiskMB", 10'000'000}}},
                      {"MinDynamicPort", 20'000},
                      {"MaxDynamicPort", 60'000},
                      {"Networks", json::Array{json::Object{{"Mode", "host"}, {"Device", "eth0"}, {"IP", "10.0.0.1"}}}},
                      {"NodeNetworks",
                       json::Array{json::Object{
                           {"Mode", "host"},
                           {"Device", "eth0"},
                           {"Addresses", json::Array{json::Object{
                                             {"Family", "ipv4"}, {"Alias", "default"}, {"Address", "10.0.0.1"}}}}}}}}},
        {"CreateIndex", 5},
        {"ModifyIndex", 6}});
  };
  static const auto named = [](std::size_t n, json::Value (*make)(std::size_t)) {
    json::Value out = json::Value::object();
    for (std::size_t i = 0; i < n; ++i) out.members().push_back({numbered("a", i), make(i)});
    return out;
  };
  static const auto address = [](std::size_t i) {
    return "10." + std::to_string(1 + (i >> 16)) + "." + std::to_string(i >> 8 & 255) + "." + std::to_string(i & 255);
  };
  static const Lists kLists = {
      {"none", [](std::size_t) { return node(); }},
      {"attributes",
       [](std::size_t n) {
         json::Value out = node();
         json::Value entries = map(n);
         for (json::Member& m : entries.members()) out.find("Attributes")->members().push_back(std::move(m));
         return out;
       }},
      {"meta",
       [](std::size_t n) {
         json::Value out = node();
         out.set("Meta", map(n));
         return out;
       }},
      {"links",
       [](std::size_t n) {
         json::Value out = node();
         out.set("Links", map(n));
         return out;
       }},
      {"drivers",
       [](std::size_t n) {
         json::Value out = node();
         json::Value entries = named(n, [](std::size_t) -> json::Value {
           return json::Object{{"Detected", true}, {"Healthy", true}};
         });
         for (json::Member& m : entries.members()) out.find("Drivers")->members().push_back(std::move(m));
         return out;
       }},
      {"host volumes",
       [](std::size_t n) {
         json::Value out = node();
         out.set("HostVolumes", named(n, [](std::size_t i) -> json::Value {
                   return json::Object{{"Name", numbered("a", i)}, {"Path", "/"}};
                 }));
         return out;
       }},
      {"devices",
       [](std::size_t n) {
         json::Value out = node();
         out.find("NodeResources")->set("Devices", list(n, [](std::size_t i) -> json::Value {
                                          return json::Object{
                                              {"Vendor", "v"},
                                              {"Type", "gpu"},
                                              {"Name", numbered("d", i)},
                                              {"Instances",
                                               json::Array{json::Object{{"ID", numbered("i", i)}, {"Healthy", true}}}}};
                                        }));
         return out;
       }},
      {"device instances",
       [](std::size_t n) {
         json::Value out = node();
         out.find("NodeResources")
             ->set("Devices",
                   json::Array{json::Object{{"Vendor", "v"},
                                            {"Type", "gpu"},
                                            {"Name", "d"},
                                            {"Instances", list(n, [](std::size_t i) -> json::Value {
                                               return json::Object{{"ID", numbered("i", i)}, {"Healthy", true}};
                                             })}}});
         return out;
       }},
      {"cores",
       [](std::size_t n) {
         json::Value out = node();
         out.find("NodeResources")
             ->set("Processors",
                   json::Object{
                       {"Topology", json::Object{{"Nodes", json::Array{json::Value(0)}},
                                                 {"Distances", json::Array{json::Value(json::Array{json::Value(10)})}},
                                                 {"Cores", list(n, [](std::size_t i) -> json::Value {
                                                    return json::Object{{"SocketID", 0},
                                                                        {"NodeID", 0},
                                                                        {"ID", static_cast<std::int64_t>(i)},
                                                                        {"Grade", true},
                                                                        {"BaseSpeed", 1'000}};
                                                  })}}}});
         return out;
       }},
      {"networks",
       [](std::size_t n) {
         json::Value out = node();
         out.find("NodeResources")->set("Networks", list(n, [](std::size_t i) -> json::Value {
                                          return json::Object{{"Mode", "host"},
                                                              {"Device", numbered("e", i)},
                                                              {"IP", address(i)},
                                                              {"CIDR", address(i) + "/32"},
                                                              {"MBits", 100}};
                                        }));
         return out;
       }},
      {"addresses",
       [](std::size_t n) {
         json::Value out = node();
         json::Value& networks = *out.find("NodeResources")->find("NodeNetworks");
         for (std::size_t i = 0; i < n; ++i)
           networks.items()[0]
               .find("Addresses")
               ->push(json::Object{{"Family", "ipv4"}, {"Alias", numbered("a", i)}, {"Address", address(i)}});
         return out;
       }},
      {"reserved ports",
       [](std::size_t n) {
         json::Value out = node();
         std::string text;
         for (std::size_t i = 0; i < n; ++i) text += (i > 0 ? "," : "") + std::to_string(20'000 + 2 * (i % 20'000));
         out.set("ReservedResources", json::Object{{"Networks", json::Object{{"ReservedHostPorts", text}}}});
         return out;
       }},
      {"unknown keys",
       [](std::size_t n) {
         json::Value out = node();
         for (std::size_t i = 0; i < n; ++i) out.members().push_back({numbered("unknown", i), 1});
         return out;
       }},
      {"events",
       [](std::size_t n) {
         json::Value out = node();
         out.set("Events", list(n, [](std::size_t i) -> json::Value {
                   return json::Object{{"Message", numbered("m", i)}, {"Subsystem", "x"}};
                 }));
         return out;
       }},
  };
  return kLists;
}

}  // namespace berth::testing
