#include "conform/plan_requests.h"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>

#include "advice/plan_text.h"
#include "advice/question.h"
#include "base/text.h"
#include "conform/compare.h"
#include "dryrun/request.h"
#include "io/export_import.h"
#include "io/files.h"
#include "io/json_parse.h"
#include "model/job.h"
#include "server/dry_run.h"

namespace berth::conform {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kOrders = 400;  // visiting orders tried; Nomad drew one of them at random
constexpr std::string_view kRequest = ".request.json";

struct Request {
  std::string name, stem;  ///< "plan-07", and its path without extensions
  std::string stage, file, name_space;
  std::int64_t unix_ns = 0;
  json::Value job, response;
};

Result<json::Value> read_json(const std::string& path) {
  auto text = io::read_file(path);
  if (!text) return tl::unexpected(text.error());
  return io::parse_json(*text, path);
}

Result<Request> read_request(const fs::path& path) {
  Request out;
  out.stem = path.string().substr(0, path.string().size() - kRequest.size());
  out.name = fs::path(out.stem).filename().string();
  auto job = read_json(path.string());
  auto response = read_json(out.stem + ".response.json");
  auto stage = read_json(out.stem + ".stage");
  for (const auto* part : {&job, &response, &stage})
    if (!*part) return tl::unexpected(part->error());
  out.job = std::move(*job), out.response = std::move(*response);
  out.stage = (*stage)["stage"].as_string(), out.file = (*stage)["file"].as_string();
  out.unix_ns = (*stage)["unix_ns"].as_int();
  const std::string& url = (*stage)["path"].as_string();
  if (const auto at = url.find("?namespace="); at != std::string::npos) out.name_space = url.substr(at + 11);
  return out;
}

/// The comparable part of an answer, without generated IDs and times.
json::Value without_made_up(const json::Value& v) {
  if (v.is_array()) {
    json::Value out = json::Value::array();
    for (const json::Value& item : v.items()) out.push(without_made_up(item));
    return out;
  }
  if (!v.is_object()) return v;
  json::Value out = json::Value::object();
  for (const json::Member& m : v.members())
    if (m.key != "AllocationTime") out.set(m.key, without_made_up(m.value));
  return out;
}

json::Value comparable_answer(const json::Value& answer) {
  json::Value out = without_made_up(answer);
  // Which of several equal victims is evicted depends on a map's order (R-PREEMPT-1101); their jobs do not.
  json::Value* annotations = out.find("Annotations");
  if (json::Value* stubs = annotations ? annotations->find("PreemptedAllocs") : nullptr; stubs && stubs->is_array()) {
    std::vector<std::string> jobs;
    for (const json::Value& stub : stubs->items()) jobs.push_back(stub["JobID"].as_string());
    std::sort(jobs.begin(), jobs.end());
    *stubs = json::Value::array();
    for (const std::string& job : jobs) stubs->push(job);
  }
  if (json::Value* evals = out.find("CreatedEvals"); evals && evals->is_array())
    for (json::Value& eval : evals->items())
      for (const char* key : {"ID", "PreviousEval", "CreateTime", "ModifyTime"}) eval.erase(key);
  return out;
}

/// The text with lines that Nomad prints in a map's order sorted, and without the time until a launch.
std::string comparable_text(const std::string& text) {
  std::vector<std::string> lines;
  for (const std::string_view line : base::split(text, '\n'))
    lines.emplace_back(line.substr(0, line.find(" from now).")));
  for (std::string& line : lines)
    if (const auto at = line.rfind(" ("); line.starts_with("- If submitted now") && at != std::string::npos)
      line.resize(at);
  for (std::string& line : lines)  // which of several equal victims is evicted: R-PREEMPT-1101
    if (line.size() > 36 && base::parse_uuid(line.substr(0, 36))) line.replace(0, 36, "(allocation)");
  const auto kind = [](const std::string& line) {
    if (!line.starts_with("    * ")) return std::string();
    const bool exhausted = line.find(" exhausted on ") != std::string::npos;
    return line.substr(0, line.find('"')) + (exhausted ? "exhausted" : "filtered");
  };
  for (std::size_t begin = 0; begin < lines.size();) {
    std::size_t end = begin + 1;
    if (const std::string of = kind(lines[begin]); !of.empty())
      while (end < lines.size() && kind(lines[end]) == of) ++end;
    else if (lines[begin].starts_with("Job ID ") || lines[begin].starts_with("Job Type ") ||
             lines[begin].starts_with("Alloc ID "))
      while (end < lines.size() && !lines[end].starts_with("Job Modify Index")) ++end;
    const bool table = lines[begin].starts_with("Job ") || lines[begin].starts_with("Alloc ");
    const auto first = table ? begin + 1 : begin;
    std::sort(lines.begin() + static_cast<std::ptrdiff_t>(std::min(first, end)),
              lines.begin() + static_cast<std::ptrdiff_t>(end));
    begin = end;
  }
  return base::join(lines, "\n");
}

std::vector<Difference> text_difference(const std::string& what, const std::string& want, const std::string& got) {
  const auto a = base::split(want, '\n'), b = base::split(got, '\n');
  std::vector<Difference> out;
  for (std::size_t i = 0; i < std::max(a.size(), b.size()); ++i) {
    const std::string_view x = i < a.size() ? a[i] : "(no line)", y = i < b.size() ? b[i] : "(no line)";
    if (x != y) out.push_back({what + " line " + std::to_string(i + 1), std::string(x), std::string(y), "R-SCHED-200"});
  }
  return out;
}

/// One recorded output and its comparison with berth's answer.
struct Part {
  std::function<std::vector<Difference>(const server::DryRunAnswer&)> differences;
  std::vector<Difference> best;
  bool equal = false, tried = false;
};

Result<std::vector<Difference>> replay_request(const Request& request, const model::ClusterState& state) {
  auto accepted = advice::read_job(state, request.job, request.stem + std::string(kRequest), request.name_space);
  if (!accepted) return tl::unexpected(accepted.error());
  if (!accepted->job) return std::vector<Difference>{{"", "an accepted job", accepted->error, ""}};
  server::DryRun dry_run(state, *accepted, request.unix_ns);

  std::vector<Part> parts(1);
  const json::Value want = comparable_answer(request.response);
  parts[0].differences = [&](const server::DryRunAnswer& answer) {
    return compare(want, comparable_answer(advice::to_json(answer)), {.rule = "R-SCHED-196"});
  };
  for (const bool verbose : {false, true}) {
    const std::string ending = verbose ? ".verbose" : "";
    auto text = io::read_file(request.stem + ending + ".text");
    auto exit = io::read_file(request.stem + ending + ".exit");
    if (!text) return tl::unexpected(text.error());
    if (!exit) return tl::unexpected(exit.error());
    Part part;
    part.differences = [&dry_run, &request, verbose, ending, want_text = comparable_text(*text),
                        want_exit = std::string(base::trim_space(*exit))](const server::DryRunAnswer& answer) {
      advice::TextOptions options;
      options.job_file = request.file;
      options.verbose = verbose;
      options.now_ns = request.unix_ns;
      auto out = text_difference("text" + ending, want_text,
                                 comparable_text(advice::to_text(answer, dry_run.job()->type, options)));
      if (const std::string got = answer.changes_allocs() ? "1" : "0"; got != want_exit)
        out.push_back({"exit code" + ending, want_exit, got, "R-SCHED-203"});
      return out;
    };
    parts.push_back(std::move(part));
  }
  for (std::uint64_t order = 0; order < kOrders; ++order) {
    const server::DryRunAnswer answer = dry_run.answer(order);
    if (!answer.error.empty()) return std::vector<Difference>{{"", "an answer", answer.error, "R-SCHED-195"}};
    bool all = true;
    for (Part& part : parts) {
      if (part.equal) continue;
      auto differences = part.differences(answer);
      part.equal = differences.empty();
      if (part.equal || !part.tried || differences.size() < part.best.size()) part.best = std::move(differences);
      part.tried = true;
      all &= part.equal;
    }
    if (all) break;
  }
  std::vector<Difference> out;
  for (Part& part : parts) out.insert(out.end(), part.best.begin(), part.best.end());
  return out;
}

}  // namespace

