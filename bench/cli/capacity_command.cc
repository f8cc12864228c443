#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "advice/plan_text.h"
#include "base/text.h"
#include "base/time.h"
#include "cli/commands.h"
#include "cli/common.h"
#include "cli/outputs.h"
#include "cli/step_options.h"
#include "dryrun/request.h"
#include "io/files.h"
#include "io/json_parse.h"
#include "whatif/capacity.h"
#include "whatif/text.h"

namespace berth::cli {
namespace {

/// Version of the JSON format; raised when the meaning of a member changes.
constexpr int kCapacityVersion = 1;
constexpr int kNoRoom = 3;
constexpr double kDayS = 86'400;

struct CapacityArguments {
  agent::SourceOptions sources;
  std::string cluster, survive, since, json;
  std::vector<std::string> jobs;
};

/// A cluster, unchanged or after a loss, and the growth that fits into it.
struct View {
  std::string when;
  whatif::Packing packing;
  std::vector<whatif::Waiting> waiting;
  whatif::Room room;
};

/// Growth of what is used, from two states of a cluster.
struct Trend {
  double days = 0, cpu = 0, memory = 0;  ///< growth a day, in shares of the present capacity
  std::optional<double> days_left;       ///< until the present mix no longer fits; nullopt: nothing grows
};

std::string mix_text(const whatif::Growth& mix) {
  if (mix.factor == 1 && mix.placed == 0 && !mix.ended && mix.job.empty()) return "nothing runs that could grow";
  std::string out = fmt::format("{}{:.0f} % more of all that runs ({} allocations)", mix.ended ? "" : "at least ",
                                (mix.factor - 1) * 100, mix.placed);
  if (!mix.job.empty()) out += fmt::format("; then {} {}: {}", mix.job, mix.group, mix.reasons);
  return out;
}

std::string to_text(const View& view) {
  std::string out =
      fmt::format("{}: {}\n  present mix: {}\n", view.when, whatif::to_text(view.packing), mix_text(view.room.mix));
  for (const whatif::Growth& growth : view.room.jobs)
    out += fmt::format("  {} {}: {}{} allocations fit{}\n", growth.job, growth.group, growth.ended ? "" : "at least ",
                       growth.placed, growth.reasons.empty() ? "" : "; then " + growth.reasons);
  for (const whatif::Waiting& one : view.waiting)
    out += fmt::format("  without a place: {} {}, {} missing: {}\n", one.job, one.group, one.missing, one.reasons);
  return out;
}

json::Value to_json(const whatif::Growth& growth) {
  json::Value out = json::Value::object();
  out.set("job", growth.job), out.set("group", growth.group), out.set("placed", growth.placed);
  out.set("ended", growth.ended), out.set("reasons", growth.reasons);
  if (growth.factor > 0) out.set("factor", growth.factor);
  return out;
}

json::Value to_json(const View& view) {
  json::Value out = json::Value::object();
  out.set("when", view.when), out.set("packing", whatif::to_json(view.packing)), out.set("mix", to_json(view.room.mix));
  json::Value& jobs = out.set("jobs", json::Value::array());
  for (const whatif::Growth& growth : view.room.jobs) {
    json::Value one = to_json(growth);
    one.set("file", growth.file);
    jobs.push(std::move(one));
  }
  json::Value& waiting = out.set("waiting", json::Value::array());
  for (const whatif::Waiting& one : view.waiting) {
    json::Value row = json::Value::object();
    row.set("job", one.job), row.set("group", one.group), row.set("missing", one.missing);
    row.set("reasons", one.reasons);
    waiting.push(std::move(row));
  }
  return out;
}

class CapacityRun {
 public:
  CapacityRun(const CapacityArguments& arguments, const StepOptions& options)
      : arguments_(arguments), options_(options) {}

