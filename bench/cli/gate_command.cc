// `berth gate`: reads the options, connects a session to processes, prints and writes the results.
#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <map>
#include <memory>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/common.h"
#include "cli/html_output.h"
#include "cli/outputs.h"
#include "gate/history.h"
#include "gate/instructions.h"
#include "gate/output.h"
#include "gate/revision.h"
#include "io/output.h"
#include "report/kinds.h"
#include "run/interrupt.h"

namespace berth::cli {
namespace {

namespace fs = std::filesystem;

struct GateArguments {
  std::string base, head, base_rev, baseline, label = "smoke", effect = "5%", json, html, markdown, junit, history,
                                              profile;
  std::vector<std::string> workloads = {"quickstart"}, limits, metrics, allow;
  std::optional<std::int64_t> repetitions, workload_seed;
  std::int64_t seed = 1, repetitions_max = 40;
  double alpha = 0.01, max_time = 300, timeout = 600;
  bool instructions = false, stages = false, no_pin = false, counters_only = false, quiet = false, list_metrics = false;
  bool workloads_named = false;
  HtmlOutput page;  // of --html
  // record, show, compare, drift
  std::string output, binary, shown, compare_base, compare_head, drift_file, least_change = "2%";
};

std::string own_program() {
  std::error_code error;
  return fs::read_symlink("/proc/self/exe", error).string();
}

std::size_t cores_allowed() {
  cpu_set_t set;
  return sched_getaffinity(0, sizeof set, &set) == 0 ? static_cast<std::size_t>(CPU_COUNT(&set)) : 1;
}

gate::Outcome<void> write_output(const std::string& path, const std::string& content) {
  if (path.empty()) return {};
  if (auto done = io::write_output(path, content); !done)
    return tl::unexpected(gate::Failure{gate::kOwnFailure, done.error()});
  return {};
}

/// "quickstart", "quickstart:full", or several separated by commas.
gate::Outcome<std::vector<gate::Case>> cases_of(const GateArguments& arguments) {
  std::vector<gate::Case> out;
  for (const std::string& text : arguments.workloads) {
    const std::size_t colon = text.rfind(':');
    const gate::Case one{text.substr(0, colon), colon == std::string::npos ? arguments.label : text.substr(colon + 1),
                         arguments.workload_seed.value_or(-1)};
    if (one.workload.empty() || one.label.empty())
      return gate::fail(gate::kUsage, "berth gate", fmt::format("'{}' names no workload", text),
                        "write NAME or NAME:LABEL; `berth run --list` has the names", "--workloads");
    if (std::find(out.begin(), out.end(), one) == out.end()) out.push_back(one);
  }
  return out;
}

gate::Outcome<gate::SessionOptions> session_options(const GateArguments& arguments) {
  gate::SessionOptions out;
  const auto effect = gate::parse_share(arguments.effect);
  if (!effect || *effect <= 0)
    return gate::fail(gate::kUsage, "berth gate", fmt::format("'{}' is no share above 0", arguments.effect),
                      "write a share such as 5% or 0.05", "--effect");
  if (!(arguments.alpha > 0 && arguments.alpha < 0.5))
    return gate::fail(gate::kUsage, "berth gate", "alpha is not between 0 and 0.5", "0.01 is usual", "--alpha");
  if (!(arguments.max_time > 0))
    return gate::fail(gate::kUsage, "berth gate", "there is no time to measure in", "give seconds above 0",
                      "--max-time");
  out.rules.effect = *effect, out.rules.alpha = arguments.alpha;
  out.rules.counters_only = arguments.counters_only;
  out.rules.stages = arguments.stages;
  out.rules.instructions = arguments.instructions;
  out.rules.seed = out.seed = static_cast<std::uint64_t>(arguments.seed);
  for (const std::string& limit : arguments.limits)
    if (auto fine = gate::parse_limit(limit, out.rules.limits); !fine) return tl::unexpected(fine.error());
  for (const std::string& metric : arguments.metrics) {
    if (auto fine = gate::check_metric(metric, "--metrics"); !fine) return tl::unexpected(fine.error());
    out.rules.only.push_back(metric);
  }
  out.repetitions = static_cast<std::size_t>(arguments.repetitions.value_or(0));
  out.repetitions_max = std::max(static_cast<std::size_t>(arguments.repetitions_max), out.repetitions);
  out.seconds_max = arguments.max_time;
  return out;
}

/// The processes of a session. Instructions are counted once per case and side, before the first repetition.
class Processes {
 public:
  Processes(const GateArguments& arguments, std::optional<gate::Command> base, gate::Command head)
      : arguments_(arguments), base_(std::move(base)), head_(std::move(head)) {}

