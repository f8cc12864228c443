#include "sched/source/sources.h"

#include <algorithm>

#include "base/text.h"

namespace berth::sched {
namespace {

std::uint64_t scramble(std::uint64_t x) {  // splitmix64's finaliser
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ x >> 27) * 0x94d049bb133111ebULL;
  return x ^ x >> 31;
}

std::string all_names() {
  std::string out = "all, none, mixed";
  for (const char* name : kSwitchNames) out.append(", ").append(name);
  return out;
}

}  // namespace

Result<EnabledSources, std::string> EnabledSources::parse(std::string_view text) {
  EnabledSources out = none();
  bool first = true;
  for (std::string_view name : base::split(text, ',')) {
    if (name == "all" || name == "mixed" || name.starts_with("mixed:")) {
      out.bits_ = EnabledSources().bits_;
      if (name != "all") {
        const auto seed = name == "mixed" ? std::uint64_t{1} : base::parse_uint64(name.substr(6)).value_or(0);
        if (seed == 0 || seed > UINT32_MAX)
          return tl::unexpected("'" + base::shown(name) + "' has no seed from 1 to 4294967295");
        out.mix(static_cast<std::uint32_t>(seed));
      }
    } else if (name != "none") {
      const bool off = name.starts_with("no-");
      if (off) name.remove_prefix(3);
      const auto at = std::find(kSwitchNames.begin(), kSwitchNames.end(), name);
      if (at == kSwitchNames.end())
        return tl::unexpected("'" + base::shown(name) + "' is no source; name some of " + all_names());
      if (off && first) out.bits_ = EnabledSources().bits_;
      out.set(static_cast<Switch>(at - kSwitchNames.begin()), !off);
    }
    first = false;
  }
  return out;
}

std::string EnabledSources::text() const {
  std::string on, off;
  for (std::size_t i = 0; i < kSwitchNames.size(); ++i) {
    std::string& list = has(static_cast<Switch>(i)) ? on : off;
    list.append(list.empty() ? "" : ",").append(&list == &off ? "no-" : "").append(kSwitchNames[i]);
  }
  const std::string mixed = seed_ == 0 ? "" : "mixed:" + std::to_string(seed_);
  if (off.empty()) return mixed.empty() ? "all" : mixed;
  if (!mixed.empty()) return mixed + "," + off;
  return on.empty() ? "none" : off.size() < on.size() ? off : on;
}

EnabledSources EnabledSources::drawn(std::uint64_t index, std::uint32_t select) const {
  EnabledSources out = *this;
  out.bits_ &= static_cast<std::uint16_t>(scramble(seed_ ^ scramble(index ^ scramble(select))));
  return out;
}

std::string unmet_name(std::size_t bit) {
  if (bit == Needs::kBits) return "switched off";
  return bit < tables::kNeedNames.size() ? tables::kNeedNames[bit] : "need " + std::to_string(bit);
}

}  // namespace berth::sched
