// The event stream's endpoint (R-API-580 to 587); what it sends is made by events/.
#include "base/text.h"
#include "serve/endpoints/endpoints.h"
#include "serve/events/event_log.h"

namespace berth::serve {

namespace {

void stream_events(const std::shared_ptr<EventLog>& events, const Request& request, Reply& reply) {
  std::int64_t index = 0;
  if (const std::string* given = request.find("index"); given && !given->empty()) {
    const auto value = base::parse_int64(*given);
    if (!value)
      return reply.fail(400,
                        "Unable to parse index: strconv.Atoi: parsing " + base::go_quote(*given) + ": invalid syntax");
    index = std::max<std::int64_t>(*value, 0);
  }
  std::vector<std::string> topics;
  for (const auto& [key, value] : request.query)
    if (key == "topic") topics.push_back(value);
  auto asked = EventTopics::parse(topics, request.name_space);
  if (!asked) return reply.fail(400, asked.error());
  reply.header("Cache-Control", "no-cache");
  reply.push("{}\n", [events, asked = std::move(*asked), index](const std::shared_ptr<Channel>& channel) {
    events->subscribe(asked, static_cast<std::uint64_t>(index), [channel](const EventLog::Line& line) {
      return line.empty() ? !channel->closed() : channel->send(line);
    });
  });
}

}  // namespace

void add_event_routes(Router& router) {
  auto events = std::make_shared<EventLog>();
  router.attach([events](Simulation& simulation) { events->attach(simulation.log()); });
  router.plain("/v1/event/stream",
               [events](Simulation&, const Request& request, Reply& reply) { stream_events(events, request, reply); });
}

}  // namespace berth::serve
