#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <utility>

#include "advice/advice_text.h"
#include "advice/plan_text.h"
#include "base/printable.h"
#include "base/text.h"
#include "base/text_table.h"
#include "base/time.h"
#include "cli/commands.h"
#include "cli/common.h"
#include "cli/html_output.h"
#include "cli/job_file_options.h"
#include "cli/outputs.h"
#include "cli/terminal.h"
#include "dryrun/ci_report.h"
#include "dryrun/job_document.h"
#include "dryrun/request.h"
#include "dryrun/where.h"
#include "io/files.h"
#include "io/json_fault.h"
#include "io/json_parse.h"
#include "model/job.h"
#include "run/progress.h"
#include "server/dry_run.h"

namespace berth::cli {
namespace {

/// Version of the member "Berth"; raised when the meaning of a member changes. The rest is Nomad's answer.
constexpr int kPlanVersion = 3;
constexpr std::uint64_t kOrdersMost = 100'000;
constexpr std::size_t kAdviceMost = 100'000;
constexpr int kNomadError = 255;                        // --nomad-exit-codes
constexpr int kDoesNotFit = 3, kOnlyWithEvictions = 5;  // unless --require is weaker

/// The worse of two exit codes: errors, then "does not fit", then "fits only with evictions".
int worse(int a, int b) {
  const auto rank = [](int code) {
    static constexpr std::array<int, 6> kOrder = {0, kOnlyWithEvictions, kDoesNotFit, 1, 2, kNomadError};
    return std::find(kOrder.begin(), kOrder.end(), code) - kOrder.begin();
  };
  return rank(a) < rank(b) ? b : a;
}

struct PlanArguments {
  std::string cluster, name_space, at, now, explain, html, json, junit, annotations, require = "no-evictions",
                                                                                     algorithm, strategy;
  std::vector<std::string> jobs, options, preemption;
  dryrun::JobFileOptions job_files;
  std::uint64_t order = 0, orders = 0;
  std::optional<std::size_t> advice;
  bool verbose = false, no_diff = false, nomad_exit_codes = false, together = false;
  agent::SourceOptions sources;
};

/// Minimum and maximum of a number over several orders.
struct Range {
  std::uint64_t least = ~std::uint64_t{0}, most = 0;
  void add(std::uint64_t n) { least = std::min(least, n), most = std::max(most, n); }
  [[nodiscard]] std::string text() const {
    return least == most ? std::to_string(least) : fmt::format("{} to {}", least, most);
  }
  [[nodiscard]] json::Value json() const {
    json::Value out = json::Value::object();
    out.set("least", least), out.set("most", most);
    return out;
  }
};

struct GroupRanges {
  Range place, destructive, in_place, stop, ignore, failed, preemptions;
};

/// Results that vary with the visiting order.
struct Orders {
  std::uint64_t count = 0, refused = 0;
  std::map<std::string, GroupRanges> groups;
  std::string error;
};

Orders try_orders(server::DryRun& dry_run, std::uint64_t count) {
  Orders out;
  out.count = count;
  run::Progress progress("visiting orders", count, false);
  for (std::uint64_t order = 0; order < count; ++order) {
    progress.update(order, true);
    const server::DryRunAnswer answer = dry_run.answer(order);
    if (!answer.error.empty()) {
      out.error = answer.error;
      return out;
    }
    out.refused += !answer.refusals.empty();
    for (const auto& [name, updates] : answer.annotations.desired_tg_updates) {
      GroupRanges& g = out.groups[name];
      g.place.add(updates.place), g.destructive.add(updates.destructive_update);
      g.in_place.add(updates.in_place_update), g.stop.add(updates.stop), g.ignore.add(updates.ignore);
      g.preemptions.add(updates.preemptions);
      const auto failed = answer.failed.find(name);
      g.failed.add(failed == answer.failed.end() ? 0
                                                 : static_cast<std::uint64_t>(failed->second.coalesced_failures) + 1);
    }
  }
  return out;
}

std::string orders_text(const Orders& orders) {
  std::vector<std::vector<std::string>> rows = {
      {"Task Group", "Place", "Destructive", "In-place", "Stop", "Ignore", "Failed", "Preemptions"}};
  for (const auto& [name, g] : orders.groups)
    rows.push_back({name, g.place.text(), g.destructive.text(), g.in_place.text(), g.stop.text(), g.ignore.text(),
                    g.failed.text(), g.preemptions.text()});
  std::string out = fmt::format("Over {} visiting orders:\n", orders.count) + base::table_text(rows);
  if (orders.refused > 0)
    out += fmt::format("in {} of them the plan applier would refuse a part of the plan\n", orders.refused);
  return out;
}

json::Value orders_json(const Orders& orders) {
  json::Value out = json::Value::object();
  out.set("count", orders.count), out.set("refused_plans", orders.refused);
  json::Value& groups = out.set("groups", json::Value::object());
  for (const auto& [name, g] : orders.groups) {
    json::Value entry = json::Value::object();
    entry.set("place", g.place.json()), entry.set("destructive_update", g.destructive.json());
    entry.set("in_place_update", g.in_place.json()), entry.set("stop", g.stop.json());
    entry.set("ignore", g.ignore.json()), entry.set("failed", g.failed.json());
    entry.set("preemptions", g.preemptions.json());
    groups.members().push_back({name, std::move(entry)});
  }
  return out;
}

/// If the plan applier would refuse the dry run's plan: the outcome, from a rehearsal of the real evaluation.
std::string refusal_text(const server::DryRunAnswer& answer, const server::Rehearsal& rehearsal) {
  std::string out = answer.failed.empty()
                        ? "Warning: Nomad reports success, but its plan applier would refuse this plan:\n"
                        : "Warning: the plan applier would refuse a part of this plan:\n";
  for (const server::Refusal& refusal : answer.refusals)
    out += fmt::format("  node \"{}\": {}\n", refusal.node_name.empty() ? refusal.node_id : refusal.node_name,
                       refusal.reason);
  switch (rehearsal.end) {
    case server::Rehearsal::End::complete:
      // The index of its registration gives another visiting order than the dry run's (R-RANK-302).
      out += rehearsal.refused == 0
                 ? std::string(
                       "Simulated to the end, the evaluation draws another visiting order and completes; nothing is "
                       "refused")
                 : fmt::format(
                       "Simulated to the end, the evaluation completes after {} plan{}, {} of them refused in part",
                       rehearsal.plans, rehearsal.plans == 1 ? "" : "s", rehearsal.refused);
      out += fmt::format("; {} placed{}.\n", rehearsal.placed,
                         rehearsal.failed.empty() ? "" : ", the rest waits for resources");
      break;
    case server::Rehearsal::End::failed:
      out += fmt::format("Simulated to the end, the evaluation fails after {} plan{}: {}; {} placed.\n",
                         rehearsal.plans, rehearsal.plans == 1 ? "" : "s", rehearsal.description, rehearsal.placed);
      if (rehearsal.blocked > 0) out += "A blocked evaluation would try the same again whenever resources are freed.\n";
      break;
    case server::Rehearsal::End::endless:
      out += fmt::format(
          "Simulated to the end, the evaluation does not end: it was stopped after {} plans, each refused in part and "
          "computed "
          "again.\n",
          rehearsal.plans);
      break;
  }
  return out;
}

json::Value refusal_json(const server::DryRunAnswer& answer, const server::Rehearsal& rehearsal) {
  json::Value out = json::Value::object();
  json::Value& nodes = out.set("nodes", json::Value::array());
  for (const server::Refusal& refusal : answer.refusals) {
    json::Value node = json::Value::object();
    node.set("id", refusal.node_id), node.set("name", refusal.node_name), node.set("reason", refusal.reason);
    nodes.push(std::move(node));
  }
  static constexpr const char* kEnds[] = {"complete", "failed", "endless"};
  out.set("end", kEnds[static_cast<std::size_t>(rehearsal.end)]);
  out.set("description", rehearsal.description);
  out.set("plans", static_cast<std::uint64_t>(rehearsal.plans));
  out.set("refused_plans", static_cast<std::uint64_t>(rehearsal.refused));
  out.set("placed", static_cast<std::uint64_t>(rehearsal.placed));
  return out;
}

class PlanRun {
 public:
  explicit PlanRun(const PlanArguments& arguments) : arguments_(arguments) {}

