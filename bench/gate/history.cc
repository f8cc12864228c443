#include "gate/history.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/sha256.h"
#include "gate/metrics.h"
#include "io/files.h"
#include "io/json_parse.h"
#include "stats/change_points.h"
#include "stats/summary.h"

namespace berth::gate {
namespace {

constexpr int kHistoryVersion = 1;

/// Digest of the fingerprint's fields that must agree for two lines to belong to one series.
std::string environment_of(const Fingerprint& fingerprint) {
  base::Sha256 sum;
  for (const auto& [field, value] : fingerprint.fields)
    if (field != "commit" && field != "dirty") sum.add(field + "=" + value + "\n");
  return sum.hex().substr(0, 12);
}

struct Point {
  std::string time, commit;
  double value = 0;
};
struct Series {
  std::string case_name, environment, metric;
  std::vector<Point> points;
};

/// The first member of a history line that is missing or of the wrong type, if any. Its metrics are those of its build.
std::optional<BadMember> bad_member(const json::Value& line) {
  for (const char* name : {"time", "case", "commit", "environment", "cpu"})
    if (!line[name].is_string())
      return BadMember{name, line.has(name) ? fmt::format("is {}, not a text", line[name].kind()) : "is missing"};
  if (line["medians"].members().empty()) return BadMember{"medians", "is no object with the medians of metrics"};
  for (const json::Member& member : line["medians"].members())
    if (const Metric* const metric = find_metric(member.key))
      if (std::string wrong = value_problem(&member.value, *metric); !wrong.empty())
        return BadMember{"medians." + member.key, std::move(wrong)};
  return std::nullopt;
}

}  // namespace

Outcome<void> check_history(const std::string& path) {
  std::error_code error;
  if (std::filesystem::file_size(path, error) == 0 || error) return {};
  bool is_history = true;
  const auto read = io::read_lines(path, [&](std::string_view text, std::size_t number) {
    const auto line = io::parse_json(text, path, std::to_string(number));
    is_history = line && (*line)["format"].as_string() == "berth-history";
    return false;
  });
  if (!read) return tl::unexpected(Failure{kUsage, read.error()});
  if (!is_history)
    return fail(kUsage, path, "is no history, and lines would be added to it", "name another file, or a new one",
                "--history");
  return {};
}

Outcome<void> append_history(const std::string& path, const std::vector<std::pair<Case, Samples>>& cases) {
  std::string lines;
  for (const auto& [what, samples] : cases) {
    json::Value line = json::Object{{"format", "berth-history"},
                                    {"version", kHistoryVersion},
                                    {"time", time_text()},
                                    {"case", what.name()},
                                    {"commit", samples.fingerprint.get("commit")},
                                    {"dirty", samples.fingerprint.get("dirty") == "yes"},
                                    {"environment", environment_of(samples.fingerprint)},
                                    {"cpu", samples.fingerprint.get("cpu")},
                                    {"repetitions", static_cast<std::uint64_t>(samples.repetitions())}};
    line.set(kDigest, samples.digests.empty() ? "" : samples.digests.front());
    json::Value medians = json::Value::object();
    for (const Metric& metric : metrics())
      if (const auto found = samples.values.find(metric.name); found != samples.values.end())
        medians.set(metric.name, stats::median(found->second));
    line.set("medians", std::move(medians));
    lines += json::to_text(line) + "\n";
  }
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  const bool written = file >= 0 && write(file, lines.data(), lines.size()) == static_cast<ssize_t>(lines.size());
  const int error = errno;
  if (file >= 0) close(file);
  if (!written)
    return fail(kOwnFailure, path, fmt::format("cannot be written: {}", strerror(error)),
                "name a file in a folder that exists", "");
  return {};
}

Outcome<std::string> drift_text(const std::string& path, const DriftOptions& options) {
  std::vector<Series> all;
  std::optional<InputError> problem;
  const auto series_of = [&](const std::string& case_name, const std::string& environment,
                             std::string_view metric) -> Series& {
    for (Series& one : all)
      if (one.metric == metric && one.case_name == case_name && one.environment == environment) return one;
    return all.emplace_back(Series{case_name, environment, std::string(metric), {}});
  };
  std::size_t lines = 0;
  const auto read = io::read_lines(path, [&](std::string_view text, std::size_t number) {
    const auto line = io::parse_json(text, path, std::to_string(number));
    if (!line || (*line)["format"].as_string() != "berth-history" || (*line)["version"].as_int() != kHistoryVersion) {
      problem = InputError{path, line ? std::to_string(number) : line.error().place,
                           line ? "is no line of a history of this version" : line.error().problem,
                           "remove the line, or start a new history"};
      return false;
    }
    ++lines;
    if (const auto bad = bad_member(*line)) {
      problem = InputError{path, fmt::format("{}: {}", number, bad->place), bad->problem,
                           "remove the line, or start a new history"};
      return false;
    }
    for (const json::Member& member : (*line)["medians"].members())
      if (find_metric(member.key))
        series_of((*line)["case"].as_string(), (*line)["environment"].as_string(), member.key)
            .points.push_back({(*line)["time"].as_string(), (*line)["commit"].as_string(), member.value.as_double()});
    return true;
  });
  if (!read) return tl::unexpected(Failure{kUsage, read.error()});
  if (problem) return tl::unexpected(Failure{kUsage, *problem});

  std::string out;
  std::size_t found = 0;
  for (const Series& series : all) {
    std::vector<double> values;
    for (const Point& point : series.points) values.push_back(point.value);
    const auto points = stats::change_points(values, {.alpha = options.alpha, .least_change = options.least_change});
    for (const stats::ChangePoint& point : points) {
      const Metric& metric = *find_metric(series.metric);
      const double change = stats::relative_difference(point.after, point.before);
      const bool worse = (change > 0) == (is_lower_better(metric));
      out += fmt::format("{} {}: {} -> {} ({:+.1f} %, {}) from commit {} on ({}, run {} of {}, p = {:.3f})\n",
                         series.case_name, series.metric, run::with_unit(point.before, metric.unit),
                         run::with_unit(point.after, metric.unit), 100 * change, worse ? "worse" : "better",
                         series.points[point.index].commit.substr(0, 12), series.points[point.index].time,
                         point.index + 1, series.points.size(), point.p);
      ++found;
    }
  }
  out += fmt::format("{} change point{} in {} line{} of {}\n", found, found == 1 ? "" : "s", lines,
                     lines == 1 ? "" : "s", path);
  return out;
}

}  // namespace berth::gate
