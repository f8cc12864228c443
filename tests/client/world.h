// A minimal server for Clients: lists allocations, accepts reports and stores them.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>

#include "client/clients.h"
#include "model/job.h"

namespace berth::testing {

using base::kSecond;
inline constexpr std::int64_t kMs = 1'000'000;

/// A job with one group; tasks are added by name.
struct TestJob {
  std::shared_ptr<model::Job> job = std::make_shared<model::Job>();
  std::shared_ptr<const model::Job> stored = job;
  explicit TestJob(const char* type = "service") {
    job->type = type, job->id = "j";
    job->task_groups.emplace_back();
    model::RestartPolicy none;
    none.mode = "fail";
    group().restart_policy = none;  // tests that need restarts change this
  }
  model::TaskGroup& group() { return job->task_groups[0]; }
  model::Task& task(const char* name, const char* hook = "", bool sidecar = false) {
    model::Task& out = group().tasks.emplace_back();
    out.name = name, out.driver = "exec";
    if (*hook != 0) out.lifecycle = model::Lifecycle{hook, sidecar};
    return out;
  }
};

struct Seen {
  std::int64_t at = 0;
  client::AllocReport report;
  std::vector<client::TaskStatus> tasks;
  std::vector<client::Handle> handles;
};

struct World {
  using Key = std::uint64_t;  // task << 32 | run: for every allocation, or for the allocation in `of`
  std::map<std::pair<tables::AllocRow, Key>, client::Outcome> of;
  client::Outcome otherwise;
  std::map<tables::AllocRow, client::AllocFailure> failures;
  std::map<tables::AllocRow, std::pair<tables::NodeRow, client::ServerAlloc>> allocs;
  std::map<tables::AllocRow, std::vector<client::Upstream>> upstream;
  std::map<tables::AllocRow, std::vector<client::Handle>> handles;
  std::vector<Seen> seen;
  mutable std::vector<std::string> asked;  // tasks whose outcome was requested
  std::vector<std::pair<std::int64_t, tables::NodeRow>> beats, registrations, pulls;
  bool takes_reports = true, answers_heartbeats = true;
  std::int64_t ttl_ns = 10 * kSecond;
  std::int64_t now = 1000 * kSecond;
  std::uint64_t index = 10;
  client::Clients clients;
  client::Outbox out;
  client::ServerAllocs answer;

  static client::Outcome outcome(const void* context, const client::TaskStart& start) {
    const World& w = *static_cast<const World*>(context);
    w.asked.push_back(start.spec->id);
    const auto found = w.of.find({start.alloc, static_cast<Key>(start.task) << 32 | start.run});
    return found == w.of.end() ? w.otherwise : found->second;
  }
  static client::AllocFailure failure(const void* context, const client::TaskStart& start) {
    const World& w = *static_cast<const World*>(context);
    const auto found = w.failures.find(start.alloc);
    return found == w.failures.end() ? client::AllocFailure::none : found->second;
  }
  client::ClientsConfig config(std::uint64_t seed, std::vector<std::string> remote = {}) {
    client::ClientsConfig made;
    made.seed = seed;
    made.tasks = {this, outcome, failure};
    made.groups.remote_drivers = std::move(remote);
    return made;
  }
  explicit World(std::uint64_t seed = 1, std::vector<std::string> remote = {})
      : clients(config(seed, std::move(remote))) {}
  World(const World&) = delete;

