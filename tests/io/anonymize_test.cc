#include "io/anonymize.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <set>

#include "base/time.h"
#include "base/uuid.h"
#include "io/export_import.h"
#include "io/json_parse.h"

namespace berth::io {
namespace {

json::Value json_value(const std::string& text) {
  auto value = parse_json(text);
  EXPECT_TRUE(value) << value.error().line() << "\n" << text;
  return value ? std::move(*value) : json::Value();
}

json::Value recorded_cluster() {
  auto done = import_cluster(BERTH_SOURCE_DIR "/tests/dryrun/recorded/stage-02.snap");
  EXPECT_TRUE(done) << done.error().line();
  return done ? cluster_to_json(done->state) : json::Value();
}

void prepare(Anonymizer& names, std::vector<json::Value*> documents) {
  const auto done = names.prepare(documents);
  EXPECT_TRUE(done) << done.error();
}

/// A single text, as a member of that name.
std::string rewritten(Anonymizer& names, const std::string& text, const char* member = "Name") {
  json::Value document = json::Value::object();
  document.set(member, text);
  names.rewrite(document);
  return document[member].as_string();
}

/// A node with these members; `more` begins with a comma.
std::string node(const std::string& name, const std::string& meta, const std::string& more = "") {
  return fmt::format(
      R"({{"ID":"10000000-0000-4000-8000-000000000001","Name":"{}","Datacenter":"paris1","Meta":{{{}}}{}}})", name,
      meta, more);
}
std::string cluster(const std::string& nodes, const std::string& constraint) {
  return fmt::format(R"({{"Nodes":[{}],"Jobs":[{{"ID":"shop","TaskGroups":[{{"Name":"app","Constraints":[{}]}}]}}]}})",
                     nodes, constraint);
}

TEST(Anonymize, ReplacesEqualNamesByEqualWordsEverywhere) {
  json::Value document = json_value(cluster(node("shop-7", R"("rack":"r1","owner":"shop")"),
                                            R"({"LTarget":"${meta.rack}","RTarget":"r1","Operand":"="})"));
  Anonymizer names;
  prepare(names, {&document});
  names.rewrite(document);
  const json::Value &host = document["Nodes"][0], &job = document["Jobs"][0];
  const std::string word = job["ID"].as_string();
  EXPECT_NE(word, "shop");
  EXPECT_EQ(host["Name"], word + "-7");
  EXPECT_EQ(host["Meta"][rewritten(names, "owner")], word);
  const json::Value& constraint = job["TaskGroups"][0]["Constraints"][0];
  EXPECT_EQ(constraint["LTarget"], "${meta." + rewritten(names, "rack") + "}");
  EXPECT_EQ(constraint["RTarget"], host["Meta"][rewritten(names, "rack")]);
  EXPECT_EQ(host["ID"], "10000000-0000-4000-8000-000000000001");
}

TEST(Anonymize, WordsSortLikeTheNames) {
  json::Value document = json_value(cluster(node("zebra", R"("Alpha":"mule","beta":"yak","omega":"ant")"), "{}"));
  Anonymizer names;
  prepare(names, {&document});
  const std::vector<std::string> ascending = {"Alpha", "ant",    "app",  "beta", "mule",
                                              "omega", "paris1", "shop", "yak",  "zebra"};
  for (std::size_t i = 1; i < ascending.size(); ++i)
    EXPECT_LT(rewritten(names, ascending[i - 1]), rewritten(names, ascending[i])) << ascending[i];
}

// Later words are placed between those of earlier runs, for any order and number of runs, and all are distinct.
TEST(Anonymize, AContinuedMapKeepsItsWordsAndTheirOrder) {
  std::map<std::string, std::string> before;
  json::Value map;
  for (const char* batch : {"mm zz", "ma mz aa", "n nn m", "mab maa mb zzz zza", "a b c d e f g h i j k l", "mac"}) {
    json::Value document = json_value(R"({"Jobs":[]})");
    std::string word;
    for (const char c : std::string(batch) + ' ')
      if (c != ' ') {
        word += c;
      } else {
        json::Value job = json::Value::object();
        job.set("ID", word), document.find("Jobs")->push(std::move(job));
        before.emplace(word, ""), word.clear();
      }
    auto names = map.is_null() ? Anonymizer() : Anonymizer::from_json(map, "map").value();
    prepare(names, {&document});
    std::string last;
    for (auto& [original, value] : before) {
      const std::string now = rewritten(names, original);
      if (!value.empty()) {
        EXPECT_EQ(now, value) << original;
      }
      value = now;
      EXPECT_LT(last, now) << original << " of " << batch;
      last = now;
    }
    map = names.to_json();
  }
}

TEST(Anonymize, KeepsValuesThatAreComparedByPatternOrOrder) {
  for (const char* operand : {"regexp", "version", "semver", "<", ">="}) {
    json::Value document =
        json_value(cluster(node("one", R"("rack":"row4b","slot":"row4b-x")") + "," + node("two", R"("rack":"row5c")"),
                           fmt::format(R"({{"LTarget":"${{meta.rack}}","RTarget":"^row4","Operand":"{}"}})", operand)));
    Anonymizer names;
    prepare(names, {&document});
    names.rewrite(document);
    EXPECT_EQ(document["Nodes"][0]["Meta"][rewritten(names, "rack")], "row4b") << operand;
    EXPECT_EQ(document["Nodes"][1]["Meta"][rewritten(names, "rack")], "row5c") << operand;
    EXPECT_EQ(document["Jobs"][0]["TaskGroups"][0]["Constraints"][0]["RTarget"], "^row4") << operand;
    EXPECT_NE(document["Nodes"][0]["Name"], "one");
    ASSERT_EQ(names.notes().size(), 1u);
    EXPECT_NE(names.notes()[0].find("${meta.rack}"), std::string::npos);
    EXPECT_NE(names.notes()[0].find("job shop"), std::string::npos);
  }
}

TEST(Anonymize, ElementsOfSetsAreReplacedOneByOne) {
  json::Value document =
      json_value(cluster(node("one", R"("teams":"red, blue,green")"),
                         R"({"LTarget":"${meta.teams}","RTarget":"green,red","Operand":"set_contains"})"));
  Anonymizer names;
  prepare(names, {&document});
  names.rewrite(document);
  const auto word = [&](const char* name) { return rewritten(names, name); };
  EXPECT_EQ(document["Nodes"][0]["Meta"][word("teams")], word("red") + ", " + word("blue") + "," + word("green"));
  EXPECT_EQ(document["Jobs"][0]["TaskGroups"][0]["Constraints"][0]["RTarget"], word("green") + "," + word("red"));
  EXPECT_TRUE(names.notes().empty());
}

TEST(Anonymize, KeepsDatacentersThatAPatternMatches) {
  json::Value document = json_value(R"({"Nodes":[{"Name":"a1","Datacenter":"paris1"},{"Name":"a2","Datacenter":"rome"}],
    "Jobs":[{"ID":"shop","Datacenters":["paris*"],"TaskGroups":[]}]})");
  Anonymizer names;
  prepare(names, {&document});
  names.rewrite(document);
  EXPECT_EQ(document["Nodes"][0]["Datacenter"], "paris1");
  EXPECT_EQ(document["Nodes"][1]["Datacenter"], "rome");
  EXPECT_EQ(document["Jobs"][0]["Datacenters"][0], "paris*");
  json::Value everywhere = json_value(R"({"Nodes":[{"Datacenter":"paris1"}],"Jobs":[{"ID":"b","Datacenters":["*"]}]})");
  Anonymizer others;
  prepare(others, {&everywhere});
  others.rewrite(everywhere);
  EXPECT_NE(everywhere["Nodes"][0]["Datacenter"], "paris1");
  EXPECT_EQ(everywhere["Jobs"][0]["Datacenters"][0], "*");
}

TEST(Anonymize, RefusesAJobThatReadsWhatTheMapHasReplaced) {
  json::Value first = json_value(cluster(node("one", R"("rack":"row4b","slot":"7")"), "{}"));
  Anonymizer names;
  prepare(names, {&first});
  auto again = Anonymizer::from_json(names.to_json(), "map");
  ASSERT_TRUE(again) << again.error().line();
  json::Value job = json_value(cluster("", R"({"LTarget":"${meta.rack}","RTarget":"4","Operand":"regexp"})"));
  const auto done = again->prepare(std::vector<json::Value*>{&job});
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error(), "has replaced values of ${meta.rack} already, and regexp of job shop reads them");
  // Numbers are never replaced there, so they can be read later.
  json::Value other = json_value(cluster("", R"({"LTarget":"${meta.slot}","RTarget":"4","Operand":">"})"));
  auto fine = Anonymizer::from_json(names.to_json(), "map").value();
  prepare(fine, {&other});
}

