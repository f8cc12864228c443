// The event stream's endpoint (R-API-580 to 587). Its events are made in events/.
#include <algorithm>

#include "base/text.h"
#include "http/endpoints/endpoints.h"
#include "http/endpoints/entities.h"
#include "http/events/event_log.h"
#include "http/stores/stores.h"

namespace berth::http {

namespace {

/// True if a token may read events of a topic (R-STORE-126). `spaces`: the requested namespaces.
bool may_read_topic(const Rights& has, std::string_view topic, const std::vector<std::string>& spaces) {
  const auto everywhere = [&](std::string_view capability) {
    return std::all_of(spaces.begin(), spaces.end(), [&](const std::string& space) {
      return has.in_namespace(space, namespace_capability(capability));
    });
  };
  if (has.is_management()) return true;
  for (const char* of_jobs : {"Deployment", "Evaluation", "Allocation", "Job", "Service", "CSIPlugin"})
    if (topic == of_jobs) return everywhere("read-job");
  if (topic == "HostVolume") return everywhere("host-volume-read");
  if (topic == "CSIVolume") return everywhere("csi-read-volume");
  if (topic == "Node") return has.node(Rights::Level::read);
  if (topic == "Operator") return has.operators(Rights::Level::read);
  if (topic == "Variable")
    return std::all_of(spaces.begin(), spaces.end(),
                       [&](const std::string& space) { return has.any_variable(space, variable_capability("read")); });
  return false;
}

/// True if the sender may read all requested topics. Checked again for each line, because the token may be deleted.
bool may_read(Simulation& simulation, const Request& request, const std::vector<std::string>& topics) {
  if (!simulation.options().acl) return true;
  const Asker asker = simulation.stores().who(request.secret, simulation.now());
  if (!asker.is_known()) return false;
  const std::vector<std::string> spaces =
      request.all_namespaces() ? namespace_names(simulation.state()) : std::vector<std::string>{request.name_space};
  if (topics.empty()) return asker.rights->is_management();
  return std::all_of(topics.begin(), topics.end(), [&](std::string_view topic) {
    return may_read_topic(*asker.rights, topic.substr(0, topic.find(':')), spaces);
  });
}

void stream_events(const std::shared_ptr<EventLog>& events, Simulation& simulation, const Request& request,
                   Reply& reply) {
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
  if (!may_read(simulation, request, topics)) return reply.fail(403, "Permission denied");
  if (!request.asker.is_management())
    asked->set_test([rights = request.asker.rights](const StreamEvent& event) {
      return std::string_view(event.topic) != "Variable" ||
             rights->variable(event.name_space, event.key, variable_capability("list"));
    });
  reply.header("Cache-Control", "no-cache");
  reply.push("{}\n", [events, &simulation, sender = request, topics, asked = std::move(*asked),
                      index](const std::shared_ptr<Channel>& channel) {
    events->subscribe(asked, static_cast<std::uint64_t>(index),
                      [channel, &simulation, sender, topics](const EventLog::Line& line) {
                        if (!line.empty() && !may_read(simulation, sender, topics)) return channel->end(), false;
                        return line.empty() ? !channel->closed() : channel->send(line);
                      });
  });
}

}  // namespace

void add_event_routes(Router& router) {
  auto events = std::make_shared<EventLog>();
  router.attach([events](Simulation& simulation) {
    events->attach(simulation.log());
    simulation.stores().listen([events](std::uint64_t index, const char* type, std::vector<StoreEvent> written) {
      events->store_written(index, type, std::move(written));
    });
  });
  router.plain("/v1/event/stream", [events](Simulation& simulation, const Request& request, Reply& reply) {
    stream_events(events, simulation, request, reply);
  });
}

}  // namespace berth::http
