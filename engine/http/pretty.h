// Indents JSON text by four spaces, in pieces (R-API-10).
#pragma once

#include <string>
#include <string_view>

namespace berth::http {

class Pretty {
 public:
  /// Appends `text`, the next piece of one JSON value, to `out`.
  void append(std::string_view text, std::string& out);
  void end(std::string& out) { out += '\n'; }

 private:
  void line(std::string& out) const;
  int depth_ = 0;
  bool in_text_ = false, escaped_ = false, opened_ = false;
};

}  // namespace berth::http
