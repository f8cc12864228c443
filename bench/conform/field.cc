#include "conform/field.h"

namespace berth::conform {
namespace {

/// Appends the JSON pointer of a value to `place`; false if it is not in `in`.
bool find_value(const json::Value& in, const json::Value* value, std::string& place) {
  if (&in == value) return true;
  const std::size_t length = place.size();
  const auto& items = in.items();
  for (std::size_t i = 0; i < items.size(); ++i) {
    place += "/" + std::to_string(i);
    if (find_value(items[i], value, place)) return true;
    place.resize(length);
  }
  for (const json::Member& member : in.members()) {
    place += "/" + member.key;
    if (find_value(member.value, value, place)) return true;
    place.resize(length);
  }
  return false;
}

}  // namespace

std::string pointer_to(const json::Value& root, const json::Value* value) {
  std::string out;
  return find_value(root, value, out) ? out : std::string();
}

void Field::require(std::string_view members) const {
  while (!members.empty()) {
    const std::string_view path = members.substr(0, members.find(' '));
    members.remove_prefix(std::min(members.size(), path.size() + 1));
    const std::size_t slash = path.find('/');
    if (slash == std::string_view::npos)
      static_cast<void>(at(path));
    else
      static_cast<void>(at(path.substr(0, slash)).at(path.substr(slash + 1)));
  }
}

}  // namespace berth::conform
