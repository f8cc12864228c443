#include "agent/connection.h"

#include <curl/curl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <mutex>
#include <new>
#include <thread>

#include "base/late_library.h"
#include "base/printable.h"
#include "base/text.h"
#include "io/files.h"

namespace berth::agent {
namespace {

// The functions of libcurl by name, loaded on first use.
constexpr base::LateLibrary kCurl = {BERTH_CURL_LIBRARY, "libcurl4"};
BERTH_LATE(kCurl, curl_easy_cleanup);
BERTH_LATE(kCurl, curl_easy_escape);
BERTH_LATE(kCurl, curl_easy_getinfo);
BERTH_LATE(kCurl, curl_easy_init);
BERTH_LATE(kCurl, curl_easy_perform);
BERTH_LATE(kCurl, curl_easy_setopt);
BERTH_LATE(kCurl, curl_easy_strerror);
BERTH_LATE(kCurl, curl_free);
BERTH_LATE(kCurl, curl_global_init);
BERTH_LATE(kCurl, curl_slist_append);
BERTH_LATE(kCurl, curl_slist_free_all);

constexpr int kAttempts = 3;

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

/// libcurl's error text and the remedy.
std::string remedy_for(CURLcode code) {
  switch (code) {
    case CURLE_COULDNT_CONNECT:
    case CURLE_COULDNT_RESOLVE_HOST:
      return "check the address and that the agent runs";
    case CURLE_OPERATION_TIMEDOUT:
      return "ask another server, or take a snapshot: nomad operator snapshot save FILE.snap";
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_CONNECT_ERROR:
      return "set NOMAD_CACERT, NOMAD_CLIENT_CERT and NOMAD_CLIENT_KEY as for the nomad command";
    default:
      return "check that this is the address of an agent of Nomad";
  }
}

}  // namespace

struct Connection::State {
  Settings settings;
  std::string base;  ///< precedes the path of every request
  CURL* curl = nullptr;
  curl_slist *headers = nullptr, *connect_to = nullptr;
  std::array<char, CURL_ERROR_SIZE> error{};
  std::uint64_t requests = 0;
  std::chrono::steady_clock::time_point next{};
  Answer answer;
  bool too_large = false;
  // Used while an answer is streamed.
  const std::function<bool(std::string_view)>* take = nullptr;
  const std::function<bool()>* wanted = nullptr;
  bool unwanted = false, silent = false;
  double silence_s = 0;
  std::chrono::steady_clock::time_point last_byte{};

  ~State() {
    curl_slist_free_all(headers);
    curl_slist_free_all(connect_to);
    if (curl) curl_easy_cleanup(curl);
  }

  static std::size_t take_body(char* data, std::size_t, std::size_t bytes, void* self) {
    auto& state = *static_cast<State*>(self);
    if (state.take && state.status() == 200) {
      const bool taken = (*state.take)({data, bytes});
      state.last_byte = std::chrono::steady_clock::now();  // the time that the receiver needs does not count as silence
      if (taken) return bytes;
      state.unwanted = true;
      return 0;
    }
    if (state.answer.body.size() + bytes > io::read_limit()) {
      state.too_large = true;
      return 0;
    }
    state.answer.body.append(data, bytes);
    return bytes;
  }

  static std::size_t take_header(char* data, std::size_t, std::size_t bytes, void* self) {
    auto& state = *static_cast<State*>(self);
    const std::string_view line(data, bytes);
    const std::size_t colon = line.find(':');
    if (colon == line.npos) return bytes;
    std::string name(line.substr(0, colon));
    for (char& c : name)
      if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    const std::string value(base::trim_space(line.substr(colon + 1)));
    if (name == "x-nomad-index") state.answer.index = base::parse_uint64(value).value_or(0);
    if (name == "x-nomad-nexttoken") state.answer.next_token = value;
    return bytes;
  }

  static int ask_wanted(void* self, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
    auto& state = *static_cast<State*>(self);
    state.unwanted = state.unwanted || !(*state.wanted)();
    // libcurl's own limit counts whole bytes per second: heartbeats of 3 bytes every 10 s would count as none.
    const std::chrono::duration<double> quiet = std::chrono::steady_clock::now() - state.last_byte;
    state.silent = quiet.count() > state.silence_s;
    return state.unwanted || state.silent ? 1 : 0;
  }

  /// The next request ends early once `ask` returns false or no byte came for `most_silent_s`.
  void watch(const std::function<bool()>& ask, double most_silent_s) {
    wanted = &ask, unwanted = silent = false;
    silence_s = most_silent_s, last_byte = std::chrono::steady_clock::now();
    set(CURLOPT_NOPROGRESS, 0L);
    set(CURLOPT_XFERINFOFUNCTION, &State::ask_wanted);
    set(CURLOPT_XFERINFODATA, this);
  }
  void end_watch() {
    set(CURLOPT_NOPROGRESS, 1L);
    wanted = nullptr;
  }

