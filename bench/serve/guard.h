// Which requests are served at all: those that a person or a program on this machine sends, not those that a web page
// of another site has a browser send.
//
//   Host      a loopback name or address, the address that the server listens on, or a name given with --allow-host. A
//   page
//             of another site that lets its own name lead here (DNS rebinding) has that name as Host
//   Origin    none, or the server's own: a browser names the page's site in every request across sites that writes
//   token     with --token: X-Nomad-Token, `Authorization: Bearer`, or the cookie that /ui/?token=TOKEN sets; compared
//   in a
//             time that does not depend on where two tokens differ
//   --acl     in place of --token: every token passes, as the dispatcher sees to it; /ui/?token= sets the cookie
// Refused: 403, one line. Threads: any.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "berth/result.h"
#include "serve/http/exchange.h"

namespace berth::serve {

struct AccessOptions {
  std::vector<std::string> hosts;  ///< names that pass as Host beside the server's own
  std::string token;               ///< "": none is wanted
  bool acl = false;                ///< tokens are those of access control (stores/access.h), and are not looked at here
};

class Guard {
 public:
  /// `listen`: as the server was told to listen. The error: it would be open to other machines without a token.
  [[nodiscard]] static Result<Guard> make(const AccessOptions& options, const std::string& listen);
  /// Nothing: the request is served.
  [[nodiscard]] std::optional<http::Refusal> check(const http::RequestHead& head) const;

 private:
  [[nodiscard]] bool is_own(const std::string& host, const std::string& local_address) const;
  [[nodiscard]] bool is_token(std::string_view given) const;
  [[nodiscard]] static http::Refusal page_with_cookie(std::string_view token);
  [[nodiscard]] std::optional<http::Refusal> check_token(const http::RequestHead& head) const;

  std::vector<std::string> hosts_;
  std::string token_digest_;  // "": none is wanted
  bool acl_ = false;
};

}  // namespace berth::serve
