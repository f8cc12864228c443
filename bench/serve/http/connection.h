// One connection: reads a request, hands it on, sends the answer, reads the next. For the files of this folder only.
// Everything here runs on the transport's thread, but for what exchanges are told, which is posted to it.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <deque>
#include <memory>
#include <optional>

#include "serve/http/gzip.h"
#include "serve/http/server.h"

namespace berth::serve::http {

class Connection;

/// What a connection needs of its server.
class Owner {
 public:
  virtual ~Owner() = default;
  [[nodiscard]] virtual const Limits& limits() const = 0;
  virtual void serve(std::shared_ptr<Exchange> exchange) = 0;
  virtual void opened(Connection* connection) = 0;
  virtual void closed(Connection* connection) = 0;
};

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(boost::asio::ip::tcp::socket socket, Owner& owner);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  /// `full`: the server has all connections that it may have; it says so and ends this one.
  void start(bool full);
  void close();

 private:
  class Answering;
  friend class Answering;
  using Error = boost::beast::error_code;

  void await_request();
  void read_request();
  void read_body();
  void take_request();
  void refuse(Error error);
  void send_head(const Head& head, std::optional<std::size_t> length);
  void answer(const Head& head, std::string body);
  void begin(const Head& head, std::function<void()> wants_more);
  void write(std::string text);
  void finish();
  void watch();
  void write_next();
  void done();
  void linger();
  void drain();

  boost::beast::tcp_stream stream_;
  Owner& owner_;
  boost::beast::flat_buffer buffer_;
  std::optional<boost::beast::http::request_parser<boost::beast::http::string_body>> parser_;
  std::shared_ptr<Answering> exchange_;  // under way
  bool keep_alive_ = false, chunked_ = false, streaming_ = false, finished_ = false, writing_ = false;
  std::function<void()> wants_more_;
  std::unique_ptr<Gzip> gzip_;
  std::deque<std::string> out_;  // to be sent, the first under way
  std::size_t raw_ = 0;          // bytes of out_ as they count for queued()
};

}  // namespace berth::serve::http