  int run() {
    if (arguments_.nomad_exit_codes) set_failure_code(kNomadError);
    for (const std::string& assignment : arguments_.options)
      if (auto done = model::set_option(options_, assignment); !done)
        return bad_input("berth plan: --option: " + done.error());
    if (!options_.remote_task_drivers.empty())
      return bad_input(
          "berth plan: --option: remote_task_drivers is for clients, and a dry run has none; leave it out: "
          "remote_tasks=true alone decides what happens to task handles");
    std::optional<std::int64_t> at;
    if (!arguments_.at.empty() && !(at = duration_ns(arguments_.at)))
      return bad_input("berth plan: --at: '" + arguments_.at + "' is not a time above 0; write e.g. 500ms or 20s");
    auto cluster = dryrun::read_cluster(arguments_.cluster, options_, at, arguments_.sources);
    if (!cluster) return bad_input(about_cluster(cluster.error()).line());
    // A single API answer counts as a cluster, so a job file does too, but has no nodes.
    if (cluster->state.nodes.empty() && !cluster->generated)
      if (const InputError swapped = about_cluster({}); !swapped.problem.empty()) return bad_input(swapped.line());
    if (auto done = dryrun::change_scheduler(cluster->state, arguments_.algorithm, arguments_.preemption); !done)
      return bad_input("berth plan: --algorithm, --preemption: " + done.error());
    if (!arguments_.strategy.empty())
      if (auto known = server::check_scoring_strategy(arguments_.strategy); !known)
        return bad_input(known.error().line());
    print_warnings(cluster->warnings);
    print_notes(cluster->notes);
    const dryrun::Newest newest = dryrun::newest_time(cluster->state);
    const std::int64_t clock = clock_ns();
    std::int64_t now = newest.ns;
    if (!arguments_.now.empty()) {
      const auto given = base::parse_rfc3339(arguments_.now);
      if (!given)
        return bad_input(fmt::format("berth plan: --now: '{}' {}; write 2026-11-22T01:00:00Z",
                                     base::shown(arguments_.now), base::rfc3339_problem(arguments_.now)));
      now = given->ns;
    } else if (now == 0) {
      now = clock;
    } else if (now > clock && !cluster->generated) {
      about_the_clock_ = fmt::format(
          "warning: {} {}: its {} {} is in the future; the plan is made at that time, --now TIME sets another\n",
          newest.kind, base::shown(newest.id), newest.field, base::to_rfc3339(base::Time{now}));
    }
    Outputs outputs;
    for (const std::string& job : arguments_.jobs) outputs.input(job);
    outputs.input(arguments_.cluster);
    outputs.output("--html", arguments_.html);
    outputs.output("--json", arguments_.json);
    outputs.output("--junit", arguments_.junit);
    if (auto fine = outputs.check(); !fine) return bad_input(fine.error().line());
    const auto html = HtmlOutput::prepare(arguments_.html);
    if (!html) return bad_input(html.error().line());
    int code = 0;
    for (const std::string& job : arguments_.jobs) {
      if (&job != &arguments_.jobs.front()) print("\n");
      const std::size_t had = findings_.size();
      const int of_job = plan(cluster->state, job, now);
      if (findings_.size() == had)
        findings_.push_back(dryrun::refused_job(job, "cannot be planned; see standard error"));
      code = worse(code, of_job);
      if (arguments_.together && code == bad_code()) break;  // later jobs would be planned on another state
    }
    const int failed = arguments_.nomad_exit_codes ? kNomadError : 1;
    const bool no_evictions = arguments_.require == "no-evictions";
    if (arguments_.annotations == "github")
      for (const dryrun::JobFindings& job : findings_) print("{}", dryrun::to_github(job, no_evictions));
    if (Outputs::write(arguments_.junit, dryrun::to_junit(findings_, no_evictions)) != 0) return failed;
    if (!answers_.empty()) {
      std::string documents;  // one per job, like the plan endpoint's answers
      for (const json::Value& answer : answers_) documents += json::to_text(answer, 2) + "\n";
      if (Outputs::write(arguments_.json, documents) != 0) return failed;
      if (!arguments_.html.empty() && html->write(std::move(answers_)) != 0) return failed;
    }
    return code;
  }

