// `berth sweep`: runs a plan on this machine or by another engine, and gathers the results into one file.
#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <tuple>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/common.h"
#include "cli/count_allocations.h"
#include "cli/outputs.h"
#include "io/output.h"
#include "run/interrupt.h"
#include "run/programs.h"
#include "run/progress.h"
#include "run/report.h"
#include "sim/cluster_path.h"
#include "store/run_store.h"
#include "study/backends.h"
#include "study/measures.h"
#include "study/sweep.h"

namespace berth::cli {
namespace {

namespace fs = std::filesystem;
using study::Sweep;

/// The name of a file or folder, without extensions.
std::string stem_of(const std::string& path) {
  const fs::path normal = fs::path(path).lexically_normal();
  return (normal.has_filename() ? normal : normal.parent_path()).stem().string();
}

struct SweepArguments {
  std::string plan, out, on = "local", task, plan_digest, results, csv, image;
  std::vector<std::string> sbatch, varied;
  std::optional<std::int64_t> repetitions;
  std::int64_t processes = 0, elements = 0;
  bool dry_run = false, resume = false, retry = false, print = false, gather = false, wait = false, quiet = false;

  [[nodiscard]] std::string folder() const { return out.empty() ? stem_of(plan) + "-results" : out; }
  [[nodiscard]] std::string results_path() const {
    return results.empty() ? (fs::path(folder()) / "results.db").string() : results;
  }
  [[nodiscard]] std::string csv_path() const {
    return csv.empty() ? (fs::path(folder()) / "results.csv").string() : csv;
  }
  [[nodiscard]] study::LocalOptions local() const {
    study::LocalOptions options;
    options.processes = static_cast<std::size_t>(processes);
    options.retry = retry, options.quiet = quiet;
    options.run.quiet = true, options.run.allocations = count_allocations;
    return options;
  }
};

int print_estimate(const Sweep& sweep, const SweepArguments& arguments) {
  const auto estimate = study::estimate(sweep, arguments.local());
  if (!estimate) return report_error(estimate.error(), 2);
  print("{}: {} runs, {} of them done\n", sweep.plan().name, estimate->runs, estimate->done);
  if (estimate->samples > 0)
    print("estimate from {} of them: {} each, {} in all on {} processes of this machine, {:.0f} MiB each at most\n",
          estimate->samples, run::duration_words(estimate->seconds_each), run::duration_words(estimate->seconds_all),
          estimate->processes, static_cast<double>(estimate->peak_bytes) / (1 << 20));
  else if (estimate->done < estimate->runs)
    print("no estimate: none of the samples was fine; berth sweep lists what fails\n");
  return run::interrupted() ? 4 : 0;
}

/// Writes the available results to the requested files and as text. The exit code shows whether they are complete.
int gather_results(const Sweep& sweep, const SweepArguments& arguments) {
  const study::Gathered all = study::gather(sweep);
  for (const std::string& problem : all.problems) std::fputs((problem + "\n").c_str(), stderr);
  const std::string db = arguments.results_path(), csv = arguments.csv_path();
  auto results = store::RunStore::open(db, study::measures());
  if (!results) return report_error(results.error(), 1);
  if (const auto added = results->add(all.records); !added) return report_error(added.error(), 1);
  if (const int code = Outputs::write(csv, study::to_csv(all.records)); code != 0) return code;
  constexpr std::size_t kShown = 20;
  for (std::size_t i = 0; i < all.failed.size() && i < kShown; ++i)
    print("FAILED  {} ({}) {}, repetition {}: {}\n", all.failed[i].workload, all.failed[i].label,
          sim::to_text(all.failed[i].changes), all.failed[i].repetition, all.failed[i].message);
  if (all.failed.size() > kShown) print("FAILED  and {} more\n", all.failed.size() - kShown);
  print("{}: {} of {} runs done, {} failed{}\n  results     {}, {}\n  digest      {}\n", sweep.plan().name,
        all.records.size(), sweep.keys().size(), all.failed.size(),
        all.missing > 0       ? "; --resume continues"
        : !all.failed.empty() ? "; --resume --retry runs them again"
                              : "",
        db, csv, all.digest);
  return all.missing > 0 ? 4 : all.failed.empty() ? 0 : 1;
}

int run_here(const Sweep& sweep, const std::vector<std::size_t>& tasks, const SweepArguments& arguments) {
  const auto done = study::run_local(sweep, tasks, arguments.local());
  if (!done) return report_error(done.error(), 1);
  if (!arguments.quiet && done->ran + done->failed > 0)
    print(
        "{} runs in {}, {:.1f} of them at a time; {:.1f} % of the processor time was theirs, {:.2f} ms overhead each\n",
        done->ran + done->failed, run::duration_words(done->seconds),
        done->busy_seconds / std::max(done->seconds, 1e-9),
        100 * done->runs_processor_s / std::max(done->processor_s, 1e-9),
        1000 * (done->processor_s - done->runs_processor_s) / static_cast<double>(done->ran + done->failed));
  return done->interrupted ? 4 : 0;
}

/// "3/8": runs the tasks 3, 11, 19, ... of the missing ones.
int run_element(const Sweep& sweep, const SweepArguments& arguments) {
  const auto words = base::split(arguments.task, '/');
  const auto number = base::parse_uint64(words[0]), count = base::parse_uint64(words.size() == 2 ? words[1] : "");
  if (!number || !count || *number < 1 || *number > *count)
    return report_error(
        {"berth sweep", "--element", fmt::format("'{}' is not I/N", base::shown(arguments.task)), "write e.g. 3/8"}, 2);
  if (!arguments.plan_digest.empty() && arguments.plan_digest != sweep.plan_digest())
    return report_error({arguments.plan, "", "is another plan, or another berth, than when the job was submitted",
                         "submit it again with --resume"},
                        2);
  std::vector<std::size_t> tasks;
  for (const std::size_t task : sweep.missing(arguments.retry))
    if (task % *count == *number - 1) tasks.push_back(task);
  SweepArguments one = arguments;
  one.processes = std::max<std::int64_t>(1, arguments.processes);
  return run_here(sweep, tasks, one);
}

study::ArrayJob array_job(const Sweep& sweep, const SweepArguments& arguments, std::size_t missing) {
  constexpr std::size_t kElementsMax = 1000;  // Slurm's default limit
  study::ArrayJob out;
  out.name = sweep.plan().name;
  out.program = fs::canonical("/proc/self/exe").string();
  out.plan = fs::absolute(arguments.plan).lexically_normal().string();
  out.folder = fs::absolute(sweep.folder()).lexically_normal().string();
  out.plan_digest = sweep.plan_digest();
  out.elements = std::clamp<std::size_t>(
      arguments.elements > 0 ? static_cast<std::size_t>(arguments.elements) : missing, 1, kElementsMax);
  out.at_once = static_cast<std::size_t>(arguments.processes);
  out.retry = arguments.retry, out.image = arguments.image.empty() ? "berth:latest" : arguments.image,
  out.extra = arguments.sbatch;
  return out;
}

/// Runs a program of another engine. Returns its output, or an error that names it.
Result<std::string> ask(const std::vector<std::string>& command) {
  auto answer = run::capture(command);
  if (!answer)
    return tl::unexpected(InputError{command[0], "", answer.error().problem, "install it, or use --on local"});
  if (!answer->end.fine())
    return tl::unexpected(
        InputError{command[0], "", answer->end.words() + ": " + run::last_line(answer->text), "see what it says"});
  return answer->text;
}

int submit_slurm(const Sweep& sweep, const study::ArrayJob& job, const SweepArguments& arguments) {
  const std::string script = (fs::path(sweep.folder()) / "sweep.slurm").string();
  std::error_code error;
  fs::create_directories(fs::path(sweep.folder()) / "logs", error);
  if (auto written = io::write_output(script, study::slurm_script(job)); !written)
    return report_error(written.error(), 1);
  const auto id = ask({"sbatch", "--parsable", script});
  if (!id) return report_error(id.error(), 1);
  const std::string number = id->substr(0, id->find(';'));
  print("submitted as job {}: {} elements\n", number, job.elements);
  if (!arguments.wait) {
    print("its state: squeue -j {}\nits results: berth sweep {} --output {} --gather\n", number, arguments.plan,
          sweep.folder());
    return 0;
  }
  static_cast<void>(std::fflush(stdout));
  run::Progress progress("runs", sweep.keys().size(), arguments.quiet);
  while (!run::interrupted()) {
    const auto left = run::capture({"squeue", "-h", "-j", number});
    if (!left) return report_error({"squeue", "", left.error().problem, "see squeue -j " + number}, 1);
    // A job that is no longer known has ended.
    if (!left->end.fine() || left->text.empty()) break;
    progress.update(sweep.keys().size() - sweep.missing(false).size(), true);
    struct timespec pause {
      1, 0
    };
    nanosleep(&pause, nullptr);
  }
  progress.finish();
  return gather_results(sweep, arguments);
}

std::vector<std::string> mpi_command(const study::ArrayJob& job, const SweepArguments& arguments) {
  std::vector<std::string> command = {"mpirun"};
  if (arguments.processes > 0) command.insert(command.end(), {"-n", std::to_string(arguments.processes)});
  command.insert(command.end(), {job.program + "_mpi", job.plan, job.folder, job.plan_digest});
  if (arguments.retry) command.emplace_back("--retry");
  return command;
}

int print_mpi(const study::ArrayJob& job, const SweepArguments& arguments) {
  std::string line;
  for (const std::string& word : mpi_command(job, arguments))
    line += (line.empty() ? "" : " ") + study::shell_word(word);
  print_raw(line + "\n");
  return 0;
}

int run_mpi(const Sweep& sweep, const study::ArrayJob& job, const SweepArguments& arguments) {
  // `berth_mpi` is in the folder of `berth`, in a build and when installed.
  if (const std::string program = job.program + "_mpi"; !fs::exists(program))
    return report_error({program, "", "is not there: berth was built without MPI, or the package berth-mpi is missing",
                         "install berth-mpi, or libopenmpi-dev and build again"},
                        2);
  const auto answer = ask(mpi_command(job, arguments));
  if (!answer) static_cast<void>(report_error(answer.error(), 1));
  const int code = gather_results(sweep, arguments);
  return answer ? code : std::max(1, code);
}

int print_job(const std::string& text, const std::string& submit, const SweepArguments& arguments) {
  print_raw(text);
  fmt::print(
      stderr,
      "submit: berth sweep {} --output {} --on {} --print > FILE && {}\ngather: berth sweep {} --output {} --gather\n",
      arguments.plan, arguments.folder(), arguments.on, submit, arguments.plan, arguments.folder());
  return 0;
}

/// Inputs are the plan and the files of its workloads. Before the folder exists, only files from the command line can
/// be checked.
Outputs outputs_of(const Sweep& sweep, const SweepArguments& arguments, bool folder_is_there) {
  Outputs out;
  out.input(arguments.plan);
  for (const std::string& file : sweep.plan().files) out.input(file);
  if (folder_is_there || !arguments.results.empty()) out.output("--results", arguments.results_path());
  if (folder_is_there || !arguments.csv.empty()) out.output("--csv", arguments.csv_path());
  return out;
}

/// Refuses options of another engine, because the user expected an effect.
Result<void> check_together(const SweepArguments& a) {
  const std::tuple<const char*, bool, bool, const char*> kBelong[] = {
      {"--print", a.print, a.on != "local", "slurm, mpi, nomad or kubernetes"},
      {"--wait", a.wait, a.on == "slurm", "slurm"},
      {"--sbatch", !a.sbatch.empty(), a.on == "slurm", "slurm"},
      {"--elements", a.elements > 0, a.on == "slurm" || a.on == "nomad" || a.on == "kubernetes",
       "slurm, nomad or kubernetes"},
      {"--image", !a.image.empty(), a.on == "kubernetes", "kubernetes"}};
  for (const auto& [option, given, fine, with] : kBelong)
    if (given && !fine)
      return tl::unexpected(InputError{"berth sweep", option, fmt::format("says nothing with --on {}", a.on),
                                       fmt::format("add --on {}, or leave it out", with)});
  return {};
}

/// The plan for a cluster, as text.
Result<std::string> plan_of_cluster(const SweepArguments& arguments) {
  std::vector<study::Factor> factors;
  for (const std::string& text : arguments.varied) {
    auto factor = study::parse_factor(text, "berth sweep --vary");
    if (!factor) return tl::unexpected(factor.error());
    factors.push_back(std::move(*factor));
  }
  return study::plan_text(stem_of(arguments.plan), fs::absolute(arguments.plan).lexically_normal().string(), factors,
                          arguments.repetitions.value_or(1));
}

/// Writes the plan for a cluster into the folder of results, where runs on other machines read it too.
int sweep(SweepArguments arguments) {
  if (arguments.plan.empty())
    return report_error({"berth sweep", "", "no plan was named", "name a file; bench/study/README.md has an example"},
                        2);
  if (auto fine = check_together(arguments); !fine) return report_error(fine.error(), 2);
  std::optional<std::string> text;
  if (sim::workload_of_cluster(arguments.plan)) {
    auto made = plan_of_cluster(arguments);
    if (!made) return report_error(made.error(), 2);
    text = std::move(*made);
    arguments.out = arguments.folder();
    arguments.plan = (fs::path(arguments.out) / "plan.toml").string();
  } else if (!arguments.varied.empty() || arguments.repetitions) {
    return report_error({"berth sweep", arguments.varied.empty() ? "--repeat" : "--vary", "goes with a cluster only",
                         "write it into the plan (bench/study/README.md)"},
                        2);
  }
  auto plan = text ? study::parse_plan(*text, arguments.plan) : study::read_plan(arguments.plan);
  if (!plan) return report_error(plan.error(), 2);
  const auto opened = Sweep::open(std::move(*plan), arguments.folder());
  if (!opened) return report_error(opened.error(), 2);
  const Sweep& sweep = *opened;
  const run::InterruptGuard guard;
  if (text && !arguments.dry_run) {
    if (auto made = sweep.make_folder(); !made) return report_error(made.error(), 2);
    if (auto written = io::write_output(arguments.plan, *text); !written) return report_error(written.error(), 1);
  }
  if (arguments.dry_run) return print_estimate(sweep, arguments);
  const std::vector<std::size_t> missing = sweep.missing(arguments.retry);
  const study::ArrayJob job = array_job(sweep, arguments, missing.size());
  if (arguments.print && arguments.on == "mpi") return print_mpi(job, arguments);
  if (arguments.print && arguments.on == "slurm") return print_job(study::slurm_script(job), "sbatch FILE", arguments);
  if (arguments.on == "nomad") return print_job(study::nomad_job(job), "nomad job run -json FILE", arguments);
  if (arguments.on == "kubernetes") return print_job(study::kubernetes_job(job), "kubectl apply -f FILE", arguments);
  if (auto fine = outputs_of(sweep, arguments, false).check(); !fine) return report_error(fine.error(), 2);
  if (auto made = sweep.make_folder(); !made) return report_error(made.error(), 2);
  if (auto fine = outputs_of(sweep, arguments, true).check(); !fine) return report_error(fine.error(), 2);
  if (auto fine = store::RunStore::check(arguments.results_path()); !fine) return report_error(fine.error(), 2);
  if (!arguments.task.empty()) return run_element(sweep, arguments);
  if (arguments.gather) return gather_results(sweep, arguments);
  if (missing.size() < sweep.keys().size() && !arguments.resume && !arguments.retry)
    return report_error(
        {sweep.folder(), "",
         fmt::format("has {} of the {} runs", sweep.keys().size() - missing.size(), sweep.keys().size()),
         "add --resume to continue with the others, or name another folder with --output"},
        2);
  if (missing.empty()) return gather_results(sweep, arguments);
  if (arguments.on == "slurm") return submit_slurm(sweep, job, arguments);
  if (arguments.on == "mpi") return run_mpi(sweep, job, arguments);
  if (const int code = run_here(sweep, missing, arguments); code == 1) return code;
  return gather_results(sweep, arguments);
}

}  // namespace

void add_sweep(CLI::App& app, int& exit_code) {
  auto a = std::make_shared<SweepArguments>();
  CLI::App* command = app.add_subcommand("sweep", "run many settings, here or elsewhere, and gather the results");
  command->add_option(
      "plan", a->plan,
      "a file that names workloads, settings and repetitions (bench/study/README.md), or a cluster that "
      "`berth run` takes: its own jobs arrive again");
  command
      ->add_option("--vary", a->varied,
                   "with a cluster: run every value of a key, as in `berth run`; several keys: every combination")
      ->type_name("KEY=VALUES");
  command->add_option("--repeat", a->repetitions, "with a cluster: repetitions of every setting")
      ->check(CLI::Range(1, 100'000));
  command->add_option("-o,--output", a->out, "folder for the results (default: PLAN-results)")->type_name("FOLDER");
  command->add_flag("--dry-run", a->dry_run, "count the runs, and estimate time and memory from a few of them");
  command->add_flag("--resume", a->resume, "continue in a folder that has results: finished runs are not repeated");
  command->add_flag("--retry", a->retry, "repeat failed runs");
  command
      ->add_option(
          "--on", a->on,
          "where to run: local, slurm (an array job), mpi (mpirun), nomad or kubernetes (these two print a job file)")
      ->check(CLI::IsMember({"local", "slurm", "mpi", "nomad", "kubernetes"}))
      ->capture_default_str();
  command
      ->add_option("-j,--processes", a->processes,
                   "runs at a time (default: one per core, or what Slurm or MPI provides)")
      ->check(CLI::Range(0, 100'000));
  command->add_option("--elements", a->elements, "elements of the array job (default: one per run, at most 1,000)")
      ->check(CLI::Range(1, 1'000));
  command->add_flag("--print", a->print, "print the job that would be submitted, and submit nothing");
  command->add_flag("--wait", a->wait, "with --on slurm: wait for the job, then gather");
  command->add_option("--sbatch", a->sbatch, "a line for the job script, e.g. '--time=10'")->type_name("LINE");
  command->add_option("--image", a->image, "with --on kubernetes: container image with berth (default: berth:latest)")
      ->type_name("NAME");
  command->add_flag("--gather", a->gather, "run nothing; gather the results of the finished runs");
  command->add_option("--results", a->results, "SQLite file to gather into (default: FOLDER/results.db)")
      ->type_name("FILE");
  command->add_option("--csv", a->csv, "CSV file to gather into (default: FOLDER/results.csv)")->type_name("FILE");
  command->add_option("--element", a->task, "for job scripts: run element I of N, as I/N")->type_name("I/N");
  command->add_option("--plan-digest", a->plan_digest, "for job scripts: refuse any other plan")->type_name("DIGEST");
  command->add_flag("--quiet", a->quiet, "print no progress");
  command->footer(
      "Exit code: 0 all runs are done, 1 runs failed, 2 usage or bad input, 4 runs are missing (interrupted).");
  add_examples(*command, {"berth sweep plan.toml --dry-run",
                          "berth sweep cluster.json --vary strategy=nomad,worst-fit --repeat 2 --output results"});
  command->callback([a, &exit_code] { exit_code = sweep(*a); });
}

}  // namespace berth::cli
