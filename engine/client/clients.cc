// The node's side of a client: registration, heartbeats, pulls, reports, stop_on_client_after, restart of the process.
#include "client/clients.h"

namespace berth::client {

Clients::Clients(ClientsConfig config)
    : config_(std::move(config)),
      retries_(config_.seed, "client-retry"),
      first_beats_(config_.seed, "first-heartbeat"),
      restarts_(config_.seed, "restart-jitter") {
  BERTH_ASSERT(config_.tasks.outcome != nullptr);
}

std::int64_t Clients::uniform(base::Random& stream, std::int64_t bound) const {
  return bound <= 0 ? 0 : static_cast<std::int64_t>(stream.below(static_cast<std::uint64_t>(bound)));
}

void Clients::arm(TimerId& timer, std::int64_t at, TimerKind kind, std::uint32_t subject) {
  timers_.cancel(timer);
  timer = timers_.set(at, kind, subject);
}

/// Prefetches what on_heartbeat(), on_pull(), on_report() and on_task() read first: ten thousand clients exceed the
/// cache.
void Clients::prefetch(TimerKind kind, std::uint32_t subject) const {
  const auto fetch = [](const void* row, std::size_t bytes) {
    for (std::size_t at = 0; at < bytes; at += 64) base::prefetch(static_cast<const char*>(row) + at);
  };
  if (kind == kTask)
    fetch(&task_runs_[subject], sizeof(TaskRun));
  else if (kind == kHeartbeat || kind == kPull || kind == kReport)
    fetch(&clients_[subject], sizeof(ClientRow));
}

void Clients::advance(std::int64_t now, Outbox& out) {
  const auto near = [this](std::uint8_t kind, std::uint32_t subject) { prefetch(TimerKind(kind), subject); };
  out.expected.insert(out.expected.end(), expected_.begin(), expected_.end());
  expected_.clear();
  TimerWheel::Fired fired;
  while (timers_.pop(now, fired, near)) {
    const std::uint32_t subject = fired.subject;
    switch (static_cast<TimerKind>(fired.kind)) {
      case kRegister:
        clients_[subject].beat = kNoTimer;
        on_register(NodeRow(subject), fired.at, out);
        break;
      case kFingerprint:
        clients_[subject].process = kNoTimer;
        on_register(NodeRow(subject), fired.at, out);
        break;
      case kHeartbeat:
        clients_[subject].beat = kNoTimer;
        on_heartbeat(NodeRow(subject), fired.at, out);
        break;
      case kPull:
        clients_[subject].pull = kNoTimer;
        on_pull(NodeRow(subject), fired.at, out);
        break;
      case kReport:
        clients_[subject].report = kNoTimer;
        on_report(NodeRow(subject), fired.at, out);
        break;
      case kStopAfter:
        clients_[subject].stop_after = kNoTimer;
        on_stop_after(NodeRow(subject), fired.at);
        break;
      case kProcessUp:
        clients_[subject].process = kNoTimer;
        on_process_up(NodeRow(subject), fired.at);
        break;
      case kMaxRun:
        runs_[subject].max_run = kNoTimer;
        on_max_run(subject, fired.at);
        break;
      case kHealth:
        health_[runs_[subject].health_row].timer = kNoTimer;
        on_health(subject, fired.at);
        break;
      case kTask:
        task_runs_[subject].timer = kNoTimer;
        on_task(subject, fired.at);
        break;
    }
  }
}

// --- events from outside ---

void Clients::start(NodeRow node, std::int64_t now) {
  if (node >= clients_.size()) clients_.resize(node + 1);
  BERTH_ASSERT(!clients_[node].present);
  clients_[node] = ClientRow();
  clients_[node].present = true;
  ++present_;
  open(node, now);
}

/// Starts a process: it registers at once (R-CTRL-1540).
void Clients::open(NodeRow node, std::int64_t now) {
  ClientRow& c = clients_[node];
  c.up = true;
  c.process_start = c.last_ok = c.report_base = now;
  if (const std::int64_t quarter = config_.timing.report_tick_ns / 4; config_.timing.own_ticks && quarter > 0) {
    // Neighbours are a quarter of a tick apart, and the next four begin half a tick later. With more nodes the offsets
    // within a quarter are spread evenly.
    const std::uint64_t between = std::uint64_t{node / 8} * 0x9e3779b97f4a7c15U >> 44U;
    c.report_base -= quarter * (3 - (node + node / 4 * 2) % 4);
    c.report_base -= static_cast<std::int64_t>(between) * quarter >> 20U;
  }
  arm(c.beat, now, kRegister, node);
}

/// Ends the process. Requests in flight are lost, their reports stay pending.
void Clients::close(NodeRow node) {
  ClientRow& c = clients_[node];
  for (TimerId* timer : {&c.beat, &c.pull, &c.report, &c.stop_after, &c.process}) timers_.cancel(*timer);
  for (std::uint32_t run = c.flight_head; run != kNo; run = runs_[run].next_flight) {
    runs_[run].in_flight = false;
    push_pending(c, run);
  }
  c.flight_head = kNo;
  c.last_beat = kNoTime;
  c.up = c.registered = c.contacted = c.listening = c.retrying = false;
  c.awaits_registration = c.awaits_heartbeat = c.awaits_pull = c.awaits_report = false;
  c.pull_complete = true;
}

void Clients::remove(NodeRow node) {
  ClientRow& c = clients_[node];
  BERTH_ASSERT(c.present);
  close(node);
  while (c.allocs != kNo) release(c.allocs);
  c = ClientRow();
  --present_;
}

void Clients::set_reachable(NodeRow node, bool reachable, std::int64_t now) {
  ClientRow& c = clients_[node];
  BERTH_ASSERT(c.present);
  if (c.reachable == reachable) return;
  c.reachable = reachable;
  if (!reachable && c.listening) pull_failed(node, now);
}

void Clients::restart(NodeRow node, std::int64_t now, std::int64_t down_ns, Recovery recovery) {
  ClientRow& c = clients_[node];
  BERTH_ASSERT(c.present);
  close(node);
  c.recovery = recovery;
  for (std::uint32_t run = c.allocs; run != kNo; run = runs_[run].next_of_client) forget_timers(run);  // R-CTRL-1562
  if (down_ns != kNever) arm(c.process, now + down_ns, kProcessUp, node);
}

void Clients::on_process_up(NodeRow node, std::int64_t now) {
  ClientRow& c = clients_[node];
  open(node, now);
  for (std::uint32_t run = c.allocs; run != kNo;) {
    const std::uint32_t next = runs_[run].next_of_client;
    restore(run, c.recovery, now);
    run = next;
  }
  count_stop_after(c);
  // Nothing is overdue at a restore before the first contact: the countdown restarts (R-CTRL-1553).
  arm_stop_after(c, node, now);
}

void Clients::change_fingerprint(NodeRow node, std::int64_t now) {
  ClientRow& c = clients_[node];
  if (!c.present || !c.up) return;  // a starting process registers its current fingerprint
  const std::int64_t delay = config_.timing.fingerprint_delay_ns;
  arm(c.process, now + delay + uniform(retries_, delay), kFingerprint, node);
}

void Clients::set_report_lag(NodeRow node, std::int64_t lag_ns) { clients_[node].report_lag_ns = lag_ns; }

// --- registration and heartbeats ---

void Clients::on_register(NodeRow node, std::int64_t now, Outbox& out) {
  ClientRow& c = clients_[node];
  if (!c.reachable) return registration_failed(c, node, now);
  c.awaits_registration = true;
  out.registrations.push_back(node);
}

void Clients::registration_failed(ClientRow& c, NodeRow node, std::int64_t now) {
  const std::int64_t retry = config_.timing.register_retry_ns;
  const std::int64_t at = now + retry + uniform(retries_, retry);
  // The retry of a changed fingerprint has its own timer, because heartbeats continue.
  if (c.registered)
    arm(c.process, at, kFingerprint, node);
  else
    arm(c.beat, at, kRegister, node);
}

void Clients::registered(NodeRow node, Answer answer, std::int64_t now) {
  ClientRow& c = clients_[node];
  if (!c.present || !c.awaits_registration) return;
  c.awaits_registration = false;
  if (answer != Answer::ok) return registration_failed(c, node, now);
  c.last_ok = now;
  if (c.registered) return;
  c.registered = true;
  arm(c.beat, now + uniform(first_beats_, config_.timing.first_heartbeat_ns), kHeartbeat, node);
  if (!c.listening && !c.awaits_pull && c.pull == kNoTimer) arm(c.pull, now, kPull, node);
}

void Clients::on_heartbeat(NodeRow node, std::int64_t now, Outbox& out) {
  ClientRow& c = clients_[node];
  if (!c.reachable) return heartbeat_failed(c, node, false, now);
  c.awaits_heartbeat = true;
  out.heartbeats.push_back(node);
}

void Clients::heartbeat_at(NodeRow node, std::int64_t at) {
  ClientRow& c = clients_[node];
  if (c.present && c.registered && !c.awaits_heartbeat) arm(c.beat, at, kHeartbeat, node);
}

void Clients::heartbeat_answered(NodeRow node, Answer answer, std::int64_t ttl_ns, std::int64_t now) {
  ClientRow& c = clients_[node];
  if (!c.present || !c.awaits_heartbeat) return;
  c.awaits_heartbeat = false;
  if (answer == Answer::ok) {
    c.last_ok = c.last_beat = now;
    c.ttl_ns = ttl_ns;
    arm(c.beat, now + ttl_ns, kHeartbeat, node);
    arm_stop_after(c, node, now);
  } else if (answer == Answer::not_found) {  // R-CTRL-1541
    c.registered = false;
    arm(c.beat, now, kRegister, node);
  } else {
    heartbeat_failed(c, node, answer == Answer::no_leader, now);
  }
}

void Clients::heartbeat_failed(ClientRow& c, NodeRow node, bool no_leader, std::int64_t now) {  // R-CTRL-1541
  constexpr std::int64_t kSecond = base::kSecond;
  std::int64_t wait = 0;
  const std::int64_t left = c.last_beat == kNoTime ? 0 : c.last_beat + c.ttl_ns - now;
  if (c.last_beat == kNoTime || no_leader) {
    const std::int64_t retry = config_.timing.register_retry_ns;
    wait = retry + uniform(retries_, retry);
  } else if (left >= -30 * kSecond && left < 0) {
    wait = kSecond + uniform(retries_, kSecond);
  } else {
    wait = uniform(retries_, left < 0 ? -left : left);
    if (wait < kSecond)
      wait = kSecond + uniform(retries_, kSecond);
    else if (wait > 30 * kSecond)
      wait = 25 * kSecond + uniform(retries_, 5 * kSecond);
  }
  arm(c.beat, now + wait, kHeartbeat, node);
}

// --- pulling (R-CTRL-1501 to 1503) ---

void Clients::allocs_changed(NodeRow node, std::int64_t now) {
  if (!has(node)) return;
  ClientRow& c = clients_[node];
  if (c.listening && c.pull == kNoTimer && !c.awaits_pull) arm(c.pull, now, kPull, node);
}

void Clients::on_pull(NodeRow node, std::int64_t now, Outbox& out) {
  ClientRow& c = clients_[node];
  if (!c.reachable) return pull_failed(node, now);
  c.awaits_pull = true;
  out.pulls.push_back({node, c.pull_complete});
}

void Clients::pull_failed(NodeRow node, std::int64_t now) {
  ClientRow& c = clients_[node];
  if (!c.present || !c.up) return;
  c.listening = c.awaits_pull = false;
  c.pull_complete = true;
  const std::int64_t retry = config_.timing.pull_retry_ns;
  arm(c.pull, now + retry + uniform(retries_, retry), kPull, node);
}

void Clients::deliver(NodeRow node, const ServerAllocs& all, std::int64_t now) {
  ClientRow& c = clients_[node];
  if (!c.present || !c.awaits_pull) return;
  BERTH_ASSERT(all.complete || !c.pull_complete);
  c.awaits_pull = c.pull_complete = false;
  c.listening = true;
  const auto local = [&](AllocRow alloc) {
    const std::uint32_t run = run_of(alloc);
    return run == kNo || runs_[run].client != node ? kNo : run;
  };
  if (all.complete) {  // removals come first (R-CTRL-1502)
    for (const ServerAlloc& s : all.allocs)
      if (const std::uint32_t run = local(s.alloc); run != kNo) runs_[run].seen = true;
    for (std::uint32_t run = c.allocs; run != kNo;) {
      const std::uint32_t next = runs_[run].next_of_client;
      if (!std::exchange(runs_[run].seen, false)) drop(run, now);
      run = next;
    }
  }
  for (std::uint32_t run = c.orphans > 0 && !all.complete ? c.allocs : kNo; run != kNo;) {
    const std::uint32_t next = runs_[run].next_of_client;
    if (runs_[run].row_is_free) drop(run, now);
    run = next;
  }
  for (const AllocRow alloc : all.removed)
    if (const std::uint32_t run = local(alloc); run != kNo) drop(run, now);
  for (const ServerAlloc& s : all.allocs)
    if (const std::uint32_t run = local(s.alloc); run != kNo && s.alloc_modify_index > runs_[run].alloc_modify_index)
      update(run, s, now);
  for (const ServerAlloc& s : all.allocs)
    if (!s.terminal() && local(s.alloc) == kNo) add(node, s, all, now);  // R-CTRL-1511

  if (!c.contacted) c.contacted = true, schedule_reports(c, node, now);  // R-CTRL-1530
  if (c.blocked == 0 && c.uncontacted == 0) return;
  for (std::uint32_t run = c.allocs; run != kNo;) {
    const AllocRun& a = runs_[run];
    const std::uint32_t next = a.next_of_client;
    if (a.phase == Phase::blocked && a.waits_left == 0) {
      begin(run, now);  // its upstream ended while the client could not receive it
    } else if (a.phase == Phase::running) {
      bool contacted = false;
      for (std::size_t i = 0; i < task_count(a); ++i) {
        TaskRun& t = task_runs_[a.tasks + i];
        if (t.phase != TaskPhase::uncontacted) continue;
        t.phase = TaskPhase::idle, --c.uncontacted, contacted = true;
      }
      if (contacted) settle(run, now);
    }
    run = next;
  }
}

// --- reports (R-CTRL-1530 to 1534) ---

/// Records that a reported property of the allocation changed.
void Clients::touch(std::uint32_t run, std::int64_t now) {
  AllocRun& a = runs_[run];
  ++a.sequence;
  if (a.gone || a.row_is_free) return;
  ClientRow& c = clients_[a.client];
  push_pending(c, run);
  schedule_report(c, a.client, a, now);
}

void Clients::push_pending(ClientRow& c, std::uint32_t run) {
  AllocRun& a = runs_[run];
  if (a.is_pending) return;
  a.is_pending = true, a.next_pending = kNo;
  expected_.push_back({a.alloc, a.client});
  (c.pending_head == kNo ? c.pending_head : runs_[c.pending_tail].next_pending) = run;
  c.pending_tail = run;
}

bool Clients::is_news(const AllocRun& a) const { return !a.gone && !a.row_is_free && a.sequence != a.acknowledged; }

void Clients::schedule_report(ClientRow& c, NodeRow node, const AllocRun& a, std::int64_t now) {
  if (!c.up || !c.contacted || c.retrying || c.awaits_report) return;
  const std::int64_t tick = config_.timing.report_tick_ns * (is_urgent(a) ? 1 : config_.timing.ticks_per_report);
  std::int64_t due = tick == 0 ? now : c.report_base + ((now - c.report_base) / tick + 1) * tick;  // R-CTRL-1532
  due += c.report_lag_ns;
  if (c.report != kNoTimer && c.report_due <= due) return;
  c.report_due = due;
  arm(c.report, due, kReport, node);
}

void Clients::schedule_reports(ClientRow& c, NodeRow node, std::int64_t now) {
  for (std::uint32_t run = c.pending_head; run != kNo; run = runs_[run].next_pending)
    schedule_report(c, node, runs_[run], now);
}

/// R-CTRL-1531, at the tick: a status that changed and changed back is not urgent.
bool Clients::is_urgent(const AllocRun& a) {
  return a.was_acknowledged ? a.status.status != a.acknowledged_status : a.status.status == tables::Client::failed;
}

bool Clients::has_urgent(const ClientRow& c) const {
  for (std::uint32_t run = c.pending_head; run != kNo; run = runs_[run].next_pending)
    if (is_news(runs_[run]) && is_urgent(runs_[run])) return true;
  return false;
}

/// Postpones the pending reports to the next fifth tick; false: this is one.
bool Clients::put_off_report(ClientRow& c, NodeRow node, std::int64_t now) {
  const std::int64_t round = config_.timing.report_tick_ns * config_.timing.ticks_per_report;
  const std::int64_t since = now - c.report_lag_ns - c.report_base;
  if (round <= 0 || since % round == 0) return false;
  c.report_due = c.report_base + (since / round + 1) * round + c.report_lag_ns;
  arm(c.report, c.report_due, kReport, node);
  return true;
}

void Clients::on_report(NodeRow node, std::int64_t now, Outbox& out) {
  ClientRow& c = clients_[node];
  if (config_.timing.own_ticks && !c.retrying && !has_urgent(c) && put_off_report(c, node, now)) return;
  c.retrying = false;
  const auto begin = static_cast<std::uint32_t>(out.reports.size());
  std::uint32_t run = std::exchange(c.pending_head, kNo);
  c.pending_tail = kNo;
  std::uint32_t flight_tail = kNo;
  while (run != kNo) {
    AllocRun& a = runs_[run];
    const std::uint32_t next = a.next_pending;
    a.is_pending = false;
    if (!is_news(a)) {
      release_if_over(run);
    } else {
      a.in_flight = true, a.next_flight = kNo;
      a.sent = a.sequence, a.sent_status = a.status.status;
      (flight_tail == kNo ? c.flight_head : runs_[flight_tail].next_flight) = run;
      flight_tail = run;
      if (c.reachable) write_report(run, out);
    }
    run = next;
  }
  if (flight_tail == kNo) return;
  if (!c.reachable) return report_failed(c, node, now);
  c.awaits_report = true;
  out.requests.push_back({node, begin, static_cast<std::uint32_t>(out.reports.size()) - begin});
}

void Clients::write_report(std::uint32_t run, Outbox& out) {
  const AllocRun& a = runs_[run];
  AllocReport report;
  report.alloc = a.alloc;
  report.status = a.status, report.health = a.health, report.health_at = a.health_at;
  report.tasks_begin = static_cast<std::uint32_t>(out.tasks.size());
  const GroupSpec& spec = specs_[a.spec];
  report.tasks_count = static_cast<std::uint32_t>(spec.tasks.size());
  for (std::uint32_t i = 0; i < report.tasks_count; ++i) {
    TaskStatus status = statuses_[a.tasks + i];
    if (a.terminal_at != kNoTime && status.finished_at == kNoTime) status.finished_at = a.terminal_at;  // R-CTRL-1518
    out.tasks.push_back(status);
    const TaskRun& t = task_runs_[a.tasks + i];  // R-SEED-13
    out.handles.push_back(spec.tasks[i].remote && t.work != 0 ? Handle{t.work, t.exit_at, t.exit_code} : Handle{});
  }
  out.reports.push_back(report);
  if (config_.journal) journal_.sent(a.alloc);
}

void Clients::reported_logs(NodeRow node, std::vector<std::pair<AllocRow, tables::TaskLogRef>>& out) const {
  for (std::uint32_t run = clients_[node].flight_head; run != kNo; run = runs_[run].next_flight)
    if (!runs_[run].gone && !runs_[run].row_is_free)
      out.emplace_back(runs_[run].alloc, journal_.told(runs_[run].alloc));
}

void Clients::report_answered(NodeRow node, bool ok, std::int64_t now) {
  ClientRow& c = clients_[node];
  if (!c.present || !c.awaits_report) return;
  c.awaits_report = false;
  if (!ok) return report_failed(c, node, now);
  const std::int64_t tick = config_.timing.report_tick_ns;
  if (config_.timing.own_ticks && tick > 0)
    c.report_base += (now - c.report_base) / tick * tick;
  else
    c.report_base = now;
  for (std::uint32_t run = std::exchange(c.flight_head, kNo); run != kNo;) {
    AllocRun& a = runs_[run];
    const std::uint32_t next = a.next_flight;
    a.in_flight = false;
    a.acknowledged = a.sent, a.acknowledged_status = a.sent_status, a.was_acknowledged = true;
    release_if_over(run);
    run = next;
  }
  schedule_reports(c, node, now);
}

/// Keeps the reports; newer ones of the same allocations replace them (R-CTRL-1533).
void Clients::report_failed(ClientRow& c, NodeRow node, std::int64_t now) {
  for (std::uint32_t run = std::exchange(c.flight_head, kNo); run != kNo;) {
    const std::uint32_t next = runs_[run].next_flight;
    runs_[run].in_flight = false;
    if (runs_[run].gone)
      release_if_over(run);
    else
      push_pending(c, run);
    run = next;
  }
  if (c.pending_head == kNo) return;
  c.retrying = true;
  const std::int64_t retry = config_.timing.report_retry_ns;
  arm(c.report, now + retry + uniform(retries_, retry), kReport, node);
}

// --- stop_on_client_after (R-CTRL-1550 to 1553) ---

void Clients::count_stop_after(ClientRow& c) {
  c.stop_after_ns = 0;
  for (std::uint32_t run = c.allocs; run != kNo; run = runs_[run].next_of_client) {
    const AllocRun& a = runs_[run];
    const std::int64_t d = specs_[a.spec].stop_after_ns;
    if (a.counts_stop_after && (c.stop_after_ns == 0 || d < c.stop_after_ns)) c.stop_after_ns = d;
  }
}

/// Sets the client's only such timer, for the smallest duration, counted from `now`.
void Clients::arm_stop_after(ClientRow& c, NodeRow node, std::int64_t now) {
  if (c.stop_after_ns == 0)
    timers_.cancel(c.stop_after);
  else
    arm(c.stop_after, now + c.stop_after_ns, kStopAfter, node);
}

void Clients::on_stop_after(NodeRow node, std::int64_t now) {
  ClientRow& c = clients_[node];
  for (std::uint32_t run = c.allocs; run != kNo;) {
    AllocRun& a = runs_[run];
    const std::uint32_t next = a.next_of_client;
    if (a.counts_stop_after && now >= c.last_ok + specs_[a.spec].stop_after_ns) {  // R-CTRL-1552
      a.counts_stop_after = false;
      kill(run, KillScope::tasks, TaskEvent::killed, now);
    }
    run = next;
  }
  count_stop_after(c);
  arm_stop_after(c, node, now);  // R-CTRL-1551: the remaining ones count from now
}

// --- queries ---

Clients::Counts Clients::counts() const {
  Counts out;
  out.clients = present_, out.allocs = known_allocs_, out.tasks = live_tasks_, out.groups = by_group_.size();
  out.watched = health_.size() - free_health_.size(), out.waits = wait_rows_.size() - free_waits_.size();
  out.timers = timers_.size();
  return out;
}

std::string Clients::check() const {
  std::size_t allocs = 0;
  for (NodeRow node = 0; node < clients_.size(); ++node) {
    const ClientRow& c = clients_[node];
    std::uint32_t blocked = 0, uncontacted = 0;
    for (std::uint32_t run = c.allocs, previous = kNo; run != kNo; previous = run, run = runs_[run].next_of_client) {
      const AllocRun& a = runs_[run];
      allocs += !a.gone && !a.row_is_free;
      const std::string who = "allocation " + std::to_string(a.alloc) + ": ";
      if (a.client != node || a.prev_of_client != previous) return who + "is not linked to its client";
      if (!a.gone && !a.row_is_free && run_of(a.alloc) != run) return who + "is not found by its row";
      if (a.phase == Phase::free) return who + "is free and in use";
      if (is_news(a) && !a.is_pending && !a.in_flight) return who + "has something to report and does not";
      if (a.phase == Phase::done && !is_news(a) && !a.in_flight && !a.is_pending) return who + "is over and kept";
      blocked += a.phase == Phase::blocked;
      for (std::size_t i = 0; i < specs_[a.spec].tasks.size(); ++i) {
        const TaskRun& t = task_runs_[a.tasks + i];
        const TaskStatus& s = statuses_[a.tasks + i];
        uncontacted += t.phase == TaskPhase::uncontacted;
        if ((t.phase == TaskPhase::dead) != (s.state == TaskState::dead)) return who + "a task is dead by half";
        if (t.phase == TaskPhase::dead && t.timer != kNoTimer) return who + "a dead task has a timer";
        if (a.phase == Phase::done && t.phase != TaskPhase::dead) return who + "is over and a task is not";
        if (s.finished_at != kNoTime && s.started_at != kNoTime && s.finished_at < s.started_at)
          return who + "a task ended before it started";
      }
    }
    if (blocked != c.blocked) return "client " + std::to_string(node) + ": counts blocked allocations wrongly";
    if (uncontacted != c.uncontacted) return "client " + std::to_string(node) + ": counts waiting tasks wrongly";
    if (c.present && c.up && !c.awaits_registration && !c.awaits_heartbeat && c.beat == kNoTimer)
      return "client " + std::to_string(node) + ": will never be heard of again";
    if (c.contacted && !c.awaits_report && c.pending_head != kNo && c.report == kNoTimer)
      return "client " + std::to_string(node) + ": reports are kept and no timer runs";
  }
  return allocs == known_allocs_ ? "" : "allocations are found by row that no client has";
}

}  // namespace berth::client
