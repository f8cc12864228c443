// GET requests to one agent of Nomad, over libcurl: token and TLS as Nomad's own tools take them from the environment,
// at most so many requests a second, and a request that fails for the moment is tried again.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "berth/result.h"

namespace berth::agent {

/// Where the agent is and how it is asked. What Nomad's variables say (NOMAD_TOKEN, NOMAD_CACERT, ...).
struct Settings {
  std::string address;  ///< http://host:port, https://host:port or unix:///path
  std::string token, region, basic_auth, ca_file, ca_folder, certificate, key, server_name;
  bool skip_verify = false;
  double requests_per_second = 100;
  double timeout_s = 30;  ///< of one request
};

/// True for what is an agent's address and no path of a file.
[[nodiscard]] bool is_address(const std::string& source);
/// The text as a part of a path or a query.
[[nodiscard]] std::string escaped(const std::string& text);
/// The settings for `address` after the environment; "" is NOMAD_ADDR, or else Nomad's own default.
[[nodiscard]] Settings settings_from_environment(const std::string& address);

struct Answer {
  int status = 0;
  std::uint64_t index = 0;  ///< X-Nomad-Index, 0 without one
  std::string next_token;   ///< X-Nomad-NextToken: there are more entries
  std::string body;
};

class Connection {
 public:
  /// Errors: an address or a file of TLS that cannot be used.
  [[nodiscard]] static Result<std::unique_ptr<Connection>> open(const Settings& settings);
  ~Connection();

  /// Asks for `path`, which begins with /v1/. An answer of the agent is a value whatever its status; errors are one
  /// line. An agent that is busy (429, 5xx) or does not answer is asked three times.
  [[nodiscard]] Result<Answer> get(const std::string& path);
  /// Asks for `path`, and hands its body over as it arrives, for as long as the agent sends. `take` gets the pieces and
  /// `wanted` is asked about once a second; either ends the answer by returning false. The body of an answer other than
  /// 200 is in the Answer instead. Errors: no connection, one that broke, or `silence_s` seconds without a byte. Asked
  /// once.
  [[nodiscard]] Result<Answer> stream(const std::string& path, double silence_s,
                                      const std::function<bool(std::string_view)>& take,
                                      const std::function<bool()>& wanted);
  [[nodiscard]] const std::string& address() const;
  /// Requests made.
  [[nodiscard]] std::uint64_t requests() const;

 private:
  struct State;
  explicit Connection(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace berth::agent
