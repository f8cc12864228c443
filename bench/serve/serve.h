// berth serve: how an endpoint is added.
//
// An endpoint is a row of a table of routes and a function. One file of endpoints/ has those of one kind of object,
// with one function `add_x_routes(Router&)` at its end, which is listed in endpoints/endpoints.h:
//
//   void summary(Simulation& simulation, const Request& request, Reply& reply) {
//     const fsm::JobRecord* record = simulation.log().record(request.name_space, request.captures[0]);
//     if (!record || !record->current) return reply.fail(404, "job not found");
//     reply.json(to_json(*record->summary));
//   }
//   void add_job_routes(Router& router) {
//     router.read("/v1/job/*/summary", summary, {summary_index, kJobSummary});
//     router.write("/v1/jobs", register_job);
//   }
//
// Patterns   A `*` stands for one part of the path or, where it is the last or a known ending follows, for several, as
//            IDs of jobs contain slashes (R-API-3). What stars stand for is in Request::captures, percent-decoded. The
//            pattern with the longest literal text wins; a path whose method no row has is 405 (R-API-4).
// Threads    Handlers run on the simulation's thread, one at a time, and own the cluster meanwhile: they read and
// change
//            it freely and must be quick, at most about a millisecond. What takes longer is a stream:
//              reply.stream(Where::readers, next)     `next` makes the next piece of the body, on another thread, out
//              of
//                                                     what it holds itself: a SnapshotRef, objects by shared_ptr
//              reply.stream(Where::simulation, next)  likewise, on the simulation's thread when nothing else waits
//            Pieces are made as fast as the client takes them: 16 to 64 KiB each are right.
// Blocking   A read that can block (R-API-50 to 56) has in its row a function that gives its X-Nomad-Index and the
// tables
//            whose entries can move that index. `index=N` is seen to before the handler is called: while the function
//            gives <= N the request waits, without a thread, and is asked again when one of the tables was written.
//            kAnswerNow as index: nothing to wait for (an error, for instance).
// Later      reply.later() gives a function that takes the reply whenever it is ready, on any thread, after the handler
//            returned.
// Pushing    reply.push(heartbeat, subscriber): a stream that others write to, such as that of events.
//
// Headers, `pretty`, gzip, texts of errors, `region`, `stale`, `index`, `wait`, `per_page` are seen to by router.cc.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "fsm/state_log.h"
#include "serve/http/exchange.h"
#include "serve/stores/asker.h"
#include "serve/stores/tables.h"

namespace berth::serve {

class Simulation;

inline constexpr std::uint64_t kAnswerNow = ~std::uint64_t{0};

using Query = std::vector<std::pair<std::string, std::string>>;

/// A request whose common parameters have been read (R-API-40 to 49).
struct Request {
  std::string method, path;           ///< path percent-decoded
  std::vector<std::string> captures;  ///< what the stars of the pattern stand for
  Query query;
  std::string body;
  std::string name_space = "default";  ///< "*": all, on lists
  std::string prefix, filter, next_token;
  std::uint64_t index = 0;
  std::int64_t wait_ns = 0;
  std::int64_t per_page = 0;
  bool reverse = false, pretty = false;
  std::string secret;  ///< as it was sent; "": none
  Asker asker;         ///< its sender; everything is allowed where there is no access control
  /// Namespaces that a list over all of them shows; null: every one (R-STORE-102).
  std::shared_ptr<const std::set<std::string, std::less<>>> visible;
  bool wants_websocket = false;  ///< it has the headers of a websocket's handshake

