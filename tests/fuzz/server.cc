// berth serve: requests on a small cluster, rules of ACL policies.
#include "base/time.h"
#include "fuzz/harness.h"
#include "http/dispatcher.h"
#include "http/endpoints/endpoints.h"
#include "http/stores/policy.h"
#include "io/json_parse.h"
#include "model/job.h"
#include "serve/start.h"
#include "tables/check.h"

namespace berth::fuzz {
namespace {

using namespace http;

constexpr std::size_t kRequestsMost = 12;
constexpr int kPiecesMost = 64;  // of a streamed answer
constexpr int kTurnsMost = 4;    // of the simulation for a request or a piece; advancing virtual time may need more

/// An exchange without a connection, on the simulation's thread.
class Recorded final : public transport::Exchange {
 public:
  explicit Recorded(transport::Message message)
      : Exchange(std::move(message), std::make_shared<transport::Budget>(std::size_t{256} << 20)) {}

  void answer(transport::Head head, std::string body) override {
    require(!begun_, "a request is answered twice");
    head_ = std::move(head), body_ = std::move(body), begun_ = ended_ = true;
  }
  void begin(transport::Head head, std::function<void()> wants_more) override {
    require(!begun_, "a request is answered twice");
    head_ = std::move(head), begun_ = true;
    if (!closed()) wants_more_ = std::move(wants_more);
  }
  void write(std::string text) override { body_ += text, ++pieces_; }
  void write(transport::TextRef text) override { write(text->text()); }
  void finish() override { end(true); }
  void close_websocket(std::uint16_t, std::string) override { end(true); }
  void watch() override {}
  void abort() override { end(false); }

  /// Takes the answer as far as the simulation gives it now, then disconnects.
  void take(Simulation& simulation) {
    for (int i = 0; begun_ && !ended_ && wants_more_ && i < kPiecesMost; ++i) {
      const int before = pieces_;
      wants_more_();
      for (int turn = 0; turn < kTurnsMost && !ended_ && pieces_ == before && simulation.turn(); ++turn) {
      }
      if (!ended_ && pieces_ == before) break;
    }
    closed_.store(true, std::memory_order_release);
    wants_more_ = nullptr;  // it owns the request, which owns this exchange
    if (!begun_) return;
    require(head_.status >= 100 && head_.status < 600, "the status is ", std::to_string(head_.status));
    require(head_.status != 500 || !body_.starts_with("berth failed"), body_);
    if (!whole_ || head_.content_type != "application/json" || body_.empty()) return;
    require(io::parse_json(body_).has_value(), "the answer is not JSON: ", body_);
  }

 private:
  void end(bool whole) { ended_ = true, whole_ = whole; }

  transport::Head head_;
  std::string body_;
  std::function<void()> wants_more_;
  int pieces_ = 0;
  bool begun_ = false, ended_ = false, whole_ = true;
};

const Start& small_start() {
  static const Start start = [] {
    serve::StartOptions options;
    options.nodes = 3;
    options.now_ns = 1'700'000'000 * base::kSecond;
    Start out = *serve::prepare(options);
    complete(out.state);
    // Sizes of the broker's tables, which each input allocates.
    out.config.server.broker.evals = out.config.server.broker.jobs = 1U << 10;
    return out;
  }();
  return start;
}

void fuzz_requests(std::string_view input) {
  Simulation::Options options;
  options.speed = *Speed::parse("step");
  options.processors = 2;
  options.readers = 0;
  Simulation simulation(small_start().config, small_start().state, options);
  Router router = make_router();
  for (const Router::Attach& attach : router.attached()) simulation.attach(attach);
  Dispatcher dispatcher(simulation, std::move(router));

  const std::vector<std::string> lines = lines_of(input);
  for (std::size_t i = 0; i < std::min(lines.size(), 2 * kRequestsMost); i += 2) {
    transport::Message message;
    const std::size_t space = std::min(lines[i].find(' '), lines[i].size());
    message.method = lines[i].substr(0, space);
    message.target = lines[i].substr(std::min(space + 1, lines[i].size()));
    if (i + 1 < lines.size()) message.body = lines[i + 1];
    const auto exchange = std::make_shared<Recorded>(std::move(message));
    dispatcher.serve(exchange);
    for (int turn = 0; turn < kTurnsMost && simulation.turn(); ++turn) {
    }
    exchange->take(simulation);
  }
  require_none(tables::check_tables(simulation.state()), "tables after requests");
}

void fuzz_policy(std::string_view input) {
  const std::string text(input);
  if (!io::parse_json(json::to_text(json::Value(text)))) return;  // rules come as a text of JSON, so they are UTF-8
  const auto rules = AclRules::parse(text);
  if (!rules) return require(!rules.error().empty(), "a policy is refused without a reason");
  require(io::parse_json(json::to_text(policy_rules_json(*rules, text))).has_value(), "a policy's JSON cannot be read");
}

const FuzzTarget kRequests("requests", fuzz_requests);
const FuzzTarget kPolicy("policy", fuzz_policy);

}  // namespace
}  // namespace berth::fuzz
