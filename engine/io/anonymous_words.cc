#include "io/anonymous_words.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <string>
#include <unordered_set>

#include "base/text.h"

namespace berth::io {
namespace {

/// Built-in namespace, pools and region; booleans; values that implied constraints require (R-MODEL-245), and similar
/// ones.
constexpr std::string_view kEverywhere =
    "aarch64 all amd64 arm64 darwin debian default false global linux true ubuntu windows x86";
/// Keys of driver configurations, and of the configuration that Connect gives a proxy (R-REG-24).
constexpr std::string_view kSecret =
    "args auth bootstrap c command concurrency config devices dir disable dns entrypoint envoy extra "
    "forbidden force host hostname hosts hot image ipc json l labels logging mode mount mounts name network "
    "optional options pid ports privileged pull readonly required restart run runtime source target timeout "
    "type ulimit username volume volumes work";
/// Statuses, triggers, operands, settings, drivers, protocols, units.
constexpr std::string_view kEnumerated =
    "alloc allocs any artifacts attempts auto b batch best bidirectional binpack block blocked bridge "
    "building builtin canceled cancelled checks client cluster cni complete connect constant consul "
    "containerd contains controller core cpu created creating critical cron csi dead delay delete deleted "
    "deployment deregister destroy device dir directory disconnect disconnected disk distinct dns docker down "
    "downloading drain driver dst eb eib eligible eval evict exceeded exec exec2 exponential fail failed "
    "failure fibonacci file firecracker follow forbidden gb gc get ghz gib grpc gw head healthy heartbeat "
    "hook horizontal host hosts http http2 https hz ignore iis ineligible init initial initializing io ipv4 "
    "ipv6 is jail java job kb keep khz kib kill killed killing kw lan leader lifecycle local logical longest "
    "lost lxc manual max mb mem message mhz mib mock monolith mount multi mw no node nomad nomadproject none "
    "noop not nspawn ok on only optional options original parameterized passing patch paused pb pending "
    "periodic pib placed placement plan podman post poststart poststop pot preemption prefer prepared "
    "prestart private property put qemu query queued raw reader ready reason received reconnect reconnected "
    "recover regexp register remote replacement require required reschedule rescheduling resources restart "
    "restarting retry rkt rolling run running s scaling scheduled score script secrets semver service set "
    "setup shared sibling signal signaling single singularity slave spread started states static stop stopped "
    "storage stream strict successful sysbatch system task tasks tb tcp terminated tib timeout tls tlsv1 "
    "trace udp unavailable unblocking unknown up update validation vault version vertical virt w wan warning "
    "warnings watcher writer";
/// Words of descriptions, events and reasons.
constexpr std::string_view kMessage =
    "a affinity after all alloc allocation allocations allocs allowed allows and another anti any are as at "
    "attempts available be because been before being binpack blocked building by canaries canary cancelled "
    "claimed claims class client code collected collision compatible complete completed computed conflicting "
    "conflicts constraint cores cpu created csi deadline delayed deployment device devices directory disabled "
    "disconnect disconnected disk distinct does down drain draining driver drivers due eligible error eval "
    "evaluation evaluations evict evicted exceeded exhausted existing exists exit fail failed for force found "
    "from garbage group has have health healthy heartbeat host hosts id in ineligible interrupt interval is "
    "its job killed killing lost make marked maximum memory migrated migrating missed missing needed network "
    "networks newer no node nodes normalized not of on only or out paused penalty place placement placements "
    "plan plugin policy port ports preempted preemption progress promotion property provider quota re reached "
    "reader received recent reconnect reconnected registered rejected remaining requires reschedule "
    "rescheduled rescheduling reserved resources restart restarting restarts rolled rolling running s "
    "scheduling score secrets sent service set shutdown signal since single spread started stopped strategy "
    "submitted successful successfully support system task tasks than that the timeout to too topologies "
    "unable unhealthy unknown unrecoverable unschedulable update updated used using version volume volumes "
    "waiting was will with within writer";
/// Words in the keys of fingerprinted attributes.
constexpr std::string_view kAttribute =
    "accessible acl address advertise ami apparmor arch automatic availability aws azure bridge bridged build "
    "bytesfree bytestotal capabilities cgroup cgroups cluster cni connect consul containerd cores count cpu "
    "cycle datacenter digitalocean discovery dmi docker driver efficiency enabled exec exec2 external "
    "firewall frequency ft gce grpc hairpin host hostname hugepages id image instance ip ipv4 ipv6 java "
    "kernel landlock life local loopback mac machine maintenance memory mock modelname mountpoint name "
    "namespaces network node nomad numa numcores on os partition performance placement platform plugins "
    "podman portmap power preemptible private privileged project public qemu raw region reservablecores "
    "revision rootless runtime runtimes scheduling secrets segment server service signals size sku socket "
    "storage subnet tag tls totalbytes totalcompute type unique usablecompute vault version virt vm volume "
    "volumes vpc zone";
/// Words of the environment that tasks receive.
constexpr std::string_view kVariable =
    "addr alloc base check cores cpu dc dir envoy group host hostname id index ip job jobs limit local max "
    "memory meta name namespace nomad parent port region secrets shared short task taskgroup token unix "
    "upstream version";
/// Words of cron expressions.
constexpr std::string_view kSchedule =
    "annually apr aug daily dec feb fri hourly jan jul jun l mar may midnight mon monthly nov oct sat sep sun "
    "thu tue w wed weekly yearly";

using Words = std::unordered_set<std::string_view>;

Words split_words(std::string_view list) {
  Words out;
  for (const std::string_view word : base::split(list, ' ')) out.insert(word);
  return out;
}

const Words& words_of(Vocabulary vocabulary) {
  static const std::array<Words, 7> words = {Words(),
                                             split_words(kSecret),
                                             split_words(kEnumerated),
                                             split_words(kMessage),
                                             split_words(kAttribute),
                                             split_words(kVariable),
                                             split_words(kSchedule)};
  return words[static_cast<std::size_t>(vocabulary)];
}

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
constexpr bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
/// Every byte of a non-ASCII character counts as a letter, so words of all alphabets are words.
constexpr bool is_word(char c) { return is_digit(c) || is_letter(c) || static_cast<unsigned char>(c) >= 0x80; }
constexpr bool is_hex(char c) { return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }

/// Length in bytes of the UUID at the start of `text`; 0 if there is none.
std::size_t uuid_bytes(std::string_view text) {
  static constexpr std::size_t kBytes = 36;
  if (text.size() < kBytes || (text.size() > kBytes && is_word(text[kBytes]))) return 0;
  for (std::size_t i = 0; i < kBytes; ++i) {
    const bool dash = i == 8 || i == 13 || i == 18 || i == 23;
    if (dash ? text[i] != '-' : !is_hex(text[i])) return 0;
  }
  return kBytes;
}

/// Length in bytes of the IPv4 address at the start of `text`; 0 if there is none.
std::size_t address4_bytes(std::string_view text) {
  std::size_t at = 0;
  for (int field = 0; field < 4; ++field) {
    if (field > 0 && (at >= text.size() || text[at++] != '.')) return 0;
    const std::size_t begin = at;
    while (at < text.size() && is_digit(text[at]) && at - begin < 4) ++at;
    if (at == begin) return 0;
  }
  if (at < text.size() && (is_word(text[at]) || (text[at] == '.' && at + 1 < text.size() && is_word(text[at + 1]))))
    return 0;
  in_addr address{};
  return inet_pton(AF_INET, std::string(text.substr(0, at)).c_str(), &address) == 1 ? at : 0;
}

/// An IPv6 or MAC address: a run of hexadecimal digits, dots and at least two colons. Otherwise no unit.
Unit colons_at(std::string_view text) {
  static constexpr std::size_t kMost = 45;
  std::size_t size = 0, colons = 0;
  while (size < text.size() && size <= kMost && (is_hex(text[size]) || text[size] == ':' || text[size] == '.'))
    colons += text[size++] == ':';
  if (colons < 2 || size > kMost || (size < text.size() && is_word(text[size]))) return {};
  const std::string run(text.substr(0, size));
  in6_addr address{};
  if (inet_pton(AF_INET6, run.c_str(), &address) == 1) return {UnitKind::address6, size};
  static constexpr std::size_t kMacBytes = 17;
  bool mac = size == kMacBytes;
  for (std::size_t i = 0; mac && i < size; ++i) mac = i % 3 == 2 ? run[i] == ':' : is_hex(run[i]);
  return mac ? Unit{UnitKind::hardware, size} : Unit{};
}

/// True for addresses that every machine has: they identify no machine.
bool is_common(std::string_view address) {
  return address.starts_with("127.") || address == "0.0.0.0" || address == "255.255.255.255" || address == "::1" ||
         address == "::";
}

bool is_number(std::string_view word) {
  static constexpr std::size_t kDigitsMost = 5;  // ports, indexes, parts of versions
  std::size_t digits = 0;
  while (digits < word.size() && is_digit(word[digits])) ++digits;
  if (digits == 0 || digits > kDigitsMost) return false;
  static constexpr std::array<std::string_view, 8> kUnits = {"", "ns", "us", "ms", "s", "m", "h", "d"};
  return std::find(kUnits.begin(), kUnits.end(), word.substr(digits)) != kUnits.end();
}

}  // namespace

bool is_nomads_word(std::string_view word, Vocabulary vocabulary) {
  std::string lower(word);
  for (char& c : lower) c = base::ascii_lower(c);
  static const Words everywhere = split_words(kEverywhere);
  if (everywhere.contains(lower) || words_of(vocabulary).contains(lower)) return true;
  return word.size() > 3 && word.starts_with("SIG") &&
         std::all_of(word.begin(), word.end(), [](char c) { return is_digit(c) || (c >= 'A' && c <= 'Z'); });
}

Unit unit_at(std::string_view text, std::size_t at) {
  text.remove_prefix(at);
  if (const std::size_t bytes = uuid_bytes(text); bytes > 0) return {UnitKind::fixed, bytes};
  if (const std::size_t bytes = address4_bytes(text); bytes > 0)
    return {is_common(text.substr(0, bytes)) ? UnitKind::fixed : UnitKind::address4, bytes};
  if (is_hex(text[0]) || text.starts_with("::"))
    if (const Unit unit = colons_at(text); unit.kind != UnitKind::none)
      return {is_common(text.substr(0, unit.size)) ? UnitKind::fixed : unit.kind, unit.size};
  std::size_t size = 0;
  while (size < text.size() && is_word(text[size])) ++size;
  if (size == 0) return {};
  return {is_number(text.substr(0, size)) ? UnitKind::number : UnitKind::word, size};
}

bool looks_like_version(std::string_view text) {
  if (text.starts_with('v')) text.remove_prefix(1);
  std::size_t at = 0;
  while (at < text.size() && (is_digit(text[at]) || (text[at] == '.' && at > 0))) ++at;
  if (at == 0) return false;
  if (at < text.size() && text[at] != '-' && text[at] != '+' && text[at] != '~') return false;
  return std::all_of(text.begin(), text.end(), [](char c) {
    return is_digit(c) || is_letter(c) || c == '.' || c == '-' || c == '+' || c == '~';
  });
}

}  // namespace berth::io
