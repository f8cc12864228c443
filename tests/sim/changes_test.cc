// Changes of single keys of a workload, as `berth run --vary` makes them.
#include <gtest/gtest.h>

#include "sim/workload.h"

namespace berth::sim {
namespace {

constexpr const char* kWorkload = R"(name = "w"
labels = ["full", "smoke"]
[cluster]
nodes = 50
[[cluster.shapes]]
name = "std"
[[cluster.shapes]]
name = "big"
cores = 64
[jobs]
count = 20
[[jobs.mix]]
name = "web"
count = 3
[label.smoke.cluster]
nodes = 10
)";

Result<Workload> changed(const std::string& key, const std::string& value, const std::string& label = "full") {
  return parse_workload(kWorkload, "w.toml", label, {{key, value}});
}

TEST(WorkloadChanges, ReachEveryKindOfKey) {
  EXPECT_EQ(changed("cluster.nodes", "7")->cluster.nodes, 7);
  EXPECT_EQ(changed("cluster.nodes", "7", "smoke")->cluster.nodes, 7) << "a change comes after the label";
  EXPECT_EQ(changed("seed", "99")->seed, 99u);
  EXPECT_EQ(changed("strategy", "best-fit")->strategy, "best-fit") << "what is no TOML is a text";
  EXPECT_EQ(changed("strategy", "\"best-fit\"")->strategy, "best-fit");
  EXPECT_EQ(changed("jobs.mix.web.count", "5")->jobs.kinds[0].count.max(), 5) << "a table of a list by its name";
  EXPECT_EQ(changed("cluster.shapes.1.cores", "8")->cluster.shapes[1].cores, 8) << "or by its number";
  EXPECT_EQ(changed("cluster.load.percent", "[10, 20]")->cluster.load->percent.max(), 20)
      << "a table that was not there";
  EXPECT_EQ(changed("cluster.shapes.big.attributes.\"kernel.name\"", "linux")
                ->cluster.shapes[1]
                .attributes.at("kernel.name")[0],
            "linux");
  EXPECT_TRUE(changed("preemption.service", "true")->preemption.service);
  EXPECT_FALSE(model::changed_options(changed("options.compat", "fixed")->options).empty());
}

struct BadChange {
  const char *key, *value, *line;
};
class RefusedChanges : public ::testing::TestWithParam<BadChange> {};

TEST_P(RefusedChanges, AreReportedInOneLineThatNamesTheKey) {
  const auto workload = changed(GetParam().key, GetParam().value);
  ASSERT_FALSE(workload);
  EXPECT_EQ(workload.error().line(), GetParam().line);
}

INSTANTIATE_TEST_SUITE_P(
    Bad, RefusedChanges,
    ::testing::Values(
        BadChange{"cluster.nodes", "0", "w.toml:with cluster.nodes=0: 'nodes' is 0; use 1 to 10000000"},
        BadChange{"cluster.nodes", "many", "w.toml:with cluster.nodes=many: 'nodes' is a text; write a whole number"},
        BadChange{"cluster.nodez", "5",
                  "w.toml:with cluster.nodez=5: unknown key 'nodez' in [cluster]; did you mean 'nodes'?"},
        BadChange{
            "jobs.mix.wab.count", "5",
            "w.toml: 'jobs.mix.wab.count' names 'wab', which is not in mix; use one of: web; or a number from 0 to 0"},
        BadChange{"name.x", "5", "w.toml: 'name.x' continues below 'name', which is no table; shorten it"},
        BadChange{"label", "smoke", "w.toml: 'label' cannot be changed; use --label"},
        BadChange{"a b", "5",
                  "w.toml: 'a b' is not a key; write it as in the file, with dots: cluster.nodes, jobs.mix.web.count"},
        BadChange{
            "seed\nx", "5",
            "w.toml: 'seed?x' is not a key; write it as in the file, with dots: cluster.nodes, jobs.mix.web.count"}));

TEST(WorkloadChanges, ErrorsOfTheFileItselfKeepTheirLine) {
  const auto workload = parse_workload("name = \"w\"\nseeed = 1\n", "w.toml", "full", {{"seed", "2"}});
  ASSERT_FALSE(workload);
  EXPECT_EQ(workload.error().place, "2");
}

TEST(WorkloadChanges, EqualValuesHaveOneText) {
  EXPECT_EQ(normal_value(" 5 "), "5");
  EXPECT_EQ(normal_value("\"best-fit\""), "best-fit");
  EXPECT_EQ(normal_value("\"5\""), "\"5\"") << "a text that would be a number without its quotes keeps them";
  EXPECT_EQ(to_text({{"a", "1"}, {"b", "x"}}), "a=1, b=x");
}

}  // namespace
}  // namespace berth::sim