bool has_plan_requests(const std::string& folder) {
  std::error_code error;
  for (fs::directory_iterator it(fs::path(folder) / "plans", error), end; !error && it != end; it.increment(error))
    if (it->path().string().ends_with(kRequest)) return true;
  return false;
}

Result<FileReport> replay_plan_requests(const std::string& folder, const RunOptions& options,
                                        std::vector<KeptDifference>& kept) {
  FileReport report{(fs::path(folder) / "plans").string(), 0, 0, {}};
  std::vector<fs::path> paths;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(fs::path(folder) / "plans", error))
    if (entry.path().string().ends_with(kRequest)) paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  std::map<std::string, std::unique_ptr<io::ClusterImport>> stages;
  for (const fs::path& path : paths) {
    auto request = read_request(path);
    if (!request) return tl::unexpected(request.error());
    if (!options.name.empty() && request->name.find(options.name) == std::string::npos) continue;
    auto& stage = stages[request->stage];
    if (!stage) {
      auto imported = io::import_cluster((fs::path(folder) / (request->stage + ".json.gz")).string());
      if (!imported) return tl::unexpected(imported.error());
      stage = std::make_unique<io::ClusterImport>(std::move(*imported));
    }
    auto differences = replay_request(*request, stage->state);
    if (!differences) return tl::unexpected(differences.error());
    if (differences->empty()) {
      ++report.equal;
      continue;
    }
    ++report.differ;
    if (kept.size() < options.diff_count) kept.push_back({path.string(), request->name, std::move(*differences)});
  }
  return report;
}

}  // namespace berth::conform