 private:
  [[nodiscard]] int bad_code() const { return arguments_.nomad_exit_codes ? kNomadError : 2; }
  [[nodiscard]] int bad_input(const std::string& line) const {
    fmt::print(stderr, "{}\n", base::printable(line, false));
    return bad_code();
  }

  /// Explains the swap if the job file comes before the cluster.
  [[nodiscard]] InputError about_cluster(const InputError& error) const {
    if (agent::is_address(arguments_.cluster)) return error;
    const auto text = io::read_file(arguments_.cluster);
    if (!text) return error;
    const auto document = io::parse_json(*text, arguments_.cluster);
    if (!io::looks_like_hcl(*text) && !(document && dryrun::is_job(*document))) return error;
    return {arguments_.cluster, "", "is a job, not a cluster",
            fmt::format("the cluster comes first: berth plan CLUSTER {}", base::shown(arguments_.cluster))};
  }

  /// Plans a job on `state`. With --together, `state` then becomes the resulting one.
  int plan(model::ClusterState& state, const std::string& path, std::int64_t now) {
    auto text = io::read_file(path);
    if (!text) return bad_input(text.error().line());
    auto read = dryrun::job_document(*text, path, arguments_.job_files, has_colours(stderr));
    if (!read) {
      print_job_file_errors(read.error(), *text);
      return bad_code();
    }
    const json::Value* const document = &read->value;
    if (dryrun::is_cluster(*document))
      return bad_input(InputError{path, "", "is a cluster, not a job", "the cluster comes first, jobs follow"}.line());
    print_warnings(dryrun::key_warnings(*document, path, options_));
    auto registration = advice::read_job(state, *document, path, arguments_.name_space, options_);
    if (!registration)
      return bad_input((read->is_hcl ? registration.error() : io::with_line(registration.error(), *text)).line());
    if (!registration->job) {  // Nomad's own text has several lines
      fmt::print(stderr, "{}: {}\n", base::printable(path, false),
                 base::printable(base::trim_space(registration->error), true));
      return bad_code();
    }
    static constexpr std::array<std::string_view, 4> kTypes = {"service", "batch", "system", "sysbatch"};
    if (std::find(kTypes.begin(), kTypes.end(), registration->job->type) == kTypes.end())
      return bad_input(path + ":/Job/Type: '" + base::shown(registration->job->type) + "' has no scheduler");

    fmt::print(stderr, "{}", std::exchange(about_the_clock_, ""));
    server::DryRun dry_run(state, *registration, now);
    std::optional<server::ScoringStrategy> strategy;
    if (!arguments_.strategy.empty()) {
      auto made = server::scoring_strategy(arguments_.strategy, dry_run.tables());
      if (!made) return bad_input(made.error().line());
      dry_run.score_by(strategy.emplace(std::move(*made)));
    }
    const advice::Question question{state,
                                    *document,
                                    path,
                                    arguments_.name_space,
                                    options_,
                                    now,
                                    arguments_.order,
                                    strategy ? &*strategy : nullptr};
    const server::DryRunAnswer answer = dry_run.answer(arguments_.order);
    if (!answer.error.empty()) {
      fmt::print(stderr, "{}: {}\n", path, answer.error);
      return arguments_.nomad_exit_codes ? kNomadError : 1;
    }
    std::string explanation;
    if (!arguments_.explain.empty()) {
      auto explained = arguments_.explain == "all" ? advice::explain_all(question, *registration)
                                                   : advice::explain(question, *registration, arguments_.explain);
      if (!explained) return bad_input("berth plan: --explain: " + explained.error());
      explanation = std::move(*explained);
    }
    Told told{.path = path, .now = now, .answer = answer, .explanation = std::move(explanation)};
    told.where = dryrun::where_of(state, answer.plan);
    model::ClusterState after;
    const bool rehearses = !answer.refusals.empty() || arguments_.together;
    if (rehearses) told.rehearsal = dry_run.rehearse(arguments_.order, arguments_.together ? &after : nullptr);
    told.advice = advice::advise(question, *registration, dry_run, answer, arguments_.advice,
                                 rehearses ? &told.rehearsal : nullptr);
    const auto failed_advised = std::count_if(told.advice.begin(), told.advice.end(),
                                              [](const advice::GroupAdvice& one) { return one.failed > 0; });
    told.not_advised = answer.failed.size() - static_cast<std::size_t>(failed_advised);
    if (arguments_.orders > 0) told.orders = try_orders(dry_run, arguments_.orders);
    told.job = dry_run.job();
    told.warnings = advice::wrapped_sums(state, answer.plan);
    print_warnings(told.warnings);
    if (!arguments_.json.empty() || !arguments_.html.empty()) answers_.push_back(as_json(told));
    print_told(told);
    if (arguments_.together) state = std::move(after);
    findings_.push_back(
        dryrun::findings_of(path, *told.job, answer, told.where, told.advice, is_stuck(told, rehearses)));
    if (arguments_.nomad_exit_codes) return answer.changes_allocs() ? 1 : 0;
    return required(told, rehearses);
  }

