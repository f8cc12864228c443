// Control vectors are scripts: operations in order and what each of them answered. An adapter carries out one operation
// at a time; the comparison of its answers stands here.
//
// How to add a kind of control vectors: a file control_X_vectors.cc that defines `control_X_components()` with the file
// names it answers ("plan_queue"), and its area in registry.cc's list. A file that no area answers is reported as
// `control script NAME` among what is not supported.
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

inline constexpr std::int64_t kScriptStartNs = 946'684'800'000'000'000;  ///< 2000-01-01, where script clocks start

/// Carries out script[index] and returns what out[index] should be. An error names an operation that is not supported.
using ScriptStep = std::function<tl::expected<json::Value, std::string>(const Field& step, std::size_t index)>;

struct ScriptOptions {
  CompareOptions compare;                     ///< how answers are compared
  std::span<const std::string_view> ignored;  ///< members of an answer that are not compared
  std::size_t differences_max = 3;            ///< later differences follow from the first ones
};

/// Replays `script` of the vector against its `out`. The first operation that `step` refuses makes the whole vector
/// unsupported. Differences are placed at `/INDEX OP/...`; replaying stops after the step that reaches
/// `differences_max`, because a state that went astray only gives differences that follow.
[[nodiscard]] Outcome replay_script(const Vector& vector, const ScriptStep& step, const ScriptOptions& options = {});

/// The IDs drawn during one operation (`out[i].ids`), handed out in drawing order.
class DrawnIds {
 public:
  explicit DrawnIds(const Field& answer) : ids_(answer["ids"]) {}
  /// The next ID, or "" when the recording drew no more.
  [[nodiscard]] std::string_view next() {
    return at_ < ids_.size() ? std::string_view(ids_[at_++].as_string()) : std::string_view();
  }

 private:
  Field ids_;
  std::size_t at_ = 0;
};

}  // namespace berth::conform
