#include "sim/workload.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "io/files.h"
#include "sim/carbon.h"

namespace berth::sim {
namespace {

const std::string kGood = R"(name = "small"
labels = ["smoke", "full"]
seed = 3
mode = "exhaustive"
algorithm = "spread"
order = "lazy"
workers = 2
departures = true

[preemption]
batch = true

[cluster]
nodes = 100
racks = 10
datacenters = ["dc1", "dc2"]
[[cluster.shapes]]
name = "std"
cores = 8
attributes = { "os.name" = ["debian", "ubuntu"] }
host_volumes = ["data"]
devices = [ { name = "nvidia/gpu/t4", count = 2, attributes = { memory = "16384" } } ]
[cluster.load]
percent = [0, 50]

[jobs]
count = 50
[[jobs.mix]]
name = "web"
count = [1, 10]
cpu_mhz = { values = [100, 500], weights = [3, 1] }
memory_mb = { quantiles = [[0.0, 64], [0.5, 256], [1.0, 4096]] }
run_time_s = 60
static_port = { values = [80, 443] }
cores = [0, 2]
host_volumes = ["data"]
update_percent = 25
constraints = [ { attribute = "${attr.os.name}", value = "debian", percent = 30 } ]
spreads = [ { attribute = "${node.datacenter}", weight = 100, targets = { dc1 = 60, dc2 = 40 } } ]

[arrivals]
process = "poisson"
rate_per_s = 20.5

[limits]
placements = 1000
seconds = 5

[label.smoke]
workers = 1
[label.smoke.cluster]
nodes = 10
)";

TEST(Workload, ReadsEveryPart) {
  const auto workload = parse_workload(kGood, "w.toml");
  ASSERT_TRUE(workload) << workload.error().line();
  EXPECT_EQ(workload->name, "small");
  EXPECT_EQ(workload->mode, Mode::exhaustive);
  EXPECT_EQ(workload->algorithm, Algorithm::spread);
  EXPECT_EQ(workload->order, Order::lazy);
  EXPECT_EQ(workload->workers, 2);
  EXPECT_TRUE(workload->preemption.batch);
  EXPECT_TRUE(workload->preemption.system);
  EXPECT_FALSE(workload->preemption.service);
  EXPECT_EQ(workload->cluster.nodes, 100);
  EXPECT_EQ(workload->cluster.shapes.at(0).attributes.at("os.name").size(), 2U);
  EXPECT_EQ(workload->cluster.shapes.at(0).devices.at(0).type, "gpu");
  EXPECT_EQ(workload->cluster.load->percent.max(), 50);
  EXPECT_EQ(workload->jobs.kinds.at(0).count.max(), 10);
  EXPECT_EQ(workload->jobs.kinds.at(0).cpu_mhz.max(), 500);
  EXPECT_EQ(workload->jobs.kinds.at(0).spreads.at(0).targets.size(), 2U);
  EXPECT_EQ(workload->cluster.shapes.at(0).host_volumes, std::vector<std::string>{"data"});
  EXPECT_EQ(workload->jobs.kinds.at(0).static_port.max(), 443);
  EXPECT_EQ(workload->jobs.kinds.at(0).cores.max(), 2);
  EXPECT_EQ(workload->jobs.kinds.at(0).host_volumes, std::vector<std::string>{"data"});
  EXPECT_EQ(workload->jobs.kinds.at(0).update_percent, 25);
  EXPECT_EQ(workload->arrivals.process, Process::poisson);
  EXPECT_DOUBLE_EQ(workload->arrivals.rate_per_s, 20.5);
  EXPECT_EQ(workload->limits.placements, 1000);
  EXPECT_EQ(workload->options, (model::Options{}));
}

TEST(Workload, OptionsAreReadByTheirNames) {  // R-SEED-1
  const std::string options = "\n[options]\ncompat = \"fixed\"\npreemption_min_delta = 3\nremote_tasks = true\n";
  const auto workload = parse_workload(kGood + options, "w.toml");
  ASSERT_TRUE(workload) << workload.error().line();
  EXPECT_EQ(workload->options.quirks, model::Quirks::none());
  EXPECT_EQ(workload->options.preemption_min_delta, 3);
  EXPECT_TRUE(workload->options.remote_tasks);
  const std::string quirks = "\n[options]\nquirk.limit_stays_raised = \"on\"\ncompat = \"fixed\"\n";
  const auto one = parse_workload(kGood + quirks, "w.toml");
  ASSERT_TRUE(one) << one.error().line();
  model::Quirks expected = model::Quirks::none();
  expected.limit_stays_raised = true;
  EXPECT_EQ(one->options.quirks, expected);
  for (const char* bad :
       {"quirk.nothing = \"off\"", "quirk.limit_stays_raised = false", "quirk = \"off\"", "quirk = {}",
        "compat = \"both\"", "compat = 1", "nothing = true", "remote_tasks = \"yes\"", "compat = []"}) {
    const auto refused = parse_workload(kGood + "\n[options]\n" + bad + "\n", "w.toml");
    ASSERT_FALSE(refused) << bad;
    EXPECT_NE(refused.error().problem.find("option"), std::string::npos) << bad;
  }
}

TEST(Workload, LabelsChangeKeysAndKeepTheRest) {
  const auto smoke = parse_workload(kGood, "w.toml", "smoke");
  ASSERT_TRUE(smoke) << smoke.error().line();
  EXPECT_EQ(smoke->cluster.nodes, 10);
  EXPECT_EQ(smoke->cluster.racks, 10);
  EXPECT_EQ(smoke->workers, 1);
  EXPECT_EQ(smoke->cluster.shapes.size(), 1U);
}

TEST(Workload, KeysOfALabelKeepTheirLines) {
  std::string text = kGood;
  text.replace(text.rfind("nodes = 10"), 10, "nodez = 10");
  const auto line = [&] {
    return 1 + std::count(text.begin(), text.begin() + static_cast<long>(text.find("nodez")), '\n');
  }();
  const auto smoke = parse_workload(text, "w.toml", "smoke");
  ASSERT_FALSE(smoke);
  EXPECT_EQ(smoke.error().place, std::to_string(line));
  std::string other = kGood;
  other.replace(other.rfind("nodes = 10"), 10, "nodes = -1");
  const auto wrong = parse_workload(other, "w.toml", "smoke");
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().place, std::to_string(line));
}

