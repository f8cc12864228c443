#include "whatif/steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/edit_distance.h"
#include "base/text.h"
#include "io/files.h"
#include "server/surroundings.h"

namespace berth::whatif {
namespace {

constexpr std::int64_t kNodesMost = 1'000'000;

Result<std::int64_t, std::string> number(std::string_view text, std::int64_t least, std::int64_t most) {
  const auto value = base::parse_int64(text);
  if (!value || *value < least || *value > most)
    return wrong(fmt::format("'{}' is no whole number from {} to {}", base::shown(text), least, most));
  return *value;
}

/// "JOB" or "JOB@NAMESPACE".
JobName job_name(std::string_view text) {
  const std::size_t at = text.rfind('@');
  if (at == std::string_view::npos) return {std::string(text)};
  return {std::string(text.substr(0, at)), std::string(text.substr(at + 1))};
}

Result<void, std::string> read_pair(std::string_view text, Step& step, const char* example) {
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos || equals == 0)
    return wrong(fmt::format("'{}' has no '='; write for example {}", base::shown(text), example));
  step.key = text.substr(0, equals), step.value = text.substr(equals + 1);
  return {};
}

Result<void, std::string> read_nodes(const std::string& text, Step& step) {
  auto nodes = Selector::parse(text);
  if (!nodes) return wrong(fmt::format("'{}' {}", base::shown(text), nodes.error()));
  step.nodes = std::move(*nodes);
  return {};
}

Result<void, std::string> read_edit(const std::string& pair, Step& step) {
  if (auto read = read_pair(pair, step, "meta.rack=r7"); !read) return read;
  static constexpr std::array<std::string_view, 3> kEditable = {"class", "datacenter", "pool"};
  const bool known = std::find(kEditable.begin(), kEditable.end(), step.key) != kEditable.end() ||
                     (step.key.starts_with("attr.") && step.key.size() > 5) ||
                     (step.key.starts_with("meta.") && step.key.size() > 5);
  if (known) return {};
  return wrong(fmt::format("'{}' cannot be changed; keys are class, datacenter, pool, attr.NAME and meta.NAME",
                           base::shown(step.key)));
}

Result<void, std::string> read_scale(const std::string& text, Step& step) {
  if (auto read = read_pair(text, step, "web/frontend=5"); !read) return read;
  const std::size_t slash = step.key.rfind('/');
  if (slash == std::string::npos || slash == 0 || slash + 1 == step.key.size())
    return wrong(fmt::format("'{}' names no group; write JOB/GROUP=N, for example web/frontend=5", base::shown(text)));
  step.job = job_name(std::string_view(step.key).substr(0, slash));
  step.group = step.key.substr(slash + 1);
  const auto count = number(step.value, 0, kCountMost);
  if (!count) return wrong(count.error());
  step.count = *count;
  return {};
}

Result<void, std::string> read_preemption(const std::string& text, Step& step) {
  if (auto read = read_pair(text, step, "service=on"); !read) return read;
  static constexpr std::array<std::string_view, 4> kTypes = {"service", "batch", "system", "sysbatch"};
  if (std::find(kTypes.begin(), kTypes.end(), step.key) == kTypes.end())
    return wrong(
        fmt::format("'{}' is no scheduler; they are service, batch, system and sysbatch", base::shown(step.key)));
  if (step.value != "on" && step.value != "off")
    return wrong(fmt::format("'{}' is neither on nor off", base::shown(step.value)));
  step.on = step.value == "on";
  return {};
}

Result<void, std::string> read_config(const std::string& text, Step& step) {
  if (auto read = read_pair(text, step, "algorithm=spread"); !read) return read;
  if (step.key != "algorithm")
    return wrong(fmt::format("'{}' is no setting; algorithm=binpack and algorithm=spread are", base::shown(step.key)));
  if (step.value == "binpack" || step.value == "spread") return {};
  return wrong(fmt::format("'{}' is no algorithm; they are binpack and spread", base::shown(step.value)));
}

Result<void, std::string> read_strategy(const std::string& text, Step& step) {
  step.value = text;
  if (text == kNomadStrategy) return {};
  if (const auto checked = server::check_scoring_strategy(text); !checked) return wrong(checked.error().reason());
  return {};
}

Result<void, std::string> read_words(const std::vector<std::string>& words, Step& step) {
  switch (step.change) {
    case Change::drain:
    case Change::remove:
    case Change::lose:
    case Change::upgrade:
      return read_nodes(words[0], step);
    case Change::edit:
      if (auto read = read_nodes(words[0], step); !read) return read;
      return read_edit(words[1], step);
    case Change::add: {
      const auto count = number(words[0], 1, kNodesMost);
      if (!count) return wrong(count.error());
      step.count = *count;
      return {};
    }
    case Change::scale:
      return read_scale(words[0], step);
    case Change::stop:
      step.job = job_name(words[0]);
      return {};
    case Change::submit:
      step.file = words[0];
      return {};
    case Change::config:
      return read_config(words[0], step);
    case Change::preemption:
      return read_preemption(words[0], step);
    case Change::strategy:
      return read_strategy(words[0], step);
  }
  return {};
}

std::vector<std::string> split_words(std::string_view line) {
  std::vector<std::string> out;
  for (std::size_t at = line.find_first_not_of(" \t\r"); at != std::string_view::npos;) {
    const std::size_t end = std::min(line.find_first_of(" \t\r", at), line.size());
    if (line[at] == '#') break;  // the rest is a comment
    out.emplace_back(line.substr(at, end - at));
    at = line.find_first_not_of(" \t\r", end);
  }
  return out;
}

Result<Step, std::string> step_of_line(std::vector<std::string> words) {
  const auto& names = step_names();
  const auto name = std::find_if(names.begin(), names.end(), [&](const StepName& one) { return one.name == words[0]; });
  if (name == names.end()) {
    std::vector<std::string> all;
    for (const StepName& one : names) all.emplace_back(one.name);
    return wrong(fmt::format("there is no step '{}'; {}steps are {}", base::shown(words[0]),
                             base::did_you_mean(words[0], all), fmt::join(all, ", ")));
  }
  words.erase(words.begin());
  std::string kind;
  if (name->change == Change::add && words.size() == 2) {
    kind = words.back();
    words.pop_back();
  }
  auto step = make_step(name->change, words);
  if (!step || name->change != Change::add) return step;
  const bool is_like = kind.starts_with("like=");
  if (!is_like && !kind.starts_with("shape=")) return wrong("needs like=NODE or shape=cpu=MHZ,memory=MIB behind it");
  const std::string_view value = std::string_view(kind).substr(kind.find('=') + 1);
  if (auto done = is_like ? with_like(*step, value) : with_shape(*step, value); !done) return wrong(done.error());
  return step;
}

}  // namespace

