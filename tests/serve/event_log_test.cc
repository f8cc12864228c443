// Which events the event stream keeps, and which readers get them (R-API-580 to 587).
#include "http/events/event_log.h"

#include <gtest/gtest.h>

#include "io/json_parse.h"
#include "model/job.h"
#include "support/cluster_objects.h"

namespace berth::http {
namespace {

constexpr const char* kNode = "5b0f1d2a-7c3e-4a91-b6d4-0e8f2a1c9d37";

model::Node edge_node() {
  model::Node out = testing::make_node({.id = kNode, .name = "client-1"});
  out.node_pool = "edge", out.secret_id = "secret";
  out.reserved_resources.emplace();
  return out;
}

model::Evaluation eval_of(const model::Job& job, const std::string& id) {
  model::Evaluation out;
  out.id = id, out.namespace_ = job.namespace_, out.job_id = job.id, out.type = job.type, out.status = "pending";
  out.triggered_by = "job-register";
  return out;
}

std::string joined(const EventLog::Line& line) {
  std::string out;
  for (const transport::TextRef& text : line) out += text->text();
  return out;
}

class EventLogTest : public ::testing::Test {
 protected:
  EventLogTest() : log_(store_) { events_.attach(log_); }

  template <class Entry>
  void write(const Entry& entry) {
    fsm::Hooks hooks;
    ASSERT_EQ(log_.apply(log_.next_index(), entry, hooks), "");
  }
  void register_job(const std::string& id, const std::string& eval) {
    const auto job = testing::make_job({.id = id});
    fsm::JobRegisterEntry entry;
    entry.job = job, entry.eval = eval_of(*job, eval);
    write(entry);
  }
  /// Lines that a reader gets, as "index Type Topic:key Topic:key".
  std::vector<std::string> read(const std::vector<std::string>& topics, std::uint64_t index = 0,
                                const std::string& name_space = "default") {
    std::vector<std::string> out;
    events_.subscribe(*EventTopics::parse(topics, name_space), index, [&](const EventLog::Line& pieces) {
      const std::string text = joined(pieces);
      for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = text.find('\n', at);
        const auto frame = io::parse_json(text.substr(at, end - at), "frame");
        EXPECT_TRUE(frame.has_value());
        std::string line = std::to_string((*frame)["Index"].as_uint());
        for (const json::Value& event : (*frame)["Events"].items()) {
          if (&event == &(*frame)["Events"].items().front()) line += " " + event["Type"].as_string();
          line += " " + event["Topic"].as_string() + ":" + event["Key"].as_string();
        }
        out.push_back(line);
        at = end + 1;
      }
      return false;  // once is enough
    });
    return out;
  }

