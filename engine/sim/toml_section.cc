#include "sim/toml_section.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/edit_distance.h"
#include "base/text.h"

namespace berth::sim {
namespace {

const char* kind_of(const toml::node& node) {
  if (node.is_string()) return "a text";
  if (node.is_integer()) return "a whole number";
  if (node.is_floating_point()) return "a number with a fraction";
  if (node.is_boolean()) return "true or false";
  if (node.is_array()) return "a list";
  if (node.is_table()) return "a table";
  return "a date or time";
}

/// The value of a numeric node. toml++ itself returns a double only if it is exact, which 2^63 - 1 is not.
double number_of(const toml::node& node) {
  if (const auto* whole = node.as_integer()) return static_cast<double>(whole->get());
  return node.as_floating_point()->get();
}

bool has_control_characters(std::string_view text) {
  return std::any_of(text.begin(), text.end(),
                     [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
}

}  // namespace

void TomlReader::fail(std::size_t line, std::string problem, std::string remedy, bool is_missing) {
  if (error && (is_missing || !missing)) return;
  missing = is_missing;
  error = InputError{path, line == 0 ? "" : std::to_string(line), std::move(problem), std::move(remedy)};
}

TomlSection::TomlSection(TomlReader& reader, const toml::table* table, std::string name, std::size_t line)
    : reader_(reader), table_(table), name_(std::move(name)), line_(line) {
  if (table_ && table_->source().begin.line != 0) line_ = table_->source().begin.line;
}

bool TomlSection::has(std::string_view key) const { return table_ && table_->contains(key); }

std::size_t TomlSection::line(std::string_view key) const {
  if (table_ && !key.empty())
    if (const toml::node* node = table_->get(key); node && node->source().begin.line != 0)
      return node->source().begin.line;
  return line_;
}

void TomlSection::fail(std::string_view key, std::string problem, std::string remedy) {
  reader_.fail(line(key), std::move(problem), std::move(remedy), !has(key));
}

const toml::node* TomlSection::take(std::string_view key) {
  known_.emplace_back(key);
  return table_ ? table_->get(key) : nullptr;
}

std::optional<std::int64_t> TomlSection::whole(const toml::node& node) const {
  return node.is_integer() ? node.value_exact<std::int64_t>() : std::nullopt;
}

std::int64_t TomlSection::integer(std::string_view key, std::int64_t fallback, std::int64_t min, std::int64_t max) {
  const toml::node* node = take(key);
  if (!node) return fallback;
  const auto value = whole(*node);
  if (!value) {
    fail(key, fmt::format("'{}' is {}", key, kind_of(*node)), "write a whole number");
    return fallback;
  }
  if (*value < min || *value > max) {
    fail(key, fmt::format("'{}' is {}", key, *value), fmt::format("use {} to {}", min, max));
    return fallback;
  }
  return *value;
}

double TomlSection::number(std::string_view key, double fallback, double min, double max) {
  const toml::node* node = take(key);
  if (!node) return fallback;
  if (!node->is_number()) {
    fail(key, fmt::format("'{}' is {}", key, kind_of(*node)), "write a number");
    return fallback;
  }
  const double value = number_of(*node);
  if (!(value >= min && value <= max)) {  // NaN included
    fail(key, fmt::format("'{}' is {}", key, value), fmt::format("use {} to {}", min, max));
    return fallback;
  }
  return value;
}

std::vector<double> TomlSection::numbers(std::string_view key, double min, double max) {
  const toml::node* node = take(key);
  if (node && !node->is_array()) return {number(key, min, min, max)};
  std::vector<double> out;
  if (!node) return out;
  for (const toml::node& item : *node->as_array()) {
    const double value = item.is_number() ? number_of(item) : std::nan("");
    if (!(value >= min && value <= max)) {
      fail(key, fmt::format("'{}' holds something that is no number from {} to {}", key, min, max), "correct it");
      return {};
    }
    out.push_back(value);
  }
  if (out.empty()) fail(key, fmt::format("'{}' is an empty list", key), "leave it out or write a number");
  return out;
}

std::vector<std::pair<double, double>> TomlSection::curve(std::string_view key, double x_max, double y_max) {
  const toml::node* node = take(key);
  std::vector<std::pair<double, double>> out;
  if (!node) return out;
  const toml::array* points = node->as_array();
  bool fine = points && !points->empty();
  for (std::size_t i = 0; fine && i < points->size(); ++i) {
    const toml::array* pair = (*points)[i].as_array();
    fine = pair && pair->size() == 2 && (*pair)[0].is_number() && (*pair)[1].is_number();
    if (!fine) break;
    out.emplace_back(number_of((*pair)[0]), number_of((*pair)[1]));
    const auto [x, y] = out.back();
    fine = x >= 0 && x <= x_max && y >= 0 && y <= y_max && (i == 0 || x > out[i - 1].first);
  }
  if (fine) return out;
  fail(key, fmt::format("'{}' is not a list of pairs whose first parts rise", key),
       fmt::format("write [[0, a], [60, b], ...] with times up to {} and values up to {}", x_max, y_max));
  return {};
}

bool TomlSection::boolean(std::string_view key, bool fallback) {
  const toml::node* node = take(key);
  if (!node) return fallback;
  if (!node->is_boolean()) fail(key, fmt::format("'{}' is {}", key, kind_of(*node)), "write true or false");
  return node->value_or(fallback);
}

std::string TomlSection::text(std::string_view key, std::string fallback) {
  const toml::node* node = take(key);
  if (!node) return fallback;
  const auto value = node->value_exact<std::string>();
  if (!value) {
    fail(key, fmt::format("'{}' is {}", key, kind_of(*node)), "write a text in quotes");
    return fallback;
  }
  return is_one_line(key, *value) ? *value : fallback;
}

bool TomlSection::is_one_line(std::string_view key, std::string_view value) {
  if (!has_control_characters(value)) return true;
  fail(key, fmt::format("'{}' holds a control character", base::shown(key)), "write one line of plain text");
  return false;
}

std::vector<std::string> TomlSection::texts(std::string_view key) {
  const toml::node* node = take(key);
  if (!node) return {};
  if (const auto one = node->value_exact<std::string>()) {
    if (!is_one_line(key, *one)) return {};
    return {*one};
  }
  std::vector<std::string> out;
  if (const toml::array* list = node->as_array()) {
    for (const toml::node& item : *list) {
      const auto value = item.value_exact<std::string>();
      if (!value) {
        fail(key, fmt::format("'{}' holds {}", key, kind_of(item)), "write texts in quotes");
        return {};
      }
      if (!is_one_line(key, *value)) return {};
      out.push_back(*value);
    }
    if (out.empty()) fail(key, fmt::format("'{}' is an empty list", key), "leave it out or name something");
    return out;
  }
  fail(key, fmt::format("'{}' is {}", key, kind_of(*node)), "write a text or a list of texts");
  return {};
}

Quantity TomlSection::quantity(std::string_view key, Quantity fallback, std::int64_t min, std::int64_t max) {
  const toml::node* node = take(key);
  if (!node) return fallback;
  const auto in_range = [&](std::int64_t value) {
    if (value >= min && value <= max) return true;
    fail(key, fmt::format("'{}' holds {}", key, value), fmt::format("use {} to {}", min, max));
    return false;
  };
  const auto misshapen = [&](std::string problem) {
    fail(key, fmt::format("'{}' {}", key, problem),
         "write n, [min, max], {values = [...], weights = [...]} or {quantiles = [[0.0, n], ..., [1.0, n]]}");
    return fallback;
  };
  if (const auto value = whole(*node)) return in_range(*value) ? Quantity(*value) : fallback;
  if (const toml::array* range = node->as_array()) {
    if (range->size() != 2) return misshapen("is a list of " + std::to_string(range->size()));
    const auto low = whole((*range)[0]), high = whole((*range)[1]);
    if (!low || !high) return misshapen("holds something that is not a whole number");
    if (*low > *high) return misshapen(fmt::format("goes down from {} to {}", *low, *high));
    return in_range(*low) && in_range(*high) ? Quantity::uniform(*low, *high) : fallback;
  }
  const toml::table* table = node->as_table();
  if (!table) return misshapen(std::string("is ") + kind_of(*node));
  for (const auto& [name, value] : *table)
    if (name != "values" && name != "weights" && name != "quantiles")
      return misshapen("has the unknown part '" + base::shown(name.str()) + "'");
  const toml::node* quantile_node = table->get("quantiles");
  if (quantile_node) {
    if (table->size() != 1) return misshapen("has quantiles and values");
    const toml::array* points = quantile_node->as_array();
    if (!points || points->size() < 2) return misshapen("has fewer than two quantiles");
    std::vector<double> cumulative;
    std::vector<std::int64_t> values;
    for (const toml::node& point : *points) {
      const toml::array* pair = point.as_array();
      if (!pair || pair->size() != 2 || !(*pair)[0].is_number()) return misshapen("has a quantile that is no pair");
      const double q = number_of((*pair)[0]);
      const auto value = whole((*pair)[1]);
      if (!value) return misshapen("has a quantile whose value is not a whole number");
      if (!in_range(*value)) return fallback;
      if (!cumulative.empty() && (!(q > cumulative.back()) || *value < values.back()))
        return misshapen("has quantiles that do not rise");
      cumulative.push_back(q), values.push_back(*value);
    }
    if (cumulative.front() != 0 || cumulative.back() != 1) return misshapen("has quantiles not going from 0 to 1");
    return Quantity::quantiles(std::move(cumulative), std::move(values));
  }
  const toml::node* value_node = table->get("values");
  const toml::array* value_list = value_node ? value_node->as_array() : nullptr;
  if (!value_list || value_list->empty()) return misshapen("has no values");
  std::vector<std::int64_t> values;
  for (const toml::node& item : *value_list) {
    const auto value = whole(item);
    if (!value) return misshapen("has a value that is not a whole number");
    if (!in_range(*value)) return fallback;
    values.push_back(*value);
  }
  std::vector<double> weights(values.size(), 1.0);
  if (const toml::node* weight_node = table->get("weights")) {
    const toml::array* list = weight_node->as_array();
    if (!list || list->size() != values.size()) return misshapen("has not as many weights as values");
    double sum = 0;
    for (std::size_t i = 0; i < weights.size(); ++i) {
      weights[i] = (*list)[i].is_number() ? number_of((*list)[i]) : -1;
      if (!(weights[i] >= 0 && weights[i] <= 1e12)) return misshapen("has a weight that is not 0 to 1e12");
      sum += weights[i];
    }
    if (sum == 0) return misshapen("has only weights of 0");
  }
  return Quantity::choices(std::move(values), weights);
}

std::map<std::string, std::vector<std::string>> TomlSection::text_map(std::string_view key) {
  std::map<std::string, std::vector<std::string>> out;
  const toml::node* node = take(key);
  if (!node) return out;
  const toml::table* table = node->as_table();
  if (!table) {
    fail(key, fmt::format("'{}' is {}", key, kind_of(*node)), "write a table of names and texts");
    return out;
  }
  TomlSection inner(reader_, table, name_ + "." + std::string(key), line(key));
  for (const auto& [name, value] : *table) {
    if (name.str().empty() || has_control_characters(name.str()))
      inner.fail(name.str(), fmt::format("a name in '{}' is empty or holds a control character", key), "name it");
    out[std::string(name.str())] = inner.texts(name.str());
  }
  return out;
}

const toml::table* TomlSection::table(std::string_view key) {
  const toml::node* node = take(key);
  if (!node) return nullptr;
  if (!node->is_table()) fail(key, fmt::format("'{}' is {}", key, kind_of(*node)), "write a table");
  return node->as_table();
}

std::vector<const toml::table*> TomlSection::tables(std::string_view key) {
  const toml::node* node = take(key);
  if (!node) return {};
  const toml::array* list = node->as_array();
  std::vector<const toml::table*> out;
  if (list)
    for (const toml::node& item : *list) out.push_back(item.as_table());
  if (!list || std::find(out.begin(), out.end(), nullptr) != out.end()) {
    fail(key, fmt::format("'{}' is not a list of tables", key), "write [[...]] tables or a list of {...}");
    return {};
  }
  return out;
}

void TomlSection::finish() {
  if (!table_) return;
  std::size_t first_line = 0;
  std::optional<std::string> found;
  for (const auto& [key, value] : *table_) {
    if (std::find(known_.begin(), known_.end(), key.str()) != known_.end()) continue;
    const std::size_t at = key.source().begin.line != 0 ? key.source().begin.line : value.source().begin.line;
    if (!found || at < first_line) first_line = at, found = key.str();
  }
  if (!found) return;
  const std::string* nearest = base::nearest_name(*found, known_);
  const std::string remedy =
      nearest ? "did you mean '" + *nearest + "'?" : "remove it; bench/macro/README.md lists the keys";
  reader_.fail(first_line, fmt::format("unknown key '{}' in {}", base::shown(*found), name_), remedy);
}

void merge_toml(toml::table& base, toml::table&& changes) {
  for (auto&& [key, change] : changes) {
    toml::table* old = base.get_as<toml::table>(key.str());
    if (old && change.is_table()) {
      merge_toml(*old, std::move(*change.as_table()));
      continue;
    }
    // Erased first, so that the key gets the line of the change. Moved, because copies lose their lines.
    base.erase(key.str());
    change.visit([&, &name = key](auto& node) { base.insert(name, std::move(node)); });
  }
}

}  // namespace berth::sim
