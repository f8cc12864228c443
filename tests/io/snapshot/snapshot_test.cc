// Snapshots: all objects equal the export of the same moment, every kind of damage is refused in one line, and no
// secret is imported (R-SNAP).
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>

#include "io/export_import.h"
#include "io/files.h"
#include "io/json_parse.h"
#include "io/snapshot/record_writer.h"
#include "io/snapshot/small_snapshot.h"
#include "io/snapshot/snapshot_export.h"
#include "model/codec/codec.h"
#include "model/job.h"

namespace berth::io {
namespace {

namespace fs = std::filesystem;
using berth::testing::packed;
using berth::testing::packed_text;
using berth::testing::record;
using berth::testing::SnapshotParts;

constexpr const char *kNode = "10000000-0000-4000-8000-000000000001", *kAlloc = "a0000000-0000-4000-8000-000000000001",
                     *kVolume = "b0000000-0000-4000-8000-000000000001", *kSecret = "s3cr3t-that-nothing-may-print";

json::Value parsed(std::string text) {
  for (std::size_t at; (at = text.find('\'')) != text.npos;) text[at] = '"';
  return parse_json(text).value();
}

json::Value small_node() {
  json::Value node = parsed(R"({'Name':'one','Datacenter':'dc1','NodePool':'default','Status':'ready',
    'SchedulingEligibility':'eligible','Attributes':{'kernel.name':'linux'},'Meta':null,'Drivers':{},
    'NodeResources':{'Cpu':{'CpuShares':4000,'TotalCpuCores':1,'ReservableCpuCores':null},'Memory':{'MemoryMB':4096},
      'Disk':{'DiskMB':10000},'Networks':null,'NodeNetworks':null,'MinDynamicPort':0,'MaxDynamicPort':0},
    'HostVolumes':{'data':{'Name':'data','Path':'/d','ReadOnly':false,'ID':'b0000000-0000-4000-8000-000000000001'}},
    'CreateIndex':5,'ModifyIndex':9})");
  node.set("ID", kNode);
  node.set("SecretID", kSecret);
  return node;
}

json::Value small_job(std::int64_t version = 0) {
  json::Value job = parsed(R"({'ID':'web','Name':'web','Namespace':'default','Region':'global','Type':'service',
    'Priority':50,'Datacenters':['dc1'],'NodePool':'default','CreateIndex':10,'ModifyIndex':12,'JobModifyIndex':10,
    'TaskGroups':[{'Name':'app','Count':1,'Volumes':{'data':{'Name':'data','Type':'host','Source':'data','Sticky':true}},
      'Tasks':[{'Name':'main','Driver':'exec','Config':{'command':'a'},'Env':{'A':'b'},
        'Resources':{'CPU':100,'MemoryMB':64}}]}]})");
  job.set("Version", version);
  job.set("VaultToken", kSecret);
  return job;
}

json::Value small_alloc(const std::string& id = kAlloc) {
  json::Value alloc = parsed(R"({'Namespace':'default','Name':'web.app[0]','JobID':'web','TaskGroup':'app',
    'DesiredStatus':'run','ClientStatus':'running','CreateIndex':11,'ModifyIndex':13,
    'AllocatedResources':{'Tasks':{'main':{'Cpu':{'CpuShares':100},'Memory':{'MemoryMB':64}}},'Shared':{'DiskMB':10}}})");
  alloc.set("ID", id);
  alloc.set("NodeID", kNode);
  alloc.set("Job", small_job());
  alloc.set("SignedIdentities", parsed("{'main':'x'}"));
  alloc.members().back().value.set("main", kSecret);
  return alloc;
}

std::string index_record(const char* key, std::int64_t value) {
  return record(2, parsed("{'Key':'" + std::string(key) + "','Value':" + std::to_string(value) + "}"));
}