const std::vector<StepName>& step_names() {
  static const std::vector<StepName> kNames = {
      {"drain", "NODES", "drain these nodes, as `nomad node drain` does, with --deadline", Change::drain},
      {"remove", "NODES", "remove these nodes, and what runs there, for good", Change::remove},
      {"lose", "NODES", "these machines stop responding, as when a rack loses power", Change::lose},
      {"add", "N", "add nodes; followed by --like NODE or --shape SHAPE", Change::add},
      {"change", "NODES KEY=VALUE", "change class, datacenter, pool, attr.NAME or meta.NAME of nodes", Change::edit},
      {"upgrade", "NODES", "drain these nodes, --at-once at a time, and bring each back before the next",
       Change::upgrade},
      {"scale", "JOB/GROUP=N", "change the count of a group", Change::scale},
      {"stop", "JOB", "stop a job", Change::stop},
      {"register", "FILE", "register a new job, or a new version of one", Change::submit},
      {"config", "algorithm=NAME", "set the scheduler algorithm of the whole cluster: binpack or spread",
       Change::config},
      {"preemption", "SCHEDULER=on|off", "switch preemption for service, batch, system or sysbatch jobs",
       Change::preemption},
      {"strategy", "STRATEGY",
       "a ranking strategy scores the fit of nodes from then on (see berth compare --list-strategies); nomad ends that",
       Change::strategy},
  };
  return kNames;
}

Result<Step, std::string> make_step(Change change, const std::vector<std::string>& words) {
  const auto& names = step_names();
  const auto name = std::find_if(names.begin(), names.end(), [&](const StepName& one) { return one.change == change; });
  const std::size_t wanted = change == Change::edit ? 2 : 1;
  if (words.size() != wanted)
    return wrong(fmt::format("takes {}: {}", wanted == 1 ? "one word" : "two words", name->takes));
  Step step;
  step.change = change;
  step.words = fmt::format("{} {}", name->name, fmt::join(words, " "));
  if (auto read = read_words(words, step); !read) return wrong(read.error());
  return step;
}

Result<void, std::string> with_like(Step& add, std::string_view like) {
  auto nodes = Selector::parse(like);
  if (!nodes) return wrong(fmt::format("'{}' {}", base::shown(like), nodes.error()));
  add.nodes = std::move(*nodes), add.like = like;
  add.words += fmt::format(" like {}", like);
  return {};
}

Result<void, std::string> with_shape(Step& add, std::string_view shape) {
  add.cpu_mhz = add.memory_mb = add.disk_mb = 0;
  for (std::size_t begin = 0; begin <= shape.size();) {
    const std::size_t end = std::min(shape.find(',', begin), shape.size());
    Step pair;
    if (auto read = read_pair(shape.substr(begin, end - begin), pair, "cpu=8000,memory=16384,disk=100000"); !read)
      return read;
    begin = end + 1;
    std::int64_t* const to = pair.key == "cpu"      ? &add.cpu_mhz
                             : pair.key == "memory" ? &add.memory_mb
                             : pair.key == "disk"   ? &add.disk_mb
                                                    : nullptr;
    if (!to)
      return wrong(
          fmt::format("'{}' is no part of a shape; they are cpu (MHz), memory and disk (MiB)", base::shown(pair.key)));
    const auto amount = number(pair.value, 0, std::int64_t{1} << 31);
    if (!amount) return wrong(fmt::format("{}: {}", pair.key, amount.error()));
    *to = *amount;
  }
  if (add.cpu_mhz == 0 || add.memory_mb == 0) return wrong("a shape needs cpu=MHZ and memory=MIB");
  add.words += fmt::format(" of {}", shape);
  return {};
}

Result<std::vector<Step>> read_steps(const std::string& path) {
  const auto text = io::read_file(path);
  if (!text) return tl::unexpected(text.error());
  std::vector<Step> out;
  std::size_t number = 0;
  for (std::size_t begin = 0; begin < text->size();) {
    const std::size_t end = std::min(text->find('\n', begin), text->size());
    const std::string_view line = std::string_view(*text).substr(begin, end - begin);
    begin = end + 1, ++number;
    std::vector<std::string> words = split_words(line);
    if (words.empty()) continue;
    auto step = step_of_line(std::move(words));
    if (!step)
      return tl::unexpected(
          InputError{path, std::to_string(number), step.error(), "`berth whatif --help` lists the steps"});
    out.push_back(std::move(*step));
  }
  if (out.empty())
    return tl::unexpected(InputError{path, "", "has no steps", "write one a line, for example: drain meta.rack=r7"});
  return out;
}

}  // namespace berth::whatif
