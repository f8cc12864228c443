#include <fmt/format.h>
#include <sys/stat.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/printable.h"
#include "cli/commands.h"
#include "cli/common.h"
#include "cli/job_file_options.h"
#include "cli/outputs.h"
#include "cli/terminal.h"
#include "dryrun/job_document.h"
#include "dryrun/request.h"
#include "io/anonymize.h"
#include "io/export_import.h"
#include "io/files.h"
#include "io/json_parse.h"
#include "io/output.h"
#include "io/redact.h"
#include "model/codec/api_keys.h"

namespace berth::cli {
namespace {

struct ImportArguments {
  std::vector<std::string> from, jobs;  ///< jobs: FROM, TO, FROM, TO, ...
  std::string to, map;
  bool redact = false, anonymize = false;
  agent::SourceOptions options;
  dryrun::JobFileOptions job_files;
};

/// A job file as {"Job": ...} in the API's form; its error is printed.
std::optional<json::Value> read_job_file(const std::string& path, const dryrun::JobFileOptions& options) {
  const auto text = io::read_file(path);
  if (!text) return report_error(text.error(), 2), std::nullopt;
  auto document = dryrun::job_document(*text, path, options, has_colours(stderr));
  if (!document) return print_job_file_errors(document.error(), *text), std::nullopt;
  const json::Value* wrapped = document->value.find_ignoring_case("Job");
  const json::Value& job = wrapped ? *wrapped : document->value;
  if (!dryrun::is_job(job))
    return report_error({path, "", "is no job", "name a job file, in HCL or JSON, behind --job"}, 2), std::nullopt;
  auto canonical = model::normalise_job_keys(job, path, wrapped ? "/Job" : "");
  if (!canonical) return report_error(canonical.error(), 2), std::nullopt;
  json::Value out = json::Value::object();
  out.set("Job", std::move(*canonical));
  return out;
}

/// Reads the map of names from `path`; starts a new map if the file does not exist.
Result<io::Anonymizer> read_map(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return io::Anonymizer();
  const auto text = io::read_file(path);
  if (!text) return tl::unexpected(text.error());
  const auto document = io::parse_json(*text, path);
  if (!document) return tl::unexpected(document.error());
  return io::Anonymizer::from_json(*document, path);
}

/// Replaces the names in the jobs and, unless null, in `cluster`. Writes the map first: without the map the new names
/// cannot be translated back.
int anonymize(const ImportArguments& arguments, json::Value* cluster) {
  auto map = read_map(arguments.map);
  if (!map) return report_error(map.error(), 2);
  std::vector<json::Value> jobs;
  for (std::size_t i = 0; i < arguments.jobs.size(); i += 2) {
    auto job = read_job_file(arguments.jobs[i], arguments.job_files);
    if (!job) return 2;
    jobs.push_back(std::move(*job));
  }
  std::vector<json::Value*> documents;
  if (cluster) documents.push_back(cluster);
  for (json::Value& job : jobs) documents.push_back(&job);
  if (auto done = map->prepare(documents); !done)
    return report_error(
        {arguments.map, "", done.error(), "make the cluster and all jobs anonymous in one command, with a new map"}, 2);
  for (json::Value* document : documents) map->rewrite(*document);
  print_notes(map->notes());
  const mode_t mask = umask(077);  // the file contains all original names
  const int written = Outputs::write(arguments.map, json::to_text(map->to_json(), 1) + "\n");
  umask(mask);
  if (written != 0) return 1;
  for (std::size_t i = 0; i < jobs.size(); ++i)
    if (Outputs::write(arguments.jobs[2 * i + 1], json::to_text(jobs[i], 2) + "\n") != 0) return 1;
  return 0;
}

int run_import(ImportArguments& arguments) {
  const bool only_jobs = arguments.from.empty() && !arguments.jobs.empty() && arguments.to.empty();
  if (arguments.to.empty() && !only_jobs)
    return report_error({"berth import", "", "--output is required", "name the CLUSTER.json to write"}, 2);
  if (!arguments.anonymize && (!arguments.map.empty() || !arguments.jobs.empty()))
    return report_error({"berth import", "", "--map and --job are for --anonymize", "add it, or leave them out"}, 2);
  if (arguments.from.empty() && !only_jobs) arguments.from = {agent::settings_from_environment("").address};
  Outputs outputs;
  for (const std::string& source : arguments.from) outputs.input(source);
  outputs.output("-o", arguments.to);
  outputs.output("--map", arguments.map);
  for (std::size_t i = 0; i < arguments.jobs.size(); i += 2)
    outputs.input(arguments.jobs[i]), outputs.output("--job", arguments.jobs[i + 1]);
  if (auto fine = outputs.check(); !fine) return report_error(fine.error(), 2);
  if (only_jobs) return anonymize(arguments, nullptr);

  arguments.options.import.now_ns = clock_ns();
  auto imported = agent::import_sources(arguments.from, arguments.options);
  if (!imported) return report_error(imported.error(), 2);
  print_warnings(imported->warnings);
  print_notes(imported->notes);
  const model::ClusterState& state = imported->state;
  if (arguments.redact) io::Redactor().redact(imported->state);
  std::string text;
  if (arguments.anonymize) {
    json::Value cluster = io::cluster_to_json(state);
    if (const int code = anonymize(arguments, &cluster); code != 0) return code;
    text = io::cluster_file_text(cluster);
  } else {
    text = io::cluster_text(state);
  }
  if (Outputs::write(arguments.to, text) != 0) return 1;
  print("{}: {} nodes, {} jobs, {} allocations, {} evaluations, {} deployments at index {}\n", arguments.to,
        state.nodes.size(), state.jobs.size(), state.allocs.size(), state.evals.size(), state.deployments.size(),
        state.index);
  return 0;
}

}  // namespace

void add_import(CLI::App& app, int& exit_code) {
  auto arguments = std::make_shared<ImportArguments>();
  CLI::App* command = app.add_subcommand("import", "read a cluster and write it as CLUSTER.json");
  command
      ->add_option("source", arguments->from,
                   "an agent's address (http://..., with Nomad's environment variables for token and TLS), what `nomad "
                   "operator snapshot save` or `nomad operator debug` wrote, answers of the API or the CLI in files or "
                   "folders, in any mixture, an object {path: answer}, or a CLUSTER.json; plain or gzip; default: "
                   "NOMAD_ADDR")
      ->type_name("SOURCE");
  command->add_option("-o,--output", arguments->to, "the CLUSTER.json to write")->type_name("FILE");
  command->add_flag("--strict", arguments->options.import.strict, "refuse a cluster that contradicts itself");
  command->add_flag(
      "--redact", arguments->redact,
      "replace task inputs that may be secret by placeholders (redacted-1): environment, driver configuration, "
      "templates, checks, headers and credentials of artifacts, payloads of dispatched jobs");
  command->add_flag("--anonymize", arguments->anonymize,
                    "replace every name by a placeholder such as n0042, so that the decisions stay the same; IDs and "
                    "numbers stay, and values that constraints compare by more than equality");
  command
      ->add_option("--map", arguments->map,
                   "with --anonymize: file that maps names to placeholders; read if it exists, then written (mode 600)")
      ->type_name("FILE");
  command
      ->add_option(
          "--job", arguments->jobs,
          "with --anonymize: also replace the names in this job file, by the same placeholders, and write it as JSON; "
          "works without a cluster too")
      ->type_name("FROM TO")
      ->type_size(2)
      ->take_all();
  add_job_file_options(*command, arguments->job_files);
  add_source_options(*command, arguments->options);
  command->footer(
      "Exit code: 0 fine, 1 a file could not be written, 2 usage, bad input or an incomplete source (see "
      "--allow-partial).");
  add_examples(*command, {"berth import http://127.0.0.1:4646 --output cluster.json",
                          "berth import cluster.snap --output anonymous.json --anonymize --map names.json"});
  command->callback([arguments, &exit_code] { exit_code = run_import(*arguments); });
}

}  // namespace berth::cli
