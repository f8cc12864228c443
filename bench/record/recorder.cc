#include "record/recorder.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <thread>

#include "agent/line_stream.h"
#include "base/text.h"
#include "io/json_parse.h"
#include "io/redact.h"
#include "record/recording.h"
#include "run/interrupt.h"
#include "run/progress.h"

namespace berth::record {
namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr auto kFirstDelay = 500ms, kLongestDelay = 30'000ms;
/// Time between two readings of the scheduler configuration, which has no events.
constexpr auto kConfigEvery = 1s;
/// An index beyond every buffered frame: the stream begins with the newest one (R-API-584).
constexpr std::uint64_t kNewest = INT64_MAX;

std::int64_t unix_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

class Recorder {
 public:
  Recorder(const Settings& settings, const std::function<void(const std::string&)>& say)
      : settings_(settings), say_(say), progress_("frames", 0, settings.sources.quiet) {
    if (settings_.topics.empty()) settings_.topics = io::event_topics();
    settings_.sources.followed = settings_.sources.quiet = true;
    connection_.address = settings_.address;
  }

  Result<Summary> run() {
    connection_ = agent::settings_from_environment(settings_.address);
    connection_.requests_per_second = settings_.sources.requests_per_second;
    connection_.timeout_s = settings_.sources.timeout_s;
    settings_.sources.wanted = [this] { return !writer_ || !run::interrupted(); };
    if (auto done = begin(); !done) return tl::unexpected(done.error());
    while (!is_over()) step();
    end();
    return out_;
  }

 private:
  // --- start: an error ends the command and leaves no file ---
  Result<void> begin() {
    if (auto fine = Writer::check(settings_.path); !fine) return fine;
    if (auto done = connect(kNewest); !done) return done;
    std::string line;
    const auto wait = std::chrono::milliseconds(static_cast<std::int64_t>(settings_.sources.timeout_s * 1000));
    switch (stream_->next(line, wait)) {
      case agent::LineStream::Got::line:
        break;
      case agent::LineStream::Got::nothing:
        return tl::unexpected(InputError{settings_.address, "/v1/event/stream",
                                         fmt::format("no answer within {} s", settings_.sources.timeout_s),
                                         "ask another server"});
      case agent::LineStream::Got::ended: {
        InputError error = stream_->end();
        if (stream_->status() == 403)
          error.remedy =
              "set NOMAD_TOKEN to a token that may read jobs, nodes and volumes of all namespaces, or leave out "
              "volumes: "
              "--topics Evaluation,Allocation,Deployment,Job,Node,NodePool";
        else if (error.remedy.empty())
          error.remedy = "check that this is an agent of Nomad, and its log";
        return tl::unexpected(std::move(error));
      }
    }
    auto state = read_state();
    if (!state) return tl::unexpected(state.error());
    auto writer = Writer::create(settings_.path);
    if (!writer) return tl::unexpected(writer.error());
    writer_ = std::move(*writer);
    run::take_time_to_stop();
    Header header{settings_.address, settings_.topics, settings_.redact, unix_ns()};
    writer_->write(header);
    take(std::move(*state));
    take(line);
    return {};
  }

  Result<void> connect(std::uint64_t index) {
    auto connection = agent::Connection::open(connection_);
    if (!connection) return tl::unexpected(connection.error());
    std::string path = fmt::format("/v1/event/stream?index={}&namespace=*", index);
    for (const std::string& topic : settings_.topics) path += "&topic=" + agent::escaped(topic);
    stream_ = std::make_unique<agent::LineStream>(std::move(*connection), std::move(path), settings_.silence_s);
    is_first_ = true;
    return {};
  }

  Result<model::ClusterState> read_state() {
    auto imported = agent::import_sources({settings_.address}, settings_.sources);
    if (!imported) return tl::unexpected(imported.error());
    for (const std::string& warning : imported->warnings) say_("warning: " + warning);
    if (settings_.redact) redactor_.redact(imported->state);
    return std::move(imported->state);
  }