/// A complete small cluster, with a secret in each place that may have one.
SnapshotParts small_parts() {
  SnapshotParts parts;
  parts.state += index_record("allocs", 13) + index_record("nodes", 9) + index_record("jobs", 12);
  parts.state += record(0, small_node());
  parts.state += record(1, small_job()) + record(9, small_job());
  parts.state += record(4, small_alloc());
  json::Value eval = parsed(R"({'ID':'e0000000-0000-4000-8000-000000000001','Namespace':'default','Priority':50,
    'Type':'service','TriggeredBy':'job-register','JobID':'web','Status':'complete','CreateIndex':10,'ModifyIndex':11})");
  eval.set("LeaderACL", kSecret);
  parts.state += record(3, eval);
  json::Value csi =
      parsed(R"({'ID':'v','Name':'v','Namespace':'default','PluginID':'p','AccessMode':'','Schedulable':true,
    'AttachmentMode':'','ReadAllocs':null,'WriteAllocs':null,'CreateIndex':3,'ModifyIndex':3,'MountOptions':{'FSType':'x'}})");
  csi.set("Secrets", parsed("{'k':'v'}"));
  csi.find("Secrets")->set("k", kSecret);
  csi.find("MountOptions")->set("MountFlags", kSecret);
  csi.set("Parameters", parsed("{'k':'v'}"));
  csi.find("Parameters")->set("k", kSecret);
  parts.state += record(18, csi);
  json::Value token = json::Value::object();
  token.set("SecretID", kSecret);
  for (const int type : {8, 12, 15, 22, 24, 26, 29, 30}) parts.state += record(type, token);
  return parts;
}

class Snapshot : public ::testing::Test {
 protected:
  fs::path folder = fs::path(BERTH_BINARY_DIR) / "snapshot_test";
  Snapshot() {
    fs::remove_all(folder);
    fs::create_directories(folder);
  }
  ~Snapshot() override { fs::remove_all(folder); }

  std::string write(const std::string& bytes, const char* name = "a.snap") const {
    std::ofstream((folder / name).string(), std::ios::binary) << bytes;
    return (folder / name).string();
  }
  Result<ClusterImport> read(const std::string& bytes) const { return import_cluster(write(bytes)); }
  /// Error of a file that must be refused.
  std::string refusal(const std::string& bytes) const {
    const auto done = read(bytes);
    EXPECT_FALSE(done);
    if (done) return "";
    const std::string line = done.error().line();
    EXPECT_EQ(line.find('\n'), line.npos);
    EXPECT_EQ(line.find(kSecret), line.npos) << line;
    EXPECT_LT(line.size(), 600u);
    return line;
  }
};

TEST_F(Snapshot, ReadsItsObjects) {
  const auto done = read(small_parts().file());
  ASSERT_TRUE(done) << done.error().line();
  EXPECT_TRUE(done->warnings.empty()) << done->warnings[0];
  const model::ClusterState& state = done->state;
  ASSERT_EQ(state.nodes.size(), 1u);
  ASSERT_EQ(state.allocs.size(), 1u);
  ASSERT_EQ(state.jobs.size(), 1u);
  EXPECT_EQ(state.job_versions.size(), 1u);  // types 1 and 9 hold the same version (R-SNAP-70)
  EXPECT_EQ(state.allocs[0].job, state.jobs[0]);
  EXPECT_EQ(state.evals.size(), 1u);
  EXPECT_EQ(state.csi_volumes.size(), 1u);
  EXPECT_EQ(state.index, 13u);                     // of the state, not the 40 of meta.json (R-SNAP-81)
  ASSERT_EQ(state.host_volume_claims.size(), 1u);  // R-SNAP-103
  EXPECT_EQ(state.host_volume_claims[0].volume_id, kVolume);
  EXPECT_EQ(state.host_volume_claims[0].alloc_id, kAlloc);
  ASSERT_EQ(done->notes.size(), 1u);
  EXPECT_NE(done->notes[0].find("1 claim"), std::string::npos);
}

TEST_F(Snapshot, DropsSecrets) {  // R-SNAP-110, 111
  const auto done = read(small_parts().file());
  ASSERT_TRUE(done) << done.error().line();
  EXPECT_EQ(cluster_text(done->state).find(kSecret), std::string::npos);
  EXPECT_EQ(done->state.nodes[0].secret_id, "");
  for (const auto& job : done->state.job_versions)
    EXPECT_EQ(json::to_text(model::to_json(*job)).find(kSecret), std::string::npos);
  EXPECT_NE(cluster_text(done->state).find("\"A\":\"b\""), std::string::npos);  // a task's environment stays
}

