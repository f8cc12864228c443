#include "http/dispatcher.h"

#include <algorithm>

#include "base/duration.h"
#include "base/text.h"
#include "http/calls.h"
#include "http/pretty.h"
#include "http/stores/stores.h"

namespace berth::http {

namespace {

using base::kSecond;
constexpr std::int64_t kWaitMost = 300 * kSecond;  // R-API-51

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/// Percent-decodes; nullopt for a percent sign without two hexadecimal digits.
std::optional<std::string> decode(std::string_view text, bool plus_is_space) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '+' && plus_is_space) {
      out += ' ';
    } else if (text[i] != '%') {
      out += text[i];
    } else {
      if (i + 2 >= text.size()) return std::nullopt;
      const int high = hex_digit(text[i + 1]), low = hex_digit(text[i + 2]);
      if (high < 0 || low < 0) return std::nullopt;
      out += static_cast<char>(high * 16 + low);
      i += 2;
    }
  }
  return out;
}

/// The path without `//`, `.` and `..` (R-API-2).
std::string cleaned(std::string_view path) {
  std::vector<std::string_view> parts;
  for (const std::string_view part : base::split(path, '/')) {
    if (part.empty() || part == ".") continue;
    if (part != "..")
      parts.push_back(part);
    else if (!parts.empty())
      parts.pop_back();
  }
  std::string out;
  for (const std::string_view part : parts) out.append("/").append(part);
  if (out.empty() || path.ends_with('/')) out += '/';
  return out;
}

/// Memory that an answer takes until it is sent, in JSON trees of its request's body. Jobs of 50,000 groups: a
/// registration took 5, and a plan 33, for the difference and the tables that it decides on.
std::size_t trees_of(const Route& route) {
  const std::string_view pattern = route.pattern;
  if (pattern == "/v1/job/*/plan" || pattern == "/v1/berth/explain" || pattern == "/v1/berth/counterfactual") return 40;
  return pattern == "/v1/jobs" || pattern == "/v1/job/*" || pattern == "/v1/validate/job" ? 6 : 1;
}

/// Bytes that so many trees of a body need: a value or member for each separator. Long texts count once.
std::size_t tree_bytes(std::string_view body, std::size_t trees) {
  constexpr std::size_t kPerSeparator = 64;
  std::size_t separators = 0;
  for (const char c : body) separators += c == ',' || c == ':' || c == '{' || c == '[';
  return body.empty() ? 0 : body.size() + trees * separators * kPerSeparator;
}

/// Reads path and query of a target; false: it cannot be decoded.
bool read_target(std::string_view target, Request& request) {
  const std::size_t mark = target.find('?');
  auto path = decode(target.substr(0, mark), false);
  if (!path) return false;
  request.path = std::move(*path);
  if (mark == std::string_view::npos) return true;
  for (const std::string_view pair : base::split(target.substr(mark + 1), '&')) {
    if (pair.empty()) continue;
    const std::size_t equals = std::min(pair.find('='), pair.size());
    auto key = decode(pair.substr(0, equals), true);
    auto value = decode(equals < pair.size() ? pair.substr(equals + 1) : "", true);
    if (key && value) request.query.emplace_back(std::move(*key), std::move(*value));  // Go drops the others
  }
  return true;
}

std::string text_of(const Request& request, std::string_view key) {
  const std::string* value = request.find(key);
  return value ? *value : "";
}

/// Reads the parameters of all requests (R-API-40, 41).
void read_common(Request& request) {
  if (std::string space = text_of(request, "namespace"); !space.empty()) request.name_space = std::move(space);
  request.prefix = text_of(request, "prefix");
  request.filter = text_of(request, "filter");
  request.next_token = text_of(request, "next_token");
  request.reverse = text_of(request, "reverse") == "true";
  const std::string* pretty = request.find("pretty");
  request.pretty = pretty && *pretty != "0";
}

/// Reads the parameters of read requests; false: the reply contains the error (R-API-43 to 51).
bool read_options(Request& request, Reply& reply) {
  if (const std::string stale = text_of(request, "stale"); !stale.empty() && !base::parse_bool(stale))
    return reply.fail(400, "Expect `true` or `false` for `stale` query string parameter"), false;
  request.wait_ns = kWaitMost;
  if (const std::string wait = text_of(request, "wait"); !wait.empty()) {
    const auto ns = base::parse_duration(wait);
    if (!ns) return reply.fail(400, "Invalid wait time"), false;
    if (*ns > 0) request.wait_ns = std::min(*ns, kWaitMost);
  }
  if (const std::string index = text_of(request, "index"); !index.empty()) {
    const auto value = base::parse_uint64(index);
    if (!value) return reply.fail(400, "Invalid index"), false;
    request.index = *value;
  }
  if (const std::string pages = text_of(request, "per_page"); !pages.empty()) {
    const auto value = base::parse_int64(pages);
    if (!value) return reply.fail(400, "Expect a number for `per_page` query string parameter"), false;
    request.per_page = *value;
  }
  return true;
}

bool own_region(const Request& request) {  // R-API-40
  const std::string* region = request.find("region");
  return !region || region->empty() || *region == "global";
}

}  // namespace

