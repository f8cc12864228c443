#include "http/transport/connection.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>
#include <chrono>

#include "http/transport/head_check.h"
#include "http/transport/websocket.h"

namespace berth::http::transport {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace bhttp = boost::beast::http;

namespace {

/// The value of a cookie; `name` ends with its equals sign.
std::string cookie_of(const std::string& header, std::string_view name) {
  for (std::size_t at = 0; at < header.size();) {
    const std::size_t end = std::min(header.find(';', at), header.size());
    const std::size_t begin = std::min(header.find_first_not_of(' ', at), end);
    const std::string_view part = std::string_view(header).substr(begin, end - begin);
    if (part.starts_with(name)) return std::string(part.substr(name.size()));
    at = end + 1;
  }
  return "";
}

constexpr std::size_t kCompressFrom = 1024;  // bytes; smaller bodies are not compressed

/// True if a list of encodings contains `gzip` and does not exclude it.
bool takes_gzip(beast::string_view header) {
  for (const auto& [coding, parameters] : bhttp::ext_list{bhttp::ext_list(header)}) {
    if (!beast::iequals(coding, "gzip") && coding != "*") continue;
    for (const auto& parameter : parameters)
      if (beast::iequals(parameter.first, "q") && (parameter.second == "0" || parameter.second.starts_with("0.0")))
        return false;
    return true;
  }
  return false;
}

std::string chunk_head(std::size_t bytes) {
  char size[20];
  const int length = std::snprintf(size, sizeof size, "%zx\r\n", bytes);
  return {size, static_cast<std::size_t>(length)};
}

std::string chunk_of(const std::string& text) {
  std::string out;
  out.reserve(text.size() + 24);
  out.append(chunk_head(text.size())).append(text).append("\r\n");
  return out;
}

}  // namespace

/// The exchange of a connection: posts all calls to the connection's thread.
class Connection::Answering final : public Exchange {
 public:
  Answering(std::shared_ptr<Connection> connection, Message request)
      : Exchange(std::move(request), connection->owner_.budget()),
        connection_(std::move(connection)),
        executor_(connection_->stream_.get_executor()) {}

  void answer(Head head, std::string body) override {
    const std::size_t bytes = body.size();
    auto piece = std::make_shared<Piece>(Piece{std::move(body), nullptr, 0, Charge(budget_, bytes)});
    post([head = std::move(head), piece](Connection& to) { to.answer(head, std::move(*piece)); });
  }
  void begin(Head head, std::function<void()> wants_more) override {
    post([head = std::move(head), wants_more = std::move(wants_more)](Connection& to) mutable {
      to.begin(head, std::move(wants_more));
    });
  }
  void write(std::string text) override {
    const std::size_t bytes = text.size();
    send(std::make_shared<Piece>(Piece{std::move(text), nullptr, bytes, Charge(budget_, bytes)}));
  }
  void write(TextRef text) override {
    text->charge(budget_);
    const std::size_t bytes = text->text().size();
    send(std::make_shared<Piece>(Piece{"", std::move(text), bytes, {}}));
  }
  void finish() override {
    post([](Connection& to) { to.finish(); });
  }
  void close_websocket(std::uint16_t code, std::string reason) override {
    post([code, reason = std::move(reason)](Connection& to) { to.close_websocket(code, reason); });
  }
  void watch() override {
    post([](Connection& to) { to.watch(); });
  }
  void abort() override {
    post([](Connection& to) { to.close(); });
  }

  void sent(std::size_t bytes) { queued_.fetch_sub(bytes, std::memory_order_acq_rel); }
  /// The connection is closed, or has continued with its next request. On its thread.
  void end() {
    closed_.store(true, std::memory_order_release);
    connection_.reset();
  }

 private:
  void send(std::shared_ptr<Piece> piece) {
    queued_.fetch_add(piece->raw, std::memory_order_acq_rel);
    post([piece = std::move(piece)](Connection& to) { to.write(std::move(*piece)); });
  }
  template <class What>
  void post(What what) {
    asio::post(executor_, [self = shared_from_this(), this, what = std::move(what)]() mutable {
      if (const auto connection = connection_) what(*connection);
    });
  }