  void take(model::ClusterState state) {
    config_index_ = state.scheduler_config ? state.scheduler_config->modify_index : 0;
    if (out_.first_index == 0) out_.first_index = state.index;
    out_.last_index = std::max(out_.last_index, state.index);
    writer_->write(state, unix_ns());
    state_is_due_ = false;
  }

  // --- recording ---
  [[nodiscard]] bool is_over() {
    out_.interrupted = run::interrupted();
    return out_.interrupted || !writer_->error().empty() ||
           (settings_.length_ns > 0 && Clock::now() - begin_ >= std::chrono::nanoseconds(settings_.length_ns));
  }

  void step() {
    constexpr auto kWait = 100ms;
    if (state_is_due_ && stream_ && !is_out_ && Clock::now() >= next_try_) return read_state_again();
    if (!stream_) {
      if (Clock::now() < next_try_) return std::this_thread::sleep_for(kWait);
      if (auto done = connect(last_ == 0 ? kNewest : last_); !done) lost(done.error().line());
      return;
    }
    if (is_silent_ && Clock::now() >= next_config_) {
      config_wait_ =
          read_config() ? kConfigEvery : std::min(config_wait_ * 2, std::chrono::milliseconds(kLongestDelay));
      // Counted from the answer, so that a slow agent does not hold up the stream.
      next_config_ = Clock::now() + config_wait_;
    }
    std::string line;
    switch (stream_->next(line, kWait)) {
      case agent::LineStream::Got::line:
        return take(line);
      case agent::LineStream::Got::ended:
        return lost(stream_->end().problem);
      case agent::LineStream::Got::nothing:
        break;
    }
  }

  void lost(const std::string& why) {
    stream_.reset();
    if (!is_out_) say_(fmt::format("{}: {}; connecting again from index {}", settings_.address, why, last_));
    is_out_ = true;
    if (last_ == 0 && !state_is_due_) begin_gap({0, 0, why});  // no index to continue from
    wait_longer();
  }

  /// Handles a line that is unreadable even when requested again: records a gap and continues with the newest events.
  void cannot_read(const std::string& why) {
    constexpr int kTries = 3;
    if (std::exchange(unread_why_, why) != why) unreadable_ = 0;
    if (++unreadable_ == kTries) {
      begin_gap({last_, last_, why});
      last_ = 0, unreadable_ = 0;
    }
    lost(why);
  }

  void wait_longer() {
    next_try_ = Clock::now() + delay_;
    delay_ = std::min(delay_ * 2, std::chrono::milliseconds(kLongestDelay));
  }

  void read_state_again() {
    auto state = read_state();
    if (state) return take(std::move(*state));
    if (run::interrupted()) return;
    say_(state.error().line());
    wait_longer();
  }

  void begin_gap(const Gap& gap) {
    if (!state_is_due_) ++out_.gaps;
    writer_->write(gap, unix_ns());
    state_is_due_ = true;
  }

  void take(const std::string& text) {
    const std::string_view line = base::trim_space(text);
    if (std::exchange(is_out_, false)) {
      ++out_.reconnects;
      say_(fmt::format("{}: connected again", settings_.address));
      delay_ = kFirstDelay;
    }
    if (line.empty() || line == "{}") return;
    const auto value = io::parse_json(line, settings_.address, "/v1/event/stream");
    if (!value) return cannot_read("sent " + value.error().line().substr(settings_.address.size() + 1));
    std::vector<InputError> faults;
    auto frame = io::read_event_frame(*value, settings_.address, "/v1/event/stream:", faults);
    if (!frame) return cannot_read("sent a line that " + frame.error().problem);
    unreadable_ = 0;
    if (!follows(frame->index)) return;
    for (const InputError& fault : faults) {
      if (out_.skipped++ == 0) say_(fault.line());
      writer_->write_skipped(frame->index, fault.place + ": " + fault.problem);
    }
    if (settings_.redact) redactor_.redact(frame->objects);
    writer_->write(*frame, unix_ns());
    ++out_.frames;
    out_.events += (*value)["Events"].size();
    out_.last_index = std::max(out_.last_index, frame->index);
    progress_.update(out_.frames);
  }

