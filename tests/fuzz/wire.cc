// The transport of berth serve: bytes of a connection.
#include "fuzz/harness.h"
#include "http/transport/server.h"
#include "serve/client.h"

namespace berth::fuzz {
namespace {

void fuzz_wire(std::string_view input) {
  static const std::unique_ptr<http::transport::Server> server = [] {
    http::transport::Limits limits;
    limits.body_bytes = 64 << 10;
    auto made = http::transport::Server::listen("127.0.0.1:0", limits).value();
    made->start(
        [](std::shared_ptr<http::transport::Exchange> exchange) {
          const http::transport::Message& message = exchange->request();
          http::transport::Head head{200, "text/plain", {}, true};
          exchange->answer(std::move(head), message.method + " " + message.target + " " + message.body);
        },
        [](const http::transport::RequestHead&) { return std::nullopt; });
    return made;
  }();
  http::Client client(server->address());
  client.send(std::string(input));
  client.end();
  std::string answer;
  while (client.any(answer)) {
  }
  require(answer.empty() || answer.starts_with("HTTP/1."), "the answer is not HTTP: ", answer.substr(0, 200));
}

const FuzzTarget kWire("wire", fuzz_wire);

}  // namespace
}  // namespace berth::fuzz
