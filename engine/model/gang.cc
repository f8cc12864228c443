#include "model/gang.h"

#include <algorithm>
#include <string_view>

#include "base/duration.h"
#include "base/text.h"

namespace berth::model {
namespace {

constexpr const char* kTopologyRemedy =
    "write same:TARGET or at-most:NUMBER:TARGET, then :pack or :spread if wanted, with a target whose values nodes "
    "share, e.g. same:meta.rack";

/// True for the targets whose values nodes may share: those of constraints, without ${ and }.
bool is_target(std::string_view text) {
  if (text.starts_with("attr.unique.")) return false;
  for (const std::string_view prefix : {"meta.", "attr."})
    if (text.starts_with(prefix)) return text.size() > prefix.size();
  for (const std::string_view known : {"node.datacenter", "node.class", "node.pool"})
    if (text == known) return true;
  return false;
}

/// Removes the part of `text` before the first colon, and the colon, and returns that part.
std::string_view take_part(std::string_view& text) {
  const std::size_t colon = std::min(text.find(':'), text.size());
  const std::string_view part = text.substr(0, colon);
  text.remove_prefix(std::min(colon + 1, text.size()));
  return part;
}

bool read_topology(std::string_view text, Gang& out) {
  const std::string_view rule = take_part(text);
  if (rule == "at-most") {
    const auto values = base::parse_uint64(take_part(text));
    if (!values || *values == 0 || *values > 1'000'000) return false;
    out.values = static_cast<std::uint32_t>(*values);
  } else if (rule != "same") {
    return false;
  }
  for (const std::string_view order : {":pack", ":spread"})
    if (text.ends_with(order)) {
      out.spread = order == ":spread";
      text.remove_suffix(order.size());
      break;
    }
  if (text.starts_with("${") && text.ends_with("}")) text = text.substr(2, text.size() - 3);
  if (!is_target(text)) return false;
  out.target = "${" + std::string(text) + "}";
  return true;
}

GangFault fault_of(const char* key, const std::string& text, std::string remedy) {
  return {"'" + base::shown(text.substr(0, 60)) + "' cannot be " + key + " in a job's meta", std::move(remedy)};
}

}  // namespace

Result<std::optional<Gang>, GangFault> parse_gang(const std::map<std::string, std::string>& meta,
                                                  const std::string& type) {
  const auto first = meta.lower_bound(kGangKey);  // allocates nothing for jobs without such a key
  if (first == meta.end() || !first->first.starts_with(kGangKey)) return std::optional<Gang>();
  const auto gang = meta.find(kGangKey), timeout = meta.find(kGangTimeoutKey), topology = meta.find(kGangTopologyKey);
  if (gang == meta.end()) {
    for (const auto& other : {timeout, topology})
      if (other != meta.end())
        return tl::unexpected(GangFault{other->first + " in the meta of a job that is no gang",
                                        std::string("add ") + kGangKey + " = \"all\""});
    return std::optional<Gang>();
  }
  Gang out;
  if (gang->second != "all") return tl::unexpected(fault_of(kGangKey, gang->second, "write \"all\", or leave it out"));
  if (type != "service" && type != "batch")
    return tl::unexpected(
        GangFault{std::string(kGangKey) + " in the meta of a " + base::shown(type.substr(0, 20)) + " job",
                  "only service and batch jobs can be gangs"});
  if (timeout != meta.end()) {
    const auto time = base::parse_duration(timeout->second);
    if (!time || *time <= 0)
      return tl::unexpected(fault_of(kGangTimeoutKey, timeout->second, "write a time above 0, such as 90s or 1h30m"));
    out.timeout_ns = *time;
  }
  if (topology != meta.end() && !read_topology(topology->second, out))
    return tl::unexpected(fault_of(kGangTopologyKey, topology->second, kTopologyRemedy));
  return std::optional(std::move(out));
}

}  // namespace berth::model