  /// The parameter's value; null: it was not given. Of several the first.
  [[nodiscard]] const std::string* find(std::string_view key) const;
  /// The same, "" where there is none.
  [[nodiscard]] std::string parameter(std::string_view key) const {
    const std::string* value = find(key);
    return value ? *value : "";
  }
  [[nodiscard]] bool all_namespaces() const { return name_space == "*"; }
  /// Whether a list shows what is in this namespace.
  [[nodiscard]] bool shows(std::string_view of) const {
    return all_namespaces() ? !visible || visible->contains(of) : of == name_space;
  }
  /// True if there is no access control, or the sender's rights pass `test`.
  template <class Test>
  [[nodiscard]] bool may(Test test) const {
    return !asker.rights || test(*asker.rights);
  }
};

/// `questions`: one thread beside the readers, for answers that may take long (plans, explanations, snapshots).
enum class Where : std::uint8_t { readers, questions, simulation };

/// Appends the next piece of a body to `out`; false: that was the last one.
using NextPiece = std::function<bool(std::string& out)>;

/// The writing end of a stream that is pushed to. Any thread may use it.
class Channel {
 public:
  explicit Channel(std::shared_ptr<http::Exchange> exchange) : exchange_(std::move(exchange)) {}
  /// False: the reader is gone, or so slow that more than `kMost` bytes would wait for it beside one text; it hears no
  /// more then.
  bool send(const std::vector<http::TextRef>& line);
  bool send(std::string text) { return send({std::make_shared<const http::SharedText>(std::move(text))}); }
  [[nodiscard]] bool closed() const { return exchange_->closed(); }
  void end() { exchange_->finish(); }
  static constexpr std::size_t kMost = 4 << 20;

 private:
  std::shared_ptr<http::Exchange> exchange_;
};

class Reply {
 public:
  // --- one of these; nothing: 200 with an empty body (R-API-11) ---
  void json(const json::Value& value) { json_text(json::to_text(value)); }
  void json_text(std::string text);
  void text(int status, std::string text, std::string content_type = "text/plain; charset=utf-8");
  /// A failure's text (R-API-12).
  void fail(int status, std::string text);
  /// The same with the status that the text asks for: 500, or that of R-API-14.
  void fail(std::string text);
  void stream(Where where, NextPiece next, std::string content_type = "application/json");
  using Subscriber = std::function<void(std::shared_ptr<Channel>)>;
  /// `heartbeat` is sent at once and every `heartbeat_ns` of the real clock; "" never.
  void push(std::string heartbeat, Subscriber subscriber, std::string content_type = "application/json",
            std::int64_t heartbeat_ns = 30'000'000'000);
  /// The request is one for a websocket: it is opened, and closed again with this code and reason (RFC 6455).
  void close_websocket(std::uint16_t code, std::string reason);
  /// The reply comes later: whoever calls what this gives, once, on any thread, after the handler returned.
  [[nodiscard]] std::function<void(Reply)> later();

  // --- headers ---
  /// X-Nomad-Index where it is not the one of the route's index function: writes, reads without one.
  void index(std::uint64_t index) { index_ = index; }
  /// A write that shows none.
  void without_index() { shows_index_ = false; }
  void next_token(std::string token) { next_token_ = std::move(token); }
  void known_leader(bool known) { known_leader_ = known; }
  void header(std::string name, std::string value) { headers_.emplace_back(std::move(name), std::move(value)); }
  void never_compress() { compress_ = false; }

  [[nodiscard]] int status() const { return status_; }
  [[nodiscard]] const std::string& failure() const { return body_; }  ///< the text of fail()

 private:
  friend class Dispatcher;
  int status_ = 200;
  std::string body_, content_type_, next_token_, heartbeat_;
  std::int64_t heartbeat_ns_ = 0;
  std::uint16_t websocket_code_ = 0;  // 0: no websocket
  std::optional<std::uint64_t> index_;
  bool known_leader_ = true, compress_ = true, failed_ = false, is_later_ = false, shows_index_ = true;
  http::Headers headers_;
  Where where_ = Where::readers;
  NextPiece next_;
  Subscriber subscriber_;
  std::shared_ptr<std::function<void(Reply)>> deliver_;  // of later()
};

using Handler = std::function<void(Simulation&, const Request&, Reply&)>;

/// Tables by bit: as fsm::Table counts them, then those of the stores.
using TableSet = std::uint32_t;
[[nodiscard]] constexpr TableSet tables_of() { return 0; }
template <class... More>
[[nodiscard]] constexpr TableSet tables_of(fsm::Table table, More... more) {
  return TableSet{1} << static_cast<unsigned>(table) | tables_of(more...);
}

/// One of the stores' (stores/tables.h).
[[nodiscard]] constexpr TableSet tables_of(StoreTable table) {
  return TableSet{1} << (fsm::kTables + static_cast<unsigned>(table));
}

/// How a read blocks. Without a function it does not.
struct Blocking {
  std::uint64_t (*index)(Simulation&, const Request&) = nullptr;
  TableSet tables = 0;
};

/// Which headers a reply has.
enum class RouteKind : std::uint8_t {
  read,   ///< X-Nomad-Index, -KnownLeader, -LastContact; common parameters are checked (R-API-20 to 27)
  write,  ///< X-Nomad-Index
  plain,  ///< none (R-API-28)
};

enum Methods : std::uint8_t { kGet = 1, kPut = 2, kPost = 4, kDelete = 8, kOtherMethods = 128, kAnyMethod = 255 };

/// What a token needs for a route (R-STORE-130 to 169). Without `allows` it is a management token.
struct Need {
  bool open = false;  ///< anybody, also with a token that is unknown or expired
  /// Sees to namespaces that a list shows, and may put another refusal than 403 into the reply.
  std::function<bool(Simulation&, Request&, Reply&)> allows;
};

struct Route {
  std::string pattern;
  std::uint8_t methods = kGet;
  RouteKind kind = RouteKind::read;
  Handler handler;
  Blocking blocking;
  bool any_thread = false;  ///< the handler reads nothing of the cluster, and is called on the transport's thread
  Need need = {};           ///< from the table of endpoints/needs.cc
};

class Router {
 public:
  void add(Route route);
  void read(std::string pattern, Handler handler, Blocking blocking = {}) {
    add({std::move(pattern), kGet, RouteKind::read, std::move(handler), blocking});
  }
  /// PUT and POST (R-API-5).
  void write(std::string pattern, Handler handler) {
    add({std::move(pattern), kPut | kPost, RouteKind::write, std::move(handler), {}});
  }
  void remove(std::string pattern, Handler handler) {
    add({std::move(pattern), kDelete, RouteKind::write, std::move(handler), {}});
  }
  /// GET without any X-Nomad header.
  void plain(std::string pattern, Handler handler) {
    add({std::move(pattern), kGet, RouteKind::plain, std::move(handler), {}});
  }

