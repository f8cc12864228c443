#include "sim/openb.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "io/files.h"
#include "model/job.h"
#include "sim/arrivals.h"
#include "sim/datasets.h"

namespace berth::sim {
namespace {

const std::string kNodes =
    "sn,cpu_milli,memory_mib,gpu,model\n"
    "n-0,64000,262144,2,P100\n"
    "n-1,96000,393216,8,G2\n"
    "n-2,32000,65536,0,\n";
const std::string kTasks =
    "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time\n"
    "t-0,4000,8192,1,470,,BE,Running,0,600,2\n"
    "t-1,16000,65536,2,1000,V100M16|V100M32|V100M32,LS,Failed,10,4000,15\n"
    "t-2,8000,16384,0,0,,LS,Pending,20,900,\n";

TEST(Openb, MapsNodesAndTasks) {
  const auto nodes = parse_openb_nodes(kNodes, "nodes.csv");
  const auto tasks = parse_openb_tasks(kTasks, "tasks.csv");
  ASSERT_TRUE(nodes) << nodes.error().line();
  ASSERT_TRUE(tasks) << tasks.error().line();
  for (const std::int64_t shares : {1, 10, 100}) {
    const GeneratedCluster cluster = openb_cluster(*nodes, shares, 1);
    EXPECT_EQ(cluster.node(1).name, "n-1");
    EXPECT_EQ(cluster.node(1).node_resources->cpu.cpu_shares, 96'000);
    EXPECT_EQ(cluster.node(1).node_resources->devices.at(0).instances.size(), static_cast<std::size_t>(8 * shares));
    EXPECT_TRUE(cluster.node(2).node_resources->devices.empty());
    const JobStream stream = openb_jobs(*tasks, shares, 0);
    const auto asked = [&](std::size_t i) {
      return stream.job(stream.arrivals[i])->task_groups.at(0).tasks.at(0).resources->devices;
    };
    // 470 milli-GPU: 1 of 1, 5 of 10, 47 of 100.
    EXPECT_EQ(asked(0).at(0).count, static_cast<std::uint64_t>(shares == 1 ? 1 : shares == 10 ? 5 : 47));
    EXPECT_EQ(asked(1).at(0).count, static_cast<std::uint64_t>(2 * shares));
    EXPECT_EQ(asked(1).at(0).constraints.at(0),
              (model::Constraint{"${device.model}", "V100M16,V100M32", "set_contains_any"}));
    EXPECT_TRUE(asked(2).empty());
    EXPECT_EQ(stream.job(stream.arrivals[0])->priority, 20);
    EXPECT_EQ(stream.job(stream.arrivals[1])->priority, 70);
    EXPECT_TRUE(stream.arrivals[1].fails);
    EXPECT_EQ(stream.arrivals[1].due_ns, 10'000'000'000);
    EXPECT_EQ(stream.arrivals[1].run_time_ns, 3'985'000'000'000);
    EXPECT_EQ(stream.arrivals[2].run_time_ns, 880'000'000'000);
  }
}

struct BadCsv {
  const char *name, *from, *to, *expected;
};
class OpenbTasks : public ::testing::TestWithParam<BadCsv> {};

TEST_P(OpenbTasks, AreRefusedWithLineAndColumn) {
  const BadCsv& c = GetParam();
  std::string text = kTasks;
  ASSERT_NE(text.find(c.from), std::string::npos);
  text.replace(text.find(c.from), std::string(c.from).size(), c.to);
  const auto tasks = parse_openb_tasks(text, "tasks.csv");
  ASSERT_FALSE(tasks);
  const std::string line = tasks.error().line();
  EXPECT_EQ(line.rfind(c.expected, 0), 0U) << line;
  EXPECT_FALSE(tasks.error().remedy.empty());
  EXPECT_EQ(line.find('\n'), std::string::npos);
}
INSTANTIATE_TEST_SUITE_P(
    Bad, OpenbTasks,
    ::testing::Values(BadCsv{"NotANumber", "4000,8192", "x4,8192", "tasks.csv:2:cpu_milli: 'x4'"},
                      BadCsv{"Negative", "4000,8192", "-1,8192", "tasks.csv:2:cpu_milli: '-1'"},
                      BadCsv{"Huge", "16000,65536", "99999999999999999999,1", "tasks.csv:3:cpu_milli: '9999"},
                      BadCsv{"CutLine", ",LS,Failed,10,4000,15", "", "tasks.csv:3: has 6 fields instead of 11"},
                      BadCsv{"ExtraField", "Running,0,600,2", "Running,0,600,2,7", "tasks.csv:2: has 12 fields"},
                      BadCsv{"PartsOfTwo", "2,1000,V1", "2,500,V1", "tasks.csv:3:gpu_milli: asks parts of several"},
                      BadCsv{"MoreThanTwo", "2,1000,V1", "2,1500,V1",
                             "tasks.csv:3:gpu_milli: asks more than the whole"},
                      BadCsv{"NothingOfOne", "1,470", "1,0", "tasks.csv:2:gpu_milli: asks nothing"},
                      BadCsv{"Twice", "t-1", "t-0", "tasks.csv:3:name: 't-0' occurs twice"},
                      BadCsv{"NoColumn", "memory_mib", "memory", "tasks.csv:1: has no column 'memory_mib'"},
                      BadCsv{"ColumnTwice", "memory_mib", "cpu_milli", "tasks.csv:1:cpu_milli: occurs twice"},
                      BadCsv{"BackInTime", "10,4000,15", "10,9,15", "tasks.csv:3:deletion_time"},
                      BadCsv{"ScheduledBefore", "10,4000,15", "10,4000,9", "tasks.csv:3:scheduled_time"},
                      BadCsv{"Quoted", "t-2", "\"t-2\"", "tasks.csv:4:name"},
                      BadCsv{"Escape", "t-2", "t\x1b[31m", "tasks.csv:4:name: 't?[31m'"}),
    [](const auto& test) { return std::string(test.param.name); });

TEST(Openb, OddGpuAmountsAreCorrected) {  // R-STRAT-103
  const auto tasks = parse_openb_tasks(
      "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,creation_time\na,1,1,0,30,T4,x\nb,1,1,1,1500,T4,\n",
      "t.csv", false);
  ASSERT_TRUE(tasks) << tasks.error().line();
  EXPECT_EQ(tasks->at(0).gpu_milli, 0);
  EXPECT_EQ(tasks->at(0).gpu_spec, "");
  EXPECT_EQ(tasks->at(1).gpu_milli, 1000);
}

TEST(Openb, ListsWithoutTimesAndByteOrderMarksAreRead) {
  const auto tasks =
      parse_openb_tasks("\xef\xbb\xbfname,cpu_milli,memory_mib,num_gpu,gpu_milli\r\nt,1000,10,1,1000\r\n", "t.csv");
  ASSERT_TRUE(tasks) << tasks.error().line();
  EXPECT_EQ(tasks->at(0).gpus, 1);
  EXPECT_FALSE(parse_openb_tasks("", "t.csv"));
  EXPECT_FALSE(parse_openb_tasks("name,cpu_milli,memory_mib,num_gpu,gpu_milli\n", "t.csv"));
  EXPECT_FALSE(parse_openb_nodes("sn,cpu_milli,memory_mib,gpu,model\nn,1000,10,1,\n", "n.csv"));
}

TEST(Openb, DamagedFilesNeverCrash) {
  base::Random random(11, "csv");
  int read = 0;
  for (int round = 0; round < 20'000; ++round) {
    std::string text = round % 2 == 0 ? kTasks : kNodes;
    for (std::uint64_t change = 0; change <= random.below(4); ++change) {
      const auto at = static_cast<std::size_t>(random.below(text.size() + 1));
      switch (random.below(4)) {
        case 0:
          text.resize(at);
          break;
        case 1:
          text.insert(at, 1, static_cast<char>(random.below(256)));
          break;
        case 2:
          if (at < text.size()) text[at] = "0123456789,\n-\"\0|"[random.below(17)];
          break;
        default:
          text.erase(at, static_cast<std::size_t>(random.below(9)));
      }
    }
    if (round % 2 == 0) {
      if (const auto tasks = parse_openb_tasks(text, "t.csv")) {
        ++read;
        const JobStream stream = openb_jobs(*tasks, 100, 0);
        EXPECT_EQ(stream.arrivals.size(), tasks->size());
      } else {
        EXPECT_EQ(tasks.error().line().find('\n'), std::string::npos);
      }
    } else if (const auto nodes = parse_openb_nodes(text, "n.csv")) {
      ++read;
      EXPECT_FALSE(nodes->empty());
    } else {
      EXPECT_EQ(nodes.error().line().find('\n'), std::string::npos);
    }
  }
  EXPECT_GT(read, 500);
}

/// The published counts; only if datasets/fetch.sh openb has fetched the data.
class OpenbData : public ::testing::Test {
 protected:
  static std::string read(const std::string& file) {
    const auto path = fetched_data(BERTH_SOURCE_DIR "/bench/macro/openb.toml", "openb", file);
    if (!path) return "";
    auto text = io::read_file(*path);
    return text ? *text : "";
  }
};

TEST_F(OpenbData, NodesAreThePublishedOnes) {
  const std::string text = read("openb_node_list_gpu_node.csv");
  if (text.empty()) GTEST_SKIP() << "run datasets/fetch.sh openb";
  const auto nodes = parse_openb_nodes(text, "nodes");
  ASSERT_TRUE(nodes) << nodes.error().line();
  EXPECT_EQ(nodes->size(), 1213U);
  std::int64_t cpu = 0, memory = 0, gpus = 0;
  for (const OpenbNode& node : *nodes) cpu += node.cpu_milli, memory += node.memory_mib, gpus += node.gpus;
  EXPECT_EQ(cpu, 107'018'000);
  EXPECT_EQ(memory, 503'828'480);
  EXPECT_EQ(gpus, 6212);
  const auto all = parse_openb_nodes(read("openb_node_list_all_node.csv"), "nodes");
  ASSERT_TRUE(all);
  EXPECT_EQ(all->size(), 1523U);
  const GeneratedCluster cluster = openb_cluster(*nodes, 100, 1);
  EXPECT_EQ(cluster.shapes.size(), 15U);
  std::int64_t instances = 0;
  for (const NodeRecord& record : cluster.nodes)
    instances += static_cast<std::int64_t>(cluster.shapes[record.shape].node_resources->devices.at(0).instances.size());
  EXPECT_EQ(instances, 621'200);
}

TEST_F(OpenbData, TasksAreThePublishedOnes) {
  struct List {
    const char* name;
    std::size_t tasks;
    std::int64_t gpu_milli, cpu_milli, memory_mib;
  };
  for (const List& list : {List{"default", 8152, 6'086'800, 85'436'012, 303'546'211},
                           List{"gpuspec33", 8152, 6'086'800, 85'436'012, 303'546'211},
                           List{"cpu050", 7439, 6'086'800, 72'761'612, 268'502'666},
                           List{"gpushare40", 8152, 5'641'250, 80'383'484, 281'701'244},
                           List{"multigpu20", 8324, 7'086'800, 95'171'812, 344'773'251}}) {
    const std::string text = read(std::string("openb_pod_list_") + list.name + ".csv");
    if (text.empty()) GTEST_SKIP() << "run datasets/fetch.sh openb";
    const auto tasks = parse_openb_tasks(text, list.name);
    ASSERT_TRUE(tasks) << tasks.error().line();
    EXPECT_EQ(tasks->size(), list.tasks);
    std::int64_t gpu = 0, cpu = 0, memory = 0;
    for (const OpenbTask& task : *tasks)
      gpu += task.gpus * task.gpu_milli, cpu += task.cpu_milli, memory += task.memory_mib;
    EXPECT_EQ(gpu, list.gpu_milli) << list.name;
    EXPECT_EQ(cpu, list.cpu_milli) << list.name;
    EXPECT_EQ(memory, list.memory_mib) << list.name;
    // In hundredths of a GPU the sum of the requests is exact.
    const JobStream stream = openb_jobs(*tasks, 100, 0);
    std::int64_t hundredths = 0;
    for (const JobArrival& arrival : stream.arrivals)
      for (const auto& ask : stream.templates[arrival.template_index]->task_groups[0].tasks[0].resources->devices)
        hundredths += static_cast<std::int64_t>(ask.count);
    EXPECT_EQ(hundredths * 10, list.gpu_milli) << list.name;
  }
}

TEST_F(OpenbData, RecordedTimesKeepAtMost56TasksAlive) {
  const std::string text = read("openb_pod_list_default.csv");
  if (text.empty()) GTEST_SKIP() << "run datasets/fetch.sh openb";
  const auto tasks = parse_openb_tasks(text, "default");
  ASSERT_TRUE(tasks);
  std::multimap<std::int64_t, int> events;
  for (const OpenbTask& task : *tasks) {
    events.emplace(task.created_s * 2 + 1, 1);  // ends before starts at equal times
    events.emplace(task.deleted_s * 2, -1);
  }
  int alive = 0, most = 0;
  for (const auto& [time, change] : events) most = std::max(most, alive += change);
  EXPECT_NEAR(most, 56, 1);
}

class OpenbLike : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::string path = BERTH_SOURCE_DIR "/datasets/openb-summary.json";
    auto text = io::read_file(path);
    ASSERT_TRUE(text) << text.error().line();
    auto parsed = parse_openb_summary(*text, path);
    ASSERT_TRUE(parsed) << parsed.error().line();
    text_ = *text, summary_ = *parsed;
  }
  std::string text_;
  OpenbSummary summary_;
};

TEST_F(OpenbLike, TheSummaryCountsEveryNodeAndTask) {
  std::int64_t nodes = 0, gpus = 0, tasks = 0, gpu_milli = 0;
  for (const auto& shape : summary_.nodes) nodes += shape.count, gpus += shape.count * shape.node.gpus;
  for (const auto& shape : summary_.tasks)
    tasks += shape.count, gpu_milli += shape.count * shape.task.gpus * shape.task.gpu_milli;
  EXPECT_EQ(nodes, 1213);
  EXPECT_EQ(gpus, 6212);
  EXPECT_EQ(tasks, 8152);
  EXPECT_EQ(gpu_milli, 6'086'800);
}

TEST_F(OpenbLike, AnySizeLooksLikeTheRecordedOne) {
  const GeneratedCluster cluster = openb_like_cluster(summary_, 20'000, 40, 10, 3);
  std::int64_t gpus = 0;
  for (const NodeRecord& record : cluster.nodes)
    for (const auto& device : cluster.shapes[record.shape].node_resources->devices)
      gpus += static_cast<std::int64_t>(device.instances.size());
  EXPECT_NEAR(static_cast<double>(gpus) / 10 / 20'000, 6212.0 / 1213, 0.1);
  const JobStream stream = openb_like_jobs(summary_, 20'000, 20'000, 10, 3),
                  again = openb_like_jobs(summary_, 20'000, 20'000, 10, 3);
  double milli = 0;
  for (std::size_t i = 0; i < stream.arrivals.size(); ++i) {
    EXPECT_EQ(stream.arrivals[i].due_ns, again.arrivals[i].due_ns);
    EXPECT_EQ(stream.arrivals[i].template_index, again.arrivals[i].template_index);
    const OpenbTask& task = summary_.tasks[stream.arrivals[i].template_index].task;
    milli += static_cast<double>(task.gpus * task.gpu_milli);
  }
  EXPECT_NEAR(milli / 20'000, 6'086'800.0 / 8152, 20);
}

TEST_F(OpenbLike, DamagedSummariesAreRefused) {
  base::Random random(5, "summary");
  int refused = 0;
  for (int round = 0; round < 300; ++round) {
    std::string text = text_;
    const auto at = static_cast<std::size_t>(random.below(text.size()));
    if (round % 3 == 0) text.resize(at);
    if (round % 3 == 1) text[at] = "0-x\"[{"[random.below(6)];
    if (round % 3 == 2) text.erase(at, 1 + static_cast<std::size_t>(random.below(30)));
    const auto parsed = parse_openb_summary(text, "s.json");
    refused += !parsed;
    if (parsed) {
      EXPECT_FALSE(openb_like_jobs(*parsed, 100, 10, 1, 1).arrivals.empty());
    }
  }
  EXPECT_GT(refused, 150);
}

}  // namespace
}  // namespace berth::sim