/// A request in progress.
struct Dispatcher::Call {
  std::shared_ptr<transport::Exchange> exchange;
  Request request;
  const Route* route = nullptr;
  std::uint64_t index = kAnswerNow;  // of the route's function
  Stopwatch watch;                   // since the request arrived
};

void Dispatcher::serve(std::shared_ptr<transport::Exchange> exchange) {
  auto call = std::make_shared<Call>();
  call->exchange = std::move(exchange);
  transport::Message& message = call->exchange->request();
  Request& request = call->request;
  request.method = message.method;
  request.wants_websocket = !message.websocket_key.empty();
  Reply reply;
  if (!read_target(message.target, request)) {
    reply.fail(400, "malformed path");
    return send(call, std::move(reply));
  }
  const std::size_t mark = std::min(message.target.find('?'), message.target.size());
  const std::string_view path = std::string_view(message.target).substr(0, mark);
  if (const std::string clean = cleaned(path); clean != path) {  // undecoded: "%2F" is not a slash here
    reply.text(307, "", "");
    reply.header("Location", clean + message.target.substr(mark));
    return send(call, std::move(reply));
  }
  Router::Match match = router_.find(request.method, request.path);
  call->route = match.route;
  if (!match.route) {
    if (match.known_path)
      reply.fail(405, "Invalid method");
    else
      reply.text(404, "", "");
    return send(call, std::move(reply));
  }
  request.captures = std::move(match.captures);
  request.body = std::move(message.body);
  request.secret = std::move(message.secret);
  read_common(request);
  if (match.route->kind == RouteKind::read && !read_options(request, reply)) return send(call, std::move(reply));
  const bool asks_region = match.route->kind != RouteKind::plain || request.path.starts_with("/v1/status/");
  if (asks_region && !own_region(request)) {
    reply.fail("No path to region");
    return send(call, std::move(reply));
  }
  if (match.route->any_thread && (!simulation_.options().acl || match.route->need.open)) return handle(call);
  if (request.method == "GET")
    simulation_.post_read([this, call](Simulation&) { run(call); });
  else
    simulation_.post([this, call](Simulation&) { run(call); });
}

/// On the simulation's thread: answers, or waits until the index has moved.
void Dispatcher::run(const std::shared_ptr<Call>& call) {
  const Blocking& blocking = call->route->blocking;
  const Request& request = call->request;
  if (Reply refused; request.index != 0 && !admit(*call, refused)) return send(call, std::move(refused));
  if (!blocking.index || request.index == 0 || call->exchange->closed()) return handle(call);
  if (blocking.index(simulation_, request) > request.index) return handle(call);
  Waiter waiter;
  waiter.ready = [this, call] { return call->route->blocking.index(simulation_, call->request) > call->request.index; };
  waiter.end = [this, call] { handle(call); };
  waiter.gone = [call] { return call->exchange->closed(); };
  waiter.tables = blocking.tables;
  waiter.deadline_ns = request.wait_ns;
  call->exchange->watch();
  if (simulation_.wait(std::move(waiter))) return;
  Reply reply;
  reply.fail(429, "too many blocking queries are open");
  send(call, std::move(reply));
}

/// True if the sender may make this request; else the reply refuses it (R-STORE-63 to 68). An invalid body is refused
/// first. Repeated after a wait, because the token may have been deleted.
bool Dispatcher::admit(Call& call, Reply& reply) {
  Request& request = call.request;
  const Need& need = call.route->need;
  if (!simulation_.options().acl || (need.open && call.route->any_thread)) return true;
  request.asker = simulation_.stores().who(request.secret, simulation_.now());
  if (need.open || request.asker.is_management()) return true;
  if (request.asker.is_known() && need.allows && need.allows(simulation_, request, reply)) return true;
  if (reply.failed_) return false;
  if (!request.body.empty() && !json_body(request, reply)) return false;
  reply.fail(403, "Permission denied");
  return false;
}

void Dispatcher::handle(const std::shared_ptr<Call>& call) {
  Reply reply;
  if (!admit(*call, reply)) return send(call, std::move(reply));
  if (call->route->blocking.index) call->index = call->route->blocking.index(simulation_, call->request);
  const Stopwatch watch;
  transport::Charge& charge = call->exchange->request().charge;  // counts what the answer makes of the body, too
  const transport::Budget& budget = call->exchange->budget();
  const std::size_t held = charge.bytes();
  const std::size_t more = tree_bytes(call->request.body, trees_of(*call->route));
  try {
    if (more > 0 && held + more > budget.bytes()) {
      reply.fail(413, "an answer may take " + std::to_string(more >> 20) + " MiB, more than the server may hold for " +
                          "all requests (--held-memory)");
    } else if (more > 0 && budget.used() + more > budget.bytes()) {
      reply.fail(503, "the memory for requests is used up (--held-memory); try again later");
    } else {
      charge.resize(held + more);
      call->route->handler(simulation_, call->request, reply);
    }
  } catch (const std::exception& error) {  // out of memory: this request fails, and no other
    reply = Reply();
    reply.fail(std::string("berth failed: ") + error.what());
  }
  if (!reply.next_) charge.resize(held);  // a stream makes its text later, of what the handler read
  note_call(simulation_.telemetry(), *call->route, call->request.method, watch.milliseconds());
  if (!reply.is_later_) return send(call, std::move(reply));
  call->exchange->watch();
  *reply.deliver_ = [this, call](Reply late) { send(call, std::move(late)); };
}

