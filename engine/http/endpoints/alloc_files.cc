// Files and logs of simulated allocations (R-STORE-350 to 360); task_files.h makes their contents.
#include <algorithm>

#include "base/base64.h"
#include "base/text.h"
#include "base/time.h"
#include "http/endpoints/answers.h"
#include "http/endpoints/endpoints.h"
#include "http/endpoints/objects.h"
#include "http/task_files.h"

namespace berth::http {

namespace {

constexpr std::int64_t kFrame = 64 << 10;                // bytes of data in a frame (R-STORE-358)
constexpr std::int64_t kFollowEvery = 200 * 1'000'000;   // interval of sending new data to followers
constexpr std::int64_t kHeartbeatEvery = base::kSecond;  // without new data
constexpr int kFramesAtOnce = 8;                         // per follower and round
constexpr const char *kText = "text/plain; charset=utf-8", *kPlain = "text/plain", *kJson = "application/json";

/// The files of the request's allocation; nullopt: the reply contains the error.
std::optional<TaskFiles> files_of(Simulation& simulation, const Request& request, Reply& reply) {
  if (request.captures[0].empty()) return reply.fail(400, "must provide a valid alloc id"), std::nullopt;
  const tables::AllocRow row = asked_alloc(simulation, request.captures[0], reply);
  if (row == tables::kNoRow) return std::nullopt;
  return std::optional<TaskFiles>(std::in_place, simulation.log().stored_alloc(row), simulation.now());
}

std::optional<std::string> path_of(const Request& request, Reply& reply) {
  auto path = TaskFiles::clean(request.parameter("path"));
  if (!path) reply.fail(500, "Path escapes the alloc directory");
  return path;
}

json::Value info_json(const FileInfo& info, bool with_type) {
  json::Value out = json::Value::object();
  out.set("FileMode", info.mode), out.set("IsDir", info.is_folder);
  out.set("ModTime", base::to_rfc3339(base::Time{info.time_ns}));
  out.set("Name", info.name), out.set("Size", info.size);
  if (with_type) out.set("ContentType", info.is_folder ? "application/octet-stream" : kText);
  return out;
}

void list_folder(Simulation& simulation, const Request& request, Reply& reply) {  // R-STORE-351
  const auto files = files_of(simulation, request, reply);
  if (!files) return;
  const auto path = path_of(request, reply);
  if (!path) return;
  const auto info = files->stat(*path);
  if (!info) return reply.fail(404, "open " + files->shown(*path) + ": no such file or directory");
  if (!info->is_folder) return reply.fail(500, "readdirent " + files->shown(*path) + ": not a directory");
  json::Value out = json::Value::array();
  for (const FileInfo& one : files->list(*path)) out.push(info_json(one, false));
  reply.json(out);
}

void stat_file(Simulation& simulation, const Request& request, Reply& reply) {  // R-STORE-352
  const auto files = files_of(simulation, request, reply);
  if (!files) return;
  if (request.parameter("path").empty()) return reply.fail(400, "must provide a file name");
  const auto path = path_of(request, reply);
  if (!path) return;
  const auto info = files->stat(*path);
  if (!info) return reply.fail(404, "stat " + files->shown(*path) + ": no such file or directory");
  reply.json(info_json(*info, true));
}

/// Sends the bytes of a text from `offset` on, in pieces.
void send_bytes(LongText text, std::int64_t offset, std::int64_t limit, const char* type, Reply& reply) {
  const auto content = std::make_shared<const LongText>(std::move(text));
  offset = std::clamp<std::int64_t>(offset, 0, content->size());
  const std::int64_t end = limit <= 0 || limit > content->size() - offset ? content->size() : offset + limit;
  const auto at = std::make_shared<std::int64_t>(offset);
  reply.stream(
      Where::readers,
      [content, at, end](std::string& out) {
        const std::int64_t count = std::min(kFrame, end - *at);
        out += content->read(*at, count);
        *at += count;
        return *at < end;
      },
      type);
}

/// The content of the request's file. nullopt: the reply contains the error, with status 200 if `begun`, because the
/// client has then sent its head already (R-STORE-353, 354).
std::optional<LongText> content_of(const TaskFiles& files, const Request& request, bool begun, Reply& reply) {
  const auto refuse = [&](int status, std::string text) {
    begun ? reply.text(200, std::move(text), kText) : reply.fail(status, std::move(text));
  };
  const std::string given = request.parameter("path");
  if (given.empty()) return refuse(400, "must provide a file name"), std::nullopt;
  const auto path = TaskFiles::clean(given);
  if (!path) return refuse(500, "Path escapes the alloc directory"), std::nullopt;
  const auto info = files.stat(*path);
  if (!info) return refuse(404, "stat " + files.shown(*path) + ": no such file or directory"), std::nullopt;
  if (info->is_folder) return refuse(400, "file " + base::go_quote(given) + " is a directory"), std::nullopt;
  return files.content(*path);
}

void read_file(Simulation& simulation, const Request& request, Reply& reply) {  // R-STORE-353
  const auto files = files_of(simulation, request, reply);
  if (!files) return;
  if (auto content = content_of(*files, request, true, reply)) send_bytes(std::move(*content), 0, 0, kText, reply);
}

/// A number of a request, 0 if absent and not required; or the error text.
tl::expected<std::int64_t, std::string> number_of(const Request& request, const char* name, bool required) {
  const std::string text = request.parameter(name);
  if (text.empty() && !required) return 0;
  const auto value = base::parse_int64(text);
  if (value) return *value;
  return tl::unexpected("error parsing " + std::string(name) + ": strconv.ParseInt: parsing " + base::go_quote(text) +
                        ": invalid syntax");
}

void read_part(Simulation& simulation, const Request& request, Reply& reply) {  // R-STORE-354
  const auto files = files_of(simulation, request, reply);
  if (!files) return;
  if (request.parameter("path").empty()) return reply.text(200, "must provide a file name", kText);
  const auto offset = number_of(request, "offset", true);
  if (!offset) return reply.text(200, offset.error(), kText);
  const auto limit = number_of(request, "limit", false);
  if (!limit) return reply.text(200, limit.error(), kText);
  if (auto content = content_of(*files, request, true, reply))
    send_bytes(std::move(*content), *offset, *limit, kText, reply);
}

// ---------------------------------------------------------------- frames

std::string frame_of(const std::string& data, const std::string& file, std::int64_t end) {
  std::string out = R"({"Data":")" + base::to_base64(data) + R"(","File":)";
  json::append_quoted(out, file);
  return out + ",\"Offset\":" + std::to_string(end) + "}";
}

/// State of a stream of a file.
struct Following {
  std::string alloc_id, file, path;  // `file` as frames name it
  std::int64_t offset = 0;
  bool plain = false;
  int silent = 0;  // rounds without data
};

/// Sends data written since the last round; false: the stream has ended.
bool send_round(Simulation& simulation, Following& of, Channel& channel) {
  const tables::AllocRow row = simulation.store().find_alloc(of.alloc_id);
  if (row == tables::kNoRow || channel.closed()) return false;
  const TaskFiles files(simulation.log().stored_alloc(row), simulation.now());
  const auto content = files.content(of.path);
  const bool ended = simulation.state().allocs.terminal(row);
  const std::int64_t size = content ? content->size() : 0;
  bool sent = false;
  for (int frame = 0; frame < kFramesAtOnce && of.offset < size; ++frame) {
    const std::string data = content->read(of.offset, kFrame);
    of.offset += static_cast<std::int64_t>(data.size());
    if (!channel.send(of.plain ? data : frame_of(data, of.file, of.offset))) return false;
    sent = true;
  }
  if (of.offset < size) return true;
  if (ended) return false;
  of.silent = sent ? 0 : of.silent + 1;
  constexpr int kRounds = kHeartbeatEvery / kFollowEvery;
  if (of.silent < kRounds) return true;
  of.silent = 0;
  return of.plain || channel.send("{}");
}

void follow(Simulation& simulation, const std::shared_ptr<Following>& of, const std::shared_ptr<Channel>& channel) {
  if (!send_round(simulation, *of, *channel)) return channel->end();
  Waiter waiter;
  waiter.deadline_ns = kFollowEvery;
  waiter.gone = [channel] { return channel->closed(); };
  waiter.end = [&simulation, of, channel] { follow(simulation, of, channel); };
  if (!simulation.wait(std::move(waiter))) channel->end();
}

/// Streams a file from its beginning or end; with `follows` also what is added later (R-STORE-355, 357, 358).
void stream_file(Simulation& simulation, const Request& request, LongText content, std::string path, bool follows,
                 bool plain, std::int64_t offset, bool from_end, const char* type, Reply& reply) {
  const std::int64_t size = content.size();
  offset = std::max<std::int64_t>(offset, 0);
  std::int64_t at = from_end ? size - std::min(offset, size) : std::min(offset, size);
  if (!follows && plain) return send_bytes(std::move(content), at, 0, type, reply);
  if (follows) {
    auto of = std::make_shared<Following>(Following{request.captures[0], path, path, at, plain, 0});
    return reply.push(
        "", [&simulation, of](const std::shared_ptr<Channel>& channel) { follow(simulation, of, channel); }, type);
  }
  const auto held = std::make_shared<const LongText>(std::move(content));
  const auto next = std::make_shared<std::int64_t>(at);
  reply.stream(
      Where::readers,
      [held, next, path](std::string& out) {
        const std::string data = held->read(*next, kFrame);
        *next += static_cast<std::int64_t>(data.size());
        if (!data.empty()) out += frame_of(data, path, *next);
        return *next < held->size();
      },
      type);
}

/// A boolean of a log request, `absent` if not given; nullopt: the reply contains the error (R-STORE-356).
std::optional<bool> log_flag(const Request& request, const char* name, bool absent, Reply& reply) {
  const std::string text = request.parameter(name);
  if (text.empty()) return absent;
  const auto value = base::parse_bool(text);
  if (!value)
    reply.fail(400, std::string("failed to parse ") + name + " field to boolean: strconv.ParseBool: parsing " +
                        base::go_quote(text) + ": invalid syntax");
  return value;
}

/// Offset and origin; nullopt: the reply contains the error.
std::optional<std::pair<std::int64_t, bool>> start_of(const Request& request, Reply& reply) {
  const auto offset = number_of(request, "offset", false);
  if (!offset) return reply.fail(400, offset.error()), std::nullopt;
  const std::string origin = request.parameter("origin");
  if (!origin.empty() && origin != "start" && origin != "end")
    return reply.fail(400, "origin must be start or end"), std::nullopt;
  return std::pair(*offset, origin == "end");
}

void stream_path(Simulation& simulation, const Request& request, Reply& reply) {  // R-STORE-355
  const auto files = files_of(simulation, request, reply);
  if (!files) return;
  if (request.parameter("path").empty()) return reply.fail(400, "must provide a file name");
  const auto follows = log_flag(request, "follow", true, reply);
  const auto start = follows ? start_of(request, reply) : std::nullopt;
  if (!start) return;
  auto content = content_of(*files, request, false, reply);
  if (!content) return;
  stream_file(simulation, request, std::move(*content), *TaskFiles::clean(request.parameter("path")), *follows, false,
              start->first, start->second, kPlain, reply);
}

void stream_log(Simulation& simulation, const Request& request, Reply& reply) {  // R-STORE-356
  if (request.captures[0].empty()) return reply.fail(400, "must provide a valid alloc id");
  const std::string task = request.parameter("task"), type = request.parameter("type");
  if (task.empty()) return reply.fail(400, "must provide task name");
  const auto follows = log_flag(request, "follow", false, reply);
  const auto plain = follows ? log_flag(request, "plain", false, reply) : std::nullopt;
  if (!plain) return;
  if (type != "stdout" && type != "stderr") return reply.fail(400, "must provide log type (stdout/stderr)");
  const auto start = start_of(request, reply);
  if (!start) return;
  const auto files = files_of(simulation, request, reply);
  if (!files) return;
  if (!files->has_task(task)) return reply.fail(400, "unknown task name " + base::go_quote(task));
  if (!files->has_started(task))
    return reply.fail(404, "task " + base::go_quote(task) + " not started yet. No logs available");
  stream_file(simulation, request, files->log(task, type), "alloc/logs/" + task + "." + type + ".0", *follows, *plain,
              start->first, start->second, *plain ? kPlain : kJson, reply);
}

}  // namespace

void add_alloc_file_routes(Router& router) {
  const auto add = [&](const char* verb, Handler handler) {
    router.add({std::string("/v1/client/fs/") + verb, kAnyMethod, RouteKind::plain, std::move(handler), {}});
  };
  add("ls/*", list_folder);
  add("stat/*", stat_file);
  add("cat/*", read_file);
  add("readat/*", read_part);
  add("stream/*", stream_path);
  add("logs/*", stream_log);
  add("*", refusal(404, "Invalid method"));
}

}  // namespace berth::http
