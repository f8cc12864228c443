#include "sim/trace_file.h"

#include <gtest/gtest.h>

#include "model/gang.h"
#include "model/job.h"
#include "sim/node_list.h"
#include "sim/workload.h"

namespace berth::sim {
namespace {

constexpr std::int64_t kTraceSecond = 1'000'000'000;

const model::TaskGroup& group_of(const JobStream& jobs, std::size_t arrival) {
  return jobs.templates[jobs.arrivals[arrival].template_index]->task_groups.front();
}

TEST(TraceFile, HasAJobPerRow) {
  const auto jobs = parse_trace(
      "submit_s,run_s,count,cpu_mhz,memory_mb,disk_mb,type,priority,failed\n"
      "0,,2,500,256,,,,\n"
      "1.5,60,1,1000,2048,50,batch,80,1\r\n"
      "\n"
      "3,90,,1000,2048,50,batch,80,0\n"
      "4,10,1,500,256,,service,,\n",
      "t.csv");
  ASSERT_TRUE(jobs) << jobs.error().line();
  ASSERT_EQ(jobs->arrivals.size(), 4u);
  EXPECT_EQ(jobs->arrivals[1].due_ns, 1'500'000'000);
  EXPECT_EQ(jobs->arrivals[1].run_time_ns, 60 * kTraceSecond);
  EXPECT_TRUE(jobs->arrivals[1].fails);
  EXPECT_FALSE(jobs->arrivals[2].fails);
  // Rows 2 and 3 differ in their times only.
  EXPECT_EQ(jobs->templates.size(), 3u);
  EXPECT_EQ(jobs->arrivals[1].template_index, jobs->arrivals[2].template_index);
  const model::Job& first = *jobs->templates[0];
  EXPECT_EQ(first.type, "service");  // no run time
  EXPECT_EQ(jobs->arrivals[0].run_time_ns, kNeverEnds);
  EXPECT_EQ(first.priority, 50);
  EXPECT_EQ(group_of(*jobs, 0).count, 2);
  EXPECT_EQ(group_of(*jobs, 0).tasks.front().resources->cpu, 500);
  EXPECT_EQ(group_of(*jobs, 0).tasks.front().resources->memory_mb, 256);
  EXPECT_EQ(group_of(*jobs, 0).ephemeral_disk->size_mb, 300);
  EXPECT_EQ(group_of(*jobs, 1).ephemeral_disk->size_mb, 50);
  EXPECT_EQ(jobs->templates[1]->priority, 80);
  EXPECT_EQ(jobs->templates[2]->type, "service");
  EXPECT_EQ(jobs->job(jobs->arrivals[2])->id, "trace-1-2");
}

TEST(TraceFile, RowsHaveNamespacesAndGangs) {
  const auto jobs = parse_trace("submit_s,cpu_mhz,memory_mb,namespace,gang\n0,1,1,,\n0,1,1,team-a,1\n", "t.csv");
  ASSERT_TRUE(jobs) << jobs.error().line();
  EXPECT_EQ(jobs->templates[0]->namespace_, "default");
  EXPECT_FALSE(jobs->templates[0]->meta.contains(model::kGangKey));
  EXPECT_EQ(jobs->templates[1]->namespace_, "team-a");
  EXPECT_EQ(jobs->templates[1]->meta.at(model::kGangKey), "all");
}

TEST(TraceFile, OrderOfColumnsAndRowsIsFree) {
  const auto jobs = parse_trace("memory_mb,submit_s,cpu_mhz\n10,7,100\n10,3,100\n", "t.csv", 1);
  ASSERT_TRUE(jobs) << jobs.error().line();
  ASSERT_EQ(jobs->arrivals.size(), 1u);  // the first row
  EXPECT_EQ(jobs->arrivals[0].due_ns, 7 * kTraceSecond);
}

TEST(TraceFile, SummaryCountsConcurrentTasks) {
  // 0 to 10 s: 2 x 100 MHz; 10 s: these end as 300 MHz begin; 15 s: 50 MHz that stay. At most 350 MHz, and 10 + 4 MiB.
  const auto jobs =
      parse_trace("submit_s,run_s,count,cpu_mhz,memory_mb\n0,10,2,100,3\n10,10,1,300,10\n15,,1,50,4\n", "t.csv");
  ASSERT_TRUE(jobs) << jobs.error().line();
  const TraceSummary summary = summary_of(*jobs);
  EXPECT_EQ(summary.jobs, 3u);
  EXPECT_EQ(summary.allocs, 4);
  EXPECT_EQ(summary.ending, 2u);
  EXPECT_EQ(summary.span_s, 15);
  EXPECT_EQ(summary.cpu_mhz_peak, 350);
  EXPECT_EQ(summary.memory_mb_peak, 14);
}

TEST(TraceFile, ErrorsNameLineAndColumn) {
  const auto line = [](const std::string& text) {
    const auto jobs = parse_trace(text, "t.csv");
    return jobs ? std::string() : jobs.error().line();
  };
  const std::string head = "submit_s,run_s,cpu_mhz,memory_mb\n";
  EXPECT_EQ(line(""), "t.csv: is empty; write the trace again");
  EXPECT_EQ(line("submit_s,memory_mb\n"),
            "t.csv:1: has no column 'cpu_mhz'; is it the right file? write the trace again");
  EXPECT_EQ(line("submit_s,cpu_mhz,memory_mb,namespace\n0,1,1,a/b\n"),
            "t.csv:2:namespace: 'a/b' is not a name; use 1 to 100 of a-z A-Z 0-9 - _ .");
  EXPECT_EQ(line("submit_s,cpu_mhz,memory_mb,memroy\n").rfind("t.csv:1:memroy: is no column of a trace; ", 0), 0u);
  EXPECT_EQ(line(head), "t.csv:1: holds no jobs; write one row per job below the header");
  EXPECT_EQ(line(head + "1,2,3,4\n0,1,5\n"),
            "t.csv:3: has 3 fields instead of 4; the line is cut off or damaged: write the trace again");
  EXPECT_EQ(line(head + "-1,2,3,4\n"),
            "t.csv:2:submit_s: '-1' is no time in seconds; use a decimal number from 0 to 4000000000");
  EXPECT_EQ(line(head + "nan,2,3,4\n").rfind("t.csv:2:submit_s: 'nan' is no time in seconds", 0), 0u);
  EXPECT_EQ(line(head + "1,2,0,4\n").rfind("t.csv:2:cpu_mhz: '0' is not a whole number in range", 0), 0u);
  EXPECT_EQ(line("submit_s,cpu_mhz,memory_mb,type\n1,2,3,system\n"),
            "t.csv:2:type: 'system' is not a type of a trace; use service or batch");
  EXPECT_EQ(line("submit_s,cpu_mhz,memory_mb,failed\n1,2,3,1\n"),
            "t.csv:2:failed: is 1 in a row without a run time; give the row its run_s");
  std::string rows = "submit_s,cpu_mhz,memory_mb,count\n";
  for (int i = 0; i < 1001; ++i) rows += "1,2,3,1000000\n";
  EXPECT_EQ(line(rows), "t.csv:1002:count: makes more than 1000000000 allocations in all; use a part of the trace");
  EXPECT_EQ(line(std::string(2'000'000, ',')), "t.csv:1: has 2000001 columns; use at most 1000");
}

TEST(TraceFile, GivesTheJobsOfAWorkload) {
  const auto problem = [](const std::string& jobs, const std::string& cluster) {
    const auto workload = parse_workload("name = \"w\"\n[cluster]\n" + cluster + "\n[jobs]\n" + jobs, "w.toml");
    return workload ? std::string() : workload.error().problem;
  };
  const std::string openb = "generator = \"openb\"";
  EXPECT_EQ(problem("generator = \"trace\"\nfile = \"t.csv\"\n[arrivals]\nprocess = \"trace\"", openb), "");
  EXPECT_EQ(problem("generator = \"trace\"", openb), "[jobs] has no 'file'");
  EXPECT_EQ(problem("generator = \"trace\"\nfile = \"t.csv\"", "generator = \"trace\""), "[cluster] has no 'file'");
  EXPECT_EQ(problem("generator = \"trace\"\nfile = \"t.csv\"", "generator = \"trace\"\nfile = \"n.csv\""), "");
}

TEST(TraceFile, RowsMayRequestGpusAndDistinctHosts) {
  const auto jobs = parse_trace(
      "submit_s,cpu_mhz,memory_mb,gpus,gpu_model,distinct_hosts\n0,1,1,2,A10|T4,1\n1,1,1,1,A10,\n2,1,1,0,A10,0\n3,1,1,,"
      ",\n",
      "t.csv");
  ASSERT_TRUE(jobs) << jobs.error().line();
  ASSERT_EQ(jobs->templates.size(), 3u) << "without GPUs a model means nothing";
  const auto& devices = group_of(*jobs, 0).tasks.front().resources->devices;
  ASSERT_EQ(devices.size(), 1u);
  EXPECT_EQ(devices[0].name, "gpu");
  EXPECT_EQ(devices[0].count, 2u);
  EXPECT_EQ(devices[0].constraints.at(0).text(), "${device.model} set_contains_any A10,T4");
  EXPECT_EQ(group_of(*jobs, 0).constraints.at(0).operand, "distinct_hosts");
  EXPECT_EQ(group_of(*jobs, 1).tasks.front().resources->devices.at(0).constraints.at(0).text(),
            "${device.model} = A10");
  EXPECT_TRUE(group_of(*jobs, 2).tasks.front().resources->devices.empty());
  EXPECT_TRUE(group_of(*jobs, 2).constraints.empty());
  EXPECT_EQ(parse_trace("submit_s,cpu_mhz,memory_mb,gpus\n0,1,1,2000\n", "t.csv").error().place, "2:gpus");
}

TEST(NodeList, HasAKindPerRow) {
  const auto cluster = parse_node_list(
      "count,cpu_mhz,memory_mb,disk_mb,class,gpus,gpu_model\n2,4000,1024,,small,,\n1,2500,2048,500,,2,A10\n", "n.csv",
      1);
  ASSERT_TRUE(cluster) << cluster.error().line();
  ASSERT_EQ(cluster->nodes.size(), 3u);
  EXPECT_EQ(cluster->shapes.size(), 2u);
  EXPECT_EQ(cluster->nodes[0].shape, cluster->nodes[1].shape);
  EXPECT_NE(cluster->nodes[0].id, cluster->nodes[1].id);
  const model::Node small = cluster->node(0), gpu = cluster->node(2);
  EXPECT_EQ(small.node_class, "small");
  EXPECT_EQ(small.node_resources->disk.disk_mb, 1 << 20);
  EXPECT_EQ(gpu.node_resources->cpu.cpu_shares, 2500);
  ASSERT_EQ(gpu.node_resources->devices.size(), 1u);
  EXPECT_EQ(gpu.node_resources->devices[0].name, "A10");
  EXPECT_EQ(gpu.node_resources->devices[0].instances.size(), 2u);
}

TEST(NodeList, RefusesInvalidFiles) {
  const auto problem = [](const std::string& text) {
    const auto cluster = parse_node_list(text, "n.csv", 1);
    return cluster ? std::string() : cluster.error().line();
  };
  EXPECT_NE(problem("").find("n.csv"), std::string::npos);
  EXPECT_NE(problem("cpu_mhz,memory_mb\n").find("holds no nodes"), std::string::npos);
  EXPECT_NE(problem("cpu_mhz,memory_mb,gpu\n1,1,1\n").find("did you mean 'gpus'"), std::string::npos);
  EXPECT_NE(problem("cpu_mhz,memory_mb,gpus\n1,1,1\n").find("n.csv:2:gpu_model"), std::string::npos);
  EXPECT_NE(problem("cpu_mhz,memory_mb,count\n1,1,9000000\n1,1,9000000\n").find("n.csv:3:count"), std::string::npos);
  EXPECT_NE(problem("cpu_mhz,memory_mb\n0,1\n").find("n.csv:2:cpu_mhz"), std::string::npos);
}

}  // namespace
}  // namespace berth::sim
