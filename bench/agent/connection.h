// GET requests to an agent of Nomad, by libcurl. Reads token and TLS settings from the same environment variables as
// Nomad's tools, limits the requests per second, and retries requests that fail temporarily.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "berth/result.h"

namespace berth::agent {

/// Address and access settings of an agent, as in Nomad's environment variables (NOMAD_TOKEN, NOMAD_CACERT, ...).
struct Settings {
  std::string address;  ///< http://host:port, https://host:port or unix:///path
  std::string token, region, basic_auth, ca_file, ca_folder, certificate, key, server_name;
  bool skip_verify = false;
  double requests_per_second = 100;
  double timeout_s = 30;  ///< of one request
  /// Called while a request of get() waits, at least once a second. When it returns false, get() ends with an error.
  std::function<bool()> wanted = nullptr;
};

/// True for an agent's address, false for a path of a file.
[[nodiscard]] bool is_address(const std::string& source);
/// The text escaped for a path or a query.
[[nodiscard]] std::string escaped(const std::string& text);
/// The settings for `address` from the environment. "": the address in NOMAD_ADDR, or Nomad's default.
[[nodiscard]] Settings settings_from_environment(const std::string& address);

struct Answer {
  int status = 0;
  std::uint64_t index = 0;  ///< X-Nomad-Index, 0 without one
  std::string next_token;   ///< X-Nomad-NextToken: set if there are more entries
  std::string body;
};

class Connection {
 public:
  /// Errors: an invalid address, or a TLS file that cannot be used.
  [[nodiscard]] static Result<std::unique_ptr<Connection>> open(const Settings& settings);
  ~Connection();

  /// Requests `path`, which begins with /v1/. Returns the agent's answer, whatever its status; errors are one line.
  /// Tries up to three times while the agent is busy (429, 5xx) or does not answer.
  [[nodiscard]] Result<Answer> get(const std::string& path);
  /// Requests `path` once and passes its body on as it arrives, until the agent ends it. `take` receives the pieces;
  /// `wanted` is called about once a second; either ends the stream by returning false. With a status other than 200
  /// the body is in the Answer instead. Errors: no connection, a broken one, or no byte for `silence_s` seconds.
  [[nodiscard]] Result<Answer> stream(const std::string& path, double silence_s,
                                      const std::function<bool(std::string_view)>& take,
                                      const std::function<bool()>& wanted);
  [[nodiscard]] const std::string& address() const;
  /// Number of requests made.
  [[nodiscard]] std::uint64_t requests() const;

 private:
  struct State;
  explicit Connection(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace berth::agent