  /// Everything reported about one job.
  struct Told {
    const std::string& path;
    std::int64_t now;
    const server::DryRunAnswer& answer;
    std::string explanation;
    std::shared_ptr<const model::Job> job = {};
    dryrun::Where where = {};
    std::vector<advice::GroupAdvice> advice = {};
    std::size_t not_advised = 0;
    Orders orders = {};
    server::Rehearsal rehearsal = {};
    std::vector<std::string> warnings = {};  ///< berth's own, not Nomad's
  };

  /// True if the applier refuses a part of the plan permanently.
  [[nodiscard]] static bool is_stuck(const Told& told, bool rehearsed) {
    return rehearsed && !told.answer.refusals.empty() &&
           (told.rehearsal.end != server::Rehearsal::End::complete || !told.rehearsal.failed.empty());
  }

  /// The exit code according to --require.
  [[nodiscard]] int required(const Told& told, bool rehearsed) const {
    if (arguments_.require == "none") return 0;
    if (!told.answer.failed.empty() || is_stuck(told, rehearsed)) return kDoesNotFit;
    return arguments_.require == "no-evictions" && !told.where.evicted.empty() ? kOnlyWithEvictions : 0;
  }

  [[nodiscard]] json::Value as_json(const Told& told) const {
    json::Value out = advice::to_json(told.answer);
    json::Value more = json::Value::object();  // bench/schema/berth-plan.json
    more.set("format", "berth-plan"), more.set("version", kPlanVersion);
    more.set("job", told.job->id), more.set("together", arguments_.together);
    more.set("order", arguments_.order), more.set("now", base::to_rfc3339(base::Time{told.now}));
    dryrun::add_json(told.where, more);
    more.set("advice", advice::to_json(told.advice));
    more.set("advice_left_out", static_cast<std::uint64_t>(told.not_advised));
    if (!told.answer.refusals.empty()) more.set("applier", refusal_json(told.answer, told.rehearsal));
    json::Value& warnings = more.set("warnings", json::Value::array());
    for (const std::string& warning : told.warnings) warnings.push(warning);
    if (arguments_.orders > 0) more.set("orders", orders_json(told.orders));
    if (!told.explanation.empty()) more.set("explanation", told.explanation);
    json::Value& options = more.set("options", json::Value::object());
    options.set("compat", "nomad");
    for (const auto& [name, value] : model::changed_options(options_)) options.set(name, value);
    if (!arguments_.algorithm.empty()) more.set("algorithm", arguments_.algorithm);
    if (!arguments_.strategy.empty()) more.set("strategy", arguments_.strategy);
    if (!arguments_.preemption.empty()) {
      json::Value& preemption = more.set("preemption", json::Value::array());
      for (const std::string& one : arguments_.preemption) preemption.push(one);
    }
    out.set("Berth", std::move(more));
    return out;
  }

