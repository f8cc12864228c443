#include "client/task_model.h"

#include "base/random.h"

namespace berth::client {
namespace {

Outcome seeded_outcome(const void* context, const TaskStart& start) {
  const auto& model = *static_cast<const SeededModel*>(context);
  const std::uint64_t name = base::mix64(static_cast<std::uint64_t>(start.job) << 32 | start.name_index);
  const std::uint64_t what =
      static_cast<std::uint64_t>(start.group) << 48 | static_cast<std::uint64_t>(start.task) << 32 | start.run;
  base::Random draw(model.seed ^ name ^ base::mix64(what), "task");
  // A fixed number of draws: changing one probability does not shift the others.
  const double begin = draw.unit(), end = draw.unit(), recovery = draw.unit();
  const auto length = static_cast<std::int64_t>(draw.exponential(static_cast<double>(model.batch_run_ns)));
  Outcome out;
  out.start_delay_ns = model.start_delay_ns, out.kill_ns = model.kill_ns;
  if (begin < model.start_failure_probability) out.start_error = StartError::recoverable;
  out.recovered = recovery >= model.loss_probability;
  const bool batch = is_of_batch(start.type);
  const bool fails = end < (batch ? model.failure_probability : model.crash_probability);
  if (batch || fails) out.run_ns = length;
  out.exit_code = fails ? 1 : 0;
  return out;
}

}  // namespace

TaskModel SeededModel::model() const { return {this, seeded_outcome, nullptr}; }

}  // namespace berth::client
