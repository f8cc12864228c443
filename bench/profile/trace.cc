#include "profile/trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace berth::profile {

using base::Stage;

namespace {

constexpr int kApplierTrack = 10'000;

void add_slice(std::string& out, int track, const std::string& name, const char* kind, double begin_ns,
               double length_ns, const std::string& arguments = "") {
  out += fmt::format(R"({{"name":"{}","cat":"{}","ph":"X","pid":1,"tid":{},"ts":{:.3f},"dur":{:.3f}{}}},)", name, kind,
                     track, begin_ns / 1e3, std::max(0.0, length_ns) / 1e3,
                     arguments.empty() ? "" : fmt::format(R"(,"args":{{{}}})", arguments));
  out += '\n';
}

void name_track(std::string& out, int track, const std::string& name) {
  out += fmt::format(R"({{"name":"thread_name","ph":"M","pid":1,"tid":{},"args":{{"name":"{}"}}}},)", track, name);
  out += '\n';
}

/// Lays these stages end to end within [begin, end].
void add_stages(std::string& out, int track, const Sample& s, std::initializer_list<Stage> stages, double begin,
                double end) {
  for (const Stage stage : stages) {
    const double length = std::min(static_cast<double>(s.ns(stage)), end - begin);
    if (length <= 0) continue;
    add_slice(out, track, base::to_text(stage), "stage", begin, length);
    begin += length;
  }
}

}  // namespace

std::vector<std::pair<std::int64_t, std::int64_t>> waiting_over_time(const std::vector<Sample>& samples) {
  std::vector<std::pair<std::int64_t, std::int64_t>> changes;
  for (const Sample& s : samples) changes.emplace_back(s.due_ns, 1), changes.emplace_back(s.done_ns, -1);
  std::sort(changes.begin(), changes.end(), [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first < b.first : a.second > b.second;  // due before done: never below 0
  });
  std::vector<std::pair<std::int64_t, std::int64_t>> out;
  std::int64_t waiting = 0;
  for (const auto& [at, change] : changes) {
    waiting += change;
    if (!out.empty() && out.back().first == at)
      out.back().second = waiting;
    else
      out.emplace_back(at, waiting);
  }
  return out;
}

std::string to_trace(const Profile& profile) {
  const std::vector<Sample>& all = profile.recorder->samples();
  const std::vector<Sample> samples(all.begin(),
                                    all.begin() + static_cast<std::ptrdiff_t>(std::min(all.size(), kTraceMax)));
  std::string out = "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n";
  out += fmt::format(R"({{"name":"process_name","ph":"M","pid":1,"args":{{"name":"berth profile {}"}}}},)",
                     profile.run.workload.name);
  out += '\n';
  std::set<int> tracks;
  bool applies = false;
  for (const Sample& s : samples) tracks.insert(s.lane), applies |= s.applying_ns > 0;
  for (const int track : tracks) name_track(out, track, track == 0 ? "run's thread" : fmt::format("worker {}", track));
  if (applies) name_track(out, kApplierTrack, "applier");
  for (const Sample& s : samples) {
    const auto started = static_cast<double>(s.started_ns), decided = static_cast<double>(s.decided_ns);
    add_slice(
        out, s.lane, fmt::format("evaluation {}.{}", s.number, s.round), "evaluation", started, decided - started,
        fmt::format(
            R"("waited_us":{:.3f},"placed":{},"failed":{},"attempts":{},"nodes_evaluated":{},"nodes_filtered":{})",
            static_cast<double>(s.started_ns - s.due_ns) / 1e3, s.placed, s.failed, s.attempts, s.evaluated,
            s.filtered));
    add_stages(out, s.lane, s,
               {Stage::snapshot, Stage::reconcile, Stage::order, Stage::place, Stage::filter, Stage::rank,
                Stage::preempt, Stage::plan},
               started, decided);
    if (s.applying_ns == 0) continue;
    const auto applying = static_cast<double>(s.applying_ns), done = static_cast<double>(s.done_ns);
    const double length =
        std::min(done - applying, static_cast<double>(s.ns(Stage::check)) + static_cast<double>(s.ns(Stage::commit)));
    add_slice(out, kApplierTrack, fmt::format("plan of {}.{}", s.number, s.round), "plan", applying, length,
              fmt::format(R"("placed":{},"refused":{})", s.placed, s.refused));
    add_stages(out, kApplierTrack, s, {Stage::check, Stage::commit}, applying, applying + length);
  }
  for (const auto& [at, waiting] : waiting_over_time(samples)) {
    out += fmt::format(
        R"({{"name":"evaluations due and not done","ph":"C","pid":1,"ts":{:.3f},"args":{{"evaluations":{}}}}},)",
        static_cast<double>(at) / 1e3, waiting);
    out += '\n';
  }
  out.resize(out.size() - 2);  // removes the last comma and line end
  out += fmt::format("\n],\"otherData\":{{\"evaluations\":{},\"of\":{}}}}}\n", samples.size(),
                     profile.recorder->sums().evaluations);
  return out;
}

}  // namespace berth::profile
