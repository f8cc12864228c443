// Lists of failures in the form in which Nomad reports them: a count, then one bulleted line each; lists may nest.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace berth::model {

class ErrorList {
 public:
  void add(std::string text) { items_.push_back(std::move(text)); }
  /// Adds `prefix` followed by the whole of `inner` as one entry; nothing when `inner` is empty.
  void add_nested(const std::string& prefix, const ErrorList& inner) {
    if (!inner.empty()) add(prefix + inner.text());
  }
  /// Adds the entries of `inner` one by one.
  void append(const ErrorList& inner) { items_.insert(items_.end(), inner.items_.begin(), inner.items_.end()); }

  [[nodiscard]] bool empty() const { return items_.empty(); }
  [[nodiscard]] const std::vector<std::string>& items() const { return items_; }
  /// "2 errors occurred:\n\t* a\n\t* b\n\n"; "" when there are none.
  [[nodiscard]] std::string text() const {
    if (items_.empty()) return "";
    std::string out = std::to_string(items_.size()) + (items_.size() == 1 ? " error occurred:" : " errors occurred:");
    for (const std::string& item : items_) out += "\n\t* " + item;
    return out + "\n\n";
  }

 private:
  std::vector<std::string> items_;
};

}  // namespace berth::model
