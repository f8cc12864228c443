#include "http/guard.h"

#include <arpa/inet.h>

#include <algorithm>

#include "base/sha256.h"
#include "base/text.h"
#include "base/uuid.h"

namespace berth::http {

namespace {

constexpr std::string_view kCookie = "berth_token=";

std::string lower_case(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

/// The host of "host:port", "[::1]:port" or "host", in lower case, without brackets and final dot. "" if the host is
/// followed by anything but a port, as in "[::1].example".
std::string host_of(std::string_view authority) {
  const bool bracketed = authority.starts_with('[');
  if (bracketed && authority.find(']') == std::string_view::npos) return "";
  const std::size_t end = std::min(bracketed ? authority.find(']') : authority.rfind(':'), authority.size());
  std::string_view port = authority.substr(end);
  if (bracketed && !port.empty()) port.remove_prefix(1);
  if (!port.empty() && (port.front() != ':' || port.find_first_not_of("0123456789", 1) != std::string_view::npos))
    return "";
  std::string out = lower_case(authority.substr(bracketed ? 1 : 0, end - (bracketed ? 1 : 0)));
  if (out.ends_with('.')) out.pop_back();
  return out;
}

bool is_loopback(const std::string& host) {
  if (host == "localhost") return true;
  if (in_addr four{}; inet_pton(AF_INET, host.c_str(), &four) == 1) return ntohl(four.s_addr) >> 24 == 127;
  in6_addr six{};
  if (inet_pton(AF_INET6, host.c_str(), &six) != 1) return false;
  return IN6_IS_ADDR_LOOPBACK(&six) || (IN6_IS_ADDR_V4MAPPED(&six) && six.s6_addr[12] == 127);
}

bool is_ip_address(const std::string& host) {
  in_addr four{};
  in6_addr six{};
  return inet_pton(AF_INET, host.c_str(), &four) == 1 || inet_pton(AF_INET6, host.c_str(), &six) == 1;
}

/// The authority of "http://host:port"; "" for anything else, including "null".
std::string_view authority_of(std::string_view origin) {
  for (const std::string_view scheme : {std::string_view("http://"), std::string_view("https://")})
    if (lower_case(origin.substr(0, scheme.size())) == scheme) return origin.substr(scheme.size());
  return "";
}

std::string digest_of(std::string_view text) {
  base::Sha256 digest;
  digest.add(text);
  return digest.hex();
}

}  // namespace

Result<Guard> Guard::make(const AccessOptions& options, const std::string& listen) {
  Guard out;
  const std::string host = host_of(listen);
  if (options.acl && !options.token.empty())
    return tl::unexpected(InputError{"--token", "", "cannot be combined with --acl: clients send one token only",
                                     "use --acl alone; its bootstrap gives a management token"});
  if (!is_loopback(host) && !is_ip_address(host))
    return tl::unexpected(
        InputError{listen, "", "is no address to listen on", "write IP:PORT, for example 127.0.0.1:4646"});
  if (!is_loopback(host) && options.token.empty() && !options.acl)
    return tl::unexpected(InputError{listen, "", "can be reached from other machines, which need a token",
                                     "add --token TOKEN or --acl, or listen on 127.0.0.1"});
  constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.";
  constexpr std::size_t kLeast = 16, kMost = 128;
  if (!options.token.empty() && (options.token.size() < kLeast || options.token.size() > kMost ||
                                 options.token.find_first_not_of(kLetters) != std::string::npos))
    return tl::unexpected(InputError{"--token", "", "the token is not 16 to 128 letters, digits, _, - or .",
                                     "take for example what `uuidgen` prints"});
  out.acl_ = options.acl;
  if (!options.token.empty()) out.token_digest_ = digest_of(options.token);
  out.hosts_.push_back(host);
  for (const std::string& name : options.hosts) out.hosts_.push_back(host_of(name));
  return out;
}

bool Guard::is_own(const std::string& host, const std::string& local_address) const {
  return !host.empty() &&
         (is_loopback(host) || host == local_address || std::find(hosts_.begin(), hosts_.end(), host) != hosts_.end());
}

bool Guard::is_token(std::string_view given) const {
  const std::string digest = digest_of(given);  // digests have equal lengths
  unsigned difference = 0;
  for (std::size_t i = 0; i < token_digest_.size(); ++i)
    difference |= static_cast<unsigned char>(digest[i]) ^ static_cast<unsigned char>(token_digest_[i]);
  return difference == 0;
}

/// Redirects to the page, with the token as cookie; "" deletes the cookie.
transport::Refusal Guard::page_with_cookie(std::string_view token) {
  return {303,
          "",
          {{"Location", "/ui/"},
           {"Set-Cookie", std::string(kCookie) + std::string(token) + "; Path=/; HttpOnly; SameSite=Strict" +
                              (token.empty() ? "; Max-Age=0" : "")}}};
}

std::optional<transport::Refusal> Guard::check_token(const transport::RequestHead& head) const {
  constexpr std::string_view kPage = "/ui/?token=";
  if (head.target == kPage) return page_with_cookie("");
  if (acl_ && head.target.starts_with(kPage) && base::parse_uuid(head.target.substr(kPage.size())))
    return page_with_cookie(head.target.substr(kPage.size()));
  if (token_digest_.empty() || is_token(head.nomad_token)) return std::nullopt;
  constexpr std::string_view kBearer = "bearer ";
  if (lower_case(head.authorization.substr(0, kBearer.size())) == kBearer &&
      is_token(head.authorization.substr(kBearer.size())))
    return std::nullopt;
  for (const std::string_view part : base::split(head.cookie, ';')) {
    const std::string_view cookie = part.substr(std::min(part.find_first_not_of(' '), part.size()));
    if (cookie.starts_with(kCookie) && is_token(cookie.substr(kCookie.size()))) return std::nullopt;
  }
  if (head.target.starts_with(kPage) && is_token(head.target.substr(kPage.size())))
    return page_with_cookie(head.target.substr(kPage.size()));
  return transport::Refusal{
      403,
      "Permission denied: this server wants its token, as X-Nomad-Token or Authorization: Bearer; a "
      "browser opens /ui/?token=TOKEN",
      {}};
}

std::optional<transport::Refusal> Guard::check(const transport::RequestHead& head) const {
  if (!head.target.starts_with('/') && head.target != "*")
    return transport::Refusal{400, "malformed HTTP request: the target is no path", {}};
  const std::string host = host_of(head.host);
  if (!is_own(host, head.local_address))
    return transport::Refusal{
        403, "Host \"" + base::shown(host) + "\" is not this server's: start it with --allow-host", {}};
  const std::string_view authority = authority_of(head.origin);
  const bool own_origin =
      lower_case(authority) == lower_case(head.host) ||
      (!authority.empty() && std::find(hosts_.begin() + 1, hosts_.end(), host_of(authority)) != hosts_.end());
  if (!head.origin.empty() && !own_origin)
    return transport::Refusal{403, "Origin \"" + base::shown(head.origin) + "\" is not this server's", {}};
  // Browsers send Sec-Fetch-Site even without Origin. Links from other sites are allowed.
  const bool from_elsewhere = !head.fetch_site.empty() && head.fetch_site != "same-origin" && head.fetch_site != "none";
  if (from_elsewhere && head.origin.empty() && !(head.method == "GET" && head.fetch_mode == "navigate"))
    return transport::Refusal{403, "a page of another site sent this request", {}};
  return check_token(head);
}

}  // namespace berth::http
