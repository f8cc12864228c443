// A YAML document as a tree whose values have the line of the file they are on.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "berth/result.h"

namespace berth::sim {

struct YamlMember;

struct YamlNode {
  enum class Kind { none, text, list, map };
  Kind kind = Kind::none;  ///< none: absent, or null
  std::size_t line = 0;
  std::string text;  ///< of a scalar, as it is written
  std::vector<YamlNode> items;
  std::vector<YamlMember> members;  ///< in the order of the file

  /// The member `key`; a node of kind none, with this node's line, if there is none.
  [[nodiscard]] const YamlNode& operator[](std::string_view key) const;
  [[nodiscard]] bool has(std::string_view key) const { return (*this)[key].kind != Kind::none; }
};

struct YamlMember {
  std::string key;
  YamlNode value;
};

/// The only document of `text`. Errors name `path` and the line. Anchors, aliases and tags are refused, so that the
/// tree is no larger than the text; so is nesting of more than 60 levels.
[[nodiscard]] Result<YamlNode> parse_yaml(std::string_view text, const std::string& path);

}  // namespace berth::sim
