#include "cli/common.h"

#include <fmt/format.h>

#include <chrono>

#include "base/printable.h"
#include "base/text.h"
#include "cli/outputs.h"
#include "model/options.h"

namespace berth::cli {

void add_decision_options(CLI::App& command, std::vector<std::string>& options, const std::string& about) {
  command
      .add_option(
          "--option", options,
          about +
              "NAME=VALUE: decide differently from today's Nomad: compat=fixed without its quirks, quirk.NAME=off "
              "without "
              "one of them, others as earlier versions did (see --list-options); may be repeated, the last one counts")
      ->type_name("NAME=VALUE");
  const auto list = [] {
    print(
        "options, their values (the default first) and rules\n  compat   nomad or fixed\n    all quirks on, or off\n");
    for (const model::OptionInfo& option : model::option_infos())
      print("  {}   {}   {}\n    {}\n", option.name, option.values, option.rules, option.text);
    print("\nNomad's quirks, each `on` or `off`, and their rules\n");
    for (const model::QuirkInfo& quirk : model::kQuirks)
      print("  quirk.{}   {}\n    on: {}\n    off: {}\n", quirk.name, quirk.rules, quirk.nomad, quirk.off);
    throw CLI::Success();
  };
  command.add_flag_callback("--list-options", list, "names, values and rules of the options and quirks")
      ->trigger_on_parse();
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