  [[nodiscard]] int status() const {
    long status = 0;
    curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
    return static_cast<int>(status);
  }

  void set_url(const std::string& path) {
    std::string url = base + path;
    if (!settings.region.empty()) {
      char* region = curl_easy_escape(curl, settings.region.c_str(), 0);
      url += (path.find('?') == path.npos ? "?region=" : "&region=") + std::string(region ? region : "");
      curl_free(region);
    }
    set_text(CURLOPT_URL, url);
  }

  void begin_request() {
    constexpr auto kSlice = std::chrono::milliseconds(100);
    while (settings.wanted && std::chrono::steady_clock::now() + kSlice < next && settings.wanted())
      std::this_thread::sleep_for(kSlice);
    if (!settings.wanted || settings.wanted()) std::this_thread::sleep_until(next);
    next = std::chrono::steady_clock::now() +
           std::chrono::nanoseconds(static_cast<std::int64_t>(1e9 / settings.requests_per_second));
    answer = Answer{}, too_large = false, error[0] = '\0';
    ++requests;
  }

  tl::unexpected<InputError> refuse(const std::string& path, CURLcode code) const {
    if (too_large)
      return tl::unexpected(InputError{settings.address, path, "answers more than " + io::size_words(io::read_limit()),
                                       "--max-input 4G allows more"});
    return tl::unexpected(InputError{
        settings.address, path, error[0] ? base::printable(error.data(), false) : std::string(curl_easy_strerror(code)),
        remedy_for(code)});
  }

  template <class T>
  void set(CURLoption option, T value) {
    if (curl_easy_setopt(curl, option, value) == CURLE_OUT_OF_MEMORY) throw std::bad_alloc();
  }
  void set_text(CURLoption option, const std::string& text) {
    if (!text.empty()) set(option, text.c_str());
  }
};

bool is_address(const std::string& source) {
  return source.starts_with("http://") || source.starts_with("https://") || source.starts_with("unix://");
}

std::string escaped(const std::string& text) {
  static constexpr char kHex[] = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
        c == '.' || c == '~') {
      out += c;
      continue;
    }
    out += '%';
    out += kHex[static_cast<unsigned char>(c) >> 4], out += kHex[static_cast<unsigned char>(c) & 15];
  }
  return out;
}

Settings settings_from_environment(const std::string& address) {
  Settings out;
  out.address = address.empty() ? variable("NOMAD_ADDR") : address;
  if (out.address.empty()) out.address = "http://127.0.0.1:4646";
  out.token = variable("NOMAD_TOKEN");
  out.region = variable("NOMAD_REGION");
  out.basic_auth = variable("NOMAD_HTTP_AUTH");
  out.ca_file = variable("NOMAD_CACERT"), out.ca_folder = variable("NOMAD_CAPATH");
  out.certificate = variable("NOMAD_CLIENT_CERT"), out.key = variable("NOMAD_CLIENT_KEY");
  out.server_name = variable("NOMAD_TLS_SERVER_NAME");
  const std::string skip = variable("NOMAD_SKIP_VERIFY");
  out.skip_verify = skip == "1" || skip == "t" || skip == "T" || skip == "true" || skip == "TRUE" || skip == "True";
  return out;
}

Connection::Connection(std::unique_ptr<State> state) : state_(std::move(state)) {}
Connection::~Connection() = default;
const std::string& Connection::address() const { return state_->settings.address; }
std::uint64_t Connection::requests() const { return state_->requests; }

