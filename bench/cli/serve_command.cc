#include <fmt/format.h>
#include <sys/resource.h>

#include <chrono>
#include <cstdio>
#include <memory>
#include <thread>
#include <tuple>

#include "base/duration.h"
#include "base/later.h"
#include "base/text.h"
#include "base/time.h"
#include "cli/commands.h"
#include "cli/common.h"
#include "cli/count_allocations.h"
#include "cli/log_options.h"
#include "cli/outputs.h"
#include "cli/workload_arguments.h"
#include "http/endpoints/endpoints.h"
#include "http/refused.h"
#include "run/interrupt.h"
#include "serve/start.h"

namespace berth::cli {
namespace {

constexpr std::int64_t kNodesByDefault = 1000, kNodesMost = 1'000'000;

struct ServeArguments {
  agent::SourceOptions sources_of_cluster;
  std::string source, speed = "1", listen = "127.0.0.1:4646", snapshots;
  std::optional<std::int64_t> nodes;
  std::string heartbeat_grace, min_heartbeat_ttl, now, vault, node_template, self_node;
  bool keep_addresses = false, paused = false, refused = false, acl = false;
  std::vector<std::string> allow_hosts, node_meta;
  serve::MadeUpSettings made_up;
  std::string token;
  std::size_t held_memory_mb = 0;
  std::uint64_t seed = 1, shadow = 0;
  std::string sources, order;
  std::optional<std::int64_t> workers;
  LogArguments log;
  bool quiet = false;
};

/// A shadow of a simulated cluster's server.
class ShadowListener final : public living::Listener {
 public:
  explicit ShadowListener(server::Shadow& shadow) : shadow_(shadow) {}
  void lane_made(server::Lane& lane) override { shadow_.lane_made(lane); }
  void decided(server::Lane& lane) override { shadow_.decided(lane); }

