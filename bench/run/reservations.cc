#include "run/reservations.h"

#include <algorithm>

#include "model/job.h"

namespace berth::run {

void Reservations::wait(double key, std::uint64_t number, const Job& job) {
  const bool is_new = !forget(job.eval.job);  // the key may be another one
  const Place place{key, number};
  waiting_.emplace(place, job);
  place_of_.emplace(job.eval.job, place);
  if (!is_new || (examined_ && place < *examined_)) changed();
}

bool Reservations::forget(tables::JobKeyRow job) {
  const auto at = place_of_.find(job);
  if (at == place_of_.end()) return false;
  waiting_.erase(at->second);
  place_of_.erase(at);
  changed();
  return true;
}

std::optional<server::NewEval> Reservations::next_to_start(std::int64_t now_ns, std::uint64_t index) {
  now_ns_ = now_ns, index_ = index;
  if (forecast_->expect_longer(now_ns)) passing_ = false;
  if (!passing_) passing_ = true, examined_.reset(), reserved_.clear(), first_room_.reset();
  for (auto at = examined_ ? waiting_.upper_bound(*examined_) : waiting_.begin(); at != waiting_.end(); ++at) {
    examined_ = at->first;
    const Job& job = at->second;
    if (starts_now(job)) {
      const server::NewEval eval = job.eval;
      place_of_.erase(eval.job);
      waiting_.erase(at);
      return eval;
    }
    if (reserved_.size() >= most_) continue;
    const auto start_ns = earliest_start(job);
    if (!start_ns) continue;
    const auto after = std::upper_bound(reserved_.begin(), reserved_.end(), *start_ns,
                                        [](std::int64_t a, const Reserved& b) { return a < b.start_ns; });
    reserved_.insert(after, {*start_ns, &job});
  }
  return std::nullopt;
}

/// Places the job in the trial, which is at `start_ns`.
bool Reservations::place(const Job& job, std::int64_t start_ns) {
  const bool ends = job.predicted_ns >= 0 && job.predicted_ns < INT64_MAX - start_ns;
  return forecast_->place(job.eval, ends ? start_ns + job.predicted_ns : INT64_MAX);
}

/// As the trial continues: the start of the first reserved job, from `first` on, that does not fit at its time.
std::optional<std::int64_t> Reservations::first_delayed(std::size_t first) {
  for (std::size_t i = first; i < reserved_.size(); ++i) {
    forecast_->advance(reserved_[i].start_ns);
    forecast_->watch(reserved_[i].job->eval.job);
    if (!forecast_->room().suffices() || !place(*reserved_[i].job, reserved_[i].start_ns)) return reserved_[i].start_ns;
  }
  return std::nullopt;
}

/// True if the job has ended by then, as predicted, if it starts now.
bool Reservations::ends_by(const Job& job, std::int64_t at_ns) const {
  return job.predicted_ns >= 0 && job.predicted_ns <= at_ns - now_ns_;
}

bool Reservations::starts_now(const Job& job) {
  forecast_->begin(now_ns_, index_);
  if (!place(job, now_ns_)) return false;
  if (reserved_.empty() || ends_by(job, reserved_.front().start_ns)) return true;
  const bool takes_room = first_room_ && !ends_by(job, first_start_ns_);
  const std::vector<Room::Use> uses = forecast_->last_placed();
  if (takes_room) first_room_->take(uses);
  const bool starts = (!takes_room || first_room_->suffices()) && !first_delayed(0);
  if (takes_room && !starts) first_room_->take(uses, -1);
  return starts;
}

/// A new trial up to `at_ns`, with the jobs reserved until then. Returns their number.
std::size_t Reservations::forward(std::int64_t at_ns) {
  forecast_->begin(now_ns_, index_);
  std::size_t next = 0;
  for (; next < reserved_.size() && reserved_[next].start_ns <= at_ns; ++next) {
    forecast_->advance(reserved_[next].start_ns);
    static_cast<void>(place(*reserved_[next].job, reserved_[next].start_ns));  // it fitted when it was reserved
  }
  forecast_->advance(at_ns);
  return next;
}

std::optional<std::int64_t> Reservations::earliest_start(const Job& job) {
  std::size_t next = forward(now_ns_);
  forecast_->watch(job.eval.job);
  std::int64_t not_before_ns = now_ns_;
  while (true) {
    std::optional<std::int64_t> at_ns = forecast_->next_end();
    if (next < reserved_.size()) at_ns = std::min(at_ns.value_or(INT64_MAX), reserved_[next].start_ns);
    if (!at_ns || *at_ns >= job.limit_ns) return std::nullopt;
    forecast_->advance(*at_ns);
    for (; next < reserved_.size() && reserved_[next].start_ns <= *at_ns; ++next)
      static_cast<void>(place(*reserved_[next].job, reserved_[next].start_ns));
    if (*at_ns < not_before_ns || !forecast_->room().suffices()) continue;
    std::optional<Room> room;
    if (!first_room_) room = forecast_->room();
    if (!place(job, *at_ns)) continue;
    const auto delayed_ns = first_delayed(next);
    if (!delayed_ns) {
      if (room) first_room_ = std::move(room), first_start_ns_ = *at_ns;
      return at_ns;
    }
    // At any time before, it would run at that moment, too.
    not_before_ns = *delayed_ns;
    next = forward(*at_ns);
    forecast_->watch(job.eval.job);
  }
}

}  // namespace berth::run