TEST_F(Snapshot, WritesNonUtf8TextsAsJson) {  // R-SNAP-32
  SnapshotParts parts = small_parts();
  json::Value node = small_node();
  node.set("ID", "10000000-0000-4000-8000-000000000002");
  node.set("Meta", json::Object{{"a", "x\xff\xc3\xa9\xe2\x82"}});
  parts.state += record(0, node);
  const auto done = read(parts.file());
  ASSERT_TRUE(done) << done.error().line();
  EXPECT_EQ(done->state.nodes[1].meta.at("a"), "x\xff\xc3\xa9\xe2\x82");
  const auto again = import_cluster_json(parse_json(cluster_text(done->state)).value(), "again");
  ASSERT_TRUE(again) << again.error().line();
  EXPECT_EQ(again->state.nodes[1].meta.at("a"), "x\xEF\xBF\xBD\xc3\xa9\xEF\xBF\xBD\xEF\xBF\xBD");
}

TEST_F(Snapshot, SkipsUnknownRecords) {  // R-SNAP-13, 21
  SnapshotParts parts = small_parts();
  parts.state += record(200, parsed("{'A':{'B':[1,2,{'C':null}]}}")) + record(200, parsed("{}")) +
                 record(5, std::string("\x91\x01"));
  const auto done = read(parts.file());
  ASSERT_TRUE(done) << done.error().line();
  ASSERT_EQ(done->notes.size(), 2u);
  EXPECT_EQ(done->notes[0], "snapshot: 2 records of the unknown type 200 skipped");
}

TEST_F(Snapshot, TheLaterOfTwoRecordsOfOneObjectCounts) {  // R-SNAP-23
  SnapshotParts parts = small_parts();
  json::Value node = small_node();
  node.set("Name", "later"), node.set("ModifyIndex", 8);
  parts.state += record(0, node);
  const auto done = read(parts.file());
  ASSERT_TRUE(done) << done.error().line();
  EXPECT_EQ(done->state.nodes[0].name, "later");
  ASSERT_EQ(done->warnings.size(), 1u);
  EXPECT_NE(done->warnings[0].find("recorded twice"), std::string::npos);
}

TEST_F(Snapshot, RaisesAnIndexBelowItsRecords) {  // R-SNAP-82
  SnapshotParts parts = small_parts();
  json::Value alloc = small_alloc();
  alloc.set("ModifyIndex", 77), alloc.set("ID", "a0000000-0000-4000-8000-000000000002");
  parts.state += record(4, alloc);
  const auto done = read(parts.file());
  ASSERT_TRUE(done) << done.error().line();
  EXPECT_EQ(done->state.index, 77u);
  EXPECT_EQ(done->notes.front(), "snapshot: index 13 of table allocs is below that of its records; raised to 77");
}

/// The bytes of an instant (R-SNAP-36).
std::string instant(int form, std::int64_t seconds, std::uint32_t ns, std::int16_t offset) {
  std::string out(1, static_cast<char>(form));
  out += berth::testing::big_endian(static_cast<std::uint64_t>(seconds), 8) + berth::testing::big_endian(ns, 4) +
         berth::testing::big_endian(static_cast<std::uint16_t>(offset), 2);
  if (form == 2) out += '\0';
  return out;
}