  gate::World world() {
    gate::World out;
    out.measure = [this](const gate::Case& what, gate::Side side) { return measure(what, side); };
    out.elapsed_seconds = [start = std::chrono::steady_clock::now()] {
      return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    };
    if (!arguments_.quiet) out.say = [](const std::string& line) { fmt::print(stderr, "{}\n", line); };
    return out;
  }

 private:
  gate::Outcome<json::Value> measure(const gate::Case& what, gate::Side side) {
    const gate::Command& command = side == gate::Side::base && base_ ? *base_ : head_;
    const gate::MeasureOptions options{.timeout_seconds = arguments_.timeout, .pin = !arguments_.no_pin};
    const std::size_t workers = workers_[what.name()];
    auto report = gate::measure_once(command, what, options, workers <= cores_allowed() ? workers : 0);
    if (!report) return report;
    workers_[what.name()] = static_cast<std::size_t>((*report)["settings"]["workers"].as_int(0));
    if (!arguments_.instructions) return report;
    const auto key = std::pair(what.name(), side);
    if (!instructions_.contains(key)) {
      auto count = gate::count_instructions(command, what, options);
      if (!count) return tl::unexpected(count.error());
      instructions_[key] = *count;
    }
    const gate::InstructionCount& counted = instructions_[key];
    report->set(gate::kInstructions, counted.count);
    const json::Value& build = (*report)["build"];
    std::string flags;  // without warning flags, which do not change the code
    for (const std::string_view flag : base::split(build["flags"].as_string(), ' '))
      if (!flag.starts_with("-W")) flags += fmt::format(" {}", flag);
    report->set(gate::kInstructionsOf, fmt::format("{}, {},{}", counted.method, build["compiler"].as_string(), flags));
    return report;
  }

