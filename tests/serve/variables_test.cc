// Variables over real sockets: check-and-set, locks on virtual time, lists, events, snapshots (R-STORE-1 to 49).
#include <gtest/gtest.h>

#include <filesystem>

#include "io/json_parse.h"
#include "serve/client.h"
#include "serve/started.h"

namespace berth::http {
namespace {

class VariablesTest : public ::testing::Test {
 protected:
  void SetUp() override { start(512); }
  void start(std::size_t held_mib) {
    client_.reset(), service_.reset();
    folder_ = std::filesystem::temp_directory_path() / ("berth-variables-" + std::to_string(::getpid()));
    std::filesystem::create_directories(folder_);
    serve::ServiceOptions options;
    options.start.nodes = 1;
    options.start.now_ns = 1'800'000'000 * base::kSecond;
    options.simulation.speed = *Speed::parse("step");
    options.simulation.snapshots = folder_.string();
    options.limits.held_bytes = held_mib << 20;
    service_ = start_service(options);
    client_ = std::make_unique<Client>(service_->address());
  }
  void TearDown() override {
    client_.reset(), service_.reset();
    std::filesystem::remove_all(folder_);
  }
  Answer ask(const std::string& method, const std::string& target, const std::string& body = "") {
    client_->ask(method, target, body);
    return client_->receive();
  }
  static json::Value read(const Answer& answer) {
    auto value = io::parse_json(answer.body);
    EXPECT_TRUE(value) << answer.status << ": " << answer.body;
    return value ? *value : json::Value();
  }
  json::Value put(const std::string& path, const std::string& body) {
    const Answer answer = ask("PUT", "/v1/var/" + path, body);
    EXPECT_EQ(answer.status, 200) << answer.body;
    return read(answer);
  }
  void advance(int seconds) {
    const Answer answer = ask("POST", "/v1/berth/advance", R"({"Seconds": )" + std::to_string(seconds) + "}");
    EXPECT_EQ(answer.status, 200) << answer.body;
  }