TEST_F(Snapshot, ReadsTimesAndByteStrings) {  // R-SNAP-36, 38, 141
  struct Case {
    const char* name;
    std::string packed;
    const char* text;  ///< "": refused
  };
  const std::string worked = std::string("\xaf\x01\x00\x00\x00\x0e\xe2\x94\x32\xe4\x0e\xae\xa2\x37\x00\x00", 16);
  for (const Case& c :
       {Case{"worked example", worked, "2026-11-22T00:48:36.246325815Z"},
        Case{"utc", packed_text(instant(1, 63930905316, 0, -1)), "2026-11-22T00:48:36Z"},
        Case{"form 2", packed_text(instant(2, 63930905316, 0, 60)), "2026-11-22T01:48:36+01:00"},
        Case{"text", packed_text("2026-11-22T00:48:36Z"), "2026-11-22T00:48:36Z"},
        Case{"extension", "\xd6\xff" + berth::testing::big_endian(1795308516, 4), "2026-11-22T00:48:36Z"},
        Case{"nanoseconds", packed_text(instant(1, 63930905316, 1'000'000'000, -1)), ""},
        Case{"year 10000", packed_text(instant(1, 315537897600, 0, -1)), ""},
        Case{"before year 1", packed_text(instant(1, -1, 0, -1)), ""}, Case{"a number", "\x05", ""},
        Case{"a short text", packed_text("soon"), ""}}) {
    SCOPED_TRACE(c.name);
    SnapshotParts parts = small_parts();
    json::Value node = small_node();
    node.set("ID", "10000000-0000-4000-8000-000000000002");
    std::string object = packed(node);
    object[2] = static_cast<char>(object[2] + 1);  // one entry more: the events, whose time is added as bytes
    object += packed_text("Events") + "\x91\x82" + packed_text("Message") + packed_text("m") +
              packed_text("Timestamp") + c.packed;
    parts.state += record(0, object);
    const auto done = read(parts.file());
    ASSERT_EQ(done.has_value(), *c.text != 0) << (done ? "" : done.error().line());
    if (!done) {
      EXPECT_NE(done.error().line().find("snapshot: bad value for Events/Timestamp at offset"), std::string::npos)
          << done.error().line();
      continue;
    }
    EXPECT_EQ(done->state.nodes[1].events[0]["Timestamp"].as_string(), c.text);
  }
}

TEST_F(Snapshot, NamesEachKindOfDamage) {  // R-SNAP-130
  const auto with_state = [](const std::string& state) {
    SnapshotParts parts;
    parts.state = state;
    return parts.file();
  };
  const auto with = [](const std::string& more) {
    SnapshotParts parts = small_parts();
    parts.state += more;
    return parts.file();
  };
  const auto edited = [](auto edit) {
    SnapshotParts parts = small_parts();
    edit(parts);
    return parts.file();
  };
  const SnapshotParts small = small_parts();
  const std::string file = small.file(), archive = small.archive();
  using berth::testing::gzip;
  using berth::testing::tar_member;
  const std::string end(1024, '\0'), meta = tar_member("meta.json", small.meta_text()),
                                     state = tar_member("state.bin", small.state),
                                     sums = tar_member("SHA256SUMS", small.sums_text());
  const std::string upper = [&] {
    std::string text = small.sums_text();
    for (char& c : text)
      if (c >= 'a' && c <= 'f' && &c - text.data() < 64) c = static_cast<char>(c - 32);
    return text;
  }();
  struct Case {
    const char* name;
    std::string bytes;
    const char* text;  ///< "": read
  };
  const Case cases[] = {
      {"no gzip", "hello", "not a gzip file"},
      {"empty", "", "not a gzip file"},
      {"cut", file.substr(0, file.size() / 2), "truncated file"},
      {"cut in the last byte", file.substr(0, file.size() - 1), "truncated file"},
      {"gzip sum",
       [&] {
         std::string b = file;
         b[b.size() - 6] = static_cast<char>(b[b.size() - 6] ^ 1);
         return b;
       }(),
       "damaged gzip stream"},
      {"behind gzip", file + std::string(20, 'x'), "damaged gzip stream"},
      {"tar header", gzip([&] {
         std::string b = archive;
         b[3] = '!';
         return b;
       }()),
       "damaged tar archive"},
      {"tar cut", gzip(archive.substr(0, 700)), "damaged tar archive"},
      {"fourth member", gzip(meta + state + sums + tar_member("more", "x") + end), "unexpected member"},
      {"folder", gzip(tar_member("meta.json", "", '5') + end), "unexpected member"},
      {"path", gzip(tar_member("../meta.json", small.meta_text()) + state + sums + end), "unexpected member"},
      {"repeated", gzip(meta + meta + state + sums + end), "repeated member"},
      {"missing", gzip(meta + state + end), "missing member SHA256SUMS"},
      {"any order", gzip(sums + state + meta + end), ""},
      {"several gzip members", gzip(archive.substr(0, 1000)) + gzip(archive.substr(1000)), ""},
      {"zeros behind", edited([](auto& p) { p.after = std::string(5000, '\0'); }), ""},
      {"data behind", edited([](auto& p) { p.after = std::string(5000, '\0') + "x"; }), "data after the archive"},
      {"meta", edited([](auto& p) { p.meta = "{"; }), "bad meta.json"},
      {"meta index", edited([](auto& p) { p.meta = R"({"Version":1,"Index":-1})"; }), "bad meta.json"},
      {"meta size", edited([](auto& p) { p.meta = R"({"Version":1,"Index":4,"Size":7})"; }),
       "size of state.bin differs from meta.json"},
      {"large meta", edited([](auto& p) { p.meta = p.meta_text() + std::string(1 << 20, ' '); }), "bad meta.json"},
      {"version", edited([](auto& p) { p.meta = R"({"Version":2})"; }), "unsupported snapshot version 2"},
      {"sums cut", edited([](auto& p) { p.sums = p.sums_text().substr(0, 100); }), "bad SHA256SUMS"},
      {"sums short", edited([](auto& p) { p.sums = p.sums_text().substr(0, 76); }), "bad SHA256SUMS"},
      {"sums third", edited([](auto& p) { p.sums = p.sums_text() + std::string(64, '0') + "  other\n"; }),
       "bad SHA256SUMS"},
      {"sums swapped", edited([](auto& p) {
         const std::string s = p.sums_text();
         p.sums = s.substr(76) + s.substr(0, 76);
       }),
       ""},
      {"sums upper", edited([&](auto& p) { p.sums = upper; }), ""},
      {"sum of state", edited([](auto& p) {
         p.sums = p.sums_text();
         p.state.back() ^= 0;
         p.sums[76] = p.sums[76] == '0' ? '1' : '0';
       }),
       "checksum of state.bin does not match"},
      {"sum of meta", edited([](auto& p) {
         p.sums = p.sums_text();
         p.sums[0] = p.sums[0] == '0' ? '1' : '0';
       }),
       "checksum of meta.json does not match"},
      {"no header", with_state(""), "bad header"},
      {"header", with_state("\x01"), "bad header"},
      {"header with keys",
       with_state("\x81\xa1"
                  "a\x01" +
                  small.state.substr(1)),
       ""},
      {"type alone", with("\x02"), "truncated record"},
      {"cut value", with(std::string("\x02\x81\xa3Key", 6)), "truncated record"},
      {"never used",
       with("\xc8\x81\xa1"
            "a\xc1"),
       "bad value"},
      {"count", with("\xc8\xdd\xff\xff\xff\xff"), "absurd length"},
      {"length", with("\xc8\xdb\xff\xff\xff\xff"), "absurd length"},
      {"depth", with("\xc8" + std::string(100'000, '\x91') + "\x01"), "nesting too deep"},
      {"no map", with(record(0, std::string("\x91\x01"))), "bad value for"},
      {"key", with(record(0, std::string("\x81\x01\x01"))), "bad value for"},
      {"kind", with(record(0, parsed("{'ID':'10000000-0000-4000-8000-000000000003','Name':5}"))),
       "bad value for Name at offset"},
      {"range",
       with(record(
           0, parsed("{'ID':'10000000-0000-4000-8000-000000000003','NodeResources':{'Cpu':{'TotalCpuCores':65536}}}"))),
       "bad value for NodeResources/Cpu/TotalCpuCores at"},
      {"fraction", with(record(0, parsed("{'ID':'10000000-0000-4000-8000-000000000003','ModifyIndex':1.5}"))),
       "bad value for ModifyIndex"},
      {"whole float",
       with(record(0,
                   [] {
                     json::Value node = small_node();
                     node.set("ID", "10000000-0000-4000-8000-000000000003"), node.set("ModifyIndex", 7.0);
                     return node;
                   }())),
       ""},
      {"no identity", with(record(0, parsed("{'ID':''}"))), "object without identity at offset"},
      {"no name", with(record(28, parsed("{'Description':''}"))), "object without identity"},
      {"no uuid", with(record(0, parsed("{'ID':'n1'}"))), "bad value for ID"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    if (!*c.text) {
      const auto done = read(c.bytes);
      EXPECT_TRUE(done) << done.error().line();
      continue;
    }
    const std::string line = refusal(c.bytes);
    EXPECT_NE(line.find(std::string("a.snap: snapshot: ") + c.text), line.npos) << line;
  }
}

TEST_F(Snapshot, IsRefusedWhereverItIsCutOrFlipped) {
  SnapshotParts parts;
  parts.state += index_record("nodes", 9) + record(0, small_node());
  const std::string file = parts.file();
  const auto whole = read(file);
  ASSERT_TRUE(whole) << whole.error().line();
  const std::string text = cluster_text(whole->state);
  for (std::size_t at = 0; at < file.size(); ++at) {
    refusal(file.substr(0, at));
    {
      std::string flipped = file;
      flipped[at] = static_cast<char>(flipped[at] ^ 1 << at % 8);
      // Some bits of gzip's header have no effect, and a run of zeros has several encodings.
      const auto done = read(flipped);
      if (done) {
        EXPECT_EQ(cluster_text(done->state), text) << "byte " << at;
      } else {
        EXPECT_EQ(done.error().line().find('\n'), std::string::npos) << "byte " << at;
      }
    }
  }
  // Truncates and flips the records themselves, below gzip and the checksums.
  for (std::size_t at = 1; at < parts.state.size(); ++at) {
    SnapshotParts cut = parts;
    cut.state.resize(at);
    const bool at_boundary = at == 1 || at == 1 + index_record("nodes", 9).size();
    if (!at_boundary) refusal(cut.file());
    SnapshotParts flipped = parts;
    flipped.state[at] = static_cast<char>(flipped.state[at] ^ 1 << at % 8);
    const auto done = read(flipped.file());
    EXPECT_TRUE(done || done.error().line().find('\n') == std::string::npos) << "byte " << at;
  }
}

TEST_F(Snapshot, ReadsLargeRecordsInPieces) {  // R-SNAP-123: records beyond the piece of 256 KiB
  SnapshotParts parts = small_parts();
  json::Value node = small_node();
  node.set("ID", "10000000-0000-4000-8000-000000000002");
  json::Value& meta = node.set("Meta", json::Value::object());
  for (int i = 0; i < 60'000; ++i) meta.members().push_back({"key-" + std::to_string(i), "value"});
  parts.state += record(0, node);
  json::Value last = small_node();
  last.set("ID", "10000000-0000-4000-8000-000000000003");
  parts.state += record(0, last);
  const auto done = read(parts.file());
  ASSERT_TRUE(done) << done.error().line();
  ASSERT_EQ(done->state.nodes.size(), 3u);
  EXPECT_EQ(done->state.nodes[1].meta.size(), 60'000u);
}

TEST_F(Snapshot, SharesTheJobsOfAllocations) {  // R-SNAP-72, 73
  SnapshotParts parts = small_parts();
  for (int i = 2; i < 200; ++i) {
    json::Value alloc =
        small_alloc("a0000000-0000-4000-8000-" + std::string(9, '0') + std::to_string(1000 + i).substr(1));
    json::Value& job = *alloc.find("Job");
    job.set("Status", i % 2 ? "running" : "pending"), job.set("ModifyIndex", i);
    std::reverse(job.members().begin(), job.members().end());  // the order of keys has no meaning
    parts.state += record(4, alloc);
  }
  json::Value odd = small_alloc("a0000000-0000-4000-8000-000000000999");
  odd.find("Job")->set("Priority", 77);  // equal keys and another specification: both are kept
  parts.state += record(4, odd);
  const auto done = read(parts.file());
  ASSERT_TRUE(done) << done.error().line();
  std::set<const model::Job*> jobs;
  for (const auto& alloc : done->state.allocs) jobs.insert(alloc.job.get());
  EXPECT_EQ(jobs.size(), 2u);
  EXPECT_EQ(done->state.allocs.back().job->priority, 77);
}

/// Objects of one list by ID, as JSON, without what the two sources do not have in common (R-SNAP-90).
template <class T>
std::map<std::string, json::Value> by_id(const std::vector<T>& list) {
  std::map<std::string, json::Value> out;
  for (const T& item : list) {
    json::Value value = model::to_json(item);
    if constexpr (requires { item.job; }) value.erase("Job");
    for (const char* key : {"Hash", "Drain", "Parameters", "Constraints", "SigningKeyID"})
      if (value[key].is_null() || std::string_view(key) == "Hash" || std::string_view(key) == "Drain") value.erase(key);
    std::string id;
    if constexpr (requires { item.id; })
      id = item.id;
    else
      id = item.name;
    out[id] = std::move(value);
  }
  return out;
}

template <class T>
void expect_equal(const std::vector<T>& a, const std::vector<T>& b, const char* what) {
  const auto x = by_id(a), y = by_id(b);
  ASSERT_EQ(x.size(), y.size()) << what;
  for (const auto& [id, value] : x) {
    ASSERT_TRUE(y.contains(id)) << what << " " << id;
    EXPECT_TRUE(json::equal_ignoring_member_order(value, y.at(id))) << what << " " << id << "\n"
                                                                    << json::to_text(value) << "\n"
                                                                    << json::to_text(y.at(id));
  }
}

/// The msgpack of a value under a key of a node.
std::string written(const char* key, json::Value value) {
  json::Value node = json::Value::object();
  node.set(key, std::move(value));
  std::string out;
  append_record_object(out, 0, node);
  return out.substr(2 + std::strlen(key));  // without the heads of the map and of the key
}

TEST(SnapshotExport, ValuesHaveTheFormsOfNomad) {  // R-SNAP-30, 31, 36, 38, 140 to 142
  EXPECT_EQ(written("Value", std::int64_t{23762}), "\xcd\x5c\xd2");
  EXPECT_EQ(written("A", std::int64_t{127}), "\x7f");
  EXPECT_EQ(written("A", std::int64_t{128}), "\xcc\x80");
  EXPECT_EQ(written("A", std::int64_t{1} << 40), std::string("\xcf\0\0\1\0\0\0\0\0", 9));
  EXPECT_EQ(written("A", std::int64_t{-1}), "\xff");
  EXPECT_EQ(written("A", std::int64_t{-33}), "\xd0\xdf");
  EXPECT_EQ(written("A", std::int64_t{-129}), "\xd1\xff\x7f");
  EXPECT_EQ(written("A", std::int64_t{-40000}), "\xd2\xff\xff\x63\xc0");
  EXPECT_EQ(written("A", 1.0), std::string("\xcb\x3f\xf0\0\0\0\0\0\0", 9));
  EXPECT_EQ(written("A", nullptr) + written("A", true) + written("A", false), "\xc0\xc3\xc2");
  const std::string uuid = kNode;
  EXPECT_EQ(written("A", uuid), std::string("\xda\0\x24", 3) + uuid);  // never d9
  const auto event = [](json::Value time) {
    json::Value out = json::Value::object();
    out.set("Timestamp", std::move(time));
    return written("Events", out).substr(11);
  };
  EXPECT_EQ(event("2026-11-22T00:48:36.246325815+00:00"),
            std::string("\xaf\x01\0\0\0\x0e\xe2\x94\x32\xe4\x0e\xae\xa2\x37\0\0", 16));
  EXPECT_EQ(event("2026-11-22T01:48:36.246325815+01:00"),
            std::string("\xaf\x01\0\0\0\x0e\xe2\x94\x32\xe4\x0e\xae\xa2\x37\0\x3c", 16));
  EXPECT_EQ(event(nullptr), std::string("\xaf\x01\0\0\0\0\0\0\0\0\0\0\0\0\xff\xff", 16));
  json::Value nodes = json::Value::array();
  nodes.push(std::int64_t{0});
  json::Value topology = json::Value::object(), processors = json::Value::object(), resources = json::Value::object();
  topology.set("Nodes", std::move(nodes)), processors.set("Topology", std::move(topology));
  resources.set("Processors", std::move(processors));
  EXPECT_TRUE(written("NodeResources", resources).ends_with(std::string("\xa1\0", 2)));
}

TEST(SnapshotExport, LongTextsAndListsHaveWideHeads) {
  const std::string text(70000, 'x');
  EXPECT_EQ(written("A", text), std::string("\xdb\0\1\x11\x70", 5) + text);
  json::Value list = json::Value::array();
  for (int i = 0; i < 20; ++i) list.push(std::int64_t{1});
  EXPECT_EQ(written("A", list), std::string("\xdc\0\x14", 3) + std::string(20, '\x01'));
}

class RecordedPair : public ::testing::TestWithParam<const char*> {};

TEST_P(RecordedPair, SnapshotAndExportOfOneMomentAreEqual) {  // R-SNAP-90, 150, 153
  const std::string folder = BERTH_SOURCE_DIR "/tests/dryrun/recorded/", stage = GetParam();
  const auto snapshot = import_cluster(folder + stage + ".snap"), answers = import_cluster(folder + stage + ".json.gz");
  ASSERT_TRUE(snapshot) << snapshot.error().line();
  ASSERT_TRUE(answers) << answers.error().line();
  const model::ClusterState &a = snapshot->state, &b = answers->state;
  EXPECT_EQ(snapshot->warnings, answers->warnings);
  EXPECT_GE(a.index, b.index);  // answers do not contain the index of every table
  expect_equal(a.nodes, b.nodes, "node");
  expect_equal(a.node_pools, b.node_pools, "pool");
  expect_equal(a.namespaces, b.namespaces, "namespace");
  expect_equal(a.allocs, b.allocs, "allocation");
  expect_equal(a.evals, b.evals, "evaluation");
  expect_equal(a.deployments, b.deployments, "deployment");
  expect_equal(a.host_volumes, b.host_volumes, "host volume");
  ASSERT_EQ(a.host_volume_claims.size(), b.host_volume_claims.size());
  for (std::size_t i = 0; i < a.host_volume_claims.size(); ++i) {
    model::HostVolumeClaim x = a.host_volume_claims[i];
    x.id = b.host_volume_claims[i].id;
    EXPECT_EQ(x, b.host_volume_claims[i]);
  }
  EXPECT_EQ(a.scheduler_config, b.scheduler_config);
  const auto without_payload = [](const model::Job& job) {
    json::Value out = model::to_json(job);
    out.erase("Payload");  // compressed in one, plain in the other
    return out;
  };
  for (const auto list : {&model::ClusterState::jobs, &model::ClusterState::job_versions}) {
    ASSERT_EQ((a.*list).size(), (b.*list).size());
    for (std::size_t i = 0; i < (a.*list).size(); ++i)
      EXPECT_TRUE(json::equal_ignoring_member_order(without_payload(*(a.*list)[i]), without_payload(*(b.*list)[i])))
          << (a.*list)[i]->id;
  }
  for (std::size_t i = 0; i < a.allocs.size(); ++i) {
    EXPECT_EQ(a.allocs[i].job->version, b.allocs[i].job->version);
    EXPECT_EQ(a.allocs[i].job->create_index, b.allocs[i].job->create_index);
  }
}

/// The file of a state, as an import reads it back.
ClusterImport written_and_read(const model::ClusterState& state) {
  const std::string path = ::testing::TempDir() + "written-" + std::to_string(getpid()) + ".snap";
  std::ofstream(path, std::ios::binary) << snapshot_file(state, {state.index, 1, {{"allocs", state.index}}});
  auto read = import_cluster(path);
  fs::remove(path);
  if (!read) throw std::runtime_error(read.error().line());
  return std::move(*read);
}

TEST_P(RecordedPair, AWrittenSnapshotReadsBackEqual) {
  const auto snapshot = import_cluster(std::string(BERTH_SOURCE_DIR "/tests/dryrun/recorded/") + GetParam() + ".snap");
  ASSERT_TRUE(snapshot) << snapshot.error().line();
  const ClusterImport again = written_and_read(snapshot->state);
  EXPECT_EQ(again.warnings, snapshot->warnings);
  EXPECT_EQ(cluster_text(again.state), cluster_text(snapshot->state));
  EXPECT_EQ(cluster_text(again.state), cluster_file_text(cluster_to_json(again.state))) << "written without trees";
}

INSTANTIATE_TEST_SUITE_P(Stages, RecordedPair, ::testing::Values("stage-01", "stage-02"),
                         [](const auto& test) { return std::string(test.param).substr(6); });

}  // namespace
}  // namespace berth::io
