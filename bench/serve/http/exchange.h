// One HTTP request and the answer to it, which any thread may give, now or later.
//
//   answer(head, body)              the whole answer at once; or
//   begin(head, wants_more)         its head now, then write() as often as needed, then finish()
// `wants_more`, where given, is called on the transport's thread whenever all that was written has left: a long list is
// made in pieces as fast as its reader takes them. Without it whoever writes looks at queued() himself.
// The connection may end at any time; closed() says so and what is written afterwards goes nowhere.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "serve/http/budget.h"

namespace berth::serve::http {

using Headers = std::vector<std::pair<std::string, std::string>>;

struct Message {
  std::string method;  ///< "GET"
  std::string target;  ///< path and query as they came
  std::string body;
  std::string secret;  ///< X-Nomad-Token, else that of `Authorization: Bearer`
  bool accepts_gzip = false;
  std::string websocket_key;  ///< of a websocket's handshake; "": the request is none
  Charge charge;              ///< what the request holds until the answer has been sent
};

/// What is known of a request before its body is read.
struct RequestHead {
  std::string_view method, target, host, origin, fetch_site, fetch_mode, nomad_token, authorization, cookie;
  std::string local_address;  ///< of this machine, as the client reached it
};

struct Head {
  int status = 200;
  std::string content_type;  ///< "": none is sent
  Headers headers;           ///< further ones
  bool compress = true;      ///< may be sent as gzip where the client takes that
};

/// An answer in place of the one that was asked for; the connection ends with it.
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
  virtual void write(TextRef text) = 0;  ///< one that other streams send as well
  virtual void finish() = 0;
  /// In place of an answer, where the request is a websocket's handshake: opens and closes it (RFC 6455).
  virtual void close_websocket(std::uint16_t code, std::string reason) = 0;
  /// The answer will take a while: notices meanwhile when the client goes away.
  virtual void watch() = 0;
  /// Ends the connection without a proper end of the answer, so that the client sees that something is missing.
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

}  // namespace berth::serve::http
