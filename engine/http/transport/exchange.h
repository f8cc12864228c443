// Exchange: an HTTP request and its answer, which any thread may give, now or later.
//
//   answer(head, body)              the whole answer at once; or
//   begin(head, wants_more)         its head now, then write() as often as needed, then finish()
// `wants_more`, if given, is called on the transport's thread whenever everything written has been sent, so that a long
// list is made as fast as its reader takes it. Without it the writer must check queued().
// The connection may end at any time; then closed() is true and further writes have no effect.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "http/transport/budget.h"

namespace berth::http::transport {

using Headers = std::vector<std::pair<std::string, std::string>>;

struct Message {
  std::string method;  ///< "GET"
  std::string target;  ///< path and query, undecoded
  std::string body;
  std::string secret;  ///< from X-Nomad-Token, else from `Authorization: Bearer`
  bool accepts_gzip = false;
  std::string websocket_key;  ///< of a websocket's handshake; "": not a websocket
  Charge charge;              ///< memory of the request until the answer has been sent
};

/// The parts of a request known before its body is read.
struct RequestHead {
  std::string_view method, target, host, origin, fetch_site, fetch_mode, nomad_token, authorization, cookie;
  std::string local_address;  ///< this machine's address of the connection
};

struct Head {
  int status = 200;
  std::string content_type;  ///< "": not sent
  Headers headers;           ///< further headers
  bool compress = true;      ///< may be sent as gzip if the client accepts it
};

/// An answer that refuses the request; the connection ends with it.
struct Refusal {
  int status = 403;
  std::string text;  ///< one line
  Headers headers;
};

class Exchange : public std::enable_shared_from_this<Exchange> {
 public:
  Exchange(Message request, std::shared_ptr<Budget> budget)
      : budget_(std::move(budget)), request_(std::move(request)) {}
  virtual ~Exchange() = default;
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  [[nodiscard]] const Message& request() const { return request_; }
  [[nodiscard]] Message& request() { return request_; }

  virtual void answer(Head head, std::string body) = 0;
  virtual void begin(Head head, std::function<void()> wants_more = nullptr) = 0;
  virtual void write(std::string text) = 0;
  virtual void write(TextRef text) = 0;  ///< a text shared with other streams
  virtual void finish() = 0;
  /// Instead of an answer, if the request is a websocket's handshake: opens and closes it (RFC 6455).
  virtual void close_websocket(std::uint16_t code, std::string reason) = 0;
  /// To be called if the answer will take a while: detects that the client disconnects.
  virtual void watch() = 0;
  /// Ends the connection without completing the answer, so that the client detects the missing part.
  virtual void abort() = 0;

  [[nodiscard]] bool closed() const { return closed_.load(std::memory_order_acquire); }
  [[nodiscard]] std::size_t queued() const { return queued_.load(std::memory_order_acquire); }  ///< bytes not yet sent
  [[nodiscard]] const Budget& budget() const { return *budget_; }

 protected:
  const std::shared_ptr<Budget> budget_;
  std::atomic<bool> closed_{false};
  std::atomic<std::size_t> queued_{0};

 private:
  Message request_;
};

}  // namespace berth::http::transport
