// The shape of YAML documents: which keys a map has, and of what kind their values are.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "sim/yaml_tree.h"

namespace berth::sim {

/// A shape, itself YAML: text, bool (true or false), int or any; [SHAPE] is a list of such; {KEY: SHAPE} a map with no
/// other keys, where the key '*' stands for all that are not named. It must be correct.
[[nodiscard]] YamlNode shape_of(const std::string& text);

/// The first value in `node` that is of another kind than in `shape`, or whose key the shape does not have. A value
/// that is absent or null has every shape, but items of lists and values of '*' must not be null.
[[nodiscard]] std::optional<InputError> shape_error(const YamlNode& node, const YamlNode& shape,
                                                    const std::string& path);

/// Whether a value of the shape `bool` is true.
[[nodiscard]] bool is_true(const YamlNode& node);

}  // namespace berth::sim
