#include <fmt/format.h>
#include <sys/resource.h>

#include <chrono>
#include <cstdio>
#include <memory>
#include <thread>
#include <tuple>

#include "base/duration.h"
#include "base/text.h"
#include "base/time.h"
#include "cli/commands.h"
#include "cli/common.h"
#include "cli/outputs.h"
#include "run/interrupt.h"
#include "serve/service.h"

namespace berth::cli {
namespace {

constexpr std::int64_t kNodesByDefault = 1000, kNodesMost = 1'000'000;

struct ServeArguments {
  std::string source, speed = "1", listen = "127.0.0.1:4646", snapshots;
  std::optional<std::int64_t> nodes;
  std::string heartbeat_grace = "10s", min_heartbeat_ttl = "10s", now, vault;
  bool keep_addresses = false, acl = false;
  std::vector<std::string> allow_hosts;
  std::string token;
  std::size_t held_memory_mb = 0;
  std::uint64_t seed = 1, shadow = 0;
  std::string sources;
  bool quiet = false;
};

/// A shadow of a living cluster's server.
class ShadowListener final : public living::Listener {
 public:
  explicit ShadowListener(server::Shadow& shadow) : shadow_(shadow) {}
  void decided(server::Lane& lane) override { shadow_.decided(lane); }

 private:
  server::Shadow& shadow_;
};

/// As many connections as the system lets the program have.
void raise_descriptors() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

int serve(const ServeArguments& arguments) {
  const auto speed = serve::Speed::parse(arguments.speed);
  if (!speed)
    return report_error({"berth serve", "--speed", "'" + arguments.speed + "' is no speed",
                         "write how many times real time, for example 1 or 100, or max, or step"},
                        2);
  serve::ServiceOptions options;
  for (const auto& [name, text, out] :
       {std::tuple("--heartbeat-grace", &arguments.heartbeat_grace, &options.start.heartbeat_grace_ns),
        std::tuple("--min-heartbeat-ttl", &arguments.min_heartbeat_ttl, &options.start.min_heartbeat_ttl_ns)}) {
    const auto ns = base::parse_duration(*text);
    if (!ns || *ns <= 0)
      return report_error({"berth serve", name, "'" + *text + "' is no duration", "write for example 10s or 500ms"}, 2);
    *out = *ns;
  }
  options.start.source = arguments.source;
  options.start.nodes = arguments.nodes.value_or(arguments.source.empty() ? kNodesByDefault : 0);
  options.start.seed = arguments.seed;
  options.start.now_ns = clock_ns();
  if (!arguments.now.empty()) {
    const auto now = base::parse_rfc3339(arguments.now);
    if (!now)
      return report_error(
          {"berth serve", "--now", "'" + base::shown(arguments.now) + "' " + base::rfc3339_problem(arguments.now),
           "write for example 2026-11-22T01:00:00Z"},
          2);
    options.start.begin_ns = now->ns;
  }
  options.start.keep_addresses = arguments.keep_addresses;
  const auto sources = enabled_sources("berth serve", arguments.sources);
  if (!sources) return report_error(sources.error(), 2);
  options.start.sources = *sources;
  options.simulation.speed = *speed;
  options.simulation.vault_audience = arguments.vault;
  options.listen = arguments.listen;
  options.access.hosts = arguments.allow_hosts, options.access.token = arguments.token;
  options.access.acl = arguments.acl;
  options.limits.held_bytes = arguments.held_memory_mb << 20;
  options.simulation.snapshots = arguments.snapshots;
  raise_descriptors();
  const run::InterruptGuard guard;
  const auto began = std::chrono::steady_clock::now();
  auto service = serve::Service::make(options);
  if (!service) return report_error(service.error(), 2);
  print_warnings((*service)->warnings());
  const std::size_t nodes = (*service)->simulation().state().nodes.size();
  const auto shadow = make_shadow((*service)->simulation().config().server, arguments.shadow);
  std::optional<ShadowListener> listener;
  if (shadow) (*service)->simulation().listen(&listener.emplace(*shadow));
  (*service)->start();
  if (!arguments.quiet) {
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
    print("berth serve: {} nodes after {:.2f} s, speed {}{}, http://{}\n", nodes, took.count(), speed->text(),
          arguments.acl             ? ", requests need tokens (nomad acl bootstrap)"
          : arguments.token.empty() ? ""
                                    : ", requests need the token",
          (*service)->address());
    std::fflush(stdout);
  }
  while (!run::interrupted()) std::this_thread::sleep_for(std::chrono::milliseconds(50));
  (*service)->stop();  // where an evaluation takes long, the program is ended all the same (run/interrupt.h)
  run::stopped();
  if (!shadow) return 0;
  fmt::print(stderr, "berth serve: shadow: {}\n", shadow_line(*shadow));
  return shadow->different() > 0 ? 3 : 0;
}

}  // namespace

void add_serve(CLI::App& app, int& exit_code) {
  auto arguments = std::make_shared<ServeArguments>();
  CLI::App* command = app.add_subcommand("serve", "a simulated cluster behind Nomad's HTTP API");
  command->add_option("source", arguments->source,
                      "a cluster (a file or folder of an export, CLUSTER.json) or a workload's name or file");
  command
      ->add_option("--nodes", arguments->nodes,
                   fmt::format("nodes to make up (default: {}, or none if a source is given)", kNodesByDefault))
      ->check(CLI::Range(std::int64_t{0}, kNodesMost));
  command->add_option("--speed", arguments->speed, "virtual time against real time: a number, max, or step")
      ->type_name("FACTOR")
      ->capture_default_str();
  command->add_option("--listen", arguments->listen, "address and port")
      ->type_name("ADDRESS:PORT")
      ->capture_default_str();
  command
      ->add_option("--allow-host", arguments->allow_hosts,
                   "name that requests may have as Host, beside loopback and the address listened on; repeatable")
      ->type_name("NAME");
  command
      ->add_option(
          "--token", arguments->token,
          "token that every request needs, as X-Nomad-Token or Authorization: Bearer; this or --acl is required "
          "where --listen is no loopback address")
      ->type_name("TOKEN")
      ->envname("BERTH_SERVE_TOKEN");
  command->add_flag(
      "--acl", arguments->acl,
      "access control as Nomad's: requests need tokens of POST /v1/acl/bootstrap and /v1/acl/token, which "
      "policies limit (default: everything is allowed)");
  command
      ->add_option(
          "--held-memory", arguments->held_memory_mb,
          "MiB that all requests together may hold; the slowest are ended (default: a quarter of the machine's)")
      ->type_name("MIB")
      ->check(CLI::Range(std::size_t{16}, std::size_t{1} << 24));
  command
      ->add_option("--snapshots", arguments->snapshots,
                   "folder in which POST /v1/berth/snapshot writes files and restore reads them (default: none)")
      ->type_name("FOLDER")
      ->check(CLI::ExistingDirectory);
  command
      ->add_option("--now", arguments->now,
                   "virtual time at the start, 2026-11-22T01:00:00Z (default: the latest time in a cluster that is "
                   "served, else the real time)")
      ->type_name("TIME");
  command->add_flag("--keep-addresses", arguments->keep_addresses,
                    "serve the addresses of nodes and allocations unchanged; clients may connect to them (default: "
                    "reserved ones in their place)");
  command
      ->add_option("--vault", arguments->vault,
                   "accept jobs that use Vault; their tasks get an identity for this audience, for example vault.io "
                   "(default: such jobs are refused, as by an agent without Vault)")
      ->type_name("AUDIENCE");
  command->add_option("--seed", arguments->seed, "seed of all random draws")->capture_default_str();
  command
      ->add_option("--heartbeat-grace", arguments->heartbeat_grace,
                   "how long a server waits for an overdue heartbeat before the node is down")
      ->type_name("DURATION")
      ->capture_default_str();
  command
      ->add_option("--min-heartbeat-ttl", arguments->min_heartbeat_ttl,
                   "shortest interval between the heartbeats of a node")
      ->type_name("DURATION")
      ->capture_default_str();
  add_sources(*command, arguments->sources);
  add_shadow(*command, arguments->shadow);
  command->add_flag("--quiet", arguments->quiet, "do not print the address");
  command->footer(
      "Ends at Ctrl-C or SIGTERM. Exit code: 0 ended, 1 berth failed, 2 usage or bad input, 3 decisions differ (with "
      "--shadow), 4 ended while an evaluation was under way.");
  command->callback([arguments, &exit_code] { exit_code = serve(*arguments); });
}

}  // namespace berth::cli