Result<std::unique_ptr<Connection>> Connection::open(const Settings& settings) {
  static std::once_flag once;
  std::call_once(once, [] { curl_global_init(CURL_GLOBAL_DEFAULT); });
  auto state = std::make_unique<State>();
  State& s = *state;
  s.settings = settings;
  const auto refuse = [&](std::string problem, std::string remedy) {
    return tl::unexpected(InputError{settings.address, "", std::move(problem), std::move(remedy)});
  };
  for (const std::string* file : {&settings.ca_file, &settings.certificate, &settings.key})
    if (!file->empty() && access(file->c_str(), R_OK) != 0)
      return tl::unexpected(
          InputError{*file, "", "cannot be read", "correct NOMAD_CACERT, NOMAD_CLIENT_CERT or NOMAD_CLIENT_KEY"});
  s.curl = curl_easy_init();
  if (!s.curl) throw std::bad_alloc();
  std::string address = settings.address;
  while (address.ends_with('/') && !address.ends_with("://")) address.pop_back();
  if (address.starts_with("unix://")) {
    s.set_text(CURLOPT_UNIX_SOCKET_PATH, address.substr(7));
    s.base = "http://localhost";
  } else {
    const std::size_t host = address.find("://") + 3;
    if (address.find_first_of("?#@ ", host) != address.npos || host == address.size())
      return refuse("is no address of an agent", "write for example http://127.0.0.1:4646");
    s.base = address;
    if (!settings.server_name.empty() && address.starts_with("https://")) {
      // The certificate is checked for the host name, while the connection goes to the address.
      std::string place = address.substr(host, address.find('/', host) - host);
      if (place.rfind(':') == place.npos || place.ends_with(']')) place += ":443";
      const std::string port = place.substr(place.rfind(':'));
      s.base = "https://" + settings.server_name + port;
      s.connect_to = curl_slist_append(nullptr, (settings.server_name + port + ":" + place).c_str());
      s.set(CURLOPT_CONNECT_TO, s.connect_to);
    }
  }
  s.headers = curl_slist_append(nullptr, "Accept: application/json");
  if (!settings.token.empty()) s.headers = curl_slist_append(s.headers, ("X-Nomad-Token: " + settings.token).c_str());
  s.set(CURLOPT_HTTPHEADER, s.headers);
  s.set_text(CURLOPT_USERPWD, settings.basic_auth);
  s.set_text(CURLOPT_CAINFO, settings.ca_file);
  s.set_text(CURLOPT_CAPATH, settings.ca_folder);
  s.set_text(CURLOPT_SSLCERT, settings.certificate);
  s.set_text(CURLOPT_SSLKEY, settings.key);
  if (settings.skip_verify) s.set(CURLOPT_SSL_VERIFYPEER, 0L), s.set(CURLOPT_SSL_VERIFYHOST, 0L);
  s.set(CURLOPT_PROTOCOLS_STR, "http,https");
  s.set(CURLOPT_FOLLOWLOCATION, 0L);  // the token must not be sent to another host
  s.set(CURLOPT_NOSIGNAL, 1L);
  s.set(CURLOPT_ACCEPT_ENCODING, "");
  s.set(CURLOPT_CONNECTTIMEOUT_MS, 5'000L);
  s.set(CURLOPT_TIMEOUT_MS, static_cast<long>(settings.timeout_s * 1000));
  s.set(CURLOPT_ERRORBUFFER, s.error.data());
  s.set(CURLOPT_WRITEFUNCTION, &State::take_body);
  s.set(CURLOPT_WRITEDATA, &s);
  s.set(CURLOPT_HEADERFUNCTION, &State::take_header);
  s.set(CURLOPT_HEADERDATA, &s);
  return std::unique_ptr<Connection>(new Connection(std::move(state)));
}

Result<Answer> Connection::get(const std::string& path) {
  State& s = *state_;
  s.set_url(path);
  for (int attempt = 1;; ++attempt) {
    s.begin_request();
    if (s.settings.wanted) s.watch(s.settings.wanted, 2 * s.settings.timeout_s);
    const CURLcode code = curl_easy_perform(s.curl);
    if (s.settings.wanted) s.end_watch();
    s.answer.status = s.status();
    const auto refuse = [&](std::string problem, std::string remedy) {
      return tl::unexpected(InputError{s.settings.address, path, std::move(problem), std::move(remedy)});
    };
    if (s.settings.wanted && s.unwanted) return refuse("interrupted", "");
    if (s.too_large) return s.refuse(path, code);
    const bool busy = code == CURLE_OK ? s.answer.status == 429 || s.answer.status >= 500
                                       : code == CURLE_OPERATION_TIMEDOUT || code == CURLE_GOT_NOTHING ||
                                             code == CURLE_RECV_ERROR || code == CURLE_PARTIAL_FILE;
    if (busy && attempt < kAttempts) {
      s.next += std::chrono::milliseconds(250 * attempt);
      continue;
    }
    if (code == CURLE_OPERATION_TIMEDOUT)
      return refuse(fmt::format("no answer within {} s, {} times", s.settings.timeout_s, attempt), remedy_for(code));
    if (code != CURLE_OK) return s.refuse(path, code);
    return std::move(s.answer);
  }
}

Result<Answer> Connection::stream(const std::string& path, double silence_s,
                                  const std::function<bool(std::string_view)>& take,
                                  const std::function<bool()>& wanted) {
  State& s = *state_;
  s.set_url(path);
  s.begin_request();
  s.take = &take;
  s.set(CURLOPT_TIMEOUT_MS, 0L);
  s.watch(wanted, silence_s);
  const CURLcode code = curl_easy_perform(s.curl);
  s.end_watch();
  s.set(CURLOPT_TIMEOUT_MS, static_cast<long>(s.settings.timeout_s * 1000));
  s.take = nullptr;
  s.answer.status = s.status();
  if (s.silent && !s.unwanted)
    return tl::unexpected(InputError{
        s.settings.address, path, fmt::format("sent nothing for {} s", static_cast<long>(std::ceil(silence_s))), ""});
  if (code != CURLE_OK && !s.unwanted) return s.refuse(path, code);
  return std::move(s.answer);
}

}  // namespace berth::agent
