#include "feasible/constraints.h"

#include "model/job.h"

namespace berth::feasible {
namespace {

void append(ConstraintList& list, std::span<const model::Constraint> constraints, match::Patterns& patterns) {
  for (const model::Constraint& c : constraints) {
    list.constraints.push_back(match::compile(c.ltarget, c.operand, c.rtarget, patterns));
    list.reasons.push_back(c.text());
  }
}

}  // namespace

ConstraintList compile(std::span<const model::Constraint> constraints, match::Patterns& patterns) {
  ConstraintList out;
  append(out, constraints, patterns);
  return out;
}

ConstraintList compile_group(const model::TaskGroup& group, match::Patterns& patterns) {
  ConstraintList out;
  append(out, group.constraints, patterns);
  for (const model::Task& task : group.tasks) append(out, task.constraints, patterns);
  return out;
}

std::optional<std::size_t> first_failing(const ConstraintList& list, const model::Node& node,
                                         match::Patterns& patterns) {
  for (std::size_t i = 0; i < list.constraints.size(); ++i)
    if (!match::holds(list.constraints[i], node, patterns)) return i;
  return std::nullopt;
}

}  // namespace berth::feasible