  client::Outcome& run(tables::AllocRow alloc, std::uint32_t task, std::uint32_t number) {
    return of[{alloc, static_cast<Key>(task) << 32 | number}];
  }
  /// A placement at the server; the client receives it at once.
  client::ServerAlloc& place(tables::AllocRow alloc, tables::NodeRow node, const TestJob& job,
                             tables::VersionRow version = 0) {
    client::ServerAlloc& s = allocs[alloc].second;
    allocs[alloc].first = node;
    s.alloc = alloc, s.job = version, s.spec = &job.stored, s.create_time = now, s.alloc_modify_index = ++index;
    clients.allocs_changed(node, now);
    return s;
  }
  /// Changes the server's desired state of an allocation.
  template <class Change>
  void change(tables::AllocRow alloc, Change change) {
    auto& [node, s] = allocs.at(alloc);
    change(s);
    s.alloc_modify_index = ++index;
    clients.allocs_changed(node, now);
  }
  void stop(tables::AllocRow alloc) {
    change(alloc, [](client::ServerAlloc& s) { s.desired = tables::Desired::stop; });
  }
  void answer_pull(tables::NodeRow node) {
    answer.clear();
    for (auto& [row, entry] : allocs) {
      if (entry.first != node) continue;
      client::ServerAlloc s = entry.second;
      s.upstream_begin = static_cast<std::uint32_t>(answer.upstream.size());
      for (const client::Upstream& up : upstream[row]) {
        answer.upstream.push_back(up);
        const auto found = allocs.find(up.alloc);
        answer.upstream.back().gone = found == allocs.end();
        if (found != allocs.end()) answer.upstream.back().status = found->second.second.client;
        ++s.upstream_count;
      }
      s.handles_begin = static_cast<std::uint32_t>(answer.handles.size());
      for (const client::Handle& handle : handles[row]) answer.handles.push_back(handle), ++s.handles_count;
      answer.allocs.push_back(s);
    }
    clients.deliver(node, answer, now);
  }
  void step() {
    out.clear();
    clients.advance(now, out);
    for (const tables::NodeRow node : out.registrations)
      registrations.emplace_back(now, node), clients.registered(node, client::Answer::ok, now);
    for (const tables::NodeRow node : out.heartbeats) {
      beats.emplace_back(now, node);
      clients.heartbeat_answered(node, answers_heartbeats ? client::Answer::ok : client::Answer::failed, ttl_ns, now);
    }
    for (const client::Outbox::Pull& pull : out.pulls) pulls.emplace_back(now, pull.node), answer_pull(pull.node);
    for (const client::Outbox::Request& request : out.requests) {
      if (takes_reports)
        for (std::uint32_t i = request.begin; i < request.begin + request.count; ++i) take(out.reports[i]);
      clients.report_answered(request.node, takes_reports, now);
    }
    const std::string broken = clients.check();
    ASSERT_EQ(broken, "") << "at " << now;
  }
  void take(const client::AllocReport& report) {
    Seen& s = seen.emplace_back();
    s.at = now, s.report = report;
    s.tasks.assign(out.tasks.begin() + report.tasks_begin, out.tasks.begin() + report.tasks_begin + report.tasks_count);
    s.handles.assign(out.handles.begin() + report.tasks_begin,
                     out.handles.begin() + report.tasks_begin + report.tasks_count);
    if (const auto found = allocs.find(report.alloc); found != allocs.end()) {
      found->second.second.client = report.status.status;
      found->second.second.has_health = report.health != client::Health::unknown;
      clients.upstream_changed({report.alloc, report.status.status, false}, now);
    }
  }
  void run_until(std::int64_t time) {
    while (clients.next_deadline() <= time) {
      ASSERT_GE(clients.next_deadline(), now) << "time goes back";
      now = clients.next_deadline();
      ASSERT_NO_FATAL_FAILURE(step());
    }
    now = time;
  }
  void run_for(std::int64_t time) { run_until(now + time); }
  /// The newest report of an allocation, or null.
  const Seen* last(tables::AllocRow alloc) const {
    for (std::size_t i = seen.size(); i-- > 0;)
      if (seen[i].report.alloc == alloc) return &seen[i];
    return nullptr;
  }
  /// The first report with this client status, or null.
  const Seen* first(tables::AllocRow alloc, tables::Client status) const {
    for (const Seen& s : seen)
      if (s.report.alloc == alloc && s.report.status.status == status) return &s;
    return nullptr;
  }
  tables::Client status(tables::AllocRow alloc) const {
    const Seen* s = last(alloc);
    return s == nullptr ? tables::Client::pending : s->report.status.status;
  }
};

}  // namespace berth::testing
