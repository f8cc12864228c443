#include "conform/life/life_part.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

#include "run/interrupt.h"

namespace berth::conform {

namespace {

constexpr std::size_t kTriedMost = 400;  // parts; each is simulated twice, in some 0.05 s

std::vector<int> numbers(std::size_t count) {
  std::vector<int> out(count);
  std::iota(out.begin(), out.end(), 0);
  return out;
}

/// Leaves out what `breaks()` does not need, but keeps one element. Ends early if `ended()`.
void leave_out(std::vector<int>& kept, const std::function<bool()>& breaks, const std::function<bool()>& ended) {
  for (std::size_t size = (kept.size() + 1) / 2; size > 0; size /= 2)
    for (std::size_t at = 0; at < kept.size() && !ended();) {
      const std::size_t count = std::min(size, kept.size() - at);
      const std::vector<int> before = kept;
      const auto first = kept.begin() + static_cast<std::ptrdiff_t>(at);
      kept.erase(first, first + static_cast<std::ptrdiff_t>(count));
      if (!kept.empty() && breaks()) continue;
      kept = before;
      at += count;
    }
}

}  // namespace

std::vector<int> steps_of(const LifeOptions& options) {
  return options.only_steps ? *options.only_steps : numbers(static_cast<std::size_t>(options.steps));
}

void leave_out_nodes(const LifeOptions& options, std::vector<model::Node>& nodes) {
  if (!options.only_nodes) return;
  std::vector<model::Node> kept;
  for (const int number : *options.only_nodes)
    if (static_cast<std::size_t>(number) < nodes.size()) kept.push_back(nodes[static_cast<std::size_t>(number)]);
  nodes = std::move(kept);
}

SmallestLife smallest_life(const LifeKind& run, const LifeOptions& options, const LifeReport& whole) {
  SmallestLife out{options, whole};
  std::vector<int>& steps = out.options.only_steps.emplace(numbers(whole.steps));
  std::vector<int>& nodes = out.options.only_nodes.emplace(numbers(whole.nodes));
  const auto ended = [&] { return out.tried == kTriedMost || run::interrupted(); };
  const auto breaks = [&] {
    ++out.tried;
    LifeReport report = run(out.options);
    if (report.problems.empty()) return false;
    out.report = std::move(report);
    return true;
  };
  for (std::size_t before = 0; before != steps.size() + nodes.size();) {  // fewer nodes may need fewer steps
    before = steps.size() + nodes.size();
    leave_out(steps, breaks, ended);
    leave_out(nodes, breaks, ended);
  }
  return out;
}

std::string to_text(const SmallestLife& smallest, std::string_view kind, const LifeReport& whole) {
  const auto& [options, report, tried] = smallest;
  std::string out = fmt::format(
      "the smallest part found that breaks one has {} of {} steps and {} of {} nodes ({} parts tried)\n"
      "  again: berth conform --seed {} --kind {} --steps {} --only-steps {} --only-nodes {}",
      options.only_steps->size(), whole.steps, options.only_nodes->size(), whole.nodes, tried, options.seed, kind,
      options.steps, fmt::join(*options.only_steps, ","), fmt::join(*options.only_nodes, ","));
  for (const auto& [name, value] : model::changed_options(options.decisions))
    out += fmt::format(" --option {}={}", name, value);
  if (options.sources != sched::EnabledSources{}) out += " --sources " + options.sources.text();
  out += '\n';
  for (const std::string& event : report.events) out += fmt::format("    {}\n", event);
  for (const std::string& problem : report.problems) out += fmt::format("  broken: {}\n", problem);
  return out;
}

}  // namespace berth::conform