 private:
  server::Shadow& shadow_;
};

/// Raises the limit of file descriptors, and so of connections, to the system's maximum.
void raise_descriptors() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

Result<void> read_times(const ServeArguments& arguments, serve::StartOptions& out) {
  for (const auto& [name, text, ns_out] :
       {std::tuple("--heartbeat-grace", &arguments.heartbeat_grace, &out.heartbeat_grace_ns),
        std::tuple("--min-heartbeat-ttl", &arguments.min_heartbeat_ttl, &out.min_heartbeat_ttl_ns)}) {
    if (text->empty()) continue;
    const auto ns = base::parse_duration(*text);
    if (!ns || *ns <= 0 || *ns > base::kCenturyNs)
      return tl::unexpected(
          InputError{"berth serve", name, "'" + *text + "' is no duration", "write for example 10s or 500ms"});
    *ns_out = *ns;
  }
  if (arguments.now.empty()) return {};
  const auto now = base::parse_rfc3339(arguments.now);
  const bool fits = now && now->ns >= 0 && now->ns <= base::kLatestStartNs;
  if (!fits)
    return tl::unexpected(
        InputError{"berth serve", "--now",
                   "'" + base::shown(arguments.now) + "' " +
                       (now ? "is not of the years 1970 to 2199" : base::rfc3339_problem(arguments.now)),
                   "write for example 2026-11-22T01:00:00Z"});
  out.begin_ns = now->ns;
  return {};
}

int serve(const ServeArguments& arguments) {
  if (arguments.refused) {
    print("{}", http::refused_table(http::make_router()));
    return 0;
  }
  const auto speed = http::Speed::parse(arguments.speed);
  if (!speed)
    return report_error({"berth serve", "--speed", "'" + arguments.speed + "' is no speed",
                         "write how many times real time, for example 1 or 100, or max, or step"},
                        2);
  serve::ServiceOptions options;
  if (const auto fine = read_times(arguments, options.start); !fine) return report_error(fine.error(), 2);
  options.start.source = arguments.source;
  options.start.source_options = arguments.sources_of_cluster;
  options.start.nodes = arguments.nodes.value_or(arguments.source.empty() ? kNodesByDefault : 0);
  options.start.seed = arguments.seed;
  options.start.now_ns = clock_ns();
  options.start.keep_addresses = arguments.keep_addresses;
  options.start.paused = arguments.paused;
  options.start.node_template = arguments.node_template, options.start.self_node = arguments.self_node;
  options.start.made_up = arguments.made_up;
  for (const std::string& entry : arguments.node_meta) {
    const std::size_t equals = entry.find('=');
    if (equals == 0 || equals == std::string::npos)
      return report_error({"berth serve", "--node-meta", "'" + entry + "' is no pair", "write for example rack=r1"}, 2);
    options.start.made_up.meta[entry.substr(0, equals)] = entry.substr(equals + 1);
  }
  const auto sources = enabled_sources("berth serve", arguments.sources);
  if (!sources) return report_error(sources.error(), 2);
  options.start.sources = *sources;
  const auto level = log_level("berth serve", arguments.log);
  if (!level) return report_error(level.error(), 2);
  options.start.workers = static_cast<std::uint32_t>(arguments.workers.value_or(1));
  options.start.free_order = arguments.order == "free";
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
  auto service = serve::make_service(options);
  if (!service) return report_error(service.error(), 2);
  give_back_freed_memory();
  print_warnings((*service)->warnings());
  if (*level) (*service)->simulation().monitor_log().print(**level, arguments.log.json, print_log);
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
  (*service)->stop();  // during a long evaluation the program is ended anyway (run/interrupt.h)
  run::stopped();
  if (!shadow) return 0;
  fmt::print(stderr, "berth serve: shadow: {}\n", shadow_line(*shadow));
  return shadow->different() > 0 ? 3 : 0;
}

}  // namespace

void add_serve(CLI::App& app, int& exit_code) {
  auto arguments = std::make_shared<ServeArguments>();
  CLI::App* command = app.add_subcommand("serve", "serve a simulated cluster behind Nomad's HTTP API");
  command->add_option("source", arguments->source,
                      "a cluster (a file or folder of an export, CLUSTER.json) or a workload's name or file");
  add_source_options(*command, arguments->sources_of_cluster);
  command
      ->add_option(
          "--nodes", arguments->nodes,
          fmt::format("number of generated nodes (default: {}, or none if a source is given)", kNodesByDefault))
      ->check(CLI::Range(std::int64_t{0}, kNodesMost));
  command
      ->add_option(
          "--speed", arguments->speed,
          "virtual seconds per second: a number; max: jump to the next event; step: time moves only on request")
      ->type_name("FACTOR")
      ->capture_default_str();
  command->add_option("--listen", arguments->listen, "address and port to listen on")
      ->type_name("ADDRESS:PORT")
      ->capture_default_str();
  command
      ->add_option("--allow-host", arguments->allow_hosts,
                   "name that requests may have as Host, in addition to loopback and the listening address")
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
      ->add_option("--held-memory", arguments->held_memory_mb,
                   "memory that all requests together may hold; beyond it the slowest requests are cancelled (default: "
                   "a quarter "
                   "of the machine's)")
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
  command
      ->add_option(
          "--node-template", arguments->node_template,
          "template of generated nodes: a file with a node as GET /v1/node/:id returns it, or the name or ID of "
          "a node of the source (default: 8 cores, 16 GiB)")
      ->type_name("FILE|NODE");
  command
      ->add_option(
          "--self-node", arguments->self_node,
          "name or ID of the node whose client this agent is, as with nomad agent -dev; a generated node gets the "
          "name (default: the only node where there is one, else none)")
      ->type_name("NODE");
  command
      ->add_option("--datacenter", arguments->made_up.datacenter,
                   "datacenter of the agent and of generated nodes (default: dc1 for the agent; dc1, dc2 and dc3, "
                   "rack by rack, for nodes)")
      ->type_name("NAME");
  command
      ->add_option("--node-class", arguments->made_up.node_class,
                   "class of generated nodes; none: no class (default: general)")
      ->type_name("NAME");
  command->add_option("--node-pool", arguments->made_up.node_pool, "pool of generated nodes (default: default)")
      ->type_name("NAME");
  command->add_option("--node-meta", arguments->node_meta, "metadata of generated nodes, in addition to their rack")
      ->type_name("KEY=VALUE");
  command->add_flag("--paused", arguments->paused,
                    "serve the starting state of a workload, without its arrivals, events and faults");
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
                   "how long a server waits for an overdue heartbeat before the node is down (default: the "
                   "workload's, else 10s)")
      ->type_name("DURATION");
  command
      ->add_option("--min-heartbeat-ttl", arguments->min_heartbeat_ttl,
                   "shortest interval between the heartbeats of a node (default: the workload's, else 10s)")
      ->type_name("DURATION");
  add_workers(*command, arguments->workers,
              "threads that decide evaluations; may exceed the number of cores (default: 1)");
  add_order(*command, arguments->order);
  add_sources(*command, arguments->sources);
  add_shadow(*command, arguments->shadow);
  add_log(
      *command, arguments->log,
      "evaluations, allocations, nodes, drains and deployments are at info, requests at debug, log entries at trace, "
      "all with the virtual time");
  command->add_flag("--refused", arguments->refused, "print the table of refused requests, and exit");
  command->add_flag("--quiet", arguments->quiet, "do not print the address");
  command->footer(
      "Runs until Ctrl-C or SIGTERM.\n"
      "Exit code: 0 stopped, 1 berth failed, 2 usage or bad input, 3 decisions differ (with --shadow), 4 stopped while "
      "an "
      "evaluation was running.");
  add_examples(*command, {"berth serve cluster.json", "berth serve --nodes 100 --speed max --listen 127.0.0.1:4646"});
  command->callback([arguments, &exit_code] { exit_code = serve(*arguments); });
}

}  // namespace berth::cli