TEST(Anonymize, AddressesStayAddressesAndNumbersAreKept) {
  json::Value document = json_value(R"({"Nodes":[{"Name":"a","HTTPAddr":"10.9.8.7:4646","NodeResources":{"Networks":[
    {"Device":"eth0","IP":"10.9.8.7","CIDR":"10.9.8.7/32"}],"NodeNetworks":[{"MacAddress":"7e:23:63:68:57:6d",
    "Addresses":[{"Address":"2001:db8::7","Family":"ipv6","ReservedPorts":"22,9100"}]}]}}]})");
  Anonymizer names;
  prepare(names, {&document});
  names.rewrite(document);
  const json::Value& host = document["Nodes"][0];
  const std::string ip = host["NodeResources"]["Networks"][0]["IP"].as_string();
  EXPECT_TRUE(ip.starts_with("10.0.0.")) << ip;
  EXPECT_EQ(host["HTTPAddr"], ip + ":4646");
  EXPECT_EQ(host["NodeResources"]["Networks"][0]["CIDR"], ip + "/32");
  const json::Value& network = host["NodeResources"]["NodeNetworks"][0];
  EXPECT_TRUE(network["Addresses"][0]["Address"].as_string().starts_with("fd00::"));
  EXPECT_EQ(network["Addresses"][0]["ReservedPorts"], "22,9100");
  EXPECT_TRUE(network["MacAddress"].as_string().starts_with("n")) << network["MacAddress"].as_string();
}

