// Minimal websockets: opened, and closed at once with a reason (RFC 6455).
#pragma once

#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/string_body.hpp>
#include <functional>
#include <string>

#include "http/transport/exchange.h"

namespace berth::http::transport {

/// True if the request is the handshake of a websocket.
[[nodiscard]] bool is_websocket(const boost::beast::http::request<boost::beast::http::string_body>& request);

/// Answers the handshake, and closes the websocket with the code and reason (cut at 123 bytes). Calls `over` when the
/// client has received that, or failed to. The stream must exist until then.
void refuse_websocket(boost::beast::tcp_stream& stream, const Message& request, std::uint16_t code,
                      const std::string& reason, std::function<void()> over);

}  // namespace berth::http::transport