  tables::StateStore store_;
  fsm::StateLog log_;
  EventLog events_;
};

using Lines = std::vector<std::string>;

TEST_F(EventLogTest, KeepsAFramePerEntry) {
  write(fsm::NodeRegisterEntry{edge_node()});
  register_job("web", "11111111-0000-4000-8000-000000000001");
  EXPECT_EQ(read({}), (Lines{std::string("1 NodeRegistration NodePool:edge Node:") + kNode, "2 JobRegistered Job:web",
                             "2 JobRegistered Evaluation:11111111-0000-4000-8000-000000000001"}));
  std::string text;
  events_.subscribe(*EventTopics::parse({}, "default"), 0, [&](const EventLog::Line& line) {
    text += joined(line);
    return false;
  });
  EXPECT_EQ(text.find("\"secret\""), std::string::npos);
  EXPECT_NE(text.find("\"FilterKeys\":[\"web\",\"\"]"), std::string::npos);  // R-API-585
}

TEST_F(EventLogTest, SendsRequestedTopics) {  // R-API-583, 584
  write(fsm::NodeRegisterEntry{edge_node()});
  register_job("web", "11111111-0000-4000-8000-000000000001");
  register_job("calc", "11111111-0000-4000-8000-000000000002");
  EXPECT_EQ(read({"Job"}), (Lines{"2 JobRegistered Job:web", "3 JobRegistered Job:calc"}));
  EXPECT_EQ(read({"Job:calc"}), (Lines{"3 JobRegistered Job:calc"}));
  EXPECT_EQ(read({"Evaluation:web"}), (Lines{"2 JobRegistered Evaluation:11111111-0000-4000-8000-000000000001"}));
  EXPECT_EQ(read({"*:calc"}).size(), 2u);
  EXPECT_EQ(read({"job"}), Lines{});
  EXPECT_EQ(read({"Job", "Node"}, 0, "other"), (Lines{std::string("1 NodeRegistration Node:") + kNode}));
  EXPECT_EQ(read({"Job"}, 0, "*").size(), 2u);
  EXPECT_EQ(read({"Job"}, 3), (Lines{"3 JobRegistered Job:calc"}));
  EXPECT_EQ(read({}, 999), (Lines{"3 JobRegistered Evaluation:11111111-0000-4000-8000-000000000002"}));
  EXPECT_EQ(EventTopics::parse({"a:b:c"}, "*").error(),
            "Invalid topic query: error parsing topics: Invalid key value pair for topic, topic: a:b:c");
}

TEST_F(EventLogTest, SharesLargeTextsBetweenReaders) {
  std::vector<EventLog::Line> lines;
  for (int reader = 0; reader < 2; ++reader)
    events_.subscribe(*EventTopics::parse({"Job"}, "default"), 0, [&](const EventLog::Line& line) {
      if (!line.empty()) lines.push_back(line);
      return true;
    });
  register_job(std::string(20'000, 'x'), "11111111-0000-4000-8000-000000000001");
  ASSERT_EQ(lines.size(), 2u);
  ASSERT_EQ(lines[0].size(), 3u);
  EXPECT_EQ(lines[0][1].get(), lines[1][1].get());
  EXPECT_TRUE(io::parse_json(joined(lines[0]), "frame").has_value());
}

TEST_F(EventLogTest, NotifiesReadersOfNewEvents) {
  Lines lines;
  bool reads = true;
  events_.subscribe(*EventTopics::parse({"Job"}, "default"), 0, [&](const EventLog::Line& line) {
    if (!line.empty()) lines.push_back(joined(line));
    return reads;
  });
  register_job("web", "11111111-0000-4000-8000-000000000001");
  EXPECT_EQ(lines.size(), 1u);
  write(fsm::JobDeregisterEntry{.name_space = "default", .job_id = "web", .purge = true, .eval = {}});
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_NE(lines[1].find("\"JobDeregistered\""), std::string::npos);
  EXPECT_NE(lines[1].find("\"Deleted\":true"), std::string::npos);
  reads = false;
  write(
      fsm::NodePoolUpsertEntry{{model::NodePool{}}});  // nothing for that reader, but it is found to have disconnected
  EXPECT_EQ(events_.readers(), 0u);
}

TEST(EventLogStart, AnEmptyClusterBeginsWithItsNodes) {
  model::ClusterState state;
  model::NodePool pool;
  pool.name = "edge", pool.create_index = pool.modify_index = 8;
  state.node_pools.push_back(pool);
  model::Node node = edge_node();
  node.create_index = 8, node.modify_index = 9;
  state.nodes.push_back(node);
  state.index = 9;
  tables::StateStore store;
  store.load(state);
  fsm::StateLog log(store);
  log.load(state);
  EventLog events;
  events.attach(log);
  ASSERT_EQ(events.frames().size(), 2u);
  EXPECT_EQ(events.frames()[0].index, 8u);
  EXPECT_EQ(std::string(events.frames()[0].type), "NodeRegistration");
  ASSERT_EQ(events.frames()[0].events.size(), 2u);
  EXPECT_EQ(events.frames()[0].events[0].key, "edge");
  EXPECT_EQ(std::get<std::shared_ptr<const model::Node>>(events.frames()[0].events[1].object)->status, "initializing");
  EXPECT_EQ(events.frames()[1].index, 9u);
  EXPECT_EQ(std::string(events.frames()[1].type), "NodeStreamEvent");
}

TEST_F(EventLogTest, KeepsTheLastHundred) {
  for (int i = 0; i < 200; ++i)
    write(fsm::NodePoolUpsertEntry{{[&] {
      model::NodePool pool;
      pool.name = "p" + std::to_string(i);
      return pool;
    }()}});
  EXPECT_EQ(events_.frames().size(), EventLog::kFrames);
  EXPECT_EQ(events_.frames().front().index, 101u);
  write(fsm::NodePoolDeleteEntry{{"p3"}});
  EXPECT_EQ(std::string(events_.frames().back().type), "NodePoolDeleted");
  write(fsm::NamespaceUpsertEntry{{model::Namespace{.name = "team", .capabilities = {}, .extra = {}}}});
  EXPECT_EQ(std::string(events_.frames().back().type), "NodePoolDeleted");  // namespaces have no events
}

}  // namespace
}  // namespace berth::http