TEST(Anonymize, ComposedNamesAreReplacedPartByPart) {
  json::Value document =
      json_value(R"({"Jobs":[{"ID":"web","TaskGroups":[{"Name":"app","Services":[{"Name":"pay"}]}]}]})");
  Anonymizer names;
  prepare(names, {&document});
  const std::string web = rewritten(names, "web"), app = rewritten(names, "app"), pay = rewritten(names, "pay");
  EXPECT_EQ(rewritten(names, "web.app[12]"), web + "." + app + "[12]");
  EXPECT_EQ(rewritten(names, "connect-proxy-pay"), "connect-proxy-" + pay);
  EXPECT_EQ(rewritten(names, "connect-proxy:pay"), "connect-proxy:" + pay);
  EXPECT_EQ(rewritten(names, "service: \"pay\" check"), "service: \"" + pay + "\" check");
  EXPECT_EQ(rewritten(names, "web/periodic-1795308522"), web + "/periodic-1795308522");
  EXPECT_EQ(rewritten(names, "web/dispatch-1795308522-0a1b2c3d"), web + "/dispatch-1795308522-0a1b2c3d");
  EXPECT_EQ(rewritten(names, "missing host network \"pay\" for port \"web\"", "Message"),
            "missing host network \"" + pay + "\" for port \"" + web + "\"");
  EXPECT_EQ(rewritten(names, "${meta.app} set_contains web,pay", "Message"),
            "${meta." + app + "} set_contains " + web + "," + pay);
  EXPECT_EQ(rewritten(names, "distinct_property: ${meta.app}=web used by 2 allocs", "Message"),
            "distinct_property: ${meta." + app + "}=" + web + " used by 2 allocs");
}

// Zeros are left out in CLUSTER.json, so recognising an object must not depend on one member.
TEST(Anonymize, StatusesAreKeptAndDeviceTypesReplaced) {
  json::Value document = json_value(R"({"Allocs":[{"AllocStates":[{"Value":"unknown"}],"ClientStatus":"unknown"}],
    "Nodes":[{"NodeResources":{"Devices":[{"Type":"service","Name":"unknown"}]}}],
    "Jobs":[{"ID":"service","Type":"service","Spreads":[{"SpreadTarget":[{"Value":"unknown"}]}],"TaskGroups":[{
      "Tasks":[{"Resources":{"Devices":[{"Name":"service/unknown"}]}}]}]}]})");
  Anonymizer names;
  prepare(names, {&document});
  names.rewrite(document);
  const std::string service = rewritten(names, "service"), unknown = rewritten(names, "unknown");
  const json::Value &alloc = document["Allocs"][0], &job = document["Jobs"][0];
  EXPECT_EQ(alloc["AllocStates"][0]["Value"], "unknown");
  EXPECT_EQ(alloc["ClientStatus"], "unknown");
  EXPECT_EQ(job["Type"], "service");
  EXPECT_EQ(job["ID"], service);
  EXPECT_EQ(job["Spreads"][0]["SpreadTarget"][0]["Value"], unknown);
  EXPECT_EQ(document["Nodes"][0]["NodeResources"]["Devices"][0]["Type"], service);
  EXPECT_EQ(job["TaskGroups"][0]["Tasks"][0]["Resources"]["Devices"][0]["Name"], service + "/" + unknown);
}

