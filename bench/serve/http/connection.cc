#include "serve/http/connection.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>
#include <chrono>

namespace berth::serve::http {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace bhttp = boost::beast::http;

namespace {

constexpr std::size_t kCompressFrom = 1024;  // bytes; a smaller body leaves as it is

/// Whether a list of encodings has `gzip` and does not rule it out.
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

std::string chunk_of(const std::string& text) {
  char size[20];
  const int length = std::snprintf(size, sizeof size, "%zx\r\n", text.size());
  std::string out;
  out.reserve(text.size() + 24);
  out.append(size, static_cast<std::size_t>(length)).append(text).append("\r\n");
  return out;
}

}  // namespace

/// The exchange of a connection: posts what it is told to the connection's thread.
class Connection::Answering final : public Exchange {
 public:
  Answering(std::shared_ptr<Connection> connection, Message request)
      : Exchange(std::move(request)),
        connection_(std::move(connection)),
        executor_(connection_->stream_.get_executor()) {}

  void answer(Head head, std::string body) override {
    tell(
        [head = std::move(head), body = std::move(body)](Connection& to) mutable { to.answer(head, std::move(body)); });
  }
  void begin(Head head, std::function<void()> wants_more) override {
    tell([head = std::move(head), wants_more = std::move(wants_more)](Connection& to) mutable {
      to.begin(head, std::move(wants_more));
    });
  }
  void write(std::string text) override {
    queued_.fetch_add(text.size(), std::memory_order_acq_rel);
    tell([text = std::move(text)](Connection& to) mutable { to.write(std::move(text)); });
  }
  void finish() override {
    tell([](Connection& to) { to.finish(); });
  }
  void watch() override {
    tell([](Connection& to) { to.watch(); });
  }
  void abort() override {
    tell([](Connection& to) { to.close(); });
  }

  void sent(std::size_t bytes) { queued_.fetch_sub(bytes, std::memory_order_acq_rel); }
  /// The connection is gone, or has gone on to its next request. On its thread.
  void end() {
    closed_.store(true, std::memory_order_release);
    connection_.reset();
  }

 private:
  template <class What>
  void tell(What what) {
    asio::post(executor_, [self = shared_from_this(), this, what = std::move(what)]() mutable {
      if (const auto connection = connection_) what(*connection);
    });
  }