/// Logs the request like a server (R-STORE-324).
void Dispatcher::note(const Call& call, int status) {
  if (!simulation_.monitor_log().wants(LogLevel::debug)) return;
  const transport::Message& message = call.exchange->request();
  const auto microseconds = static_cast<std::int64_t>(call.watch.milliseconds() * 1000);
  simulation_.monitor_log().write(LogLevel::debug, simulation_.recent_now(), "http", "request complete",
                                  {{"method", message.method},
                                   {"path", message.target},
                                   {"status", std::to_string(status)},
                                   {"duration", base::duration_text(microseconds * 1000)}});
}

void Dispatcher::send(const std::shared_ptr<Call>& call, Reply reply) {
  note(*call, reply.websocket_code_ != 0 ? 101 : reply.status_);
  if (reply.websocket_code_ != 0) return call->exchange->close_websocket(reply.websocket_code_, std::move(reply.body_));
  transport::Head head{reply.status_, std::move(reply.content_type_), std::move(reply.headers_), reply.compress_};
  const RouteKind kind = call->route ? call->route->kind : RouteKind::plain;
  const bool told = !reply.failed_ || (kind == RouteKind::read && reply.status_ == 404);  // R-API-27
  if (kind != RouteKind::plain && told && reply.shows_index_) {
    std::uint64_t index = reply.index_.value_or(call->index);
    if (index == kAnswerNow) index = 0;
    head.headers.emplace_back("X-Nomad-Index", std::to_string(index));
    if (kind == RouteKind::read) {
      head.headers.emplace_back("X-Nomad-Knownleader", reply.known_leader_ ? "true" : "false");
      head.headers.emplace_back("X-Nomad-Lastcontact", "0");
    }
    if (!reply.next_token_.empty()) head.headers.emplace_back("X-Nomad-Nexttoken", reply.next_token_);
  }
  if (reply.next_) return send_pieces(call, std::move(reply), std::move(head));
  if (reply.subscriber_) return send_pushed(call, reply, std::move(head));
  if (call->request.pretty && head.content_type == "application/json") {
    std::string text;
    Pretty pretty;
    pretty.append(reply.body_, text);
    pretty.end(text);
    reply.body_ = std::move(text);
  }
  call->exchange->answer(std::move(head), std::move(reply.body_));
}

/// Sends a body in pieces; the transport requests the next one when the previous has been sent.
void Dispatcher::send_pieces(const std::shared_ptr<Call>& call, Reply reply, transport::Head head) {
  struct Source {
    NextPiece next;
    Pretty pretty;
    bool over = false;
  };
  auto source = std::make_shared<Source>();
  source->next = std::move(reply.next_);
  const bool indent = call->request.pretty && head.content_type == "application/json";
  auto make = [exchange = call->exchange, source, indent] {
    std::string piece;
    try {
      while (piece.empty() && !source->over) source->over = !source->next(piece);
    } catch (const std::exception&) {
      source->over = true;
      return exchange->abort();
    }
    if (indent) {
      std::string text;
      source->pretty.append(piece, text);
      if (source->over) source->pretty.end(text);
      piece = std::move(text);
    }
    const bool last = source->over;
    if (!piece.empty()) exchange->write(std::move(piece));
    if (last) exchange->finish();
  };
  auto wants_more = [this, make, source, where = reply.where_] {
    if (source->over) return;
    if (where == Where::readers) simulation_.post_reader(make);
    if (where == Where::questions) simulation_.post_question(make);
    if (where == Where::simulation) simulation_.post_slow([make](Simulation&) { make(); });
  };
  call->exchange->begin(std::move(head), std::move(wants_more));
}

void Dispatcher::send_pushed(const std::shared_ptr<Call>& call, const Reply& reply, transport::Head head) {
  call->exchange->begin(std::move(head));
  call->exchange->watch();
  auto channel = std::make_shared<Channel>(call->exchange);
  if (!reply.heartbeat_.empty()) heartbeat(channel, reply.heartbeat_, reply.heartbeat_ns_);
  reply.subscriber_(channel);
}

/// Sends `text` now and repeatedly by the real clock while the channel exists (R-API-581, R-STORE-324).
void Dispatcher::heartbeat(std::weak_ptr<Channel> channel, const std::string& text, std::int64_t every_ns) {
  const auto to = channel.lock();
  if (!to || !to->send(text)) return;
  Waiter waiter;
  waiter.deadline_ns = every_ns;
  waiter.gone = [channel] { return channel.expired() || channel.lock()->closed(); };
  waiter.end = [this, channel, text, every_ns] { heartbeat(channel, text, every_ns); };
  (void)simulation_.wait(std::move(waiter));
}

}  // namespace berth::http
