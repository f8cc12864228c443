// Control vectors are scripts: operations in order with their recorded answers. An adapter executes one operation at a
// time; this file compares the answers.
//
// To add a kind of control vectors, add a file control_X_vectors.cc that defines `control_X_components()` with the
// names of its files ("plan_queue"), and its area in registry.cc's list. A file without an adapter is reported as
// unsupported `control script NAME`.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

#include "conform/compare.h"
#include "conform/vector.h"

namespace berth::conform {

inline constexpr std::int64_t kScriptStartNs = 946'684'800'000'000'000;  ///< 2000-01-01, the start of script clocks

/// Executes script[index] and returns its answer, to be compared with out[index]. Error: the unsupported operation.
using ScriptStep = std::function<tl::expected<json::Value, std::string>(const Field& step, std::size_t index)>;

struct ScriptOptions {
  CompareOptions compare;                     ///< how answers are compared
  std::span<const std::string_view> ignored;  ///< members of an answer that are not compared
  std::size_t differences_max = 3;            ///< later differences are consequences of the first ones
};

/// Replays `script` of the vector and compares with its `out`. An operation that `step` refuses makes the whole vector
/// unsupported. The place of a difference is `/INDEX OP/...`. Stops after the step that reaches `differences_max`.
[[nodiscard]] Outcome replay_script(const Vector& vector, const ScriptStep& step, const ScriptOptions& options = {});

/// The IDs drawn during one operation (`out[i].ids`), in drawing order.
class DrawnIds {
 public:
  explicit DrawnIds(const Field& answer) : ids_(answer["ids"]) {}
  /// The next ID, or "" if the recording drew no more.
  [[nodiscard]] std::string_view next() {
    return at_ < ids_.size() ? std::string_view(ids_[at_++].as_string()) : std::string_view();
  }

 private:
  Field ids_;
  std::size_t at_ = 0;
};

}  // namespace berth::conform
