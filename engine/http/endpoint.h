// How to add an endpoint.
//
// An endpoint is a route and a function. Each file of endpoints/ has those of one kind of object, with a function
// `add_x_routes(Router&)` at its end, which is listed in endpoints/endpoints.h:
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
// Patterns   A `*` matches one part of the path. If it is the last, or a known ending follows, it matches several,
//            because IDs of jobs may contain slashes (R-API-3). Request::captures has the matched texts,
//            percent-decoded. The pattern with the longest literal text wins. A path without a route for the method
//            is 405 (R-API-4).
// Threads    Handlers run on the simulation's thread, one at a time, and own the cluster meanwhile: they may read and
//            change it, and must take at most about a millisecond. Longer work is a stream:
//              reply.stream(Where::readers, next)     `next` makes the next piece of the body on another thread, from
//                                                     data that it owns: a SnapshotRef, objects by shared_ptr
//              reply.stream(Where::simulation, next)  the same on the simulation's thread when no other work waits
//            Pieces are made as fast as the client takes them; they should have 16 to 64 KiB.
// Blocking   The route of a blocking read (R-API-50 to 56) has a function that returns its X-Nomad-Index, and the
//            tables whose entries can change that index. While the function returns <= N of `index=N`, the request
//            waits without a thread, and the function is called again when one of the tables was written. The handler
//            is called only then. Index kAnswerNow: do not wait (e.g. for an error).
// Later      reply.later() returns a function that delivers the reply when it is ready, on any thread, after the
//            handler returned.
// Pushing    reply.push(heartbeat, subscriber): a stream that other code writes to, e.g. of events.
//
// router.cc handles headers, `pretty`, gzip, error texts, `region`, `stale`, `index`, `wait`, `per_page`.
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
#include "http/stores/asker.h"
#include "http/stores/tables.h"
#include "http/transport/exchange.h"

namespace berth::http {

class Simulation;

inline constexpr std::uint64_t kAnswerNow = ~std::uint64_t{0};

using Query = std::vector<std::pair<std::string, std::string>>;

/// A request whose common parameters have been read (R-API-40 to 49).
struct Request {
  std::string method, path;           ///< path percent-decoded
  std::vector<std::string> captures;  ///< texts matched by the pattern's stars
  Query query;
  std::string body;
  std::string name_space = "default";  ///< "*": all, for lists
  std::string prefix, filter, next_token;
  std::uint64_t index = 0;
  std::int64_t wait_ns = 0;
  std::int64_t per_page = 0;
  bool reverse = false, pretty = false;
  std::string secret;  ///< as sent; "": none
  Asker asker;         ///< its sender; everything is allowed without access control
  /// Namespaces shown by a list over all of them; null: all (R-STORE-102).
  std::shared_ptr<const std::set<std::string, std::less<>>> visible;
  bool wants_websocket = false;  ///< has the headers of a websocket's handshake

  /// The parameter's first value; null: not given.
  [[nodiscard]] const std::string* find(std::string_view key) const;
  /// The same; "" if not given.
  [[nodiscard]] std::string parameter(std::string_view key) const {
    const std::string* value = find(key);
    return value ? *value : "";
  }
  [[nodiscard]] bool all_namespaces() const { return name_space == "*"; }
  /// True if a list shows objects of this namespace.
  [[nodiscard]] bool shows(std::string_view of) const {
    return all_namespaces() ? !visible || visible->contains(of) : of == name_space;
  }
  /// True if there is no access control, or the sender's rights pass `test`.
  template <class Test>
  [[nodiscard]] bool may(Test test) const {
    return !asker.rights || test(*asker.rights);
  }
};

/// Threads for a reply. `questions`: a separate thread for long answers (plans, explanations, snapshots).
enum class Where : std::uint8_t { readers, questions, simulation };

/// Appends the next piece of a body to `out`; false: it was the last one.
using NextPiece = std::function<bool(std::string& out)>;

/// The writing end of a pushed stream. Any thread may use it.
class Channel {
 public:
  explicit Channel(std::shared_ptr<transport::Exchange> exchange) : exchange_(std::move(exchange)) {}
  /// False: the reader is gone, or so slow that more than `kMost` bytes would wait in addition to one text. It then
  /// gets no more.
  bool send(const std::vector<transport::TextRef>& line);
  bool send(std::string text) { return send({std::make_shared<const transport::SharedText>(std::move(text))}); }
  [[nodiscard]] bool closed() const { return exchange_->closed(); }
  void end() { exchange_->finish(); }
  static constexpr std::size_t kMost = 4 << 20;