// Every text and every user's key of a cluster is replaced by a unique one. UUIDs and times stay, and so do, by the
// rules at the head of anonymize.h, versions among attributes and texts that an operand or a pattern reads.
TEST(Anonymize, NoPlantedNameRemains) {
  json::Value document = recorded_cluster();
  std::size_t planted = 0;
  const auto word = [&] { return fmt::format("-planted{}q", planted++); };
  const auto stays = [](const std::string& key, const std::string& text) {
    return text.empty() || base::parse_uuid(text) || base::parse_rfc3339(text) || key.starts_with("Datacenter") ||
           key.ends_with("version") || key == "Operand";
  };
  std::function<void(json::Value&, const std::string&)> plant = [&](json::Value& value, const std::string& key) {
    if (value.is_string() && !stays(key, value.as_string())) value = value.as_string() + word();
    if (value.is_array())
      for (json::Value& item : value.items()) plant(item, key);
    if (!value.is_object()) return;
    const std::string operand = value["Operand"].as_string();
    for (json::Member& member : value.members()) {
      if (member.key != "RTarget" || operand == "=" || operand.starts_with("set")) plant(member.value, member.key);
      for (const char* map : {"Meta", "Attributes", "HostVolumes", "Env", "TaskStates", "Drivers"})
        if (key == map && !member.key.ends_with("version")) member.key += word();
    }
  };
  plant(document, "");
  ASSERT_GT(planted, 3000u);
  Anonymizer names;
  prepare(names, {&document});
  names.rewrite(document);
  const std::string text = cluster_file_text(document);
  std::set<std::string> through;
  for (std::size_t at = text.find("planted"); at != text.npos; at = text.find("planted", at + 1))
    through.insert(text.substr(at - 40, 60));
  EXPECT_TRUE(through.empty()) << through.size() << " of " << planted << ", such as " << *through.begin();
}

TEST(Anonymize, NoNameOfARecordedClusterRemains) {
  json::Value document = recorded_cluster();
  std::set<std::string> original;
  for (const char* list : {"Nodes", "Jobs"})
    for (const json::Value& entry : document[list].items())
      for (const char* key : {"Name", "NodeClass"}) original.insert(entry[key].as_string());
  for (const json::Value& alloc : document["Allocs"].items())
    for (const char* key : {"Name", "TaskGroup"}) original.insert(alloc[key].as_string());
  original.erase("");
  ASSERT_GT(original.size(), 60u);
  Anonymizer names;
  prepare(names, {&document});
  names.rewrite(document);
  const std::string text = cluster_file_text(document);
  for (const std::string& name : original) EXPECT_EQ(text.find('"' + name + '"'), text.npos) << name;
}

TEST(Anonymize, TheResultIsReadAgainWithoutWarnings) {
  json::Value document = recorded_cluster();
  Anonymizer names;
  prepare(names, {&document});
  names.rewrite(document);
  auto again = import_cluster_json(json_value(cluster_file_text(document)), "anonymous");
  ASSERT_TRUE(again) << again.error().line();
  EXPECT_EQ(again->warnings, std::vector<std::string>());
  EXPECT_EQ(again->state.allocs.size(), document["Allocs"].size());
}

TEST(Anonymize, AnInvalidMapIsRefusedInOneLine) {
  for (const auto& [text, problem] :
       {std::pair{R"({"Nodes":[]})", "is no map of names"},
        std::pair{R"({"format":"berth-names","version":99})", "is a version that this berth does not know"},
        std::pair{R"({"format":"berth-names","version":1,"words":{"a":1}})", "is no text, or is there twice"},
        std::pair{R"({"format":"berth-names","version":1,"words":{"a":"n2","b":"n1"}})", "'n1' is out of order"},
        std::pair{R"({"format":"berth-names","version":1,"words":{"a":"x"}})", "'x' is out of order"},
        std::pair{R"({"format":"berth-names","version":1,"addresses":{"a":"x","b":"x"}})", "'x' is there twice"}}) {
    const auto map = Anonymizer::from_json(json_value(text), "names.json");
    ASSERT_FALSE(map) << text;
    EXPECT_EQ(map.error().problem, problem) << text;
    EXPECT_EQ(map.error().line().find('\n'), std::string::npos);
  }
}

}  // namespace
}  // namespace berth::io
