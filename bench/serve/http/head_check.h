// The head of a request, checked as bytes before it is parsed: whatever two programs could read as different requests
// is refused (request smuggling, RFC 9112 section 11.2). A proxy in front and this server then always agree where a
// request ends.
#pragma once

#include <string>
#include <string_view>

namespace berth::serve::http {

/// Why the head of a request is refused, in one line; "" if it is sound. `head`: everything up to the empty line, with
/// it.
///   lines       end with CR LF; none continues on the next; no NUL
///   fields      a name of token characters directly before the colon
///   framing     at most one of Transfer-Encoding and Content-Length, once; the former is exactly `chunked`, and not in
///               HTTP/1.0; the latter only digits
///   Host        exactly once, in HTTP/1.0 at most once
[[nodiscard]] std::string head_problem(std::string_view head);

}  // namespace berth::serve::http
