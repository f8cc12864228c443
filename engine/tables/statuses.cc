#include <array>

#include "tables/alloc_table.h"

namespace berth::tables {
namespace {

constexpr std::array kNodeStatuses = {"initializing", "ready", "down", "disconnected"};
constexpr std::array kDesired = {"run", "stop", "evict"};
constexpr std::array<std::string_view, 8> kDescriptions = {"",
                                                           "alloc not needed due to job update",
                                                           "alloc not needed due to disconnected client reconnect",
                                                           "alloc is being migrated",
                                                           "alloc is being updated due to job update",
                                                           "alloc is lost since its node is down",
                                                           "alloc was rescheduled because it failed",
                                                           "alloc not needed as node is tainted"};
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
std::string_view to_text(Description description) { return kDescriptions[static_cast<std::size_t>(description)]; }
std::optional<Desired> parse_desired(std::string_view text) { return parse<Desired>(kDesired, text); }
std::optional<Client> parse_client(std::string_view text) { return parse<Client>(kClient, text); }

void AllocTable::set_report(AllocRow row, const Reported& said) {
  if (row >= reported.size()) reported.resize(size());
  ReportMore more;
  ReportRow& kept = reported.edit(row);
  const bool had_more = kept.has_more;
  kept = to_row(said, more);
  if (kept.has_more || had_more) reported_more.set(row, more);
}

void AllocTable::clear_reported_rest(AllocRow row) {
  const std::shared_ptr<const AllocRest> before = rest[row];
  if (!before) return;
  AllocRest stays;
  stays.resources = before->resources, stays.shared_resources = before->shared_resources;
  stays.task_resources = before->task_resources, stays.extra = before->extra;
  const bool is_empty = stays.resources.is_null() && stays.shared_resources.is_null() &&
                        stays.task_resources.is_null() && stays.extra.is_null();
  rest.set(row, is_empty ? nullptr : std::make_shared<const AllocRest>(std::move(stays)));
}

void AllocTable::clear_report(AllocRow row) {
  if (!has_report(row)) return;
  ReportRow& kept = reported.edit(row);
  if (kept.has_more) reported_more.set(row, {});
  kept = ReportRow();
}

}  // namespace berth::tables
