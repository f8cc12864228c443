#include "broker/broker-inl.h"

namespace berth::broker {

std::string_view queue_name(Queue queue) {
  static constexpr std::string_view kNames[] = {"service", "batch", "system", "sysbatch", "_core", "_failed"};
  return kNames[static_cast<std::size_t>(queue)];
}

std::string_view fault_text(Fault fault) {
  switch (fault) {
    case Fault::disabled:
      return "eval broker disabled";
    case Fault::not_found:
      return "Evaluation ID not found";
    case Fault::wrong_token:
      return "Token does not match for Evaluation ID";
    case Fault::timer_stopped:
      return "Evaluation ID Ack'd after Nack timer expiration";
    case Fault::not_outstanding:
      return "evaluation is not outstanding";
    case Fault::token_differs:
      return "evaluation token does not match";
    case Fault::timeout_reached:
      return "evaluation nack timeout reached";
    case Fault::full:
      return "eval broker full";
  }
  return "";
}

std::uint32_t thread_number() {
  static std::atomic<std::uint32_t> next{0};
  thread_local const std::uint32_t mine = next.fetch_add(1, std::memory_order_relaxed);
  return mine;
}

namespace {
std::vector<std::unique_ptr<PendingScratch::Lists>>& free_lists() {
  thread_local std::vector<std::unique_ptr<PendingScratch::Lists>> lists;
  return lists;
}
}  // namespace

PendingScratch::PendingScratch() {
  auto& free = free_lists();
  if (free.empty()) {
    lists_ = std::make_unique<Lists>();
    return;
  }
  lists_ = std::move(free.back());
  free.pop_back();
}

PendingScratch::~PendingScratch() { free_lists().push_back(std::move(lists_)); }

template class BasicBroker<std::atomic>;

}  // namespace berth::broker
