#include "packing/episode.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "base/assert.h"
#include "base/random.h"

namespace berth::packing {

PackingEpisode::PackingEpisode(const sim::PackingProblem& problem, const std::vector<std::uint32_t>& order,
                               bool departures, strategy::Row first_row)
    : problem_(&problem), order_(&order), departures_(departures), first_row_(first_row), digest_(base::mix64(1)) {}

void PackingEpisode::note(std::uint64_t value) { digest_ = base::mix64(digest_ ^ value); }

void PackingEpisode::predict(strategy::Fleet& fleet, strategy::Prediction prediction) {
  fleet.predict_run_times();
  prediction_ = prediction;
}

void PackingEpisode::end(strategy::Fleet& fleet, const End& task) const {
  fleet.remove(first_row_ + task.row, task.task, task.devices);
  if (strategy::Lifetimes* const lifetimes = fleet.lifetimes()) lifetimes->remove(task.slot);
}

bool PackingEpisode::next_arrival(strategy::Fleet& fleet) {
  if (arrived_ == problem_->arrivals.size()) return false;
  ++arrived_;
  const sim::PackingArrival& now = arrival();
  while (!ends_.empty() && ends_.front().at_ns <= now.due_ns) {
    const End next = ends_.front();
    std::pop_heap(ends_.begin(), ends_.end(), std::greater<>());
    ends_.pop_back();
    if (before_) before_(next.at_ns);
    end(fleet, next);
  }
  if (before_) before_(now.due_ns);
  if (prediction_) {
    const bool ends = departures_ && now.run_time_ns != sim::kNeverEnds;
    fleet.arrive(
        now.task, now.due_ns,
        ends ? std::max<std::int64_t>(1, prediction_->whole(now.run_time_ns, now.job)) : strategy::Lifetimes::kNever);
  }
  if (now.distinct_hosts && hosts_job_ != now.job) {
    hosts_.resize((order_->size() + 63) / 64);
    for (const strategy::Row row : hosts_used_) hosts_[row / 64] = 0;
    hosts_used_.clear();
    hosts_job_ = now.job;
  }
  return true;
}

void PackingEpisode::count() { ++asked_, priority_asked_ += problem_->classes[arrival().task].priority; }

void PackingEpisode::missed() {
  count();
  note(~std::uint64_t{0});
}

void PackingEpisode::placed(const strategy::Choice& choice, strategy::Fleet& fleet) {
  count();
  ++placed_, priority_placed_ += problem_->classes[arrival().task].priority;
  note((*order_)[choice.row]), note(choice.devices);
  const sim::PackingArrival& now = arrival();
  if (now.distinct_hosts) {
    hosts_[choice.row / 64] |= std::uint64_t{1} << (choice.row % 64);
    hosts_used_.push_back(choice.row);
  }
  const bool ends = departures_ && now.run_time_ns != sim::kNeverEnds;
  std::vector<End>& running = ends ? ends_ : stays_;
  strategy::Lifetimes* const lifetimes = fleet.lifetimes();
  running.push_back({ends ? now.due_ns + now.run_time_ns : sim::kNeverEnds, asked_, choice.row, now.task,
                     choice.devices, lifetimes ? lifetimes->place(choice.row) : 0});
  if (ends) std::push_heap(ends_.begin(), ends_.end(), std::greater<>());
}

void PackingEpisode::restart(strategy::Fleet& fleet) {
  BERTH_ASSERT(!prediction_ && !before_);
  for (std::vector<End>* const running : {&ends_, &stays_}) {
    for (const End& task : *running) end(fleet, task);
    running->clear();
  }
  for (const strategy::Row row : hosts_used_) hosts_[row / 64] = 0;
  hosts_used_.clear();
  arrived_ = 0, hosts_job_ = UINT32_MAX;
  asked_ = placed_ = 0, digest_ = base::mix64(1), priority_asked_ = priority_placed_ = 0;
}

std::string PackingEpisode::digest() const { return fmt::format("{:016x}", digest_); }

}  // namespace berth::packing
