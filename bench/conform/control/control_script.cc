#include "conform/control/control_script.h"

#include <fmt/format.h>

#include <algorithm>

namespace berth::conform {

Outcome replay_script(const Vector& vector, const ScriptStep& step, const ScriptOptions& options) {
  const json::Array& script = vector.whole["script"].items();
  const json::Array& answers = vector.whole["out"].items();
  if (script.size() != answers.size())
    return Outcome::failed(fmt::format("{} operations with {} answers", script.size(), answers.size()));
  std::vector<Difference> differences;
  for (std::size_t i = 0; i < script.size() && differences.size() < options.differences_max; ++i) {
    const std::string& op = script[i]["op"].as_string();
    auto got = step(script[i], i);
    if (!got) return Outcome::unsupported(got.error());
    json::Value expected = answers[i];
    for (const std::string_view key : options.ignored) expected.erase(key), got->erase(key);
    for (Difference& d : compare(expected, *got, options.compare)) {
      d.place = fmt::format("/{} {}{}", i, op, d.place);
      differences.push_back(std::move(d));
    }
  }
  return Outcome::from(std::move(differences));
}

}  // namespace berth::conform
