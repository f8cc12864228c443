#include "whatif/selector.h"

#include <algorithm>
#include <array>

#include "base/edit_distance.h"
#include "base/text.h"

namespace berth::whatif {
namespace {

constexpr std::string_view kAttribute = "attr.", kMeta = "meta.";
constexpr std::array<std::string_view, 5> kFields = {"name", "id", "datacenter", "pool", "class"};
constexpr std::size_t kIdDigitsLeast = 4;  // least length of an ID prefix, as in Nomad's command line

}  // namespace

const std::string* value_of(const model::Node& node, std::string_view key) {
  if (key == "name") return &node.name;
  if (key == "id") return &node.id;
  if (key == "datacenter") return &node.datacenter;
  if (key == "pool") return &node.node_pool;
  if (key == "class") return &node.node_class;
  const bool meta = key.starts_with(kMeta);
  const auto& values = meta ? node.meta : node.attributes;
  const auto found = values.find(std::string(key.substr(meta ? kMeta.size() : kAttribute.size())));
  return found == values.end() ? nullptr : &found->second;
}

bool is_key(std::string_view key) {
  return std::find(kFields.begin(), kFields.end(), key) != kFields.end() ||
         (key.starts_with(kAttribute) && key.size() > kAttribute.size()) ||
         (key.starts_with(kMeta) && key.size() > kMeta.size());
}

Result<Selector, std::string> Selector::parse(std::string_view text) {
  Selector out;
  if (text == "all") return out;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string_view term = text.substr(begin, end - begin);
    begin = end + 1;
    if (term.empty())
      return tl::unexpected(std::string("has an empty term; write for example meta.rack=r7,datacenter=dc1"));
    const std::size_t equals = term.find('=');
    if (equals == std::string_view::npos) {
      out.terms_.push_back({"", std::string(term), false});
      continue;
    }
    Term one{std::string(term.substr(0, equals)), std::string(term.substr(equals + 1)), false};
    if (!is_key(one.key)) {
      const std::vector<std::string> names(kFields.begin(), kFields.end());
      return tl::unexpected("has the unknown key '" + base::shown(one.key) + "'" + "; " +
                            base::did_you_mean(one.key, names) +
                            "keys are name, id, datacenter, pool, class, attr.NAME and meta.NAME");
    }
    if (one.value.ends_with('*')) one.value.pop_back(), one.prefix = true;
    out.terms_.push_back(std::move(one));
  }
  return out;
}

bool Selector::matches(const model::Node& node) const {
  return std::all_of(terms_.begin(), terms_.end(), [&](const Term& term) {
    if (term.key.empty())
      return node.name == term.value || (term.value.size() >= kIdDigitsLeast && node.id.starts_with(term.value));
    const std::string* value = value_of(node, term.key);
    return value && (term.prefix ? value->starts_with(term.value) : *value == term.value);
  });
}

}  // namespace berth::whatif