  std::shared_ptr<Connection> connection_;  // on its thread only; null: over
  beast::tcp_stream::executor_type executor_;
};

Connection::Connection(asio::ip::tcp::socket socket, Owner& owner) : stream_(std::move(socket)), owner_(owner) {
  owner_.opened(this);
}

Connection::~Connection() { owner_.closed(this); }

void Connection::start(bool full) {
  if (!full) return await_request();
  keep_alive_ = false;
  answer({503, "text/plain; charset=utf-8", {}, false}, "too many connections");
}

void Connection::close() {
  const auto self = shared_from_this();  // its exchange may be all that holds it
  Error ignored;
  stream_.socket().shutdown(asio::ip::tcp::socket::shutdown_both, ignored);
  stream_.close();
  wants_more_ = nullptr;
  if (exchange_) std::exchange(exchange_, nullptr)->end();
}

// ---------------------------------------------------------------- reading

/// Waits for the first byte of a request as long as an idle connection may; from then on the request has less time.
void Connection::await_request() {
  parser_.emplace();
  parser_->header_limit(static_cast<std::uint32_t>(owner_.limits().header_bytes));
  parser_->body_limit(owner_.limits().body_bytes);
  if (buffer_.size() > 0) return read_request();
  stream_.expires_after(std::chrono::seconds(owner_.limits().idle_seconds));
  stream_.async_read_some(buffer_.prepare(4096), [self = shared_from_this()](Error error, std::size_t bytes) {
    if (error) return self->close();
    self->buffer_.commit(bytes);
    self->read_request();
  });
}

void Connection::read_request() {
  stream_.expires_after(std::chrono::seconds(owner_.limits().request_seconds));
  bhttp::async_read_header(stream_, buffer_, *parser_, [self = shared_from_this()](Error error, std::size_t) {
    if (error) return self->refuse(error);
    if (!beast::iequals(self->parser_->get()[bhttp::field::expect], "100-continue")) return self->read_body();
    static const std::string kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
    asio::async_write(self->stream_, asio::buffer(kContinue), [self](Error failed, std::size_t) {
      if (failed) return self->close();
      self->read_body();
    });
  });
}

void Connection::read_body() {
  if (parser_->is_done()) return take_request();
  bhttp::async_read(stream_, buffer_, *parser_, [self = shared_from_this()](Error error, std::size_t) {
    if (error) return self->refuse(error);
    self->take_request();
  });
}

void Connection::take_request() {
  stream_.expires_never();
  auto& from = parser_->get();
  Message message;
  message.method = std::string(from.method_string());
  message.target = std::string(from.target());
  message.body = std::move(from.body());
  message.accepts_gzip = takes_gzip(from[bhttp::field::accept_encoding]);
  message.origin = std::string(from[bhttp::field::origin]);
  message.asked_method = std::string(from[bhttp::field::access_control_request_method]);
  keep_alive_ = from.keep_alive();
  chunked_ = from.version() >= 11;
  parser_.reset();
  exchange_ = std::make_shared<Answering>(shared_from_this(), std::move(message));
  owner_.serve(exchange_);
}

/// Not HTTP, too large, or too slow: the connection ends; with one line where the client may be reading.
void Connection::refuse(Error error) {
  if (error == bhttp::error::end_of_stream || error == beast::error::timeout ||
      error.category() != bhttp::make_error_code(bhttp::error::bad_method).category())
    return close();
  keep_alive_ = false;
  const bool large = error == bhttp::error::body_limit;
  answer({large ? 413 : 400, "text/plain; charset=utf-8", {}, false},
         large ? "request body is too large" : "malformed HTTP request: " + error.message());
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
  if (streaming_ && !chunked_) keep_alive_ = false;  // its end is the connection's
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
  out_.push_back(std::move(text));
}

void Connection::answer(const Head& head, std::string body) {
  gzip_.reset();
  if (head.compress && body.size() >= kCompressFrom && exchange_ && exchange_->request().accepts_gzip) {
    gzip_ = std::make_unique<Gzip>();
    body = gzip_->pack(body, true);
  }
  streaming_ = false, finished_ = true;
  send_head(head, head.status == 204 ? std::nullopt : std::optional(body.size()));
  const bool only_head = exchange_ && exchange_->request().method == "HEAD";
  if (!body.empty() && !only_head) out_.back() += body;
  write_next();
}

void Connection::begin(const Head& head, std::function<void()> wants_more) {
  gzip_.reset();
  if (head.compress && exchange_->request().accepts_gzip) gzip_ = std::make_unique<Gzip>();
  streaming_ = true, finished_ = false;
  send_head(head, std::nullopt);
  wants_more_ = std::move(wants_more);
  write_next();
}

void Connection::write(std::string text) {
  raw_ += text.size();
  if (gzip_) text = gzip_->pack(text, false);
  if (!text.empty()) out_.push_back(chunked_ ? chunk_of(text) : std::move(text));
  write_next();
}

void Connection::finish() {
  if (gzip_)
    if (std::string rest = gzip_->pack("", true); !rest.empty())
      out_.push_back(chunked_ ? chunk_of(rest) : std::move(rest));
  if (chunked_) out_.push_back("0\r\n\r\n");
  finished_ = true;
  write_next();
}

void Connection::write_next() {
  if (writing_) return;
  if (out_.empty()) {
    if (finished_) return done();
    if (exchange_) exchange_->sent(std::exchange(raw_, 0));
    if (wants_more_) wants_more_();
    return;
  }
  writing_ = true;
  stream_.expires_after(std::chrono::seconds(owner_.limits().write_seconds));
  asio::async_write(stream_, asio::buffer(out_.front()), [self = shared_from_this()](Error error, std::size_t) {
    self->writing_ = false;
    if (error) return self->close();
    self->stream_.expires_never();
    self->out_.pop_front();
    self->write_next();
  });
}

/// The answer has been sent.
void Connection::done() {
  finished_ = streaming_ = false;
  raw_ = 0;
  wants_more_ = nullptr;
  gzip_.reset();
  if (exchange_) std::exchange(exchange_, nullptr)->end();
  if (!keep_alive_) return linger();
  await_request();
}

/// No more is sent, and what still comes is thrown away for a moment: closing at once would take the answer from a
/// client that is still writing.
void Connection::linger() {
  Error ignored;
  stream_.socket().shutdown(asio::ip::tcp::socket::shutdown_send, ignored);
  stream_.expires_after(std::chrono::seconds(2));
  drain();
}

void Connection::drain() {
  buffer_.clear();
  stream_.async_read_some(buffer_.prepare(64 << 10), [self = shared_from_this()](Error error, std::size_t) {
    if (error) return self->close();
    self->drain();
  });
}

/// Readable while nothing is expected: the client is gone, or asks already for something else, which has time.
void Connection::watch() {
  stream_.socket().async_wait(asio::ip::tcp::socket::wait_read,
                              [self = shared_from_this(), exchange = exchange_](Error error) {
                                if (error || self->exchange_ != exchange) return;
                                Error failed;
                                if (self->stream_.socket().available(failed) == 0 || failed) self->close();
                              });
}

}  // namespace berth::serve::http