  void print_told(const Told& told) const {
    advice::TextOptions options;
    options.job_file = told.path;
    options.verbose = arguments_.verbose;
    options.diff = !arguments_.no_diff;
    options.now_ns = told.now;
    options.id_length = static_cast<std::size_t>(options_.plan_id_length);
    print_diff(advice::to_text(told.answer, told.job->type, options));
    const std::string where = dryrun::to_text(told.where, options.id_length, arguments_.verbose);
    if (!where.empty()) print("\n{}", where);
    if (!told.answer.refusals.empty()) print("\n{}", refusal_text(told.answer, told.rehearsal));
    if (!told.advice.empty() || told.not_advised > 0) print("\n{}", advice::to_text(told.advice, told.not_advised));
    if (arguments_.orders > 0) print("\n{}", orders_text(told.orders));
    if (!told.explanation.empty()) print("\n{}", told.explanation);
    std::string changed;
    for (const auto& [name, value] : model::changed_options(options_)) changed += " " + name + "=" + value;
    std::string settings = arguments_.algorithm.empty() ? "" : " algorithm " + arguments_.algorithm;
    for (const std::string& one : arguments_.preemption) settings += " preemption " + one;
    if (!arguments_.strategy.empty()) settings += " strategy " + arguments_.strategy;
    if (!settings.empty()) print("\nDecided with settings other than the cluster's:{}\n", settings);
    if (!changed.empty()) print("\nDecided with options other than Nomad's of today:{}\n", changed);
  }

