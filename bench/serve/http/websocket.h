// Websockets as far as this server has them: opened, and closed at once with the reason (RFC 6455).
#pragma once

#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/string_body.hpp>
#include <functional>
#include <string>

#include "serve/http/exchange.h"

namespace berth::serve::http {

/// Whether the request is the handshake of a websocket.
[[nodiscard]] bool is_websocket(const boost::beast::http::request<boost::beast::http::string_body>& request);

/// Answers the handshake, and closes the websocket with the code and reason (cut at 123 bytes). `over` is called when
/// the client has taken that, or does not. The stream must live until then.
void refuse_websocket(boost::beast::tcp_stream& stream, const Message& request, std::uint16_t code,
                      const std::string& reason, std::function<void()> over);

}  // namespace berth::serve::http