  std::shared_ptr<Connection> connection_;  // only on its thread; null: ended
  beast::tcp_stream::executor_type executor_;
};

Connection::Connection(asio::ip::tcp::socket socket, Owner& owner)
    : stream_(std::move(socket)), owner_(owner), buffer_(owner.limits().header_bytes), charge_(owner.budget(), 0) {
  owner_.opened(this);
}

Connection::~Connection() { owner_.closed(this); }

void Connection::start(bool full) {
  if (!full) return await_request();
  refuse(Refusal{503, "too many connections", {}});
}

void Connection::close() {
  const auto self = shared_from_this();  // its exchange may be the only owner
  Error ignored;
  stream_.socket().shutdown(asio::ip::tcp::socket::shutdown_both, ignored);
  stream_.close();
  wants_more_ = nullptr;
  if (exchange_) std::exchange(exchange_, nullptr)->end();
}

void Connection::close_at_end() {
  const bool is_pushed = streaming_ && !wants_more_ && !finished_;
  if (!is_pushed) return close();
  keep_alive_ = false;
  finish();
}

std::size_t Connection::droppable() const {
  if (dropped_) return 0;
  if (reading_body_) return charge_.bytes();
  if (out_.empty()) return 0;
  std::size_t bytes = exchange_ ? exchange_->queued() : 0;
  for (const Piece& piece : out_) bytes += piece.raw == 0 ? piece.charge.bytes() : 0;
  return bytes;
}

void Connection::drop() {
  const auto self = shared_from_this();
  dropped_ = true;
  if (reading_body_) {
    static const std::string kText = "the memory for requests is used up (--held-memory); try again later";
    static const std::string kAnswer =
        "HTTP/1.1 503 Service Unavailable\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n"
        "Content-Length: " +
        std::to_string(kText.size()) + "\r\n\r\n" + kText;
    Error ignored;
    stream_.socket().non_blocking(true, ignored);
    stream_.socket().send(asio::buffer(kAnswer), 0, ignored);
    std::string().swap(parser_->get().body());  // the parser must exist until the pending read has ended
    charge_.resize(0);
  }
  close();
}

// ---------------------------------------------------------------- reading

/// Waits for the first byte of a request with the idle timeout; from then on the shorter request timeout applies.
void Connection::await_request() {
  parser_.reset();
  scanned_ = 0;
  progress_ = std::chrono::steady_clock::now();
  if (buffer_.size() > 0) return read_request();
  stream_.expires_after(std::chrono::seconds(owner_.limits().idle_seconds));
  stream_.async_read_some(buffer_.prepare(std::min<std::size_t>(owner_.limits().header_bytes, 4096)),
                          [self = shared_from_this()](Error error, std::size_t bytes) {
                            if (error) return self->close();
                            self->buffer_.commit(bytes);
                            self->read_request();
                          });
}

void Connection::read_request() {
  stream_.expires_after(std::chrono::seconds(owner_.limits().request_seconds));
  find_head();
}

/// Reads the head as bytes, to check it before parsing.
void Connection::find_head() {
  const std::string_view got(static_cast<const char*>(buffer_.data().data()), buffer_.size());
  const std::size_t end = got.find("\r\n\r\n", scanned_ - std::min<std::size_t>(scanned_, 3));
  if (end != std::string_view::npos) return read_head(end + 4);
  scanned_ = got.size();
  const std::size_t most = owner_.limits().header_bytes;
  if (got.size() >= most) return refuse(Refusal{400, "malformed HTTP request: the head is too large", {}});
  stream_.async_read_some(buffer_.prepare(std::min<std::size_t>(most - got.size(), 4096)),
                          [self = shared_from_this()](Error error, std::size_t bytes) {
                            if (error == asio::error::eof)
                              return self->refuse(Refusal{400, "malformed HTTP request: the head ends early", {}});
                            if (error) return self->close();
                            self->buffer_.commit(bytes);
                            self->progress_ = std::chrono::steady_clock::now();
                            self->find_head();
                          });
}

void Connection::read_head(std::size_t bytes) {
  const std::string_view head(static_cast<const char*>(buffer_.data().data()), bytes);
  if (std::string problem = head_problem(head); !problem.empty())
    return refuse(Refusal{400, "malformed HTTP request: " + std::move(problem), {}});
  parser_.emplace();
  parser_->header_limit(static_cast<std::uint32_t>(owner_.limits().header_bytes));
  parser_->body_limit(std::min(owner_.limits().body_bytes, owner_.budget()->share()));
  Error error;
  buffer_.consume(parser_->put(asio::const_buffer(head.data(), head.size()), error));
  if (error) return refuse(error);
  if (!parser_->is_header_done()) return refuse(Refusal{400, "malformed HTTP request", {}});
  const auto& from = parser_->get();
  const auto text = [](beast::string_view value) { return std::string_view(value.data(), value.size()); };
  RequestHead asked;
  asked.method = text(from.method_string()), asked.target = text(from.target());
  asked.host = text(from[bhttp::field::host]), asked.origin = text(from[bhttp::field::origin]);
  asked.fetch_site = text(from["Sec-Fetch-Site"]), asked.fetch_mode = text(from["Sec-Fetch-Mode"]);
  asked.nomad_token = text(from["X-Nomad-Token"]), asked.authorization = text(from[bhttp::field::authorization]);
  asked.cookie = text(from[bhttp::field::cookie]);
  Error gone;
  asked.local_address = stream_.socket().local_endpoint(gone).address().to_string();
  if (auto refusal = owner_.admit(asked)) return refuse(std::move(*refusal));
  reading_body_ = true;
  parser_->eager(true);
  if (!beast::iequals(from[bhttp::field::expect], "100-continue")) return read_body();
  static const std::string kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
  asio::async_write(stream_, asio::buffer(kContinue), [self = shared_from_this()](Error failed, std::size_t) {
    if (failed) return self->close();
    self->read_body();
  });
}

void Connection::read_body() {
  if (parser_->is_done()) return take_request();
  bhttp::async_read_some(stream_, buffer_, *parser_, [self = shared_from_this()](Error error, std::size_t) {
    if (self->dropped_) return;
    if (error) return self->refuse(error);
    self->progress_ = std::chrono::steady_clock::now();
    if (self->charge_body()) self->read_body();
  });
}

/// Charges the arrived part of the body; false: this connection was ended because of it.
bool Connection::charge_body() {
  const std::string& body = parser_->get().body();
  // Memory for a body of known length is reserved at once, but used only as it arrives.
  charge_.resize(parser_->chunked() ? body.capacity() : body.size());
  if (owner_.budget()->is_exceeded()) owner_.shed();
  return !dropped_;
}

void Connection::take_request() {
  stream_.expires_never();
  reading_body_ = false;
  auto& from = parser_->get();
  Message message;
  message.method = std::string(from.method_string());
  message.target = std::string(from.target());
  message.body = std::move(from.body());
  message.secret = std::string(from["X-Nomad-Token"]);
  constexpr std::string_view kBearer = "Bearer ";
  const std::string authorization(from[bhttp::field::authorization]);
  if (message.secret.empty() && beast::iequals(authorization.substr(0, kBearer.size()), kBearer.data()))
    message.secret = authorization.substr(kBearer.size());
  if (message.secret.empty()) message.secret = cookie_of(std::string(from[bhttp::field::cookie]), "berth_token=");
  message.accepts_gzip = takes_gzip(from[bhttp::field::accept_encoding]);
  if (is_websocket(from)) message.websocket_key = std::string(from["Sec-WebSocket-Key"]);
  charge_.resize(message.body.capacity() + 4 * message.target.size());  // the target is also decoded and split
  message.charge = std::exchange(charge_, Charge(owner_.budget(), 0));
  keep_alive_ = from.keep_alive();
  chunked_ = from.version() >= 11;
  parser_.reset();
  exchange_ = std::make_shared<Answering>(shared_from_this(), std::move(message));
  owner_.serve(exchange_);
}

/// Not HTTP, too large, or too slow: ends the connection, with one line if the client may be reading.
void Connection::refuse(Error error) {
  if (error == bhttp::error::end_of_stream || error == beast::error::timeout ||
      error.category() != bhttp::make_error_code(bhttp::error::bad_method).category())
    return close();
  const bool large = error == bhttp::error::body_limit;
  refuse(Refusal{
      large ? 413 : 400, large ? "request body is too large" : "malformed HTTP request: " + error.message(), {}});
}

void Connection::refuse(Refusal refusal) {
  keep_alive_ = false, chunked_ = true;
  reading_body_ = false;
  charge_.resize(0);
  answer({refusal.status, "text/plain; charset=utf-8", std::move(refusal.headers), false},
         Piece{std::move(refusal.text), nullptr, 0, {}});
}

// ---------------------------------------------------------------- answering

void Connection::send_head(const Head& head, std::optional<std::size_t> length) {
  bhttp::response<bhttp::empty_body> out(static_cast<bhttp::status>(head.status), chunked_ ? 11 : 10);
  for (const auto& [name, value] : head.headers) out.insert(name, value);
  if (!head.content_type.empty()) out.set(bhttp::field::content_type, head.content_type);
  out.set(bhttp::field::vary, "Accept-Encoding");  // R-API-25
  if (gzip_) out.set(bhttp::field::content_encoding, "gzip");
  if (length) out.content_length(*length);
  if (streaming_ && chunked_) out.chunked(true);
  if (streaming_ && !chunked_) keep_alive_ = false;  // the end of the body is the end of the connection
  out.keep_alive(keep_alive_);
  std::string text;
  bhttp::response_serializer<bhttp::empty_body> serializer(out);
  Error error;
  while (!serializer.is_header_done()) {
    serializer.next(error, [&](Error&, const auto& buffers) {
      for (const auto part : beast::buffers_range_ref(buffers))
        text.append(static_cast<const char*>(part.data()), part.size());
      serializer.consume(beast::buffer_bytes(buffers));
    });
    if (error) break;
  }
  push(std::move(text));
}

void Connection::answer(const Head& head, Piece body) {
  gzip_.reset();
  if (head.compress && body.text.size() >= kCompressFrom && exchange_ && exchange_->request().accepts_gzip) {
    gzip_ = std::make_unique<Gzip>();
    body.text = gzip_->pack(body.text, true);
    body.charge.resize(std::min(body.charge.bytes(), body.text.size()));
  }
  streaming_ = false, finished_ = true;
  send_head(head, head.status == 204 ? std::nullopt : std::optional(body.text.size()));
  const bool only_head = exchange_ && exchange_->request().method == "HEAD";
  if (!body.text.empty() && !only_head) out_.push_back(std::move(body));
  write_next();
  if (owner_.budget()->is_exceeded()) owner_.shed();
}

void Connection::begin(const Head& head, std::function<void()> wants_more) {
  gzip_.reset();
  if (head.compress && exchange_->request().accepts_gzip) gzip_ = std::make_unique<Gzip>();
  streaming_ = true, finished_ = false;
  send_head(head, std::nullopt);
  wants_more_ = std::move(wants_more);
  write_next();
}

void Connection::write(Piece piece) {
  if (finished_) return;  // close_at_end() has finished the stream
  if (gzip_) {
    std::string packed = gzip_->pack(piece.bytes(), false);
    if (packed.empty() && exchange_) exchange_->sent(std::exchange(piece.raw, 0));  // it is in the compressor's buffer
    piece = Piece{std::move(packed), nullptr, piece.raw, std::move(piece.charge)};
  }
  if (!piece.bytes().empty()) {
    if (chunked_ && piece.shared) {
      push(chunk_head(piece.bytes().size()));
      out_.push_back(std::move(piece));
      push("\r\n");
    } else {
      if (chunked_) piece.text = chunk_of(piece.text);
      out_.push_back(std::move(piece));
    }
  }
  write_next();
  if (owner_.budget()->is_exceeded()) owner_.shed();
}

void Connection::finish() {
  if (finished_) return;
  if (gzip_)
    if (std::string rest = gzip_->pack("", true); !rest.empty()) push(chunked_ ? chunk_of(rest) : std::move(rest));
  if (chunked_) push("0\r\n\r\n");
  finished_ = true;
  write_next();
}

/// Opens a websocket only to close it with a reason; the connection ends with it.
void Connection::close_websocket(std::uint16_t code, std::string reason) {
  if (!exchange_) return;
  refuse_websocket(stream_, exchange_->request(), code, reason, [self = shared_from_this()] { self->close(); });
}

/// Sends as much of the first pieces as the client accepts. A piece has `write_seconds` from its first byte to its
/// last.
void Connection::write_next() {
  if (writing_) return;
  if (out_.empty()) {
    if (finished_) return done();
    if (wants_more_) wants_more_();
    return;
  }
  // Only a little at once, because copying a large write would make other connections wait.
  constexpr std::size_t kPiecesAtOnce = 16, kBytesAtOnce = 64 << 10;
  std::vector<asio::const_buffer> buffers;
  std::size_t room = kBytesAtOnce;
  for (const Piece& piece : out_) {
    if (buffers.size() == kPiecesAtOnce || room == 0) break;
    asio::const_buffer rest = asio::buffer(piece.bytes());
    if (buffers.empty()) rest += sent_of_first_;
    buffers.push_back(asio::buffer(rest, room));
    room -= buffers.back().size();
  }
  writing_ = true;
  if (sent_of_first_ == 0) stream_.expires_after(std::chrono::seconds(owner_.limits().write_seconds));
  stream_.async_write_some(buffers, [self = shared_from_this()](Error error, std::size_t bytes) {
    self->writing_ = false;
    if (error) return self->close();
    self->note_sent(bytes);
    self->write_next();
  });
}

void Connection::note_sent(std::size_t bytes) {
  progress_ = std::chrono::steady_clock::now();
  bytes += std::exchange(sent_of_first_, 0);
  while (!out_.empty() && bytes >= out_.front().bytes().size()) {
    bytes -= out_.front().bytes().size();
    if (exchange_) exchange_->sent(out_.front().raw);
    out_.pop_front();
  }
  sent_of_first_ = bytes;
  if (out_.empty()) stream_.expires_never();
}

/// The answer has been sent.
void Connection::done() {
  finished_ = streaming_ = false;
  wants_more_ = nullptr;
  gzip_.reset();
  if (exchange_) std::exchange(exchange_, nullptr)->end();
  if (!keep_alive_) return linger();
  await_request();
}

/// Stops sending and discards arriving bytes for a moment. Closing at once would lose the answer for a client that is
/// still writing.
void Connection::linger() {
  Error ignored;
  stream_.socket().shutdown(asio::ip::tcp::socket::shutdown_send, ignored);
  stream_.expires_after(std::chrono::seconds(2));
  drain();
}

void Connection::drain() {
  buffer_.clear();
  const std::size_t most = std::min<std::size_t>(owner_.limits().header_bytes, 64 << 10);
  stream_.async_read_some(buffer_.prepare(most), [self = shared_from_this()](Error error, std::size_t) {
    if (error) return self->close();
    self->drain();
  });
}

/// Readable while no request is expected: the client is gone, or has already sent its next request, which can wait.
void Connection::watch() {
  stream_.socket().async_wait(asio::ip::tcp::socket::wait_read,
                              [self = shared_from_this(), exchange = exchange_](Error error) {
                                if (error || self->exchange_ != exchange) return;
                                Error failed;
                                if (self->stream_.socket().available(failed) == 0 || failed) self->close();
                              });
}

}  // namespace berth::http::transport
