#include "agent/line_stream.h"

#include <fmt/format.h>

#include "base/text.h"
#include "io/files.h"

namespace berth::agent {

LineStream::LineStream(std::unique_ptr<Connection> connection, std::string path, double silence_s)
    : connection_(std::move(connection)), path_(std::move(path)), silence_s_(silence_s), thread_([this] { read(); }) {}

LineStream::~LineStream() {
  unwanted_ = true;
  {
    const std::lock_guard lock(mutex_);
    changed_.notify_all();
  }
  thread_.join();
}

LineStream::Got LineStream::next(std::string& line, std::chrono::milliseconds wait) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, wait, [&] { return !lines_.empty() || ended_; });
  if (lines_.empty()) return ended_ ? Got::ended : Got::nothing;
  line = std::move(lines_.front());
  lines_.pop_front();
  bytes_ -= line.size() + sizeof line;
  changed_.notify_all();
  return Got::line;
}

bool LineStream::take(std::string_view piece) {
  while (!piece.empty()) {
    const std::size_t end = piece.find('\n');
    part_ += piece.substr(0, end);
    if (part_.size() > io::read_limit()) return false;
    if (end == piece.npos) return true;
    piece.remove_prefix(end + 1);
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return bytes_ < kQueueBytes || unwanted_; });
    if (unwanted_) return false;
    bytes_ += part_.size() + sizeof part_;
    lines_.push_back(std::move(part_));
    part_.clear();
    changed_.notify_all();
  }
  return true;
}

void LineStream::read() {
  const auto answer = connection_->stream(
      path_, silence_s_, [this](std::string_view piece) { return take(piece); }, [this] { return !unwanted_; });
  const std::lock_guard lock(mutex_);
  end_ = {connection_->address(), path_, "", ""};
  if (!answer) {
    end_ = answer.error();
  } else if (answer->status != 200) {
    status_ = answer->status;
    const std::string text = answer->body.substr(0, answer->body.find('\n')).substr(0, 200);
    end_.problem = fmt::format("answers {}{}{}", status_, text.empty() ? "" : ": ", base::shown(text));
  } else {
    status_ = 200;
    end_.problem = part_.size() > io::read_limit() ? "a line has more than " + io::size_words(io::read_limit())
                                                   : std::string("the agent ended the stream");
  }
  if (!part_.empty()) end_.problem += fmt::format(", in the middle of a line after {} bytes", part_.size());
  ended_ = true;
  changed_.notify_all();
}

}  // namespace berth::agent
