// gzip, a piece at a time.
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace berth::serve::http {

class Gzip {
 public:
  Gzip();
  ~Gzip();
  Gzip(const Gzip&) = delete;
  Gzip& operator=(const Gzip&) = delete;

  /// What can be sent after `text`; may be empty unless `last`.
  [[nodiscard]] std::string pack(std::string_view text, bool last);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace berth::serve::http