struct BadWorkload {
  const char *name, *from, *to;  ///< `from` is replaced by `to`
  const char *line, *problem;    ///< the text whose line is named (nullptr = none), and a part of the problem
};
class BadWorkloads : public ::testing::TestWithParam<BadWorkload> {};

TEST_P(BadWorkloads, NameLineProblemAndRemedy) {
  const BadWorkload& c = GetParam();
  std::string text = kGood;
  ASSERT_NE(text.find(c.from), std::string::npos);
  text.replace(text.find(c.from), std::string(c.from).size(), c.to);
  const auto workload = parse_workload(text, "w.toml");
  ASSERT_FALSE(workload) << text;
  const std::string shown = workload.error().line();
  if (c.line) {
    const std::size_t at = text.find(c.line);
    ASSERT_NE(at, std::string::npos);
    EXPECT_EQ(workload.error().place,
              std::to_string(1 + std::count(text.begin(), text.begin() + static_cast<long>(at), '\n')))
        << shown;
  }
  EXPECT_NE(workload.error().problem.find(c.problem), std::string::npos) << shown;
  EXPECT_FALSE(workload.error().remedy.empty()) << shown;
  EXPECT_EQ(shown.find('\n'), std::string::npos);
}
INSTANTIATE_TEST_SUITE_P(
    Table, BadWorkloads,
    ::testing::Values(
        BadWorkload{"TooManyTasksOfTemplates", "run_time_s = 60",
                    "templates = 1000000\ngroups = 100\ntasks = 100\nrun_time_s = 60",
                    "templates =", "1e+10 tasks and ports"},
        BadWorkload{"JobsBesideWeight", "run_time_s = 60", "weight = 2\njobs = 5", "weight = 2",
                    "has both 'weight' and 'jobs'"},
        BadWorkload{"PeerWithLimits", "[limits]", "[peer]\nsystem = \"x\"\nsource = \"y\"\nvalue = 1\n[limits]",
                    "[limits]", "[limits] next to [peer]"},
        BadWorkload{"PeerWithoutSource", "[limits]\nplacements = 1000\nseconds = 5",
                    "[peer]\nsystem = \"x\"\nvalue = 1", "[peer]", "[peer] has no 'source'"},
        BadWorkload{"PeerOfAnotherUnit", "[limits]",
                    "[peer]\nsystem = \"x\"\nvalue = 1\nsource = \"y\"\nunit = \"ms\"\n[limits]",
                    "unit =", "'unit' is 'ms'"},
        BadWorkload{"PowerKey", "cores = 8", "power = { max_w = 5, package_max_w = 100 }", "power =", "'max_w'"},
        BadWorkload{"PowerOfIdle", "cores = 8", "power = { package_idle_w = 101, package_max_w = 100 }",
                    "power =", "an idle package draws more"},
        BadWorkload{"PowerWithoutMaximum", "cores = 8", "power = { package_idle_w = 1 }",
                    "power =", "has no 'package_max_w'"},
        BadWorkload{"PowerOfSomeShapes", "cores = 8",
                    "power = { package_max_w = 100 }\n[[cluster.shapes]]\nname = \"other\"", nullptr,
                    "'power' is given for some shapes only"},
        BadWorkload{"PriceBelow0", "cores = 8", "price_per_hour = -1", "price_per_hour", "'price_per_hour' is -1"},
        BadWorkload{"CarbonWithoutPower", "[limits]", "[carbon]\ngrams_per_kwh = 400\n[limits]", "[carbon]",
                    "needs the power of the nodes"},
        BadWorkload{"CarbonOfFewHours", "[limits]", "[carbon]\ngrams_per_kwh = [1, 2]\n[limits]", "grams_per_kwh",
                    "has 2 values"},
        BadWorkload{"CarbonOfNothing", "[limits]", "[carbon]\n[limits]", "[carbon]", "needs one of"},
        BadWorkload{"UnknownTopKey", "workers = 2", "worker = 2", "worker = 2", "unknown key 'worker'"},
        BadWorkload{"UnknownClusterKey", "racks = 10", "rack = 10", "rack = 10", "unknown key 'rack' in [cluster]"},
        BadWorkload{"UnknownShapeKey", "cores = 8", "core = 8", "core = 8", "unknown key 'core' in [[cluster.shapes]]"},
        BadWorkload{"UnknownJobKey", "run_time_s = 60", "runtime = 60", "runtime", "unknown key 'runtime'"},
        BadWorkload{"UnknownRuleKey", "percent = 30", "prcent = 30", "constraints =", "unknown key 'prcent'"},
        BadWorkload{"UnknownTable", "[limits]", "[limit]", "[limit]", "unknown key 'limit'"},
        BadWorkload{"WrongType", "nodes = 100", "nodes = \"100\"", "nodes =", "'nodes' is a text"},
        BadWorkload{"FractionalCount", "nodes = 100", "nodes = 1.5", "nodes =", "'nodes' is a number with a fraction"},
        BadWorkload{"Zero", "nodes = 100", "nodes = 0", "nodes =", "'nodes' is 0"},
        BadWorkload{"TooMany", "nodes = 100", "nodes = 99999999999", "nodes =", "'nodes' is 99999999999"},
        BadWorkload{"BadChoice", "\"exhaustive\"", "\"best\"", "mode =", "'mode' is 'best'"},
        BadWorkload{"EmptyChoice", "\"exhaustive\"", "\"\"", "mode =", "'mode' is ''"},
        BadWorkload{"RangeDown", "count = [1, 10]", "count = [10, 1]", "count = [10", "goes down"},
        BadWorkload{"RangeOfThree", "count = [1, 10]", "count = [1, 2, 3]", "count = [1, 2", "is a list of 3"},
        BadWorkload{"WeightsMissing", "weights = [3, 1]", "weights = [3]", "cpu_mhz", "as many weights"},
        BadWorkload{"WeightsZero", "weights = [3, 1]", "weights = [0, 0]", "cpu_mhz", "only weights of 0"},
        BadWorkload{"WeightNan", "weights = [3, 1]", "weights = [nan, 1]", "cpu_mhz", "a weight that is not"},
        BadWorkload{"QuantilesFall", "[0.5, 256]", "[0.5, 20]", "memory_mb", "do not rise"},
        BadWorkload{"QuantilesShort", "[1.0, 4096]", "[0.9, 4096]", "memory_mb", "from 0 to 1"},
        BadWorkload{"NoRate", "rate_per_s = 20.5", "", "process =", "has no rate"},
        BadWorkload{"RateNan", "20.5", "nan", "rate_per_s", "'rate_per_s' is nan"},
        BadWorkload{"RateInBacklog", "\"poisson\"", "\"backlog\"", "rate_per_s", "'rate_per_s' does not go with"},
        BadWorkload{"TraceWithoutTimes", "process = \"poisson\"\nrate_per_s = 20.5", "process = \"trace\"",
                    "process =", "needs jobs with recorded times"},
        BadWorkload{"NoRunTimes", "run_time_s = 60", "", "departures", "no kind of job has a run time"},
        BadWorkload{"NoCluster", "[cluster]\nnodes = 100\nracks = 10\ndatacenters = [\"dc1\", \"dc2\"]\n",
                    "[cluster]\n", "[cluster]", "has no 'nodes'"},
        BadWorkload{"GridWithMix", "count = 50", "generator = \"nomad-grid\"", "[[jobs.mix]]",
                    "'mix' does not go with"},
        BadWorkload{"BadDevice", "nvidia/gpu/t4", "gpu", "devices =", "'name' of a device"},
        BadWorkload{"BadOperator", "value = \"debian\"", "operator = \"~\", value = \"debian\"", "constraints",
                    "operator '~' does not exist"},
        BadWorkload{"TargetsOver100", "dc2 = 40", "dc2 = 41", "spreads", "101 percent"},
        BadWorkload{"NameWithSpace", "name = \"web\"", "name = \"w b\"", "name = \"w b\"", "is not a name"},
        BadWorkload{"NameWithEscape", "name = \"web\"", "name = \"w\\u001b[31m\"", nullptr, "a control character"},
        BadWorkload{"LabelNotListed", "[\"smoke\", \"full\"]", "[\"full\"]", "[label.smoke]", "not in 'labels'"},
        BadWorkload{"NoSuchLabel", "[\"smoke\", \"full\"]", "[\"smoke\"]", "labels", "there is no label 'full'"},
        BadWorkload{"LabelChangesLabels", "[label.smoke]\n", "[label.smoke]\nlabels = [\"x\"]\n", nullptr,
                    "cannot change the labels"},
        BadWorkload{"SharingWithoutGpus", "nodes = 100", "nodes = 100\ngpu_sharing = \"tenths\"", "gpu_sharing",
                    "does not go with"},
        BadWorkload{"TwiceTheSameKey", "seed = 3", "seed = 3\nseed = 4", nullptr, "not TOML"},
        BadWorkload{"NotToml", "seed = 3", "seed 3", "seed 3", "not TOML"},
        BadWorkload{"DatesAreNoNumbers", "seed = 3", "seed = 2026-01-01", "seed", "'seed' is a date or time"},
        // Whole numbers that no double holds exactly.
        BadWorkload{"SecondsOfAllTime", "seconds = 5", "seconds = 9223372036854775807", "seconds", "'seconds' is 9.22"},
        BadWorkload{"WeightOfAll", "cores = 8", "weight = 9223372036854775807", "weight", "'weight' is 9.22"},
        BadWorkload{"RateOfAll", "20.5", "9223372036854775807", "rate_per_s", "'rate_per_s' is 9.22"},
        BadWorkload{"QuantileOfAll", "[0.5, 256]", "[9223372036854775807, 256]", "memory_mb", "do not rise"},
        BadWorkload{"WeightsOfAll", "weights = [3, 1]", "weights = [9223372036854775807, 1]", "cpu_mhz",
                    "a weight that is not"},
        // Values without a meaning.
        BadWorkload{"ReservedPortsWords", "cores = 8", "reserved_ports = \"ssh\"", "reserved_ports", "ssh"},
        BadWorkload{"ReservedPortsRange", "cores = 8", "reserved_ports = \"90-80\"", "reserved_ports", "invalid range"},
        BadWorkload{"ReservedPortsTooHigh", "cores = 8", "reserved_ports = \"70000\"", "reserved_ports", "70000"},
        BadWorkload{"DatacenterName", "[\"dc1\", \"dc2\"]", "[\"dc1\", \"\"]", "datacenters", "is not a name"},
        BadWorkload{"DriverName", "cores = 8", "drivers = [\"\"]", "drivers", "is not a name"},
        BadWorkload{"VolumeName", "host_volumes = [\"data\"]", "host_volumes = [\"da ta\"]", "host_volumes",
                    "is not a name"},
        BadWorkload{"AttributeName", "{ \"os.name\" =", "{ \"\" =", "attributes", "a name in 'attributes' is empty"},
        BadWorkload{"AttributeText", "\"debian\", \"ubuntu\"", "\"a\\nb\", \"ubuntu\"", "attributes",
                    "holds a control character"},
        BadWorkload{"LoadOfNothing", "percent = [0, 50]", "jobs = 4", "[cluster.load]", "has no 'percent'"},
        BadWorkload{"PoolOfNoNode", "name = \"web\"", "name = \"web\"\npool = \"gpu\"", "[[jobs.mix]]",
                    "no node is in the pool 'gpu'"},
        BadWorkload{"LabelTwice", "[\"smoke\", \"full\"]", "[\"smoke\", \"full\", \"full\"]", "labels",
                    "a label is named twice"},
        BadWorkload{"JoinsForEver", "nodes = 100", "nodes = 9999\njoins = { nodes = 9998, rate_per_s = 1e-6 }", nullptr,
                    "joins after more than"}),
    [](const auto& test) { return std::string(test.param.name); });

