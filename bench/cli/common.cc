#include "cli/common.h"

#include <fmt/format.h>

#include <chrono>

#include "base/printable.h"
#include "base/text.h"
#include "cli/outputs.h"
#include "model/options.h"

namespace berth::cli {

void add_sources(CLI::App& command, std::string& sources) {
  command
      .add_option(
          "--sources", sources,
          "for debugging: fast paths to use when searching nodes: all, none, mixed or mixed:SEED (at random), a "
          "list of names, or no-NAME,... for all but these. Decisions are the same")
      ->type_name("LIST")
      ->default_str("all");
}

Result<sched::EnabledSources> enabled_sources(const std::string& command, const std::string& sources) {
  if (sources.empty()) return sched::EnabledSources();
  auto out = sched::EnabledSources::parse(sources);
  if (!out)
    return tl::unexpected(InputError{command, "--sources", out.error(), "write for example no-columns,no-table"});
  return *out;
}

void add_shadow(CLI::App& command, std::uint64_t& every) {
  command
      .add_option("--shadow", every,
                  "check every Nth evaluation: decide it again without fast paths, on freshly loaded tables, and "
                  "report differences (slow)")
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1'000'000'000}));
}

std::unique_ptr<server::Shadow> make_shadow(const server::Config& config, std::uint64_t every) {
  if (every == 0) return nullptr;
  constexpr int kShown = 5;
  return std::make_unique<server::Shadow>(config, every, [shown = 0](const std::string& text) mutable {
    if (shown++ < kShown) fmt::print(stderr, "shadow: {}\n", text);
  });
}

std::string shadow_line(const server::Shadow& shadow) {
  return fmt::format("{} evaluations decided again, {} differ", shadow.checked(), shadow.different());
}

void add_decision_options(CLI::App& command, std::vector<std::string>& options, const std::string& about) {
  command
      .add_option(
          "--option", options,
          about +
              "change a behaviour of Nomad: compat=fixed turns all quirks off, quirk.NAME=off one of them; other "
              "options restore earlier Nomad versions (see --list-options). The last value of a name counts")
      ->type_name("NAME=VALUE");
  const auto list = [] {
    print(
        "Options: values (the default first), rules of the specification, and meaning\n  compat   nomad or fixed\n    "
        "nomad: all quirks on; fixed: all off\n");
    for (const model::OptionInfo& option : model::option_infos())
      print("  {}   {}   {}\n    {}\n", option.name, option.values, option.rules, option.text);
    print("\nQuirks: behaviour that looks like a defect of Nomad. Each is `on` (default) or `off`.\n");
    for (const model::QuirkInfo& quirk : model::kQuirks)
      print("  quirk.{}   {}\n    on: {}\n    off: {}\n", quirk.name, quirk.rules, quirk.nomad, quirk.off);
    throw CLI::Success();
  };
  command.add_flag_callback("--list-options", list, "list the options and quirks, with their values and rules")
      ->trigger_on_parse();
}

void add_source_options(CLI::App& command, agent::SourceOptions& sources) {
  command.add_flag("--allow-partial", sources.import.allow_partial,
                   "accept a cluster whose sources are incomplete, or that changes while it is read");
  command.add_option("--rate", sources.requests_per_second, "limit of requests to an agent")
      ->type_name("FLOAT REQUESTS/S")
      ->check(CLI::Range(0.1, 1e6))
      ->capture_default_str();
  command.add_option("--timeout", sources.timeout_s, "longest wait for one answer of an agent")
      ->type_name("FLOAT SECONDS")
      ->check(CLI::Range(0.05, 86400.0))
      ->capture_default_str();
}

std::int64_t clock_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

void print_warnings(const std::vector<std::string>& warnings) {
  constexpr std::size_t kShown = 20;
  for (std::size_t i = 0; i < warnings.size() && i < kShown; ++i)
    say_line("warning: " + base::printable(warnings[i], false));
  if (warnings.size() > kShown) say_line(fmt::format("warning: and {} more", warnings.size() - kShown));
}

void print_notes(const std::vector<std::string>& notes) {
  for (const std::string& note : notes) say_line("note: " + base::printable(note, false));
}

std::optional<std::int64_t> duration_ns(std::string_view text) {
  double unit = 0;
  for (const auto& [suffix, ns] : {std::pair<std::string_view, double>{"us", 1e3}, {"ms", 1e6}, {"s", 1e9}}) {
    if (!text.ends_with(suffix)) continue;
    text.remove_suffix(suffix.size());
    unit = ns;
    break;
  }
  const auto value = base::parse_double(text);
  if (unit == 0 || !value || !(*value > 0) || *value * unit > 9e18) return std::nullopt;
  return static_cast<std::int64_t>(*value * unit);
}

}  // namespace berth::cli
