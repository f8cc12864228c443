// Catalogue of named entries: berth's own and those that users add. Both are selected in the same way.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace berth::strategy {

/// `Info` has a `name`. Pointers stay valid while the entry exists. Not for concurrent changes.
template <class Info>
class Catalogue {
 public:
  /// Adds or replaces an entry.
  void add(Info info) {
    std::string name = info.name;
    infos_.insert_or_assign(std::move(name), std::move(info));
  }
  /// Null if there is none.
  [[nodiscard]] const Info* find(std::string_view name) const {
    const auto found = infos_.find(name);
    return found == infos_.end() ? nullptr : &found->second;
  }
  /// All entries, sorted by name.
  [[nodiscard]] std::vector<const Info*> all() const {
    std::vector<const Info*> out;
    for (const auto& [name, info] : infos_) out.push_back(&info);
    return out;
  }

 private:
  std::map<std::string, Info, std::less<>> infos_;
};

}  // namespace berth::strategy
