#include "sim/yaml_shape.h"

#include <fmt/format.h>

#include <stdexcept>
#include <vector>

#include "base/edit_distance.h"
#include "base/text.h"

namespace berth::sim {
namespace {

using Kind = YamlNode::Kind;

InputError wrong(const YamlNode& node, const std::string& path, const std::string& name, const char* kind) {
  return {path, std::to_string(node.line), fmt::format("'{}' is not {}", base::shown(name), kind),
          fmt::format("write {}", kind)};
}

bool is_bool(const std::string& text) {
  return is_true({Kind::text, 0, text, {}, {}}) || text == "false" || text == "False" || text == "FALSE";
}

std::optional<InputError> scalar_error(const YamlNode& node, const std::string& kind, const std::string& path,
                                       const std::string& name) {
  if (kind == "any") return std::nullopt;
  if (node.kind != Kind::text) return wrong(node, path, name, "a text or number");
  if (kind == "bool" && !is_bool(node.text)) return wrong(node, path, name, "true or false");
  if (kind == "int" && !base::parse_int64(node.text)) return wrong(node, path, name, "a whole number");
  return std::nullopt;
}

std::optional<InputError> error_in(const YamlNode& node, const YamlNode& shape, const std::string& path,
                                   const std::string& name);

std::optional<InputError> map_error(const YamlNode& node, const YamlNode& shape, const std::string& path) {
  const YamlNode& others = shape["*"];
  for (const auto& [key, value] : node.members) {
    const YamlNode& own = shape[key];
    const bool known = key != "*" && own.kind != Kind::none;
    if (!known && others.kind == Kind::none) {
      std::vector<std::string> keys;
      for (const auto& [each, unused] : shape.members) keys.push_back(each);
      const std::string near = base::did_you_mean(key.substr(0, 60), keys);
      return InputError{path, std::to_string(value.line), fmt::format("there is no field '{}' here", base::shown(key)),
                        near + "correct or remove it"};
    }
    const YamlNode& expected = known ? own : others;
    if (!known && value.kind == Kind::none && expected.text != "any")
      return wrong(value, path, key, "a text or number");
    if (auto error = error_in(value, expected, path, key)) return error;
  }
  return std::nullopt;
}

std::optional<InputError> error_in(const YamlNode& node, const YamlNode& shape, const std::string& path,
                                   const std::string& name) {
  if (node.kind == Kind::none) return std::nullopt;
  if (shape.kind == Kind::text) return scalar_error(node, shape.text, path, name);
  if (node.kind != shape.kind) return wrong(node, path, name, shape.kind == Kind::list ? "a list" : "a map");
  if (shape.kind == Kind::map) return map_error(node, shape, path);
  const YamlNode& item = shape.items.front();
  for (const YamlNode& each : node.items) {
    if (each.kind == Kind::none && item.text != "any") return wrong(each, path, name, "a list without empty items");
    if (auto error = error_in(each, item, path, name)) return error;
  }
  return std::nullopt;
}

}  // namespace

YamlNode shape_of(const std::string& text) {
  auto out = parse_yaml(text, "");
  if (!out) throw std::logic_error(out.error().line());
  return std::move(*out);
}

std::optional<InputError> shape_error(const YamlNode& node, const YamlNode& shape, const std::string& path) {
  return error_in(node, shape, path, "this");
}

bool is_true(const YamlNode& node) { return node.text == "true" || node.text == "True" || node.text == "TRUE"; }

}  // namespace berth::sim
