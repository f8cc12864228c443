// Load on a server that runs: clients that register jobs and read lists, and long polls that stay open meanwhile.
//   serve_load ADDRESS [--clients 64] [--polls 1000] [--seconds 10] [--pause-ms 200] [--fill ALLOCATIONS] [--limit-ms
//   P50 P99]
// Prints, in ms, how long registrations took until the answer and until the evaluation was placed, and how long lists
// took; with --limit-ms exit code 3 where registrations until placed are slower.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "io/json_parse.h"
#include "serve/client.h"

namespace berth::http {
namespace {

using Clock = std::chrono::steady_clock;

struct Options {
  std::string address;
  int clients = 64, polls = 1000, seconds = 10, pause_ms = 200, fill = 0;
  double limit_p50 = 0, limit_p99 = 0;
};

class Times {
 public:
  void add(Clock::time_point since) {
    const std::chrono::duration<double, std::milli> took = Clock::now() - since;
    const std::lock_guard lock(mutex_);
    ms_.push_back(took.count());
  }
  double at(double share) {
    const std::lock_guard lock(mutex_);
    if (ms_.empty()) return 0;
    std::sort(ms_.begin(), ms_.end());
    return ms_[std::min(ms_.size() - 1, static_cast<std::size_t>(share * static_cast<double>(ms_.size())))];
  }
  void print(const char* name) {
    std::printf("%-28s %7zu times   p50 %8.2f   p99 %8.2f   max %8.2f ms\n", name, ms_.size(), at(0.5), at(0.99),
                at(1));
  }

