#include <array>

#include "tables/alloc_table.h"

namespace berth::tables {
namespace {

constexpr std::array kNodeStatuses = {"initializing", "ready", "down", "disconnected"};
constexpr std::array kDesired = {"run", "stop", "evict"};
constexpr std::array kClient = {"pending", "running", "complete", "failed", "lost", "unknown"};

template <class Enum, std::size_t N>
std::optional<Enum> parse(const std::array<const char*, N>& names, std::string_view text) {
  for (std::size_t i = 0; i < N; ++i)
    if (text == names[i]) return static_cast<Enum>(i);
  return std::nullopt;
}

}  // namespace

const char* to_text(NodeStatus status) { return kNodeStatuses[static_cast<std::size_t>(status)]; }
std::optional<NodeStatus> parse_node_status(std::string_view text) { return parse<NodeStatus>(kNodeStatuses, text); }
const char* to_text(Desired desired) { return kDesired[static_cast<std::size_t>(desired)]; }
const char* to_text(Client client) { return kClient[static_cast<std::size_t>(client)]; }
std::optional<Desired> parse_desired(std::string_view text) { return parse<Desired>(kDesired, text); }
std::optional<Client> parse_client(std::string_view text) { return parse<Client>(kClient, text); }

}  // namespace berth::tables
