#include "model/codec/empty_containers.h"

#include "base/json.h"

namespace berth::model {
namespace {

void find_empty_containers(const json::Value& value, const std::string& place, EmptyContainers& out) {
  if ((value.is_object() || value.is_array()) && value.size() == 0) out.insert(place);
  for (const json::Member& member : value.members()) find_empty_containers(member.value, place + "/" + member.key, out);
  for (std::size_t i = 0; i < value.items().size(); ++i)
    find_empty_containers(value.items()[i], place + "/" + std::to_string(i), out);
}

}  // namespace

EmptyContainers empty_containers(const json::Value& job) {
  EmptyContainers out;
  find_empty_containers(job, "", out);
  return out;
}

}  // namespace berth::model
