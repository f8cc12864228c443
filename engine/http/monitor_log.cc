#include "http/monitor_log.h"

#include <algorithm>
#include <array>

#include "base/base64.h"
#include "base/time.h"

namespace berth::http {

namespace {

constexpr std::array<std::string_view, 5> kLevels = {"trace", "debug", "info", "warn", "error"};
constexpr std::array<std::string_view, 5> kShown = {"[TRACE]", "[DEBUG]", "[INFO] ", "[WARN] ", "[ERROR]"};

/// RFC 3339 with three digits of the second.
std::string shown_time(std::int64_t now_ns) {
  constexpr std::int64_t kMillisecond = 1'000'000;
  std::string out = base::to_rfc3339(base::Time{now_ns / base::kSecond * base::kSecond});
  const std::string fraction = std::to_string(1000 + now_ns % base::kSecond / kMillisecond).substr(1);
  out.insert(out.size() - 1, "." + fraction);
  return out;
}

}  // namespace

std::optional<LogLevel> MonitorLog::parse_level(std::string_view text) {
  if (text.empty()) return LogLevel::info;
  std::string lower(text);
  for (char& c : lower)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  const auto* const found = std::find(kLevels.begin(), kLevels.end(), lower);
  if (found == kLevels.end()) return std::nullopt;
  return static_cast<LogLevel>(found - kLevels.begin());
}

void MonitorLog::note_lowest() {
  int lowest = kNone;
  for (const Reader& reader : readers_) lowest = std::min(lowest, static_cast<int>(reader.level));
  lowest_.store(lowest, std::memory_order_relaxed);
}

void MonitorLog::add(Reader reader) {
  const std::lock_guard lock(mutex_);
  std::erase_if(readers_, [](const Reader& one) { return one.channel->closed(); });
  readers_.push_back(std::move(reader));
  note_lowest();
}

std::size_t MonitorLog::readers() {
  const std::lock_guard lock(mutex_);
  return readers_.size();
}

void MonitorLog::write(LogLevel level, std::int64_t now_ns, std::string_view name, std::string_view text,
                       std::string_view node_id) {
  if (!wants(level)) return;
  const std::string at = shown_time(now_ns);
  std::string line = at;
  line.append(" ").append(kShown[static_cast<std::size_t>(level)]).append(" ").append(name).append(": ");
  line.append(text).append("\n");
  std::string as_json;
  transport::TextRef shared[2][2];  // [framed, plain][text, JSON]: each made once for all readers
  const auto text_for = [&](const Reader& reader) {
    transport::TextRef& ref = shared[reader.plain ? 1 : 0][reader.json ? 1 : 0];
    if (ref) return ref;
    if (reader.json && as_json.empty()) {
      json::Value out = json::Value::object();
      out.set("@level", std::string(kLevels[static_cast<std::size_t>(level)]));
      out.set("@message", std::string(text)), out.set("@module", std::string(name)), out.set("@timestamp", at);
      as_json = json::to_text(out) + "\n";
    }
    std::string sent = reader.json ? as_json : line;
    if (!reader.plain) sent = R"({"Data":")" + base::to_base64(sent) + R"(","FileEvent":"log"})";
    ref = std::make_shared<const transport::SharedText>(std::move(sent));
    return ref;
  };
  const std::lock_guard lock(mutex_);
  const auto left = std::erase_if(readers_, [&](const Reader& reader) {
    if (reader.channel->closed()) return true;
    if (reader.level > level || (!reader.node_id.empty() && !node_id.empty() && reader.node_id != node_id))
      return false;
    return !reader.channel->send({text_for(reader)});
  });
  if (left > 0) note_lowest();
}

}  // namespace berth::http