 private:
  std::shared_ptr<transport::Exchange> exchange_;
};

class Reply {
 public:
  // --- one of these; none: 200 with an empty body (R-API-11) ---
  void json(const json::Value& value) { json_text(json::to_text(value)); }
  void json_text(std::string text);
  void text(int status, std::string text, std::string content_type = "text/plain; charset=utf-8");
  /// An error text (R-API-12).
  void fail(int status, std::string text);
  /// The same with the status for this text: 500, or as in R-API-14.
  void fail(std::string text);
  void stream(Where where, NextPiece next, std::string content_type = "application/json");
  using Subscriber = std::function<void(std::shared_ptr<Channel>)>;
  /// Sends `heartbeat` at once and every `heartbeat_ns` of the real clock; "": never.
  void push(std::string heartbeat, Subscriber subscriber, std::string content_type = "application/json",
            std::int64_t heartbeat_ns = 30'000'000'000);
  /// For a websocket request: opens it and closes it with this code and reason (RFC 6455).
  void close_websocket(std::uint16_t code, std::string reason);
  /// For a later reply: returns a function to be called once with it, on any thread, after the handler returned.
  [[nodiscard]] std::function<void(Reply)> later();

  // --- headers ---
  /// Sets X-Nomad-Index for writes, and for reads without an index function.
  void index(std::uint64_t index) { index_ = index; }
  /// For a write without X-Nomad-Index.
  void without_index() { shows_index_ = false; }
  void next_token(std::string token) { next_token_ = std::move(token); }
  void known_leader(bool known) { known_leader_ = known; }
  void header(std::string name, std::string value) { headers_.emplace_back(std::move(name), std::move(value)); }
  void never_compress() { compress_ = false; }

  [[nodiscard]] int status() const { return status_; }
  [[nodiscard]] const std::string& failure() const { return body_; }  ///< text of fail()

 private:
  friend class Dispatcher;
  int status_ = 200;
  std::string body_, content_type_, next_token_, heartbeat_;
  std::int64_t heartbeat_ns_ = 0;
  std::uint16_t websocket_code_ = 0;  // 0: no websocket
  std::optional<std::uint64_t> index_;
  bool known_leader_ = true, compress_ = true, failed_ = false, is_later_ = false, shows_index_ = true;
  transport::Headers headers_;
  Where where_ = Where::readers;
  NextPiece next_;
  Subscriber subscriber_;
  std::shared_ptr<std::function<void(Reply)>> deliver_;  // of later()
};

using Handler = std::function<void(Simulation&, const Request&, Reply&)>;

/// Set of tables as bits: those of fsm::Table, then those of the stores.
using TableSet = std::uint32_t;
[[nodiscard]] constexpr TableSet tables_of() { return 0; }
template <class... More>
[[nodiscard]] constexpr TableSet tables_of(fsm::Table table, More... more) {
  return TableSet{1} << static_cast<unsigned>(table) | tables_of(more...);
}

/// A table of the stores (stores/tables.h).
[[nodiscard]] constexpr TableSet tables_of(StoreTable table) {
  return TableSet{1} << (fsm::kTables + static_cast<unsigned>(table));
}

/// How a read blocks. Without a function it does not block.
struct Blocking {
  std::uint64_t (*index)(Simulation&, const Request&) = nullptr;
  TableSet tables = 0;
};

/// Kind of a route; determines the headers of its replies.
enum class RouteKind : std::uint8_t {
  read,   ///< X-Nomad-Index, -KnownLeader, -LastContact; common parameters are checked (R-API-20 to 27)
  write,  ///< X-Nomad-Index
  plain,  ///< none (R-API-28)
};

enum Methods : std::uint8_t { kGet = 1, kPut = 2, kPost = 4, kDelete = 8, kOtherMethods = 128, kAnyMethod = 255 };

/// The rights that a token needs for a route (R-STORE-130 to 169). Without `allows` only management tokens pass.
struct Need {
  bool open = false;  ///< open to all, even with an unknown or expired token
  /// Returns true if allowed. Also sets the namespaces that a list shows, and may reply with a refusal other than 403.
  std::function<bool(Simulation&, Request&, Reply&)> allows;
};

struct Route {
  std::string pattern;
  std::uint8_t methods = kGet;
  RouteKind kind = RouteKind::read;
  Handler handler;
  Blocking blocking;
  bool any_thread = false;  ///< the handler does not use the cluster and is called on the transport's thread
  Need need = {};           ///< from the table in endpoints/needs.cc
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
  /// GET without X-Nomad headers.
  void plain(std::string pattern, Handler handler) {
    add({std::move(pattern), kGet, RouteKind::plain, std::move(handler), {}});
  }

  /// The same, answered at once without waiting for the simulation.
  void immediate(std::string pattern, Handler handler) {
    add({std::move(pattern), kGet, RouteKind::plain, std::move(handler), {}, true});
  }

  /// Sets the need of every route to `need_of(route)`; null: only management tokens. Returns the routes without a need.
  std::vector<std::string> set_needs(const std::function<const Need*(const Route&)>& need_of);

  /// Called with the simulation before its first request, and again when its cluster was replaced; for observers of the
  /// cluster.
  using Attach = std::function<void(Simulation&)>;
  void attach(Attach what) { attached_.push_back(std::move(what)); }
  [[nodiscard]] const std::vector<Attach>& attached() const { return attached_; }

  struct Match {
    const Route* route = nullptr;  ///< null: no route with that path and method
    bool known_path = false;
    std::vector<std::string> captures;
  };
  [[nodiscard]] Match find(std::string_view method, std::string_view path) const;
  /// All routes, sorted by pattern.
  [[nodiscard]] std::vector<const Route*> routes() const;

 private:
  struct Pattern {
    std::vector<std::string> literals;  // texts around the stars
    std::size_t length = 0;             // of all literals
    std::vector<Route> routes;
  };
  std::vector<Pattern> patterns_;  // longest literals first
  std::vector<Attach> attached_;
};

// --- for handlers ---

/// The body as JSON; nullopt: the reply contains the error (R-API-15).
[[nodiscard]] std::optional<json::Value> json_body(const Request& request, Reply& reply);
/// A boolean parameter, absent: false; nullopt: the reply contains the error (R-API-17).
[[nodiscard]] std::optional<bool> bool_parameter(const Request& request, std::string_view name, Reply& reply);
/// An integer parameter, absent: 0.
[[nodiscard]] std::optional<std::int64_t> int_parameter(const Request& request, std::string_view name, Reply& reply);

}  // namespace berth::http
