#include "study/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/json.h"
#include "base/random.h"
#include "base/sha256.h"
#include "base/text.h"
#include "io/files.h"
#include "sim/cluster_path.h"
#include "sim/datasets.h"
#include "sim/toml_section.h"

namespace berth::study {
namespace {

constexpr std::size_t kTasksMax = 1'000'000;
using sim::TomlReader;
using sim::TomlSection;

/// A value of the plan as for --vary: a text unchanged, everything else as in TOML.
std::string text_of(const toml::node& node) {
  if (const auto text = node.value_exact<std::string>()) return sim::normal_value(*text);
  if (const auto number = node.value_exact<std::int64_t>()) return std::to_string(*number);
  if (const auto number = node.value_exact<double>()) return fmt::format("{}", *number);
  if (const auto truth = node.value_exact<bool>()) return *truth ? "true" : "false";
  std::string out;
  if (const toml::array* list = node.as_array()) {
    for (const toml::node& item : *list) {
      const bool quoted = item.is_string();
      out += fmt::format("{}{}{}{}", out.empty() ? "" : ", ", quoted ? "\"" : "", text_of(item), quoted ? "\"" : "");
    }
    return "[" + out + "]";
  }
  if (const toml::table* table = node.as_table())
    for (const auto& [key, value] : *table) {
      const bool quoted = value.is_string();
      out += fmt::format("{}\"{}\" = {}{}{}", out.empty() ? "" : ", ", key.str(), quoted ? "\"" : "", text_of(value),
                         quoted ? "\"" : "");
    }
  return "{" + out + "}";
}

/// The values of one key: a list, or a text with a range.
std::vector<std::string> values_of(TomlReader& reader, const toml::node& node, const std::string& key) {
  const std::size_t line = node.source().begin.line;
  std::vector<std::string> out;
  const auto add = [&](const toml::node& item) {
    const std::string text = text_of(item);
    auto range = item.is_string() ? range_of(text, "") : Result<std::vector<std::string>>{};
    if (!range) return reader.fail(line, range.error().problem, range.error().remedy);
    if (range->empty()) range->push_back(text);
    for (std::string& value : *range) {
      if (std::find(out.begin(), out.end(), value) != out.end())
        reader.fail(line, fmt::format("'{}' has the value {} twice", key, base::shown(value.substr(0, 40))),
                    "name it once");
      out.push_back(std::move(value));
    }
  };
  if (const toml::array* list = node.as_array())
    for (const toml::node& item : *list) add(item);
  else
    add(node);
  if (out.empty()) reader.fail(line, fmt::format("'{}' has no values", key), "leave it out or name some");
  return out;
}

/// Reads [vary], with nested tables as dotted keys.
void read_factors(TomlReader& reader, const toml::table& table, const std::string& prefix, std::vector<Factor>& out) {
  // Tables are sorted by key; the line numbers give the file's order.
  std::vector<std::pair<std::size_t, std::string>> keys;
  for (const auto& [key, value] : table)
    keys.emplace_back((key.source().begin.line << 20) + key.source().begin.column, key.str());
  std::sort(keys.begin(), keys.end());
  for (const auto& [place, key] : keys) {
    const toml::node& node = *table.get(key);
    if (const toml::table* inner = node.as_table())
      read_factors(reader, *inner, prefix + key + ".", out);
    else
      out.push_back({prefix + key, values_of(reader, node, prefix + key)});
  }
}

/// Settings that combine the n-th values of all factors.
std::vector<std::vector<sim::Change>> zipped(const std::vector<Factor>& factors) {
  std::vector<std::vector<sim::Change>> out(factors.empty() ? 1 : factors[0].values.size());
  for (const Factor& factor : factors)
    for (std::size_t i = 0; i < out.size(); ++i) out[i].push_back({factor.key, factor.values[i]});
  return out;
}

/// Draws `count` distinct settings of all combinations.
std::vector<std::vector<sim::Change>> drawn(const std::vector<Factor>& factors, std::size_t count, std::uint64_t seed) {
  double all = 1;
  for (const Factor& factor : factors) all *= static_cast<double>(factor.values.size());
  if (all <= static_cast<double>(count)) return crossed(factors);
  base::Random random(seed, "settings of a plan");
  std::set<std::vector<std::size_t>> seen;
  std::vector<std::vector<sim::Change>> out;
  while (out.size() < count) {
    std::vector<std::size_t> at;
    for (const Factor& factor : factors) at.push_back(static_cast<std::size_t>(random.below(factor.values.size())));
    if (!seen.insert(at).second) continue;
    auto& setting = out.emplace_back();
    for (std::size_t f = 0; f < factors.size(); ++f) setting.push_back({factors[f].key, factors[f].values[at[f]]});
  }
  return out;
}

struct Block {
  std::vector<std::string> workloads, labels;
  std::vector<std::vector<sim::Change>> settings;
  std::int64_t repetitions = 1;
};

Block read_block(TomlReader& reader, const toml::table* table, const char* name) {
  TomlSection in(reader, table, name, 1);
  Block out;
  out.workloads = in.texts("workloads");
  if (out.workloads.empty())
    in.fail("workloads", "no 'workloads' are named", "write e.g. workloads = [\"quickstart\"]");
  out.labels = in.texts("labels");
  if (out.labels.empty()) out.labels = {"full"};
  out.repetitions = in.integer("repetitions", 1, 1, 100'000);
  const std::string combine =
      in.choice<std::string>("combine", "cross", {{"cross", "cross"}, {"zip", "zip"}, {"random", "random"}});
  const std::int64_t count = in.integer("count", 0, 1, kTasksMax), seed = in.integer("seed", 1, 0, INT64_MAX);
  if ((combine == "random") != (count > 0))
    in.fail(count > 0 ? "count" : "combine", "'count' and combine = \"random\" go together", "write both or neither");
  std::vector<Factor> factors;
  if (const toml::table* vary = in.table("vary")) read_factors(reader, *vary, "", factors);
  double all = 1;
  for (const Factor& factor : factors) all *= static_cast<double>(factor.values.size());
  if (combine == "zip" && !std::all_of(factors.begin(), factors.end(),
                                       [&](const Factor& f) { return f.values.size() == factors[0].values.size(); }))
    in.fail("vary", "the lists of a zip have different lengths", "make them equally long, or cross them");
  else if (combine == "cross" && all > static_cast<double>(kTasksMax))
    in.fail("vary", fmt::format("there are {:.0f} settings", all),
            fmt::format("at most {}; or draw some: combine = \"random\"", kTasksMax));
  else if (!reader.error)
    out.settings = combine == "zip" ? zipped(factors)
                   : combine == "random"
                       ? drawn(factors, static_cast<std::size_t>(count), static_cast<std::uint64_t>(seed))
                       : crossed(factors);
  in.finish();
  return out;
}

/// Adds the tasks of a block; reads every workload with every setting.
Result<void> add_tasks(const Block& block, const std::string& folder, Plan& out) {
  for (const std::string& name : block.workloads) {
    // A file in the plan's folder, else as found by `berth run`.
    const std::filesystem::path beside = std::filesystem::path(folder) / name;
    std::error_code error;
    const bool is_there = std::filesystem::is_regular_file(beside, error) || sim::workload_of_cluster(beside.string());
    auto path = is_there ? Result<std::string>(beside.string()) : sim::find_workload(name);
    if (!path) return tl::unexpected(path.error());
    *path = std::filesystem::absolute(*path).lexically_normal().string();
    for (const std::string& label : block.labels)
      for (const auto& setting : block.settings) {
        const auto files = check_task({*path, label, setting, 0});
        if (!files) return tl::unexpected(files.error());
        out.files.insert(files->begin(), files->end());
        for (std::int64_t repetition = 0; repetition < block.repetitions; ++repetition)
          out.tasks.push_back({*path, label, setting, repetition});
        if (out.tasks.size() > kTasksMax)
          return tl::unexpected(InputError{out.path, "", fmt::format("has more than {} runs", kTasksMax), "divide it"});
      }
  }
  return {};
}

}  // namespace

Result<Plan> parse_plan(const std::string& text, const std::string& path) {
  TomlReader reader{path, {}};
  toml::table root;
  try {
    root = toml::parse(text, path);
  } catch (const toml::parse_error& error) {
    return tl::unexpected(InputError{path, std::to_string(error.source().begin.line),
                                     "not TOML: " + base::shown(std::string(error.description())),
                                     "correct the line; see bench/study/README.md"});
  }
  Plan out{path, std::filesystem::path(path).stem().string()};
  TomlSection in(reader, &root, "the plan", 1);
  out.name = in.text("name", out.name);
  std::vector<Block> blocks;
  for (const toml::table* table : in.tables("runs")) blocks.push_back(read_block(reader, table, "[[runs]]"));
  if (blocks.empty()) in.fail("", "the plan has no [[runs]]", "write [[runs]] workloads = [\"quickstart\"]");
  in.finish();
  if (reader.error) return tl::unexpected(*reader.error);
  for (const Block& block : blocks)
    if (auto fine = add_tasks(block, std::filesystem::path(path).parent_path().string(), out); !fine)
      return tl::unexpected(fine.error());
  return out;
}

Result<Plan> read_plan(const std::string& path) {
  auto text = io::read_file(path);
  if (!text) return tl::unexpected(text.error());
  return parse_plan(*text, path);
}

std::string plan_text(const std::string& name, const std::string& workload, const std::vector<Factor>& factors,
                      std::int64_t repetitions) {
  const auto quoted = [](const std::string& text) { return json::to_text(json::Value(text)); };  // as in TOML
  std::string out = fmt::format("name = {}\n\n[[runs]]\nworkloads = [{}]\nrepetitions = {}\n", quoted(name),
                                quoted(workload), repetitions);
  if (!factors.empty()) out += "[runs.vary]\n";
  for (const Factor& factor : factors) {
    std::string values;
    for (const std::string& value : factor.values) values += (values.empty() ? "" : ", ") + quoted(value);
    out += fmt::format("{} = [{}]\n", quoted(factor.key), values);
  }
  return out;
}

std::string digest_of(const std::vector<std::string>& keys) {
  std::vector<std::string> sorted = keys;
  std::sort(sorted.begin(), sorted.end());
  base::Sha256 digest;
  for (const std::string& key : sorted) digest.add(key + "\n");
  return digest.hex().substr(0, 16);
}

}  // namespace berth::study