  std::filesystem::path folder_;
  std::unique_ptr<Service> service_;
  std::unique_ptr<Client> client_;
};

TEST_F(VariablesTest, AreWrittenReadReplacedAndDeleted) {  // R-STORE-1, 13, 18, 29
  const json::Value first = put("a/b", R"({"Items": {"x": "1", "y": "2"}, "Path": "else", "ModifyIndex": 7})");
  EXPECT_EQ(first["Path"].as_string(), "a/b");
  EXPECT_EQ(first["Namespace"].as_string(), "default");
  EXPECT_EQ(first["Items"]["y"].as_string(), "2");
  EXPECT_EQ(first["CreateIndex"], first["ModifyIndex"]);
  EXPECT_EQ(first["CreateTime"].as_int(), 1'800'000'000 * base::kSecond);
  advance(1);
  const json::Value second = put("a/b", R"({"Items": {"x": "1"}})");
  EXPECT_FALSE(second["Items"].has("y"));
  EXPECT_EQ(second["CreateIndex"], first["CreateIndex"]);
  EXPECT_GT(second["ModifyIndex"].as_uint(), first["ModifyIndex"].as_uint());
  EXPECT_GT(second["ModifyTime"].as_int(), first["ModifyTime"].as_int());
  const Answer got = ask("GET", "/v1/var/a/b");
  EXPECT_EQ(got.headers.at("x-nomad-index"), std::to_string(second["ModifyIndex"].as_uint()));
  EXPECT_EQ(read(got), second);
  const Answer gone = ask("DELETE", "/v1/var/a/b");
  EXPECT_EQ(gone.status, 204);
  EXPECT_EQ(gone.body, "");
  EXPECT_EQ(gone.headers.count("x-nomad-index"), 1U);
  const Answer missing = ask("GET", "/v1/var/a/b");
  EXPECT_EQ(missing.status, 404);
  EXPECT_EQ(missing.body, "variable not found");
  EXPECT_EQ(missing.headers.at("x-nomad-index"), gone.headers.at("x-nomad-index"));
  EXPECT_EQ(ask("DELETE", "/v1/var/a/b").status, 204);  // there was nothing to delete, but an index is returned
}

TEST_F(VariablesTest, RefusalsReadAsNomads) {  // R-STORE-4 to 12, 16, 19 to 23, 33, 44, 45
  put("plain", R"({"Items": {"x": "1"}})");
  const std::string coded = "RPC Error:: 400,", items = R"({"Items": {"x": "1"}})";
  const std::string full = R"({"Items": {"k": ")" + std::string(65'536, 'v') + R"("}})";
  struct Refused {
    const char *method, *target;
    std::string body;
    int status;
    std::string text;
  };
  const Refused cases[] = {
      {"GET", "/v1/var/", "", 400, "missing variable path"},
      {"PUT", "/v1/var/", items, 400, "missing variable path"},
      {"PATCH", "/v1/var/x", items, 400, "Invalid method"},
      {"PUT", "/v1/vars", items, 405, "Invalid method"},
      {"PUT", "/v1/var/x", "", 400, "Request body is empty"},
      {"PUT", "/v1/var/x", "{}", 400, "variable missing required Items object"},
      {"PUT", "/v1/var/x?cas=a", items, 400, "can not parse cas: strconv.ParseUint: parsing \"a\": invalid syntax"},
      {"PUT", "/v1/var/fo.o", items, 400, coded + "invalid path \"fo.o\""},
      {"PUT", "/v1/var/nomad", items, 400,
       coded + R"("nomad" is a reserved top-level directory path, but you may write variables to "nomad/jobs", )" +
           R"("nomad/job-templates", "nomad/sentinel", or below)"},
      {"PUT", "/v1/var/nomad/other", items, 400,
       coded + R"(only paths at "nomad/jobs" or "nomad/job-templates" and below are valid paths under the top-level )" +
           R"("nomad" directory)"},
      {"PUT", "/v1/var/nomad/job-templates/a/b", items, 400,
       coded +
           R"("nomad/job-templates" is a reserved directory path, but you may write variables at the level below )" +
           R"(it, for example, "nomad/job-templates/template-name")"},
      {"PUT", "/v1/var/x", full, 400, coded + "variables are limited to 64KiB in total size"},
      {"PUT", "/v1/var/x", R"({"Namespace": "*", "Items": {"x": "1"}})", 400,
       coded + "can not target wildcard (\"*\")namespace"},
      {"PUT", "/v1/var/x", R"({"Items": {"x": "1"}, "Lock": {"TTL": "10s"}})", 400,
       coded + coded + "variable should not contain lock definition"},
      {"PUT", "/v1/var/x?lock-acquire&lock-renew", "{}", 400, "multiple lock operations"},
      {"PUT", "/v1/var/x?lock-acquire&cas=0", "{}", 400, "CAS can't be used with lock operations"},
      {"PUT", "/v1/var/x?lock-acquire", "", 400, "Request body is empty"},
      {"PUT", "/v1/var/x?lock-acquire", R"({"Lock": {"TTL": "-1s"}})", 400,
       coded + "2 errors occurred:\n\t* Lock delay and TTL must be positive\n\t* TTL must be between 10 seconds and 24 "
               "hours\n\n"},
      {"PUT", "/v1/var/x?lock-release", R"({"Lock": {"ID": "i"}})", 500, "variable doesn't exist"},
      {"PUT", "/v1/var/plain?lock-release", R"({"Lock": {"ID": "i"}})", 500, "variable doesn't hold a lock"},
      {"PUT", "/v1/var/plain?lock-release", "{}", 400, coded + "missing lock information"},
      {"PUT", "/v1/var/plain?lock-release", R"({"Lock": {"ID": "i"}, "Items": {"a": "b"}})", 400,
       coded + "lock release operation doesn't take variable items"},
      {"PUT", "/v1/var/x?lock-renew", R"({"Lock": {"ID": "i"}})", 404, "variable doesn't exist"},
      {"PUT", "/v1/var/plain?lock-renew", R"({"Lock": {"ID": "i"}})", 409, "variable doesn't hold a lock"},
      {"PUT", "/v1/var/plain?lock-renew", "{}", 500, "1 error occurred:\n\t* missing lock ID\n\n"},
      {"GET", "/v1/vars?filter=Path%20%3D%3D%20%22foo%22", "", 400,
       "failed to read result page: error finding value in datum: /Path at part 0: couldn't find key: struct field "
       "with "
       "name \"Path\""},
  };
  for (const Refused& refused : cases) {
    const Answer answer = ask(refused.method, refused.target, refused.body);
    EXPECT_EQ(answer.status, refused.status)
        << refused.method << " " << refused.target << " " << refused.body.substr(0, 80);
    EXPECT_EQ(answer.body, refused.text) << refused.method << " " << refused.target;
  }
  EXPECT_EQ(ask("DELETE", "/v1/var/fo.o").status, 204);  // a delete does not check the path
  put("nomad/jobs/a/b/c/d", items), put("nomad/job-templates/a", items), put("slash/", items);
  put("big", R"({"Items": {"k": ")" + std::string(65'535, 'v') + R"("}})");
}

TEST_F(VariablesTest, CheckAndSetComparesTheModifyIndex) {  // R-STORE-24 to 32
  const std::string items = R"({"Items": {"x": "1"}})";
  const Answer made = ask("PUT", "/v1/var/a?cas=0", items);
  EXPECT_EQ(made.status, 200);
  const std::string index = made.headers.at("x-nomad-index");
  for (const std::string wrong : {"0", "999999"}) {
    const Answer conflict = ask("PUT", "/v1/var/a?cas=" + wrong, R"({"Items": {"x": "2"}})");
    EXPECT_EQ(conflict.status, 409);
    EXPECT_EQ(conflict.headers.at("content-type"), "text/plain; charset=utf-8");
    EXPECT_EQ(conflict.headers.at("x-nomad-index"), index);
    EXPECT_EQ(read(conflict), read(made));
    const Answer removal = ask("DELETE", "/v1/var/a?cas=" + wrong);
    EXPECT_EQ(removal.status, 409);
    EXPECT_EQ(read(removal), read(made));
  }
  const Answer absent = ask("PUT", "/v1/var/none?cas=4", items);
  EXPECT_EQ(absent.status, 409);
  EXPECT_EQ(absent.headers.at("x-nomad-index"), "0");
  EXPECT_EQ(read(absent)["ModifyIndex"].as_int(-1), 0);
  EXPECT_EQ(read(absent)["Path"].as_string(), "none");
  EXPECT_EQ(ask("DELETE", "/v1/var/none?cas=0").status, 204);
  EXPECT_EQ(ask("DELETE", "/v1/var/none?cas=4").status, 409);
  const Answer changed = ask("PUT", "/v1/var/a?cas=" + index, R"({"Items": {"x": "2"}})");
  EXPECT_EQ(changed.status, 200);
  EXPECT_EQ(ask("DELETE", "/v1/var/a?cas=" + changed.headers.at("x-nomad-index")).status, 204);
}

TEST_F(VariablesTest, ALockExcludesOtherWriters) {  // R-STORE-34 to 41
  const json::Value held =
      put("l?lock-acquire", R"({"Items": {"x": "1"}, "Lock": {"TTL": "30s", "LockDelay": "20s"}})");
  const std::string id = held["Lock"]["ID"].as_string();
  EXPECT_EQ(id.size(), 36U);
  EXPECT_EQ(held["Lock"]["TTL"].as_string(), "30s");
  EXPECT_EQ(held["Lock"]["LockDelay"].as_string(), "20s");
  const Answer taken = ask("PUT", "/v1/var/l?lock-acquire", "{}");
  EXPECT_EQ(taken.status, 409);
  EXPECT_EQ(taken.headers.count("x-nomad-index"), 0U);
  EXPECT_EQ(read(taken)["ModifyIndex"].as_int(-1), 0);
  const Answer written = ask("PUT", "/v1/var/l", R"({"Items": {"x": "2"}})");
  EXPECT_EQ(written.status, 409);
  EXPECT_EQ(written.headers.at("x-nomad-index"), "0");
  EXPECT_EQ(ask("DELETE", "/v1/var/l").status, 409);
  const json::Value own = put("l", R"({"Items": {"x": "2"}, "Lock": {"ID": ")" + id + R"("}})");
  EXPECT_EQ(own["Lock"]["TTL"].as_string(), "15s");
  const json::Value again = put("l?lock-acquire", R"({"Lock": {"ID": ")" + id + R"("}})");
  EXPECT_FALSE(again.has("Items"));  // this body had none
  EXPECT_EQ(ask("PUT", "/v1/var/l?lock-release", R"({"Lock": {"ID": "other"}})").status, 409);
  EXPECT_EQ(ask("PUT", "/v1/var/l?lock-renew", R"({"Lock": {"ID": "other"}})").body,
            "attempting to modify locked variable");
  const json::Value kept = put("l", R"({"Items": {"x": "3"}, "Lock": {"ID": ")" + id + R"("}})");
  advance(3);
  const json::Value free = put("l?lock-release", R"({"Lock": {"ID": ")" + id + R"("}})");
  EXPECT_FALSE(free.has("Lock"));
  EXPECT_FALSE(free.has("Items"));
  EXPECT_GT(free["ModifyIndex"].as_uint(), kept["ModifyIndex"].as_uint());
  EXPECT_EQ(free["ModifyTime"], kept["ModifyTime"]);
  EXPECT_EQ(read(ask("GET", "/v1/var/l"))["Items"]["x"].as_string(), "3");
}

TEST_F(VariablesTest, ALockExpiresInVirtualTime) {  // R-STORE-42, 43
  const json::Value held =
      put("l?lock-acquire", R"({"Items": {"x": "1"}, "Lock": {"TTL": "10s", "LockDelay": "10s"}})");
  const std::string lock = R"({"Lock": {"ID": ")" + held["Lock"]["ID"].as_string() + R"("}})";
  advance(19);
  const Answer renewed = ask("PUT", "/v1/var/l?lock-renew", lock);
  EXPECT_EQ(renewed.status, 200);
  EXPECT_EQ(renewed.headers.count("x-nomad-index"), 0U);
  EXPECT_FALSE(read(renewed).has("Items"));
  EXPECT_EQ(read(renewed)["ModifyIndex"], held["ModifyIndex"]);
  advance(19);
  EXPECT_EQ(ask("PUT", "/v1/var/l?lock-renew", lock).status, 200);
  advance(21);  // it expired a second ago
  EXPECT_EQ(ask("PUT", "/v1/var/l?lock-renew", lock).status, 409);
  EXPECT_TRUE(read(ask("GET", "/v1/var/l")).has("Lock"));
  advance(10);
  const json::Value free = read(ask("GET", "/v1/var/l"));
  EXPECT_FALSE(free.has("Lock"));
  EXPECT_EQ(free["Items"]["x"].as_string(), "1");
  EXPECT_GT(free["ModifyIndex"].as_uint(), held["ModifyIndex"].as_uint());
  const json::Value kept =
      put("k?lock-acquire", R"({"Items": {"x": "1"}, "Lock": {"TTL": "10s", "LockDelay": 9223372036854775807}})");
  advance(3600);
  EXPECT_TRUE(read(ask("GET", "/v1/var/k")).has("Lock")) << "its delay of 292 years has not ended";
  const json::Value forever = put("f", R"({"Items": {"x": "1"}, "Lock": {}})");  // R-STORE-20: no timer runs
  EXPECT_EQ(forever["Lock"]["TTL"].as_string(), "15s");
  advance(3600);
  EXPECT_TRUE(read(ask("GET", "/v1/var/f")).has("Lock"));
}

TEST_F(VariablesTest, ListsHavePrefixesPagesAndFilters) {  // R-STORE-14, 15, 17
  EXPECT_EQ(ask("GET", "/v1/vars").body, "[]");
  for (const char* path : {"b", "a/2", "a/1"}) put(path, R"({"Items": {"x": "1"}})");
  put("z?namespace=absent", R"({"Items": {"x": "1"}})");
  const auto paths = [&](const std::string& query) {
    std::string out;
    for (const json::Value all = read(ask("GET", "/v1/vars" + query)); const json::Value& row : all.items()) {
      EXPECT_FALSE(row.has("Items"));
      out += row["Path"].as_string() + " ";
    }
    return out;
  };
  EXPECT_EQ(paths(""), "a/1 a/2 b ");
  EXPECT_EQ(paths("?prefix=a"), "a/1 a/2 ");
  EXPECT_EQ(paths("?namespace=*"), "z a/1 a/2 b ");
  EXPECT_EQ(paths("?per_page=1&next_token=default.a%2F2"), "a/2 ");
  EXPECT_EQ(paths("?filter=VariableMetadata.Path%20%3D%3D%20%22a%2F2%22"), "a/2 ");
  const Answer page = ask("GET", "/v1/vars?per_page=2");
  EXPECT_EQ(page.headers.at("x-nomad-nexttoken"), "default.b");
  const json::Value found = read(ask("PUT", "/v1/search", R"({"Context": "vars", "Prefix": "a/"})"));
  EXPECT_EQ(json::to_text(found["Matches"]["vars"]), R"(["a/1","a/2"])");
}

TEST_F(VariablesTest, KeepTheirNamespaceFromDeletion) {  // R-STORE-503, 504
  ASSERT_EQ(ask("PUT", "/v1/namespace", R"({"Name": "dev"})").status, 200);
  put("a?namespace=dev", R"({"Items": {"x": "1"}})");
  const Answer refused = ask("DELETE", "/v1/namespace/dev");
  EXPECT_EQ(refused.status, 500);
  EXPECT_EQ(refused.body,
            "1 error occurred:\n\t* namespace \"dev\" has variables associated with it in regions: [global]\n\n");
  EXPECT_EQ(ask("DELETE", "/v1/var/a?namespace=dev").status, 204);
  EXPECT_EQ(ask("DELETE", "/v1/namespace/dev").status, 200);
}

TEST_F(VariablesTest, WritesWakeReadersAndAreEvents) {  // R-STORE-48, 49
  const json::Value made = put("w", R"({"Items": {"x": "1"}})");
  Client reader(service_->address());
  reader.ask("GET", "/v1/var/w?wait=20s&index=" + std::to_string(made["ModifyIndex"].as_uint()));
  const json::Value changed = put("w", R"({"Items": {"x": "2"}})");
  EXPECT_EQ(read(reader.receive()), changed);
  EXPECT_EQ(ask("PUT", "/v1/var/w?cas=0", R"({"Items": {"x": "3"}})").status, 409);  // no event
  ask("DELETE", "/v1/var/w");
  Client stream(service_->address());
  stream.ask("GET", "/v1/event/stream?topic=Variable:w&index=0");
  EXPECT_EQ(stream.head().status, 200);
  std::string text;
  while (std::count(text.begin(), text.end(), '\n') < 4 && stream.chunk(text)) {
  }
  std::vector<json::Value> events;
  for (std::size_t at = text.find("{\"Index\""); at != std::string::npos; at = text.find("{\"Index\"", at + 1)) {
    const auto frame = io::parse_json(text.substr(at, text.find('\n', at) - at));
    ASSERT_TRUE(frame) << text;
    for (const json::Value& event : (*frame)["Events"].items()) events.push_back(event);
  }
  ASSERT_EQ(events.size(), 3U) << text;
  EXPECT_EQ(events[0]["Type"].as_string(), "VariableUpdated");
  EXPECT_EQ(events[0]["Key"].as_string(), "w");
  EXPECT_EQ(events[0]["Namespace"].as_string(), "default");
  EXPECT_TRUE(events[0]["FilterKeys"].is_null());
  EXPECT_EQ(events[0]["Payload"]["Deleted"].as_bool(true), false);
  EXPECT_EQ(events[1]["Payload"]["Metadata"]["ModifyIndex"], changed["ModifyIndex"]);
  EXPECT_EQ(events[2]["Payload"]["Deleted"].as_bool(), true);
}

TEST_F(VariablesTest, SnapshotsKeepThem) {  // R-STORE-42: timers start again
  const json::Value held =
      put("l?lock-acquire", R"({"Items": {"x": "1"}, "Lock": {"TTL": "10s", "LockDelay": "10s"}})");
  advance(15);
  ASSERT_EQ(ask("PUT", "/v1/berth/snapshot", R"({"Name": "s"})").status, 200);
  ask("PUT", "/v1/var/other", R"({"Items": {"x": "1"}})");
  ASSERT_EQ(ask("PUT", "/v1/berth/restore", R"({"Name": "s"})").status, 200);
  EXPECT_EQ(read(ask("GET", "/v1/var/l")), held);
  EXPECT_EQ(ask("GET", "/v1/var/other").status, 404);
  const std::string lock = R"({"Lock": {"ID": ")" + held["Lock"]["ID"].as_string() + R"("}})";
  advance(19);
  EXPECT_EQ(ask("PUT", "/v1/var/l?lock-renew", lock).status, 200);
  advance(31);
  EXPECT_FALSE(read(ask("GET", "/v1/var/l")).has("Lock"));
}

TEST_F(VariablesTest, StoresHoldNoMoreThanTheirShareOfMemory) {
  start(16);  // MiB for request bodies; stores get a quarter of it
  const std::string body = R"({"Items": {"k": ")" + std::string(60'000, 'v') + R"("}})";
  int written = 0;
  Answer answer;
  for (; written < 200; ++written)
    if (answer = ask("PUT", "/v1/var/v" + std::to_string(written), body); answer.status != 200) break;
  EXPECT_EQ(answer.status, 500);
  EXPECT_EQ(answer.body, "the stores of this server are full: delete objects, or start it with a larger --held-memory");
  EXPECT_GT(written, 30);
  EXPECT_LT(written, 72);
  EXPECT_EQ(ask("DELETE", "/v1/var/v0").status, 204);
  EXPECT_EQ(ask("PUT", "/v1/var/again", body).status, 200);
}

}  // namespace
}  // namespace berth::http
