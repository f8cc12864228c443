// gzip compression in pieces.
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace berth::http::transport {

class Gzip {
 public:
  Gzip();
  ~Gzip();
  Gzip(const Gzip&) = delete;
  Gzip& operator=(const Gzip&) = delete;

  /// Compresses `text`. Returns the available output; may be empty unless `last`.
  [[nodiscard]] std::string pack(std::string_view text, bool last);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace berth::http::transport