  /// False for a frame that was recorded before the connection broke. After a gap, records the gap. An entry may have
  /// several frames with its index (R-API-582), so a connection is continued at that index itself.
  bool follows(std::uint64_t index) {
    const bool is_first = std::exchange(is_first_, false);
    if (index == last_) {
      if (is_first) repeated_ = frames_at_last_;
      if (repeated_ > 0) return --repeated_, false;
      ++frames_at_last_;
      return true;
    }
    if (last_ != 0 && (is_first || index < last_)) {
      const std::string reason = index < last_ ? "the agent's index went back" : "the agent no longer had the events";
      say_(fmt::format("{}: {} after index {}; they continue at {}; reading the cluster again", settings_.address,
                       reason, last_, index));
      begin_gap({last_, index, reason});
    }
    is_silent_ = is_silent_ || (last_ != 0 && index > last_ + 1);
    last_ = index, frames_at_last_ = 1, repeated_ = 0;
    return true;
  }

  /// Reads the scheduler configuration, because an entry without events may have changed it: such entries leave a hole
  /// between indexes. False: no readable answer.
  bool read_config() {
    if (!asking_) {
      agent::Settings settings = connection_;
      settings.wanted = settings_.sources.wanted;
      auto connection = agent::Connection::open(settings);
      if (!connection) return false;
      asking_ = std::move(*connection);
    }
    const auto answer = asking_->get("/v1/operator/scheduler/configuration");
    if (!answer || answer->status != 200) return false;
    const auto value = io::parse_json(answer->body);
    model::SchedulerConfiguration config;
    if (!value || !model::from_json((*value)["SchedulerConfig"], config)) return false;
    is_silent_ = false;
    if (config.modify_index == config_index_) return true;
    config_index_ = config.modify_index;
    writer_->write(config, unix_ns());
    return true;
  }

  void end() {
    if (is_silent_ && !out_.interrupted) read_config();
    writer_->write(End{out_.interrupted ? "interrupted" : "the time was over", out_.last_index, out_.frames},
                   unix_ns());
    writer_->close();
    out_.bytes = writer_->bytes(), out_.write_error = writer_->error();
    writer_.reset();
    run::stopped();  // the stream's thread may take a second to notice
    progress_.finish();
  }

  Settings settings_;
  const std::function<void(const std::string&)>& say_;
  agent::Settings connection_;
  run::Progress progress_;
  io::Redactor redactor_;
  std::unique_ptr<Writer> writer_;
  std::unique_ptr<agent::LineStream> stream_;  // null: the connection is lost
  std::unique_ptr<agent::Connection> asking_;
  const Clock::time_point begin_ = Clock::now();
  Clock::time_point next_try_{}, next_config_{};
  std::chrono::milliseconds delay_ = kFirstDelay, config_wait_ = kConfigEvery;
  int unreadable_ = 0;                // how often one unreadable line was received
  std::string unread_why_;            // why the line is unreadable
  std::uint64_t last_ = 0;            // index of the last frame; 0: none yet
  std::uint64_t frames_at_last_ = 0;  // recorded with that index
  std::uint64_t repeated_ = 0;        // of these, those that this connection will repeat
  std::uint64_t config_index_ = 0;    // ModifyIndex of the recorded configuration
  bool is_first_ = true;              // no frame was received on this connection yet
  bool is_out_ = false;               // the connection is lost and not restored yet
  bool is_silent_ = false;            // an entry without events was written after the configuration was read
  bool state_is_due_ = false;         // after a gap
  Summary out_;
};

}  // namespace

Result<Summary> record(const Settings& settings, const std::function<void(const std::string&)>& say) {
  const run::InterruptGuard guard;
  return Recorder(settings, say).run();
}

}  // namespace berth::record