  const GateArguments& arguments_;
  std::optional<gate::Command> base_;
  gate::Command head_;
  std::map<std::string, std::size_t> workers_;  // by case, from its first report
  std::map<std::pair<std::string, gate::Side>, gate::InstructionCount> instructions_;
};

/// The command for records and output. This program's path is replaced, because it differs between machines.
std::string shown_command(const std::string& given, const gate::Command& command) {
  return given.empty() ? "this berth" : command.text();
}

gate::Outcome<int> print_verdict(const GateArguments& arguments, gate::Described what, const gate::Command* head) {
  if (!arguments.profile.empty() && head)
    for (const gate::CasePair& pair : what.session->cases)
      if (gate::got_slower(what.session->verdict, pair.what.name()))
        what.profiles.push_back(
            gate::profile_once(*head, pair.what, {.timeout_seconds = arguments.timeout}, arguments.profile));
  print("{}", gate::to_terminal(what));
  std::vector<std::pair<gate::Case, gate::Samples>> heads;
  for (const gate::CasePair& pair : what.session->cases) heads.emplace_back(pair.what, pair.head);
  if (auto done = write_output(arguments.json, json::to_text(gate::to_json(what), 2) + "\n"); !done)
    return tl::unexpected(done.error());
  if (auto done = write_output(arguments.markdown, gate::to_markdown(what)); !done) return tl::unexpected(done.error());
  if (auto done = write_output(arguments.junit, gate::to_junit(what)); !done) return tl::unexpected(done.error());
  if (!arguments.history.empty())
    if (auto done = gate::append_history(arguments.history, heads); !done) return tl::unexpected(done.error());
  if (arguments.page.write(gate::to_json(what), arguments.json) != 0) return gate::kOwnFailure;
  return what.session->verdict.exit_code();
}

gate::Outcome<void> check_outputs(GateArguments& arguments) {
  std::error_code error;
  if (!arguments.profile.empty() && !fs::is_directory(arguments.profile, error))
    return gate::fail(gate::kUsage, arguments.profile, "is no folder", "create it or name another", "--profile");
  Outputs outputs;
  for (const std::string& path :
       {arguments.baseline, arguments.shown, arguments.compare_base, arguments.compare_head, arguments.drift_file})
    outputs.input(path);
  for (const auto& [option, path] : {std::pair("--json", arguments.json), std::pair("--html", arguments.html),
                                     std::pair("--markdown", arguments.markdown), std::pair("--junit", arguments.junit),
                                     std::pair("--history", arguments.history), std::pair("-o", arguments.output)})
    outputs.output(option, path);
  if (auto fine = outputs.check(); !fine) return tl::unexpected(gate::Failure{gate::kUsage, fine.error()});
  if (!arguments.history.empty())
    if (auto fine = gate::check_history(arguments.history); !fine) return fine;
  auto page = HtmlOutput::prepare(arguments.html);
  if (!page) return tl::unexpected(gate::Failure{gate::kUsage, page.error()});
  arguments.page = std::move(*page);
  return {};
}

/// Fields of fingerprints that may differ: those given by the user, those that do not affect counters, and the method
/// of counting instructions if these are not judged.
std::vector<std::string> allowed(const GateArguments& arguments) {
  std::vector<std::string> out = arguments.allow;
  if (arguments.counters_only) out.insert(out.end(), gate::machine_fields().begin(), gate::machine_fields().end());
  if (!arguments.instructions) out.emplace_back(gate::kInstructionsOf);
  return out;
}

/// Measures both sides now, in turns.
gate::Outcome<int> gate_sides(const GateArguments& arguments) {
  const auto options = session_options(arguments);
  if (!options) return tl::unexpected(options.error());
  const auto cases = cases_of(arguments);
  if (!cases) return tl::unexpected(cases.error());
  const auto head = gate::Command::parse(arguments.head.empty() ? own_program() : arguments.head, arguments.stages);
  if (!head) return tl::unexpected(head.error());
  std::string base_text = arguments.base;
  if (!arguments.base_rev.empty()) {
    const auto built = gate::build_revision(arguments.base_rev, [&](const std::string& line) {
      if (!arguments.quiet) fmt::print(stderr, "{}\n", line);
    });
    if (!built) return tl::unexpected(built.error());
    base_text = *built;
  }
  const auto base = gate::Command::parse(base_text, arguments.stages);
  if (!base) return tl::unexpected(base.error());
  Processes processes(arguments, *base, *head);
  const auto session = gate::run_session(*cases, *options, processes.world());
  if (!session) return tl::unexpected(session.error());
  return print_verdict(arguments,
                       {base->text(), shown_command(arguments.head, *head), &*session, options->rules, options->seed},
                       &*head);
}

/// Measures the head now and compares it with the baseline. Measures suspects again.
gate::Outcome<int> gate_baseline(const GateArguments& arguments) {
  const auto options = session_options(arguments);
  if (!options) return tl::unexpected(options.error());
  const auto base = gate::read_baseline(arguments.baseline);
  if (!base) return tl::unexpected(base.error());
  const auto head = gate::Command::parse(arguments.head.empty() ? own_program() : arguments.head, arguments.stages);
  if (!head) return tl::unexpected(head.error());
  std::vector<gate::Case> cases;
  std::size_t most = 0;
  if (arguments.workloads_named) {
    auto named = cases_of(arguments);
    if (!named) return tl::unexpected(named.error());
    cases = std::move(*named);
  }
  for (const auto& [what, samples] : base->cases) {
    if (!arguments.workloads_named) cases.push_back(what);
    most = std::max(most, samples.repetitions());
  }
  const std::size_t repetitions = options->repetitions > 0 ? options->repetitions : most;
  Processes processes(arguments, std::nullopt, *head);
  const gate::World world = processes.world();
  const gate::Names names{arguments.baseline, shown_command(arguments.head, *head)};
  gate::Session session;
  std::optional<gate::Verdict> first;
  gate::Baseline measured;
  for (int round = 0; round < 2; ++round) {
    auto samples = gate::record_side(cases, gate::Side::head, repetitions, *options, world);
    if (!samples) return tl::unexpected(samples.error());
    measured.cases = std::move(*samples);
    auto pairs = gate::pairs_of(*base, measured, gate::Pairing::head, allowed(arguments), names);
    if (!pairs) return tl::unexpected(pairs.error());
    session.cases = std::move(*pairs);
    if (auto fine = gate::check_sides(session.cases, options->rules, names.base, names.head); !fine)
      return tl::unexpected(fine.error());
    session.verdict = gate::judge(session.cases, options->rules);
    ++session.batches;
    if (first) session.verdict = gate::confirmed(std::move(*first), session.verdict);
    const bool suspect = std::any_of(session.verdict.findings.begin(), session.verdict.findings.end(),
                                     [](const auto& f) { return f.result == gate::Judgement::regression && !f.exact; });
    if (!suspect || first) break;
    first = session.verdict;
    if (world.say) world.say("suspects again");
  }
  session.seconds = world.elapsed_seconds();
  return print_verdict(arguments, {names.base, names.head, &session, options->rules, options->seed}, &*head);
}

gate::Outcome<int> gate_record(const GateArguments& arguments) {
  const auto options = session_options(arguments);
  if (!options) return tl::unexpected(options.error());
  const auto cases = cases_of(arguments);
  if (!cases) return tl::unexpected(cases.error());
  const auto command =
      gate::Command::parse(arguments.binary.empty() ? own_program() : arguments.binary, arguments.stages);
  if (!command) return tl::unexpected(command.error());
  Processes processes(arguments, std::nullopt, *command);
  const std::size_t repetitions = arguments.counters_only ? 2 : 12;  // enough to estimate the noise
  auto samples =
      gate::record_side(*cases, gate::Side::head, options->repetitions > 0 ? options->repetitions : repetitions,
                        *options, processes.world());
  if (!samples) return tl::unexpected(samples.error());
  if (arguments.counters_only)
    for (auto& [what, one] : *samples) gate::keep_counters(one);
  const gate::Baseline baseline{gate::time_text(), shown_command(arguments.binary, *command), std::move(*samples)};
  if (auto done = write_output(arguments.output, gate::baseline_text(baseline)); !done)
    return tl::unexpected(done.error());
  if (!arguments.history.empty())
    if (auto done = gate::append_history(arguments.history, baseline.cases); !done) return tl::unexpected(done.error());
  for (const auto& [what, one] : baseline.cases)
    print("{}: {} repetitions, decisions {}\n", what.name(), one.repetitions(), one.digests.front());
  return gate::kPass;
}

gate::Outcome<int> gate_compare(const GateArguments& arguments) {
  const auto options = session_options(arguments);
  if (!options) return tl::unexpected(options.error());
  const auto base = gate::read_baseline(arguments.compare_base), head = gate::read_baseline(arguments.compare_head);
  if (!base) return tl::unexpected(base.error());
  if (!head) return tl::unexpected(head.error());
  const gate::Names names{arguments.compare_base, arguments.compare_head};
  auto pairs =
      gate::pairs_of(*base, *head, head->report ? gate::Pairing::head : gate::Pairing::both, allowed(arguments), names);
  if (!pairs) return tl::unexpected(pairs.error());
  gate::Session session;
  session.cases = std::move(*pairs);
  if (auto fine = gate::check_sides(session.cases, options->rules, names.base, names.head); !fine)
    return tl::unexpected(fine.error());
  session.verdict = gate::judge(session.cases, options->rules);
  return print_verdict(arguments, {names.base, names.head, &session, options->rules, options->seed}, nullptr);
}

gate::Outcome<int> gate_drift(const GateArguments& arguments) {
  const auto least = gate::parse_share(arguments.least_change);
  if (!least)
    return gate::fail(gate::kUsage, "berth gate", fmt::format("'{}' is no share", arguments.least_change),
                      "write a share such as 2%", "--least-change");
  const auto text = gate::drift_text(arguments.drift_file, {.least_change = *least, .alpha = arguments.alpha});
  if (!text) return tl::unexpected(text.error());
  print("{}", *text);
  if (arguments.html.empty()) return gate::kPass;
  const auto history = report::read_input(arguments.drift_file);
  if (!history) return tl::unexpected(gate::Failure{gate::kUsage, history.error()});
  return arguments.page.write(report::make_document({*history})) == 0 ? gate::kPass : gate::kOwnFailure;
}

gate::Outcome<int> list_metrics() {
  const auto row = [](std::string_view name, const char* kind, const char* better, const std::string& limit) {
    print("{:<26} {:<8} {:<7} {}\n", name, kind, better, limit);
  };
  row("metric", "kind", "better", "limit");
  row(gate::kDigest, "counter", "", "equal");
  for (const gate::Metric& metric : gate::metrics()) {
    const char* kind = metric.kind == gate::Kind::counter   ? "counter"
                       : metric.kind == gate::Kind::quality ? "quality"
                                                            : "time";
    std::string limit;
    if (metric.kind == gate::Kind::time)
      limit = metric.gate.limit == 1 ? "--effect" : fmt::format("{:g} x --effect", metric.gate.limit);
    else
      limit = metric.is_share() ? fmt::format("{:g} points", 100 * metric.gate.limit)
                                : fmt::format("{:g} %", 100 * metric.gate.limit);
    row(metric.name, kind, gate::is_lower_better(metric) ? "lower" : "higher", limit);
  }
  return gate::kPass;
}

gate::Outcome<int> gate_by_options(const GateArguments& arguments) {
  const int bases = static_cast<int>(!arguments.base.empty()) + static_cast<int>(!arguments.base_rev.empty()) +
                    static_cast<int>(!arguments.baseline.empty());
  if (bases != 1)
    return gate::fail(gate::kUsage, "berth gate", bases == 0 ? "no base was named" : "more than one base was named",
                      "name one of --base COMMAND, --base-rev REV, --baseline FILE");
  return arguments.baseline.empty() ? gate_sides(arguments) : gate_baseline(arguments);
}

/// Adds the options of measuring, judging and output.
void add_options(CLI::App* command, GateArguments& a) {
  command
      ->add_option("--base", a.base,
                   "a berth program, also with options of `berth run`, or any command with {json} where the path of "
                   "its report goes "
                   "({workload}, {label} and {seed} are replaced too)")
      ->type_name("COMMAND");
  command->add_option("--base-rev", a.base_rev, "build this commit in its own work tree and use it as the base")
      ->type_name("COMMIT");
  command->add_option("--baseline", a.baseline, "compare with what `berth gate record` wrote")->type_name("FILE");
  command->add_option("--head", a.head, "a program or command, as for --base (default: this program)")
      ->type_name("COMMAND");
  command->add_option("--workloads", a.workloads, "workloads, NAME or NAME:LABEL")
      ->type_name("WORKLOAD,...")
      ->delimiter(',')
      ->capture_default_str();
  command->add_option("--label", a.label, "label of the workloads that are named without one")
      ->type_name("LABEL")
      ->capture_default_str();
  command->add_option("--seed", a.workload_seed, "seed to use instead of the workloads' own")
      ->check(CLI::NonNegativeNumber);
  command->add_option("--effect", a.effect, "smaller changes of times do not matter")
      ->type_name("PERCENT")
      ->capture_default_str();
  command->add_option("--limit", a.limits, "limits of metrics, e.g. instructions=3%; METRIC=any: do not judge it")
      ->type_name("METRIC=CHANGE,...")
      ->delimiter(',');
  command->add_option("--metrics", a.metrics, "judge only these times")->type_name("METRIC,...")->delimiter(',');
  command->add_flag("--list-metrics", a.list_metrics, "list metrics, directions and limits");
  command->add_option("--alpha", a.alpha, "chance of a false regression among all tests")->capture_default_str();
  command->add_option("--repetitions", a.repetitions, "repetitions to start with (default: as many as the test needs)")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{100'000}));
  command->add_option("--max-repetitions", a.repetitions_max, "maximum number of repetitions per side and case")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{100'000}))
      ->capture_default_str();
  command->add_option("--max-time", a.max_time, "time limit, without the time of building")
      ->type_name("FLOAT SECONDS")
      ->capture_default_str();
  command->add_option("--timeout", a.timeout, "time limit of one repetition")
      ->type_name("FLOAT SECONDS")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command->add_flag("--stages", a.stages,
                    "measure the time of each stage as well (--stages of `berth run`), and name the one that grew");
  command->add_flag("--instructions", a.instructions,
                    "count instructions as well, with valgrind or perf, once per case and side");
  command->add_option("--shuffle-seed", a.seed, "seed of the order of runs and of the noise estimate")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  command->add_flag("--no-pin", a.no_pin, "do not pin repetitions to cores");
  command->add_option("--allow", a.allow, "fields of a fingerprint that may differ")
      ->type_name("FIELD,...")
      ->delimiter(',');
  command->add_option("--json", a.json, "write the verdict to this file")->type_name("FILE");
  command->add_option("--html", a.html, "write the verdict as one self-contained page to this file")->type_name("FILE");
  command->add_option("--markdown", a.markdown, "write the verdict for a pull request to this file")->type_name("FILE");
  command
      ->add_option(
          "--junit", a.junit,
          "write the verdict to this file, as JUnit's XML: a test per metric, failed if it regressed, skipped if "
          "inconclusive")
      ->type_name("FILE");
  command->add_option("--history", a.history, "add the medians of each case to this file of runs")->type_name("FILE");
  command->add_option("--profile", a.profile, "if a time regresses, profile the head with perf into this folder")
      ->type_name("FOLDER");
  command->add_flag("--quiet", a.quiet, "print no progress");

  command->add_flag("--counters-only", a.counters_only,
                    "judge counters and quality only, no times: takes seconds, and is the same on every machine; with "
                    "--instructions also instructions, if compiler and libraries are those of the baseline");
}

struct Subcommands {
  CLI::App *record, *show, *compare, *drift;
};

Subcommands add_subcommands(CLI::App* command, GateArguments& a) {
  Subcommands out{};
  out.record = command->add_subcommand("record", "measure one program and write a baseline")->fallthrough();
  out.record->add_option("-o,--output", a.output, "the baseline to write")->type_name("FILE")->required();
  out.record->add_option("--binary", a.binary, "a program or command, as for --base (default: this program)")
      ->type_name("COMMAND");
  constexpr const char* kMore = "Options of `berth gate` may follow.\nExit code: as of `berth gate`.";
  out.record->footer(kMore);
  add_examples(*out.record, {"berth gate record --output baseline.json --counters-only"});
  out.show = command->add_subcommand("show", "print a baseline")->fallthrough();
  out.show->add_option("file", a.shown, "a baseline")->required();
  out.compare =
      command->add_subcommand("compare", "compare two baselines, or two reports of `berth run`")->fallthrough();
  out.compare->add_option("base", a.compare_base, "a baseline or report")->required();
  out.compare->add_option("head", a.compare_head, "a baseline or report")->required();
  out.drift = command->add_subcommand("drift", "find where a metric of a history changed its level")->fallthrough();
  for (CLI::App* one : {out.show, out.compare, out.drift}) one->footer(kMore);
  out.drift->add_option("file", a.drift_file, "a history")->required();
  out.drift->add_option("--least-change", a.least_change, "leave out changes smaller than this, e.g. 3 %")
      ->type_name("PERCENT")
      ->capture_default_str();
  return out;
}

gate::Outcome<int> gate_show(const GateArguments& arguments) {
  const auto baseline = gate::read_baseline(arguments.shown);
  if (!baseline) return tl::unexpected(baseline.error());
  print("{}", gate::baseline_table(*baseline));
  return gate::kPass;
}

}  // namespace

void add_gate(CLI::App& app, int& exit_code) {
  auto a = std::make_shared<GateArguments>();
  CLI::App* command = app.add_subcommand("gate", "fail a change that makes scheduling slower, worse or different");
  add_options(command, *a);
  const Subcommands subcommands = add_subcommands(command, *a);
  command->require_subcommand(0, 1);
  command->footer(
      "A case is a workload with a label. The two sides of a comparison are base and head.\n"
      "Exit code: 0 pass, 1 the gate or a side failed, 2 usage or bad input, 3 regression, 4 inconclusive or not "
      "comparable.");
  add_examples(*command, {"berth gate --base old/berth --workloads quickstart:smoke",
                          "berth gate --base old/berth --head \"new/berth --isa SCALAR\" --counters-only",
                          "berth gate --baseline baseline.json --counters-only"});

  command->callback([a, command, subcommands, &exit_code] {
    a->workloads_named = command->count("--workloads") > 0;
    const run::InterruptGuard guard;
    const auto held = [&]() -> gate::Outcome<int> {
      if (a->list_metrics) return list_metrics();
      if (auto fine = check_outputs(*a); !fine) return tl::unexpected(fine.error());
      if (subcommands.record->parsed()) return gate_record(*a);
      if (subcommands.show->parsed()) return gate_show(*a);
      if (subcommands.compare->parsed()) return gate_compare(*a);
      if (subcommands.drift->parsed()) return gate_drift(*a);
      return gate_by_options(*a);
    }();
    exit_code = held ? *held : report_error(held.error().error, held.error().exit_code);
  });
}

}  // namespace berth::cli
