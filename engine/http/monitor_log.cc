#include "http/monitor_log.h"

#include <algorithm>
#include <utility>

#include "base/base64.h"

namespace berth::http {

void MonitorLog::note_lowest() {
  int lowest = printed_.print ? static_cast<int>(printed_.level) : kNone;
  for (const Reader& reader : readers_) lowest = std::min(lowest, static_cast<int>(reader.level));
  lowest_.store(lowest, std::memory_order_relaxed);
}

void MonitorLog::add(Reader reader) {
  const std::lock_guard lock(mutex_);
  std::erase_if(readers_, [](const Reader& one) { return one.channel->closed(); });
  readers_.push_back(std::move(reader));
  note_lowest();
}

void MonitorLog::print(LogLevel level, bool json, std::function<void(std::string_view)> print) {
  const std::lock_guard lock(mutex_);
  printed_ = {level, json, std::move(print)};
  note_lowest();
}

std::size_t MonitorLog::readers() {
  const std::lock_guard lock(mutex_);
  return readers_.size();
}

void MonitorLog::write(LogLevel level, std::int64_t now_ns, std::string_view module, std::string_view message,
                       base::LogFields fields, std::string_view node_id) {
  if (!wants(level)) return;
  const base::LogLine line{level, now_ns, module, message, std::move(fields)};
  std::string lines[2];  // text, JSON: each made once
  const auto line_for = [&](bool json) -> const std::string& {
    if (lines[json].empty()) lines[json] = json ? line.json() : line.text();
    return lines[json];
  };
  transport::TextRef shared[2][2];  // [framed, plain][text, JSON]: each made once for all readers
  const auto text_for = [&](const Reader& reader) {
    transport::TextRef& ref = shared[reader.plain ? 1 : 0][reader.json ? 1 : 0];
    if (ref) return ref;
    std::string sent = line_for(reader.json);
    if (!reader.plain) sent = R"({"Data":")" + base::to_base64(sent) + R"(","FileEvent":"log"})";
    ref = std::make_shared<const transport::SharedText>(std::move(sent));
    return ref;
  };
  const std::lock_guard lock(mutex_);
  if (printed_.print && printed_.level <= level) printed_.print(line_for(printed_.json));
  const auto left = std::erase_if(readers_, [&](const Reader& reader) {
    if (reader.channel->closed()) return true;
    if (reader.level > level || (!reader.node_id.empty() && !node_id.empty() && reader.node_id != node_id))
      return false;
    return !reader.channel->send({text_for(reader)});
  });
  if (left > 0) note_lowest();
}

}  // namespace berth::http