  const PlanArguments& arguments_;
  model::Options options_;
  std::vector<json::Value> answers_;           // for --html
  std::vector<dryrun::JobFindings> findings_;  // for CI
  std::string about_the_clock_;                // a warning, shown before the first plan
};

}  // namespace

void add_plan(CLI::App& app, int& exit_code) {
  auto arguments = std::make_shared<PlanArguments>();
  CLI::App* command = app.add_subcommand("plan", "show what registering a job in a cluster would do");
  command
      ->add_option(
          "cluster", arguments->cluster,
          "a file, folder or agent's address that `berth import` can read, or a workload: its cluster before the "
          "first job, or --at a time")
      ->required();
  command
      ->add_option(
          "jobs", arguments->jobs,
          "job files in HCL, or as JSON as `nomad job run -output` writes them; each is planned by itself unless "
          "--together is given")
      ->required();
  add_job_file_options(*command, arguments->job_files);
  add_source_options(*command, arguments->sources);
  command->add_flag("--together", arguments->together, "plan the jobs in this order, each on top of those before it");
  command->add_option("--html", arguments->html, "write the plans as one self-contained page to this file")
      ->type_name("FILE");
  command->add_option("--namespace", arguments->name_space, "namespace to register in, whatever the job says")
      ->type_name("NAME");
  command
      ->add_option("--at", arguments->at,
                   "plan in the state of the workload's cluster after this time, e.g. 500ms or 20s")
      ->type_name("TIME");
  command
      ->add_option("--now", arguments->now,
                   "time of the dry run, RFC 3339 (default: the latest timestamp in the cluster)")
      ->type_name("TIME");
  command
      ->add_option("--algorithm", arguments->algorithm,
                   "plan as if the cluster's scheduler algorithm were binpack or spread; a pool's own algorithm stays")
      ->type_name("NAME");
  command
      ->add_option("--preemption", arguments->preemption,
                   "plan as if preemption for service, batch, system or sysbatch jobs were on or off")
      ->type_name("KIND=on|off");
  command
      ->add_option(
          "--strategy", arguments->strategy,
          "plan as if this ranking strategy replaced Nomad's fit score: NAME, NAME:KEY=VALUE or expr:FORMULA (see "
          "berth compare --list-strategies)")
      ->type_name("STRATEGY");
  command->add_option("--visiting-order", arguments->order, "seed of the order in which nodes are visited")
      ->capture_default_str();
  command
      ->add_option("--visiting-orders", arguments->orders,
                   "also show how the plan varies over the first N visiting orders")
      ->check(CLI::Range(std::uint64_t{0}, kOrdersMost));
  command
      ->add_option(
          "--advice", arguments->advice,
          "advice for the first N groups that do not fit: what is missing, and which change would help; 0: no advice "
          "(default: 16, fewer where a job has thousands of groups)")
      ->check(CLI::Range(std::size_t{0}, kAdviceMost));
  command
      ->add_option("--explain", arguments->explain,
                   "also show scores and reasons of this node (name or ID), or of `all` nodes")
      ->type_name("NODE");
  add_decision_options(*command, arguments->options);
  command->add_flag("--verbose", arguments->verbose, "show added and deleted parts in full, and list all placements");
  command->add_flag("--no-diff", arguments->no_diff, "do not show the job's difference");
  command
      ->add_option("--json", arguments->json,
                   "write the answer of Nomad's plan endpoint, with berth's part under Berth, to this file")
      ->type_name("FILE");
  CLI::Option* nomads = command->add_flag(
      "--nomad-exit-codes", arguments->nomad_exit_codes,
      "exit code as of `nomad job plan`: 0 no allocation is created or destroyed, 1 some are, 255 error");
  command
      ->add_option(
          "--require", arguments->require,
          "plans for which the exit code is 0: those that fit without evictions (no-evictions), those that fit "
          "(fit), all (none)")
      ->check(CLI::IsMember({"fit", "no-evictions", "none"}))
      ->capture_default_str()
      ->excludes(nomads);
  command->add_option("--junit", arguments->junit, "write what fits and what does not to this file, as JUnit's XML")
      ->type_name("FILE");
  command
      ->add_option("--annotations", arguments->annotations,
                   "also print annotations for what does not fit: github (GitHub Actions)")
      ->type_name("SYSTEM")
      ->check(CLI::IsMember({"github"}));
  command->footer(
      "Exit code: 0 the jobs fit, 1 berth failed, 2 usage, bad input or a job that Nomad refuses, 3 a job does not fit "
      "in full, 5 a job fits only with evictions.");
  add_examples(*command, {"berth plan cluster.json web.hcl", "berth plan http://127.0.0.1:4646 web.hcl --var count=5",
                          "berth plan cluster.json web.hcl --explain all --require fit"});
  command->callback([arguments, &exit_code] { exit_code = PlanRun(*arguments).run(); });
}

}  // namespace berth::cli