  /// Likewise, answered at once whatever the simulation is at.
  void immediate(std::string pattern, Handler handler) {
    add({std::move(pattern), kGet, RouteKind::plain, std::move(handler), {}, true});
  }

  /// Gives every route the need that `need_of(route)` says; null: it stays a management token's alone. What had none.
  std::vector<std::string> set_needs(const std::function<const Need*(const Route&)>& need_of);

  /// Told of the simulation before its first request, and again when another cluster took the place of the one before:
  /// for who looks on while the cluster lives.
  using Attach = std::function<void(Simulation&)>;
  void attach(Attach what) { attached_.push_back(std::move(what)); }
  [[nodiscard]] const std::vector<Attach>& attached() const { return attached_; }

  struct Match {
    const Route* route = nullptr;  ///< null: no route has that method, or none that path
    bool known_path = false;
    std::vector<std::string> captures;
  };
  [[nodiscard]] Match find(std::string_view method, std::string_view path) const;
  /// All routes, sorted by pattern.
  [[nodiscard]] std::vector<const Route*> routes() const;

 private:
  struct Pattern {
    std::vector<std::string> literals;  // around the stars
    std::size_t length = 0;             // of all literals
    std::vector<Route> routes;
  };
  std::vector<Pattern> patterns_;  // longest literals first
  std::vector<Attach> attached_;
};

// --- for handlers ---

/// The body as JSON; nothing: the reply says why not (R-API-15).
[[nodiscard]] std::optional<json::Value> json_body(const Request& request, Reply& reply);
/// A boolean parameter, absent: false; nothing: the reply says what is wrong (R-API-17).
[[nodiscard]] std::optional<bool> bool_parameter(const Request& request, std::string_view name, Reply& reply);
/// An integer parameter, absent: 0.
[[nodiscard]] std::optional<std::int64_t> int_parameter(const Request& request, std::string_view name, Reply& reply);

}  // namespace berth::serve
