// Connection: reads a request, passes it on, sends the answer, reads the next. Only for the files of this folder.
// Everything runs on the transport's thread; calls of exchanges are posted to it.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <chrono>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "http/transport/gzip.h"
#include "http/transport/server.h"

namespace berth::http::transport {

class Connection;

/// Interface of the server for its connections.
class Owner {
 public:
  virtual ~Owner() = default;
  [[nodiscard]] virtual const Limits& limits() const = 0;
  virtual void serve(std::shared_ptr<Exchange> exchange) = 0;
  virtual std::optional<Refusal> admit(const RequestHead& head) = 0;
  virtual const std::shared_ptr<Budget>& budget() = 0;
  /// The budget is exceeded: ends the slowest connections.
  virtual void shed() = 0;
  virtual void opened(Connection* connection) = 0;
  virtual void closed(Connection* connection) = 0;
};

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(boost::asio::ip::tcp::socket socket, Owner& owner);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  /// `full`: the server has reached its limit of connections; this one gets an error and ends.
  void start(bool full);
  void close();
  /// The server ends: close(), but completes a stream without a planned end, such as that of events, before.
  void close_at_end();
  /// Bytes that drop() would free; 0 while a request is being processed.
  [[nodiscard]] std::size_t droppable() const;
  [[nodiscard]] std::chrono::steady_clock::time_point last_progress() const { return progress_; }
  /// Ends the connection to free its memory, with one line if a request was being read.
  void drop();

 private:
  class Answering;
  friend class Answering;
  using Error = boost::beast::error_code;

  /// A piece of the output.
  struct Piece {
    std::string text;
    TextRef shared;       // in place of `text`
    std::size_t raw = 0;  // bytes as they count for queued()
    Charge charge;
    [[nodiscard]] const std::string& bytes() const { return shared ? shared->text() : text; }
  };

  void await_request();
  void read_request();
  void find_head();
  void read_head(std::size_t bytes);
  void read_body();
  void take_request();
  [[nodiscard]] bool charge_body();
  void refuse(Error error);
  void refuse(Refusal refusal);
  void send_head(const Head& head, std::optional<std::size_t> length);
  void answer(const Head& head, Piece body);
  void begin(const Head& head, std::function<void()> wants_more);
  void write(Piece piece);
  void push(std::string text) { out_.push_back(Piece{std::move(text), nullptr, 0, {}}); }
  void finish();
  void close_websocket(std::uint16_t code, std::string reason);
  void watch();
  void write_next();
  void note_sent(std::size_t bytes);
  void done();
  void linger();
  void drain();

  boost::beast::tcp_stream stream_;
  Owner& owner_;
  boost::beast::flat_buffer buffer_;
  std::optional<boost::beast::http::request_parser<boost::beast::http::string_body>> parser_;
  std::shared_ptr<Answering> exchange_;  // in progress
  bool keep_alive_ = false, chunked_ = false, streaming_ = false, finished_ = false, writing_ = false;
  std::function<void()> wants_more_;
  std::unique_ptr<Gzip> gzip_;
  std::deque<Piece> out_;          // to be sent
  std::size_t sent_of_first_ = 0;  // sent bytes of its front
  std::size_t scanned_ = 0;        // bytes of buffer_ without the end of the head
  Charge charge_;                  // of the arriving body
  bool reading_body_ = false, dropped_ = false;
  std::chrono::steady_clock::time_point progress_ = std::chrono::steady_clock::now();  // last time that bytes moved
};

}  // namespace berth::http::transport
