// Cache by content (row and version): rows' texts for lists.
//   one per     row, up to kRows; valid for one version of the row
//   threads     any; a text is made outside of the lock
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

namespace berth::http {

class TextCache {
 public:
  static constexpr std::size_t kRows = 65'536;

  /// Appends the row's text like `make(out)`. `version` must differ whenever the text does.
  template <class Make>
  void append(std::uint32_t row, std::uint64_t version, std::string& out, Make make) {
    if (row >= kRows) return make(out);
    {
      const std::lock_guard lock(mutex_);
      if (row < texts_.size() && !texts_[row].text.empty() && texts_[row].version == version) {
        out += texts_[row].text;
        return;
      }
    }
    const std::size_t begin = out.size();
    make(out);
    std::string text = out.substr(begin);
    const std::lock_guard lock(mutex_);
    if (row >= texts_.size()) texts_.resize(row + 1);
    texts_[row].version = version, texts_[row].text = std::move(text);
  }

 private:
  struct Text {
    std::uint64_t version = 0;
    std::string text;
  };
  std::mutex mutex_;
  std::vector<Text> texts_;  // by row
};

}  // namespace berth::http
