#include "study/study.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "model/job.h"
#include "run/interrupt.h"
#include "run/measures.h"
#include "run/processes.h"
#include "run/progress.h"
#include "stats/rank_test.h"

namespace berth::study {
namespace {

constexpr std::size_t kSettingsMax = 10'000;
constexpr double kSignificance = 0.05;

std::vector<sim::Change> all_changes(const StudySpec& spec, const std::vector<sim::Change>& setting) {
  std::vector<sim::Change> out = spec.fixed;
  out.insert(out.end(), setting.begin(), setting.end());
  return out;
}

/// Error if a key has two values at once.
Result<void> check_keys(const StudySpec& spec) {
  std::vector<std::string> keys;
  for (const sim::Change& change : spec.fixed) keys.push_back(change.key);
  for (const Factor& factor : spec.factors) {
    if (std::find(keys.begin(), keys.end(), factor.key) != keys.end())
      return tl::unexpected(InputError{spec.command, "--vary", fmt::format("'{}' is set twice", factor.key),
                                       "name it once, with all its values"});
    keys.push_back(factor.key);
  }
  return {};
}

/// Reads every setting before the first run.
Result<std::string> read_all(const StudySpec& spec, const std::vector<std::vector<sim::Change>>& settings) {
  std::string name;
  for (const auto& setting : settings) {
    const auto workload = sim::read_workload(spec.workload, spec.label, all_changes(spec, setting));
    if (!workload) return tl::unexpected(workload.error());
    name = workload->name;
  }
  return name;
}

/// A run in a separate process; nullopt if it was interrupted.
Result<std::optional<Record>> run_apart(const Task& task, const std::string& key, const run::RunOptions& options) {
  run::Processes processes;
  const auto work = [&] {
    Record record = run_task(task, options);
    record.key = key;
    return store::to_text(record);
  };
  if (!processes.start(0, work))
    return tl::unexpected(
        InputError{"berth", "", "cannot start a process", "end others, or raise the limit (ulimit -u)"});
  std::optional<run::Finished> finished;
  while (!finished) finished = processes.next(60);
  if (run::interrupted()) return std::nullopt;
  const std::string what = fmt::format("{} ({}){}{}", task.workload, task.label, task.changes.empty() ? "" : " with ",
                                       sim::to_text(task.changes));
  if (!finished->failure.empty())
    return tl::unexpected(
        InputError{what, "", "the process of the run " + finished->failure, "run it alone to see why"});
  auto record = store::parse_record(finished->text, what);
  if (!record) return tl::unexpected(record.error());
  if (record->status == "failed") return tl::unexpected(InputError{what, "", record->message, ""});
  return std::move(*record);
}

}  // namespace

std::vector<std::size_t> round_order(std::size_t settings, std::int64_t round) {
  std::vector<std::size_t> out(settings);
  for (std::size_t i = 0; i < settings; ++i) out[i] = round % 2 == 0 ? i : settings - 1 - i;
  return out;
}

Result<Study> run_study(const StudySpec& spec, const run::RunOptions& options) {
  if (auto fine = check_keys(spec); !fine) return tl::unexpected(fine.error());
  double count = 1;
  for (const Factor& factor : spec.factors) count *= static_cast<double>(factor.values.size());
  if (count > static_cast<double>(kSettingsMax))
    return tl::unexpected(InputError{spec.command, "--vary", fmt::format("there are {:.0f} settings", count),
                                     fmt::format("name fewer values: at most {} settings", kSettingsMax)});
  const auto start = std::chrono::steady_clock::now();
  const auto settings = crossed(spec.factors);
  Study out{spec, "", {}, false, 0};
  auto name = read_all(spec, settings);
  if (!name) return tl::unexpected(name.error());
  out.workload = std::move(*name);
  for (const auto& setting : settings) out.settings.push_back({setting, {}});

  run::RunOptions quiet = options;
  quiet.quiet = true;
  const std::int64_t rounds = spec.warm_ups + spec.repetitions;
  run::Progress progress("runs", static_cast<std::uint64_t>(rounds) * settings.size(), options.quiet);
  std::size_t done = 0;
  for (std::int64_t round = 0; round < rounds && !out.interrupted; ++round) {
    std::vector<std::pair<std::size_t, Record>> of_round;
    for (const std::size_t i : round_order(settings.size(), round)) {
      const std::int64_t repetition = round - spec.warm_ups;
      auto record = run_apart({spec.workload, spec.label, all_changes(spec, settings[i]), repetition},
                              store::moment_key(done), quiet);
      if (!record) return tl::unexpected(record.error());
      if (!*record) {
        out.interrupted = true;
        break;
      }
      if (repetition >= 0) of_round.emplace_back(i, std::move(**record));
      progress.update(++done, true);
    }
    if (out.interrupted) break;
    for (auto& [i, record] : of_round) out.settings[i].records.push_back(std::move(record));
  }
  progress.finish();
  out.seconds = run::seconds_since(start);
  return out;
}

bool Cell::shown() const { return p_adjusted && *p_adjusted <= kSignificance; }

Comparison compare_settings(const Study& study) {
  Comparison out;
  const auto all = run::measures();
  std::vector<double> ps;
  std::vector<std::pair<std::size_t, std::size_t>> tested;  // indices into cells
  for (std::size_t m = 0; m < all.size(); ++m) {
    const std::string name = run::name_of(all[m]);
    std::vector<std::vector<double>> values;
    bool any = false, differs = false;
    for (const Setting& setting : study.settings) {
      auto& of = values.emplace_back();
      for (const Record& record : setting.records)
        if (const double value = record.value(name); std::isfinite(value)) of.push_back(value);
      any = any || std::any_of(of.begin(), of.end(), [&](double v) { return v != 0 || all[m].is_always_shown(); });
      differs = differs || std::any_of(of.begin(), of.end(), [&](double v) { return v != values[0][0]; });
    }
    if (!any || values[0].empty()) continue;
    out.measures.push_back(m);
    auto& cells = out.cells.emplace_back();
    for (std::size_t s = 0; s < values.size(); ++s) {
      Cell& cell = cells.emplace_back();
      if (values[s].empty()) continue;
      cell.median = stats::median_interval(values[s]);
      cell.minimum = stats::minimum(values[s]), cell.maximum = *std::max_element(values[s].begin(), values[s].end());
      cell.ratio = cell.median.median / cells[0].median.median;
      if (s == 0 || !all[m].is_tested() || !differs || values[s].size() < 2 || values[0].size() < 2) continue;
      cell.p = stats::rank_test(values[0], values[s]).p_two_sided;
      ps.push_back(*cell.p), tested.emplace_back(out.cells.size() - 1, s);
    }
  }
  const std::vector<double> adjusted = stats::holm(ps);
  for (std::size_t i = 0; i < tested.size(); ++i) out.cells[tested[i].first][tested[i].second].p_adjusted = adjusted[i];
  out.tests = tested.size();
  const std::size_t least = study.settings.empty() ? 0 : study.settings[0].records.size();
  if (out.tests > 0) out.smallest_p = std::min(1.0, 2 * stats::smallest_p(least) * static_cast<double>(out.tests));
  return out;
}

}  // namespace berth::study
