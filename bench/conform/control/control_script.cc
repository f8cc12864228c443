#include "conform/control/control_script.h"

#include <fmt/format.h>

#include <algorithm>

namespace berth::conform {

Outcome replay_script(const Vector& vector, const ScriptStep& step, const ScriptOptions& options) {
  const auto script = vector.whole["script"].items();
  const auto answers = vector.whole["out"].items();
  if (script.size() != answers.size())
    vector.whole["out"].fail(fmt::format("has {} answers to {} operations", answers.size(), script.size()));
  std::vector<Difference> differences;
  for (std::size_t i = 0; i < script.size() && differences.size() < options.differences_max; ++i) {
    const std::string& op = script[i]["op"].as_string();
    auto got = step(script[i], i);
    if (!got) return Outcome::unsupported(got.error());
    json::Value expected = answers[i];
    static_cast<void>(answers[i].members());
    for (const std::string_view key : options.ignored) expected.erase(key), got->erase(key);
    for (Difference& d : compare(expected, *got, options.compare)) {
      d.place = fmt::format("/{} {}{}", i, op, d.place);
      differences.push_back(std::move(d));
    }
  }
  return Outcome::from(std::move(differences));
}

}  // namespace berth::conform
