#include "conform/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "conform/hcl_expressions.h"
#include "conform/job_file_cases.h"
#include "conform/plan_requests.h"
#include "conform/registry.h"
#include "conform/required.h"
#include "conform/streams/stream_replay.h"
#include "io/files.h"
#include "io/json_parse.h"
#include "run/junit.h"

namespace berth::conform {
namespace {

namespace fs = std::filesystem;

bool is_vector_file(const fs::path& path) {
  const std::string name = path.filename().string();
  return name.ends_with(".jsonl") || name.ends_with(".jsonl.gz");
}

/// "shuffle" for ".../components/shuffle.jsonl.gz".
std::string stem(const std::string& path) {
  const std::string name = fs::path(path).filename().string();
  return name.substr(0, name.find('.'));
}

Result<std::vector<std::string>> files_of(const std::vector<std::string>& paths) {
  std::vector<std::string> out;
  for (const std::string& path : paths) {
    std::error_code error;
    if (fs::is_directory(path, error)) {
      std::vector<std::string> found;
      for (fs::recursive_directory_iterator it(path, error), end; !error && it != end; it.increment(error))
        if (it->is_regular_file() && (is_vector_file(it->path()) || is_job_file_case(it->path().string())))
          found.push_back(it->path().string());
      if (found.empty())
        return tl::unexpected(
            InputError{path, "", "holds no .jsonl, .jsonl.gz or recorded .hcl file", "name a folder of vectors"});
      std::sort(found.begin(), found.end());
      out.insert(out.end(), found.begin(), found.end());
    } else if (path == "-" || fs::exists(path, error)) {
      out.push_back(path);
    } else {
      return tl::unexpected(InputError{path, "", "does not exist", "name a file or folder of vectors"});
    }
  }
  return out;
}

/// Formats without any of these members are not replayed.
constexpr std::string_view kOurs[] = {"in", "out", "script", "state", "eval", "expect", "input", "source", "error"};

Outcome replay(const json::Value& line, const std::string& path, const std::string& kind,
               sched::EnabledSources sources) {
  const Field whole(line);
  if (whole.has("topic") && whole.has("steps"))
    return Outcome::unsupported("registrations: tests/serve/replay/registration.py replays them");
  if (std::none_of(std::begin(kOurs), std::end(kOurs), [&](std::string_view member) { return whole.has(member); }))
    return Outcome::unsupported("vectors of the kind " + kind);
  const bool evaluation = whole.has("eval"), reconciler = !evaluation && whole.has("input");
  const std::string name = evaluation ? "@evaluation" : reconciler ? "@reconcile" : kind;
  const Replay replay = find_component(name);
  if (!replay) return Outcome::unsupported((whole.has("in") ? "component " : "control script ") + kind);
  whole.require(required_members(name));
  return replay({whole, whole.has("in") ? whole["in"] : whole, whole[evaluation || reconciler ? "expect" : "out"], path,
                 whole["name"].as_string(), sources});
}

/// Converts the exception to an error of the vector's line.
InputError error_of(const Malformed& malformed, const json::Value& line, const std::string& path, std::size_t number) {
  const std::string place = (malformed.at ? pointer_to(line, malformed.at) : std::string()) + malformed.below;
  return {path, std::to_string(number) + (place.empty() ? "" : ":" + place), malformed.problem,
          "take the vector as it was recorded"};
}

/// Replays recorded job files and removes them from `files`. Each folder of them is one row of the report.
void replay_job_files(std::vector<std::string>& files, const RunOptions& options, Report& report) {
  std::map<std::string, FileReport> folders;
  for (const std::string& path : files) {
    if (!is_job_file_case(path)) continue;
    const std::string name = stem(path);
    if (options.name.empty() || name.find(options.name) != std::string::npos) {
      const std::string folder = fs::path(path).parent_path().string();
      FileReport& file = folders.try_emplace(folder, FileReport{folder, 0, 0, {}}).first->second;
      Outcome outcome;
      try {
        outcome = replay_job_file(path);
      } catch (const Malformed& malformed) {
        outcome = Outcome::failed(malformed.problem);
      }
      ++(outcome.kind == Outcome::Kind::equal ? file.equal : file.differ);
      if (outcome.kind == Outcome::Kind::differ && report.kept.size() < options.diff_count)
        report.kept.push_back({path, name, std::move(outcome.differences)});
    }
  }
  std::erase_if(files, is_job_file_case);
  for (auto& [folder, file] : folders) {
    report.equal += file.equal;
    report.differ += file.differ;
    report.files.push_back(std::move(file));
  }
}

std::string difference_text(const KeptDifference& kept) {
  std::string out = fmt::format("{}  in {}\n", kept.name, kept.path);
  for (const Difference& d : kept.differences)
    out += fmt::format("  {}{}\n    expected {}\n    got      {}\n", d.place.empty() ? "/" : d.place,
                       d.rule.empty() ? "" : "  (" + d.rule + ")", d.expected, d.got);
  return out;
}

}  // namespace

Result<Report> run(const RunOptions& options) {
  Report report;
  std::vector<std::string> paths;
  for (const std::string& path : options.paths) {
    if (!has_plan_requests(path)) {
      paths.push_back(path);
      continue;
    }
    auto file = replay_plan_requests(path, options, report.kept);
    if (!file) return tl::unexpected(file.error());
    report.equal += file->equal;
    report.differ += file->differ;
    report.files.push_back(std::move(*file));
  }
  auto files = files_of(paths);
  if (!files) return tl::unexpected(files.error());
  replay_job_files(*files, options, report);
  for (const std::string& path : *files) {
    if (has_hcl_expressions(path)) {
      auto file = replay_hcl_expressions(path, options, report.kept);
      if (!file) return tl::unexpected(file.error());
      report.equal += file->equal;
      report.differ += file->differ;
      report.files.push_back(std::move(*file));
      continue;
    }
    FileReport file{path, 0, 0, {}};
    std::optional<InputError> error;
    const std::string kind = stem(path);
    std::size_t lines = 0;
    std::unique_ptr<StreamReplay> stream;
    std::string foreign;  // kind of the first line, if it is not replayed
    const auto replay_line = [&](const json::Value& value, std::size_t number, bool chosen) {
      const Field whole(value);
      if (number == 1 && StreamReplay::begins(whole)) {
        auto begun = StreamReplay::begin(whole, path, number, options.sources);
        if (begun)
          stream = std::move(*begun);
        else
          error = begun.error();
        return;
      }
      if (options.step && whole["step"].as_string() != *options.step) return;
      const std::string& name = whole["name"].as_string();
      const bool named = options.name.empty() || name.find(options.name) != std::string::npos;
      if (!named && !stream) return;
      if (kind == "job_bases") return;  // input for other files
      Outcome outcome;
      if (stream) {  // each line changes the state
        auto replayed = stream->next(whole, number, chosen && named);
        if (!replayed) {
          error = replayed.error();
          return;
        }
        if (!named) return;
        outcome = std::move(*replayed);
      } else {
        outcome = replay(value, path, kind, options.sources);
      }
      switch (outcome.kind) {
        case Outcome::Kind::equal:
          ++file.equal;
          break;
        case Outcome::Kind::unsupported:
          if (number == 1) foreign = outcome.missing;
          ++file.unsupported[outcome.missing];
          break;
        case Outcome::Kind::differ:
          ++file.differ;
          if (report.kept.size() < options.diff_count)
            report.kept.push_back({path, name, std::move(outcome.differences)});
          break;
      }
    };
    auto done = io::read_lines(path, [&](std::string_view line, std::size_t number) {
      const bool chosen = lines++ % options.every == 0;
      if (!chosen && !stream) return true;
      auto value = io::parse_json(line, path, std::to_string(number));
      if (!value && !foreign.empty()) {  // other formats may have numbers of any size
        ++file.unsupported[foreign];
        return true;
      }
      if (!value) {
        error = value.error();
        return false;
      }
      try {
        replay_line(*value, number, chosen);
      } catch (const Malformed& malformed) {
        error = error_of(malformed, *value, path, number);
      } catch (const std::exception& problem) {
        error = InputError{path, std::to_string(number), std::string("cannot be replayed: ") + problem.what(),
                           "take the vector as it was recorded"};
      }
      return !error;
    });
    if (!done) return tl::unexpected(done.error());
    if (error) return tl::unexpected(*error);
    report.equal += file.equal;
    report.differ += file.differ;
    report.unsupported += file.unsupported_count();
    if (file.equal + file.differ + file.unsupported_count() > 0) report.files.push_back(std::move(file));
  }
  return report;
}

std::string to_table(const Report& report) {
  std::string out;
  std::size_t width = 4;
  for (const FileReport& file : report.files) width = std::max(width, file.path.size());
  out += fmt::format("{:<{}}  {:>8}  {:>8}  {:>13}\n", "file", width, "equal", "differ", "not supported");
  for (const FileReport& file : report.files) {
    out += fmt::format("{:<{}}  {:>8}  {:>8}  {:>13}\n", file.path, width, file.equal, file.differ,
                       file.unsupported_count());
    for (const auto& [what, count] : file.unsupported)
      out += fmt::format("    not supported yet: {} ({})\n", what, count);
  }
  for (const KeptDifference& kept : report.kept) out += "\n" + difference_text(kept);
  if (!report.kept.empty()) out += "\n";
  out += fmt::format("{} equal, {} differ, {} not supported\n", report.equal, report.differ, report.unsupported);
  return out;
}

std::string to_junit(const Report& report) {
  std::vector<run::JunitSuite> suites;
  for (const FileReport& file : report.files) {
    const fs::path path = file.path;
    const std::string folder = path.has_parent_path() ? path.parent_path().string() : ".";
    if (suites.empty() || suites.back().name != folder) suites.push_back({folder, {}});
    run::JunitCase one{folder, path.filename().string(), file.path, run::JunitCase::Outcome::passed, "", "", ""};
    one.text = fmt::format("{} equal, {} differ, {} not supported", file.equal, file.differ, file.unsupported_count());
    if (file.differ + file.unsupported_count() > 0) {
      one.outcome = run::JunitCase::Outcome::failed;
      one.type = file.differ > 0 ? "differs" : "not-supported";
      for (const auto& [what, count] : file.unsupported)
        one.detail += fmt::format("not supported: {} ({})\n", what, count);
      for (const KeptDifference& kept : report.kept)
        if (kept.path == file.path) one.detail += difference_text(kept);
    }
    suites.back().cases.push_back(std::move(one));
  }
  return run::to_junit("berth conform", suites);
}

json::Value to_json(const Report& report) {
  json::Value out;  // bench/schema/berth-conform.json
  out.set("format", "berth-conform"), out.set("version", 1);
  json::Value& files = out.set("files", json::Value::array());
  for (const FileReport& file : report.files) {
    json::Value entry;
    entry.set("path", file.path);
    entry.set("equal", static_cast<std::uint64_t>(file.equal));
    entry.set("differ", static_cast<std::uint64_t>(file.differ));
    json::Value& missing = entry.set("not_supported", json::Value::object());
    for (const auto& [what, count] : file.unsupported) missing.set(what, static_cast<std::uint64_t>(count));
    files.push(std::move(entry));
  }
  json::Value& kept = out.set("differences", json::Value::array());
  for (const KeptDifference& k : report.kept) {
    json::Value entry;
    entry.set("path", k.path);
    entry.set("name", k.name);
    json::Value& list = entry.set("differences", json::Value::array());
    for (const Difference& d : k.differences) {
      json::Value item;
      item.set("place", d.place), item.set("expected", d.expected), item.set("got", d.got), item.set("rule", d.rule);
      list.push(std::move(item));
    }
    kept.push(std::move(entry));
  }
  out.set("equal", static_cast<std::uint64_t>(report.equal));
  out.set("differ", static_cast<std::uint64_t>(report.differ));
  out.set("not_supported", static_cast<std::uint64_t>(report.unsupported));
  return out;
}

}  // namespace berth::conform