TEST(Workload, TruncatedAndDamagedTextsNeverCrash) {
  base::Random random(17, "toml");
  int refused = 0;
  for (int round = 0; round < 3000; ++round) {
    std::string text = kGood;
    const auto at = static_cast<std::size_t>(random.below(text.size()));
    if (round % 3 == 0) text.resize(at);
    if (round % 3 == 1) text[at] = static_cast<char>(random.below(256));
    if (round % 3 == 2) text.erase(at, 1 + static_cast<std::size_t>(random.below(20)));
    const auto workload = parse_workload(text, "w.toml", round % 2 == 0 ? "full" : "smoke");
    if (workload) continue;
    ++refused;
    const std::string line = workload.error().line();
    EXPECT_EQ(line.find('\n'), std::string::npos) << line;
    EXPECT_FALSE(workload.error().problem.empty());
    EXPECT_FALSE(workload.error().remedy.empty());
  }
  EXPECT_GT(refused, 1000);
  EXPECT_FALSE(parse_workload("x = " + std::string(100'000, '['), "w.toml"));
  EXPECT_FALSE(parse_workload(std::string(1000, '\0'), "w.toml"));
}

TEST(Workload, MissingFilesAreRefused) {
  for (const char* path : {"/dev/zero", "/dev/null", "/proc", "/nowhere/at/all.toml"}) {
    const auto workload = read_workload(path);
    ASSERT_FALSE(workload) << path;
    EXPECT_EQ(workload.error().line().rfind(path, 0), 0U) << workload.error().line();
  }
}

TEST(CarbonFile, HasTheHoursOfADay) {
  std::string text = "hour,grams_per_kwh\n";
  for (int hour = 0; hour < 24; ++hour) text += std::to_string(hour) + "," + std::to_string(hour) + ".5\n";
  const auto read = parse_carbon(text, "c.csv");
  ASSERT_TRUE(read) << read.error().line();
  ASSERT_EQ(read->size(), 24U);
  EXPECT_EQ(read->at(23), 23.5);
  for (const auto& [wrong, problem] : {std::pair{"hour,grams\n0,1\n", "has no column 'grams_per_kwh'"},
                                       {"hour,grams_per_kwh\n0,1\n", "has 1 hours"},
                                       {"hour,grams_per_kwh\n1,1\n", "is out of order"},
                                       {"hour,grams_per_kwh\n0,-1\n", "is no number in range"}}) {
    const auto refused = parse_carbon(wrong, "c.csv");
    ASSERT_FALSE(refused) << wrong;
    EXPECT_NE(refused.error().line().find(problem), std::string::npos) << refused.error().line();
  }
}

TEST(Workload, ProvidedWorkloadsAreReadWithEveryLabel) {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(BERTH_SOURCE_DIR "/bench/macro")) {
    if (entry.path().extension() != ".toml") continue;
    const auto full = read_workload(entry.path().string());
    ASSERT_TRUE(full) << full.error().line();
    EXPECT_EQ(full->name, entry.path().stem().string());
    EXPECT_FALSE(full->description.empty());
    EXPECT_NE(std::find(full->labels.begin(), full->labels.end(), "smoke"), full->labels.end()) << full->name;
    for (const std::string& label : full->labels) {
      const auto workload = read_workload(entry.path().string(), label);
      EXPECT_TRUE(workload) << workload.error().line();
    }
    ++count;
  }
  EXPECT_GE(count, 4);
}

}  // namespace
}  // namespace berth::sim