  int run() {
    auto settings = options_.settings();
    if (!settings) return report_error(settings.error(), 2);
    const auto steps = options_.steps();
    if (!steps) return report_error(steps.error(), 2);
    if (!arguments_.survive.empty() && !whatif::is_key(arguments_.survive))
      return refuse("--survive", "'" + base::shown(arguments_.survive) + "' is no key of nodes",
                    "write datacenter, class, pool, meta.NAME or attr.NAME");
    Outputs outputs;
    for (const std::string& file : arguments_.jobs) outputs.input(file);
    for (const std::string& file : options_.inputs()) outputs.input(file);
    outputs.input(arguments_.cluster), outputs.input(arguments_.since);
    outputs.output("--json", arguments_.json);
    if (auto fine = outputs.check(); !fine) return report_error(fine.error(), 2);
    auto start = serve::prepare({.source = arguments_.cluster,
                                 .source_options = arguments_.sources,
                                 .seed = options_.seed(),
                                 .now_ns = clock_ns()});
    if (!start) return report_error(start.error(), 2);
    print_warnings(start->warnings);
    print_notes(start->notes);
    const whatif::Used used = whatif::used_by(start->state);
    const std::int64_t now = dryrun::newest_time(start->state).ns;
    cluster_ = std::make_unique<whatif::WhatIf>(std::move(*start), std::move(*settings));
    if (auto taken = take(*steps); !taken) return report_error(taken.error(), 2);

    if (auto done = look("Now"); !done) return report_error(done.error(), 2);
    Result<std::optional<Trend>> trend = find_trend(used, now);
    if (!trend) return report_error(trend.error(), 2);
    if (!arguments_.survive.empty()) {
      const std::string largest = cluster_->largest(arguments_.survive);
      if (largest.empty())
        return refuse("--survive", "no node has '" + base::shown(arguments_.survive) + "'",
                      "name a key that nodes have, for example datacenter");
      auto loss = whatif::make_step(whatif::Change::remove, {largest});
      if (!loss) return refuse("--survive", loss.error(), "");
      if (auto taken = take({std::move(*loss)}); !taken) return report_error(taken.error(), 2);
      if (auto done = look("Without " + largest); !done) return report_error(done.error(), 2);
    }
    return print_trend(*trend);
  }

 private:
  static int refuse(const char* option, const std::string& problem, const std::string& remedy) {
    return report_error({"berth capacity", option, problem, remedy}, 2);
  }

  Result<void> take(const std::vector<whatif::Step>& steps) {
    for (const whatif::Step& step : steps)
      if (const auto report = cluster_->take(step); !report)
        return tl::unexpected(
            InputError{"berth capacity", "", fmt::format("'{}': {}", base::shown(step.words), report.error()), ""});
    return {};
  }

  Result<void> look(std::string when) {
    View view{std::move(when), cluster_->packing(), cluster_->waiting(), {}};
    auto room = whatif::find_room(*cluster_, arguments_.jobs);
    if (!room) return tl::unexpected(InputError{"berth capacity", "", room.error(), ""});
    view.room = std::move(*room);
    views_.push_back(std::move(view));
    return {};
  }

  /// Growth since an older state of the cluster. `used`: by the state that was read, whose time is `now`.
  Result<std::optional<Trend>> find_trend(const whatif::Used& used, std::int64_t now) {
    if (arguments_.since.empty()) return std::optional<Trend>();
    const auto older = serve::prepare({.source = arguments_.since,
                                       .source_options = arguments_.sources,
                                       .seed = options_.seed(),
                                       .now_ns = clock_ns()});
    if (!older) return tl::unexpected(older.error());
    const std::int64_t then = dryrun::newest_time(older->state).ns;
    if (then == 0 || now <= then)
      return tl::unexpected(InputError{arguments_.since, "", "is not older than the cluster",
                                       "name an earlier state of it after --since"});
    const whatif::Used before = whatif::used_by(older->state);
    const View& view = views_.front();
    Trend out;
    out.days = static_cast<double>(now - then) / 1e9 / kDayS;
    const auto per_day = [&](double is, double was, std::int64_t all) {
      return all > 0 ? (is - was) / static_cast<double>(all) / out.days : 0;
    };
    out.cpu = per_day(used.cpu_mhz, before.cpu_mhz, view.packing.cpu_mhz);
    out.memory = per_day(used.memory_mb, before.memory_mb, view.packing.memory_mb);
    for (const auto& [held, growth] :
         {std::pair(view.packing.cpu, out.cpu), std::pair(view.packing.memory, out.memory)})
      if (growth > 0) {
        const double days = held * (view.room.mix.factor - 1) / growth;
        out.days_left = std::min(out.days_left.value_or(days), days);
      }
    return std::optional(out);
  }

