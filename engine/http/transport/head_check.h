// Checks the bytes of a request's head before parsing. Refuses everything that two programs could interpret differently
// (request smuggling, RFC 9112 section 11.2), so that a proxy and this server always agree where a request ends.
#pragma once

#include <string>
#include <string_view>

namespace berth::http::transport {

/// Why the head of a request is refused, in one line; "" if valid. `head`: everything up to and including the empty
/// line.
///   lines       end with CR LF; none continues on the next; no NUL
///   fields      a name of token characters directly before the colon
///   framing     at most one of Transfer-Encoding and Content-Length, once; the former is exactly `chunked`, and not in
///               HTTP/1.0; the latter only digits
///   Host        exactly once, in HTTP/1.0 at most once
[[nodiscard]] std::string head_problem(std::string_view head);

}  // namespace berth::http::transport
