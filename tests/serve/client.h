// A small HTTP client for tests, on plain sockets so that it can send malformed requests.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <map>
#include <string>
#include <utility>

namespace berth::http {

struct Answer {
  int status = 0;                              ///< 0: no answer
  std::map<std::string, std::string> headers;  ///< names in lower case
  std::string body;
};

class Client {
 public:
  /// `address` as Service::address() gives it.
  explicit Client(const std::string& address) {
    const std::size_t colon = address.rfind(':');
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_port = htons(static_cast<std::uint16_t>(std::stoi(address.substr(colon + 1))));
    inet_pton(AF_INET, address.substr(0, colon).c_str(), &at.sin_addr);
    socket_ = ::socket(AF_INET, SOCK_STREAM, 0);
    timeval most{.tv_sec = 20, .tv_usec = 0};
    setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &most, sizeof most);
    open_ = connect(socket_, reinterpret_cast<sockaddr*>(&at), sizeof at) == 0;
  }
  ~Client() { close(); }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  void close() {
    if (socket_ >= 0) ::close(socket_);
    socket_ = -1;
  }
  [[nodiscard]] bool open() const { return open_; }
  /// Nothing more will be sent.
  void end() { ::shutdown(socket_, SHUT_WR); }

  void send(const std::string& text) {
    for (std::size_t at = 0; at < text.size();) {
      const ssize_t sent = ::send(socket_, text.data() + at, text.size() - at, MSG_NOSIGNAL);
      if (sent <= 0) return;
      at += static_cast<std::size_t>(sent);
    }
  }

  void ask(const std::string& method, const std::string& target, const std::string& body = "",
           const std::string& headers = "") {
    send(method + " " + target + " HTTP/1.1\r\nHost: localhost\r\n" + headers +
         (body.empty() ? "" : "Content-Length: " + std::to_string(body.size()) + "\r\n") + "\r\n" + body);
  }

  Answer get(const std::string& target, const std::string& headers = "") {
    ask("GET", target, "", headers);
    return receive();
  }
  Answer put(const std::string& target, const std::string& body) {
    ask("PUT", target, body);
    return receive();
  }

  /// The next answer, with its chunks joined.
  Answer receive() {
    Answer out = head();
    if (out.headers["transfer-encoding"] == "chunked")
      while (chunk(out.body)) {
      }
    else
      take(out.headers.contains("content-length") ? std::stoul(out.headers["content-length"]) : 0, out.body);
    return out;
  }

  /// Reads status and headers of the next answer; its body, if any, is read next.
  Answer head() {
    Answer out;
    std::size_t end = 0;
    while ((end = buffer_.find("\r\n\r\n")) == std::string::npos)
      if (!more()) return out;
    const std::string head = buffer_.substr(0, end + 2);
    buffer_.erase(0, end + 4);
    std::from_chars(head.data() + 9, head.data() + 12, out.status);
    for (std::size_t at = head.find("\r\n") + 2; at < head.size();) {
      const std::size_t line = head.find("\r\n", at), colon = head.find(": ", at);
      std::string name = head.substr(at, colon - at);
      std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
      out.headers[name] = head.substr(colon + 2, line - colon - 2);
      at = line + 2;
    }
    return out;
  }

  /// Appends one chunk of a stream to `out`. False: the end.
  bool chunk(std::string& out) {
    std::size_t end = 0;
    while ((end = buffer_.find("\r\n")) == std::string::npos)
      if (!more()) return false;
    const std::size_t size = std::stoul(buffer_.substr(0, end), nullptr, 16);
    buffer_.erase(0, end + 2);
    take(size, out);
    std::string line_end;
    take(2, line_end);
    return size > 0;
  }

  /// Appends the next bytes to `out`, complete or not. False: no more bytes come.
  bool any(std::string& out) {
    if (buffer_.empty() && !more()) return false;
    out += std::exchange(buffer_, "");
    return true;
  }

  /// True if the server ends the connection within a moment. Drops what it sent before.
  bool is_over() {
    timeval moment{.tv_sec = 0, .tv_usec = 200'000};
    setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &moment, sizeof moment);
    char bytes[65536];
    ssize_t got = 0;
    while ((got = recv(socket_, bytes, sizeof bytes, 0)) > 0) {
    }
    return got == 0 || (errno != EAGAIN && errno != EWOULDBLOCK);
  }

  /// Waits until the server has ended the connection. Always true.
  bool ended() {
    while (more()) {
    }
    return true;
  }

 private:
  bool more() {
    char bytes[16384];
    const ssize_t got = recv(socket_, bytes, sizeof bytes, 0);
    if (got <= 0) return false;
    buffer_.append(bytes, static_cast<std::size_t>(got));
    return true;
  }
  void take(std::size_t size, std::string& out) {
    while (buffer_.size() < size)
      if (!more()) return;
    out += buffer_.substr(0, size);
    buffer_.erase(0, size);
  }

  int socket_ = -1;
  bool open_ = false;
  std::string buffer_;
};

}  // namespace berth::http