  int print_trend(const std::optional<Trend>& trend) {
    json::Value document = json::Value::object();
    document.set("format", "berth-capacity"), document.set("version", kCapacityVersion);
    document.set("cluster", arguments_.cluster);
    json::Value& rooms = document.set("rooms", json::Value::array());
    bool no_room = false;
    for (const View& view : views_) {
      print("{}", to_text(view));
      rooms.push(to_json(view));
      for (const whatif::Growth& growth : view.room.jobs) no_room = no_room || growth.placed == 0;
    }
    // Allocations without a place because of a loss, not counting those that waited before it.
    no_room = no_room || views_.back().waiting.size() > views_.front().waiting.size();
    if (trend) {
      print("Since {}: {:.2g} days, cpu {:+.2f} and memory {:+.2f} points a day; {}\n", arguments_.since, trend->days,
            trend->cpu * 100, trend->memory * 100,
            trend->days_left ? fmt::format("the present mix fits for {:.2g} more days", *trend->days_left)
                             : "nothing grows");
      json::Value& out = document.set("trend", json::Value::object());
      out.set("since", arguments_.since), out.set("days", trend->days), out.set("cpu_per_day", trend->cpu);
      out.set("memory_per_day", trend->memory);
      if (trend->days_left) out.set("days_left", *trend->days_left);
    }
    if (Outputs::write(arguments_.json, json::to_text(document, 2) + "\n") != 0) return 1;
    return no_room ? kNoRoom : 0;
  }

  const CapacityArguments& arguments_;
  const StepOptions& options_;
  std::unique_ptr<whatif::WhatIf> cluster_;
  std::vector<View> views_;
};

}  // namespace

void add_capacity(CLI::App& app, int& exit_code) {
  auto arguments = std::make_shared<CapacityArguments>();
  CLI::App* command = app.add_subcommand("capacity", "show how many more allocations fit, now and after losing a rack");
  command
      ->add_option("cluster", arguments->cluster,
                   "a cluster as `berth import` reads it, or a workload; it is read, never written")
      ->required();
  add_source_options(*command, arguments->sources);
  command->add_option("jobs", arguments->jobs, "job files: how many allocations of each of their groups fit");
  command
      ->add_option("--survive", arguments->survive,
                   "also show what fits after all nodes with the largest value of this key are gone, e.g. meta.rack")
      ->type_name("KEY");
  command
      ->add_option(
          "--since", arguments->since,
          "an older state of the cluster; prints growth per day since then, and the days until nothing more fits")
      ->type_name("CLUSTER");
  const auto options = std::make_shared<StepOptions>(*command, "berth capacity");
  command->add_option("--json", arguments->json, "write the answers to this file")->type_name("FILE");
  command->footer("Steps are made first, as by `berth whatif`: --add 10 --like n1 shows the gain of ten more nodes.\n" +
                  std::string(StepOptions::kFooter) +
                  "Exit code: 0 fine, 1 berth failed, 2 usage or bad input, 3 a group of a job file does not fit at "
                  "all, or a loss leaves an allocation without a node.");
  add_examples(*command, {"berth capacity cluster.json web.hcl --survive datacenter",
                          "berth capacity cluster.json --add 2 --like client-1"});
  command->callback([arguments, options, &exit_code] { exit_code = CapacityRun(*arguments, *options).run(); });
}

}  // namespace berth::cli
