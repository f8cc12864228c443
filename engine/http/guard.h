// Guard: decides which requests are served. It accepts those of users and programs on this machine, and refuses those
// that a web page of another site makes a browser send.
//
//   Host      a loopback name or address, the address that the server listens on, or a name given with --allow-host. If
//             another site makes its own name resolve to this server (DNS rebinding), Host is that name
//   Origin    none, or the server's own: browsers send the page's site in every cross-site write request
//   token     with --token: X-Nomad-Token, `Authorization: Bearer`, or the cookie that /ui/?token=TOKEN sets; compared
//             in constant time
//   --acl     in place of --token: every token passes, because the dispatcher checks it; /ui/?token=TOKEN sets the
//             cookie, and /ui/?token= deletes it
// Refused: 403, one line. Threads: any.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "berth/result.h"
#include "http/transport/exchange.h"

namespace berth::http {

struct AccessOptions {
  std::vector<std::string> hosts;  ///< names allowed as Host in addition to the server's own
  std::string token;               ///< "": no token required
  bool acl = false;                ///< tokens are those of access control (stores/access.h) and are not checked here
};

class Guard {
 public:
  /// `listen`: the server's listening address. Error: it would be open to other machines without a token.
  [[nodiscard]] static Result<Guard> make(const AccessOptions& options, const std::string& listen);
  /// The refusal of a request; nullopt: it is served.
  [[nodiscard]] std::optional<transport::Refusal> check(const transport::RequestHead& head) const;

 private:
  [[nodiscard]] bool is_own(const std::string& host, const std::string& local_address) const;
  [[nodiscard]] bool is_token(std::string_view given) const;
  [[nodiscard]] static transport::Refusal page_with_cookie(std::string_view token);
  [[nodiscard]] std::optional<transport::Refusal> check_token(const transport::RequestHead& head) const;

  std::vector<std::string> hosts_;
  std::string token_digest_;  // "": no token required
  bool acl_ = false;
};

}  // namespace berth::http
