#include "cli/step_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/duration.h"
#include "base/later.h"
#include "base/text.h"
#include "cli/job_file_options.h"
#include "io/files.h"

namespace berth::cli {
namespace {

/// Reads lines "SELECTOR PRICE".
Result<std::vector<std::pair<whatif::Selector, double>>> read_prices(const std::string& path) {
  const auto text = io::read_file(path);
  if (!text) return tl::unexpected(text.error());
  std::vector<std::pair<whatif::Selector, double>> out;
  std::size_t number = 0;
  for (std::size_t begin = 0; begin < text->size();) {
    const std::size_t end = std::min(text->find('\n', begin), text->size());
    const std::string line(base::trim_space(std::string_view(*text).substr(begin, end - begin)));
    begin = end + 1, ++number;
    if (line.empty() || line.front() == '#') continue;
    const std::size_t space = line.find_last_of(" \t");
    const auto price = space == std::string::npos ? std::nullopt : base::parse_double(line.substr(space + 1));
    auto nodes = whatif::Selector::parse(base::trim_space(std::string_view(line).substr(0, space)));
    if (!price || !(*price >= 0) || !nodes)
      return tl::unexpected(InputError{path, std::to_string(number), "is not a selector of nodes and a price per hour",
                                       "write for example: class=large 0.38"});
    out.emplace_back(std::move(*nodes), *price);
  }
  return out;
}

std::optional<std::int64_t> time_of(const std::string& text, std::int64_t least) {
  const auto ns = base::parse_duration(text);
  return ns && *ns >= least && *ns <= base::kCenturyNs ? ns : std::nullopt;
}

}  // namespace

StepOptions::StepOptions(CLI::App& app, std::string command) : app_(app), command_(std::move(command)) {
  // Values are read from the parse results, word by word, so that steps keep the order of the command line.
  const auto add = [&](const std::string& name, const char* takes, int words, const std::string& about) {
    CLI::Option* option = app.add_option_function<std::vector<std::string>>(
        name, [](const std::vector<std::string>&) {}, about);
    return option->type_name(takes)->type_size(words);
  };
  for (const whatif::StepName& name : whatif::step_names()) {
    const int words = name.takes.find(' ') == std::string_view::npos ? 1 : 2;
    changes_.emplace(add(fmt::format("--{}", name.name), name.takes.data(), words, std::string(name.about)),
                     name.change);
  }
  like_ = add("--like", "NODE", 1, "for the preceding --add: copies of this node");
  shape_ =
      add("--shape", "SHAPE", 1, "for the preceding --add: for example cpu=8000,memory=16384,disk=100000 (MHz, MiB)");
  add_job_file_options(app, job_files_);
  app.add_option("--step-file", file_, "file with more steps, one per line, written as these options without dashes")
      ->type_name("FILE");
  app.add_option("--deadline", deadline_, "drain deadline: a duration, none or force")
      ->type_name("TIME")
      ->capture_default_str();
  app.add_option("--at-once", at_once_, "number of nodes that --upgrade drains at a time")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1'000'000}))
      ->capture_default_str();
  app.add_option("--start-delay", start_delay_, "time from placing an allocation until its tasks run")
      ->type_name("TIME")
      ->capture_default_str();
  app.add_option("--step-time", step_time_, "maximum virtual time of a step")->type_name("TIME")->capture_default_str();
  app.add_option(
         "--prices", prices_,
         "file of lines `NODES PRICE`: price of these nodes per hour; the first line that matches a node counts")
      ->type_name("FILE");
  app.add_option("--seed", seed_, "seed of all random draws")->capture_default_str();
}

Result<std::vector<whatif::Step>> StepOptions::steps() const {
  std::vector<whatif::Step> out;
  std::map<const CLI::Option*, std::size_t> taken;
  std::vector<std::string> words;
  const auto fail = [&](const CLI::Option* option, const std::string& problem, const std::string& remedy = "") {
    return tl::unexpected(InputError{command_, option->get_name(), problem, remedy});
  };
  const CLI::Option* open = nullptr;  // an --add without model so far
  for (const CLI::Option* option : app_.parse_order()) {
    const bool is_model = option == like_ || option == shape_;
    const auto change = changes_.find(option);
    if (!is_model && change == changes_.end()) continue;
    words.push_back(option->results().at(taken[option]++));
    if (is_model) {
      if (!open) return fail(option, "has no --add before it", "write --add N --like NODE");
      auto done = option == like_ ? whatif::with_like(out.back(), words.front())
                                  : whatif::with_shape(out.back(), words.front());
      if (!done) return fail(option, done.error());
      open = nullptr, words.clear();
      continue;
    }
    if (open) break;
    if (words.size() < static_cast<std::size_t>(option->get_type_size())) continue;
    auto step = whatif::make_step(change->second, words);
    if (!step) return fail(option, step.error());
    out.push_back(std::move(*step)), words.clear();
    if (change->second == whatif::Change::add) open = option;
  }
  if (open)
    return fail(open, "does not say which nodes", "write --like NODE or --shape cpu=8000,memory=16384 after it");
  if (file_.empty()) return out;
  auto more = whatif::read_steps(file_);
  if (!more) return tl::unexpected(more.error());
  std::move(more->begin(), more->end(), std::back_inserter(out));
  return out;
}

Result<whatif::Settings> StepOptions::settings() const {
  whatif::Settings out;
  const auto fail = [&](const char* option, const std::string& text, const char* remedy) {
    return tl::unexpected(
        InputError{command_, option, "'" + base::shown(text) + "' is not a valid duration here", remedy});
  };
  const auto deadline = deadline_ == "none"    ? std::optional<std::int64_t>(0)
                        : deadline_ == "force" ? std::optional<std::int64_t>(-1)
                                               : time_of(deadline_, 1);
  if (!deadline) return fail("--deadline", deadline_, "write for example 30m, or none or force");
  const auto delay = time_of(start_delay_, 0), most = time_of(step_time_, base::kSecond);
  if (!delay) return fail("--start-delay", start_delay_, "write for example 10s");
  if (!most) return fail("--step-time", step_time_, "write 1s or more, for example 4h");
  out.drain_deadline_ns = *deadline, out.start_delay_ns = *delay, out.step_most_ns = *most;
  out.at_once = at_once_, out.job_files = job_files_;
  if (prices_.empty()) return out;
  auto prices = read_prices(prices_);
  if (!prices) return tl::unexpected(prices.error());
  out.prices = std::move(*prices);
  return out;
}

}  // namespace berth::cli
