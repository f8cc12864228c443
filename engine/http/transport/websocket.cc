#include "http/transport/websocket.h"

#include <boost/beast/websocket.hpp>
#include <memory>

namespace berth::http::transport {

namespace beast = boost::beast;
namespace bhttp = boost::beast::http;
namespace websocket = boost::beast::websocket;

bool is_websocket(const bhttp::request<bhttp::string_body>& request) { return websocket::is_upgrade(request); }

void refuse_websocket(beast::tcp_stream& stream, const Message& request, std::uint16_t code, const std::string& reason,
                      std::function<void()> over) {
  struct Session {
    explicit Session(beast::tcp_stream& to) : socket(to) {}
    websocket::stream<beast::tcp_stream&> socket;
    bhttp::request<bhttp::string_body> handshake;
    websocket::close_reason reason;
  };
  constexpr std::size_t kReasonMost = 123;  // of a control frame's 125 bytes
  auto session = std::make_shared<Session>(stream);
  session->handshake.method(bhttp::verb::get), session->handshake.version(11);
  session->handshake.target(request.target);
  session->handshake.set(bhttp::field::host, "berth");
  session->handshake.set(bhttp::field::upgrade, "websocket");
  session->handshake.set(bhttp::field::connection, "upgrade");
  session->handshake.set(bhttp::field::sec_websocket_key, request.websocket_key);
  session->handshake.set(bhttp::field::sec_websocket_version, "13");
  session->reason.code = code;
  session->reason.reason = beast::string_view(reason).substr(0, kReasonMost);
  session->socket.set_option(websocket::stream_base::timeout::suggested(beast::role_type::server));
  session->socket.async_accept(session->handshake, [session, over = std::move(over)](beast::error_code error) {
    if (error) return over();
    session->socket.async_close(session->reason, [session, over](beast::error_code) { over(); });
  });
}

}  // namespace berth::http::transport
