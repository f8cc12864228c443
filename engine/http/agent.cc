#include "http/agent.h"

#include <array>

#include "base/random.h"
#include "base/uuid.h"

namespace berth::http {

namespace {

constexpr std::uint32_t kWorkerIds = 11, kServerIds = 12;  // kinds of generated_id()

}  // namespace

std::optional<broker::Queue> scheduler_queue(std::string_view name) {
  for (std::uint32_t queue = 0; queue < broker::kQueueCount; ++queue)
    if (static_cast<broker::Queue>(queue) != broker::Queue::failed &&
        broker::queue_name(static_cast<broker::Queue>(queue)) == name)
      return static_cast<broker::Queue>(queue);
  return std::nullopt;
}

Agent::Agent(std::string name, std::uint64_t seed, std::uint32_t processors)
    : name_(std::move(name)),
      server_id_(base::to_text(base::generated_id(kServerIds, 1, base::mix64(seed)))),
      seed_(seed),
      processors_(processors) {}

void Agent::set_workers(std::uint32_t count, std::vector<std::string> schedulers, std::int64_t now_ns, bool paused) {
  workers_.clear();
  schedulers_ = std::move(schedulers);
  const std::uint32_t resting = paused && count > 1 ? count * 3 / 4 : 0;
  for (std::uint32_t i = 0; i < count; ++i)
    workers_.push_back(
        {base::to_text(base::generated_id(kWorkerIds, ++made_, base::mix64(seed_))), now_ns, i < resting});
}

broker::QueueSet Agent::queues() const {
  broker::QueueSet out = 0;
  if (workers_.empty()) return out;
  for (const std::string& name : schedulers_)
    if (const auto queue = scheduler_queue(name)) out = static_cast<broker::QueueSet>(out | broker::only(*queue));
  return out;
}

}  // namespace berth::http
