#include "http/transport/server.h"

#include <algorithm>
#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <charconv>
#include <chrono>
#include <optional>
#include <set>
#include <vector>

#include "http/transport/connection.h"

namespace berth::http::transport {
namespace {

namespace asio = boost::asio;
using tcp = asio::ip::tcp;

constexpr std::chrono::milliseconds kEndMost{200};  // for clients to get the ends of streams when the server stops

class AsioServer final : public Server, public Owner {
 public:
  AsioServer(const Limits& limits)
      : limits_(limits),
        budget_(std::make_shared<Budget>(limits.held_bytes != 0 ? limits.held_bytes : Budget::quarter_of_memory())),
        acceptor_(io_),
        retry_(io_) {}
  ~AsioServer() override { stop(); }

  /// Returns "" or the error.
  std::string bind(const tcp::endpoint& endpoint) {
    boost::system::error_code error;
    acceptor_.open(endpoint.protocol(), error);
    if (!error) acceptor_.set_option(tcp::acceptor::reuse_address(true), error);
    if (!error) acceptor_.bind(endpoint, error);
    if (!error) acceptor_.listen(4096, error);
    return error ? error.message() : "";
  }

  void start(Serve serve, Admit admit) override {
    serve_ = std::move(serve), admit_ = std::move(admit);
    accept();
    thread_ = std::thread([this] { io_.run(); });
  }

  void stop() override {
    if (!thread_.joinable()) return;
    asio::post(io_, [this] {
      boost::system::error_code ignored;
      acceptor_.close(ignored);
      ending_ = true;
      end_all([](Connection& connection) { connection.close_at_end(); });
      retry_.expires_after(kEndMost);
      retry_.async_wait([this](boost::system::error_code stopped) {
        if (stopped) return;
        end_all([](Connection& connection) { connection.close(); });
        io_.stop();
      });
      if (connections_.empty()) io_.stop();
    });
    thread_.join();
  }

  std::string address() const override {
    const tcp::endpoint at = acceptor_.local_endpoint();
    const std::string host = at.address().to_string();
    return (at.address().is_v6() ? "[" + host + "]" : host) + ":" + std::to_string(at.port());
  }
  std::size_t connections() const override { return count_.load(std::memory_order_relaxed); }

  // Owner.
  const Limits& limits() const override { return limits_; }
  void serve(std::shared_ptr<Exchange> exchange) override { serve_(std::move(exchange)); }
  std::optional<Refusal> admit(const RequestHead& head) override { return admit_ ? admit_(head) : std::nullopt; }
  const std::shared_ptr<Budget>& budget() override { return budget_; }
  /// Ends connections until an eighth of the budget is free: those above their share, longest without progress first.
  /// Cost: one pass over all connections.
  void shed() override {
    std::vector<std::pair<std::shared_ptr<Connection>, std::size_t>> holding;
    std::size_t held = 0;
    for (Connection* connection : connections_)
      if (const std::size_t bytes = connection->droppable(); bytes > 0) {
        holding.emplace_back(connection->shared_from_this(), bytes);
        held += bytes;
      }
    if (holding.empty()) return;
    const std::size_t part = held / holding.size();
    std::erase_if(holding, [&](const auto& one) { return one.second < part; });
    std::sort(holding.begin(), holding.end(),
              [](const auto& a, const auto& b) { return a.first->last_progress() < b.first->last_progress(); });
    std::size_t wanted = budget_->used() - std::min(budget_->used(), budget_->bytes() - budget_->share());
    for (const auto& [connection, bytes] : holding) {
      if (wanted == 0) return;
      connection->drop();  // memory being sent is freed when that operation has ended
      wanted -= std::min(wanted, bytes);
    }
  }
  void opened(Connection* connection) override {
    connections_.insert(connection);
    count_.store(connections_.size(), std::memory_order_relaxed);
  }
  void closed(Connection* connection) override {
    connections_.erase(connection);
    count_.store(connections_.size(), std::memory_order_relaxed);
    if (ending_ && connections_.empty()) io_.stop();
  }

 private:
  template <class End>
  void end_all(End end) {
    std::vector<std::shared_ptr<Connection>> all;  // copied, because ending may destroy one
    for (Connection* connection : connections_) all.push_back(connection->shared_from_this());
    for (const auto& connection : all) end(*connection);
  }
  void accept() {
    acceptor_.async_accept([this](boost::system::error_code error, tcp::socket socket) {
      if (error == asio::error::operation_aborted || !acceptor_.is_open()) return;
      if (error) {  // no file descriptors left: retry a little later
        retry_.expires_after(std::chrono::milliseconds(50));
        retry_.async_wait([this](boost::system::error_code stopped) {
          if (!stopped) accept();
        });
        return;
      }
      boost::system::error_code ignored;
      socket.set_option(tcp::no_delay(true), ignored);
      const bool full = connections_.size() >= limits_.connections;
      std::make_shared<Connection>(std::move(socket), *this)->start(full);
      accept();
    });
  }

  const Limits limits_;
  const std::shared_ptr<Budget> budget_;
  Serve serve_;
  Admit admit_;
  std::set<Connection*> connections_;  // must outlive io_, whose handlers own them
  std::atomic<std::size_t> count_{0};
  asio::io_context io_{1};
  tcp::acceptor acceptor_;
  asio::steady_timer retry_;
  bool ending_ = false;  // only on the I/O thread
  std::thread thread_;
};

/// Host and port of "127.0.0.1:4646" or "[::1]:4646".
std::optional<std::pair<std::string, std::uint16_t>> host_and_port(const std::string& address) {
  const std::size_t colon = address.rfind(':');
  if (colon == std::string::npos) return std::nullopt;
  std::string host = address.substr(0, colon);
  if (host.size() >= 2 && host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
  std::uint16_t port = 0;
  const char* end = address.data() + address.size();
  const auto [at, error] = std::from_chars(address.data() + colon + 1, end, port);
  if (error != std::errc() || at != end || host.empty()) return std::nullopt;
  return std::pair(host == "localhost" ? "127.0.0.1" : host, port);
}

}  // namespace

Result<std::unique_ptr<Server>> Server::listen(const std::string& address, const Limits& limits) {
  const auto refuse = [&](std::string problem, std::string remedy) {
    return tl::unexpected(InputError{address, "", std::move(problem), std::move(remedy)});
  };
  const auto parts = host_and_port(address);
  boost::system::error_code error;
  const auto host = parts ? asio::ip::make_address(parts->first, error) : asio::ip::address();
  if (!parts || error) return refuse("is no address to listen on", "write IP:PORT, for example 127.0.0.1:4646");
  auto server = std::make_unique<AsioServer>(limits);
  if (std::string why = server->bind({host, parts->second}); !why.empty())
    return refuse("cannot listen there: " + why, "end what listens there, or choose another port with --listen");
  return server;
}

}  // namespace berth::http::transport