 private:
  std::mutex mutex_;
  std::vector<double> ms_;
};

struct Results {
  Times answered, placed, pages, nodes, jobs, all;
  std::atomic<int> failures{0};
};

std::string job(const std::string& id, int count, int mhz) {
  return R"({"Job":{"ID":")" + id + R"(","Name":")" + id +
         R"(","Type":"service","Datacenters":["*"],"TaskGroups":[{"Name":"g","Count":)" + std::to_string(count) +
         R"(,"Tasks":[{"Name":"t","Driver":"mock_driver","Config":{"run_for":"10h"},"Resources":{"CPU":)" +
         std::to_string(mhz) + R"(,"MemoryMB":16}}]}]}})";
}

json::Value parsed(const Answer& answer) {
  auto value = io::parse_json(answer.body);
  return value ? *value : json::Value();
}

bool register_one(Client& client, const std::string& id, int count, Results& results) {
  const auto began = Clock::now();
  const json::Value answer = parsed(client.put("/v1/jobs", job(id, count, 10)));
  results.answered.add(began);
  const std::string& eval = answer["EvalID"].as_string();
  std::uint64_t index = answer["EvalCreateIndex"].as_uint();
  for (int round = 0; !eval.empty() && round < 20; ++round) {
    const json::Value now = parsed(client.get("/v1/evaluation/" + eval + "?wait=5s&index=" + std::to_string(index)));
    if (now["Status"].as_string() == "complete") {
      results.placed.add(began);
      return true;
    }
    index = now["ModifyIndex"].as_uint();
  }
  ++results.failures;
  return false;
}

void read(Client& client, const std::string& path, Times& times, Results& results) {
  const auto began = Clock::now();
  if (client.get(path).status != 200) ++results.failures;
  times.add(began);
}

void work(const Options& options, int number, Clock::time_point until, Results& results) {
  Client client(options.address);
  // Clients start one after the other, not at the same moment.
  std::this_thread::sleep_for(std::chrono::milliseconds(number * options.pause_ms / std::max(1, options.clients)));
  for (int round = 0; Clock::now() < until; ++round) {
    register_one(client, "load-" + std::to_string(number) + "-" + std::to_string(round), 2, results);
    std::this_thread::sleep_for(
        std::chrono::milliseconds(options.pause_ms / 2 + (number * 37 + round * 61) % options.pause_ms));
    switch ((number + round) % 8) {
      case 0:
        read(client, "/v1/nodes", results.nodes, results);
        break;
      case 1:
        read(client, "/v1/jobs", results.jobs, results);
        break;
      case 2:
      case 3:
        read(client, "/v1/allocations?per_page=50", results.pages, results);
        break;
      default:
        read(client, "/v1/jobs?per_page=20&prefix=load-" + std::to_string(number) + "-", results.pages, results);
    }
  }
}

/// Reads all allocations repeatedly.
void read_all(const Options& options, Clock::time_point until, Results& results) {
  Client client(options.address);
  while (Clock::now() < until) read(client, "/v1/allocations", results.all, results);
}

/// Registers --fill allocations, 1,000 per job. Returns when all are placed and their deployments have ended: otherwise
/// all would become healthy at one moment, which no real cluster does.
void fill(const Options& options) {
  Client client(options.address);
  for (int done = 0; done < options.fill; done += 1000)
    if (client.put("/v1/jobs", job("fill-" + std::to_string(done / 1000), std::min(1000, options.fill - done), 10))
            .status != 200)
      std::printf("filling: a job was refused\n");
  for (int round = 0; round < 600; ++round) {
    const json::Value counted = parsed(client.get("/v1/evaluations/count?filter=Status%20==%20%22pending%22"));
    if (counted["Count"].as_int() == 0 && client.get("/v1/deployments?filter=Status%20==%20%22running%22").body == "[]")
      break;
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
  }
}

int run(const Options& options) {
  if (options.fill > 0) fill(options);
  std::vector<std::unique_ptr<Client>> polls;
  const char* const kPolled[] = {
      "/v1/jobs",       "/v1/allocations?per_page=1", "/v1/evaluations?per_page=1", "/v1/deployments?per_page=1",
      "/v1/job/fill-0", "/v1/job/nobody/summary",     "/v1/nodes?per_page=1"};
  for (int i = 0; i < options.polls; ++i) {  // of an index that is never reached
    polls.push_back(std::make_unique<Client>(options.address));
    const std::string path = kPolled[static_cast<std::size_t>(i) % std::size(kPolled)];
    polls.back()->ask("GET", path + (path.find('?') == std::string::npos ? "?" : "&") + "wait=300s&index=900000000");
  }
  Results results;
  const auto until = Clock::now() + std::chrono::seconds(options.seconds);
  std::vector<std::thread> threads;
  for (int i = 0; i < options.clients; ++i) threads.emplace_back([&, i] { work(options, i, until, results); });
  threads.emplace_back([&] { read_all(options, until, results); });
  for (std::thread& thread : threads) thread.join();
  results.answered.print("registration, answered");
  results.placed.print("registration, placed");
  results.pages.print("one page");
  results.jobs.print("list of jobs");
  results.nodes.print("list of nodes");
  results.all.print("list of allocations");
  std::printf("failures: %d\n", results.failures.load());
  if (results.failures != 0) return 1;
  const bool slow = (options.limit_p50 > 0 && results.placed.at(0.5) > options.limit_p50) ||
                    (options.limit_p99 > 0 && results.placed.at(0.99) > options.limit_p99);
  return slow ? 3 : 0;
}

}  // namespace
}  // namespace berth::http

int main(int argc, char** argv) {
  berth::http::Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    const auto number = [&] { return i + 1 < argc ? std::stoi(argv[++i]) : 0; };
    if (name == "--clients")
      options.clients = number();
    else if (name == "--polls")
      options.polls = number();
    else if (name == "--seconds")
      options.seconds = number();
    else if (name == "--pause-ms")
      options.pause_ms = std::max(1, number());
    else if (name == "--fill")
      options.fill = number();
    else if (name == "--limit-ms")
      options.limit_p50 = number(), options.limit_p99 = number();
    else
      options.address = name;
  }
  if (options.address.empty()) {
    std::fprintf(stderr, "serve_load: which server? Name its address, for example 127.0.0.1:4646\n");
    return 2;
  }
  return berth::http::run(options);
}
