// Selectors and steps: which are accepted, and the texts of refusals.
#include "whatif/steps.h"
#include "model/job.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>

#include "support/cluster_objects.h"

namespace berth::whatif {
namespace {

model::Node node() {
  model::Node out = testing::make_node(
      {.id = "0123abcd-0000-4000-8000-000000000000", .node_class = "large", .attributes = {{"cpu.arch", "amd64"}}});
  out.meta["rack"] = "r17";
  return out;
}

TEST(Selector, MatchesIfAllTermsHold) {
  for (const char* text : {"all", "n1", "0123", "0123abcd-0000-4000-8000-000000000000", "name=n1", "name=n*", "id=0*",
                           "datacenter=dc1", "pool=default,class=large", "attr.cpu.arch=amd64", "meta.rack=r1*"}) {
    const auto selector = Selector::parse(text);
    ASSERT_TRUE(selector) << text;
    EXPECT_TRUE(selector->matches(node())) << text;
  }
  for (const char* text : {"n2", "012", "name=n", "class=small", "datacenter=dc1,class=small", "meta.rack=r1",
                           "meta.row=r17", "attr.rack=r17"}) {
    const auto selector = Selector::parse(text);
    ASSERT_TRUE(selector) << text;
    EXPECT_FALSE(selector->matches(node())) << text;
  }
}

TEST(Selector, RefusesTermsThatCannotMatch) {
  for (const char* text : {"", "n1,", ",n1", "rack=r1", "meta.=r1", "clas=large"})
    EXPECT_FALSE(Selector::parse(text)) << text;
  EXPECT_NE(Selector::parse("clas=large").error().find("did you mean 'class'"), std::string::npos);
}

TEST(WhatIfSteps, AreParsedFromWords) {
  const auto scale = make_step(Change::scale, {"web@prod/front=7"});
  ASSERT_TRUE(scale) << scale.error();
  EXPECT_EQ(scale->job.id, "web");
  EXPECT_EQ(scale->job.name_space, "prod");
  EXPECT_EQ(scale->group, "front");
  EXPECT_EQ(scale->count, 7);
  EXPECT_EQ(scale->words, "scale web@prod/front=7");
  auto add = make_step(Change::add, {"3"});
  ASSERT_TRUE(add);
  ASSERT_TRUE(with_shape(*add, "cpu=8000,memory=16384"));
  EXPECT_EQ(add->memory_mb, 16384);
  EXPECT_EQ(add->words, "add 3 of cpu=8000,memory=16384");
}

TEST(WhatIfSteps, RefuseUnknownWords) {
  const std::vector<std::pair<Change, std::vector<std::string>>> wrong = {
      {Change::drain, {"rack=r1"}},
      {Change::drain, {}},
      {Change::add, {"0"}},
      {Change::add, {"1000001"}},
      {Change::add, {"x"}},
      {Change::edit, {"all", "name=x"}},
      {Change::edit, {"all", "meta.rack"}},
      {Change::scale, {"web=3"}},
      {Change::scale, {"web/front=-1"}},
      {Change::scale, {"web/front"}},
      {Change::config, {"algorithm=best"}},
      {Change::config, {"speed=1"}},
      {Change::preemption, {"service=yes"}},
      {Change::preemption, {"jobs=on"}},
      {Change::strategy, {"best-fti"}},
      {Change::strategy, {"random"}},  // no score of each node
      {Change::strategy, {"expr:cpu +"}},
  };
  for (const auto& [change, words] : wrong) EXPECT_FALSE(make_step(change, words)) << (words.empty() ? "" : words[0]);
  auto add = make_step(Change::add, {"1"});
  ASSERT_TRUE(add);
  for (const char* shape : {"", "cpu=1", "memory=1", "cpu=x,memory=1", "gpu=1,cpu=1,memory=1", "cpu=1,memory=1,"})
    EXPECT_FALSE(with_shape(*add, shape)) << shape;
}

/// Also those that compare with a typical workload, which is known later.
TEST(WhatIfSteps, AcceptEveryStrategyThatScoresNodes) {
  for (const char* strategy : {"nomad", "best-fit", "fgd", "gpu-packing", "sum:best-fit=1", "expr:left_cpu"})
    EXPECT_TRUE(make_step(Change::strategy, {strategy})) << strategy;
}

TEST(WhatIfSteps, AreReadFromAFileAndErrorsNameTheLine) {
  const std::string path = "steps_test.steps";
  const auto read = [&](const char* text) {
    std::ofstream(path) << text;
    return read_steps(path);
  };
  const auto steps = read("# a rack goes\n\n drain meta.rack=r#1\t# comment\nadd 2 like=n1\nchange all meta.a=b\n");
  ASSERT_TRUE(steps) << steps.error().line();
  ASSERT_EQ(steps->size(), 3u);
  EXPECT_EQ((*steps)[0].words, "drain meta.rack=r#1");
  EXPECT_EQ((*steps)[1].words, "add 2 like n1");
  EXPECT_EQ((*steps)[2].key, "meta.a");
  for (const auto& [text, place] : {std::pair("drain all\ndrian all\n", "2"), std::pair("add 2\n", "1"),
                                    std::pair("\nadd 2 n1\n", "2"), std::pair("stop\n", "1")}) {
    const auto refused = read(text);
    ASSERT_FALSE(refused) << text;
    EXPECT_EQ(refused.error().place, place) << refused.error().line();
  }
  EXPECT_FALSE(read("# nothing\n"));
  std::remove(path.c_str());
}

}  // namespace
}  // namespace berth::whatif
