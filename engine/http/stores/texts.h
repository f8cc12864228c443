// Lists of texts as JSON, and the hash of stored objects.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/base64.h"
#include "base/blake2b.h"
#include "base/json.h"

namespace berth::http {

/// BLAKE2b of 256 bits over an object's texts, in base64 (R-STORE-80).
[[nodiscard]] inline std::string hash_text(std::string_view text) {
  const auto digest = base::blake2b_256(text);
  return base::to_base64({reinterpret_cast<const char*>(digest.data()), digest.size()});
}

[[nodiscard]] inline json::Value texts_or_null(const std::vector<std::string>& texts) {
  if (texts.empty()) return {};
  json::Value out = json::Value::array();
  for (const std::string& text : texts) out.push(text);
  return out;
}

/// Items other than texts become "".
[[nodiscard]] inline std::vector<std::string> texts_of(const json::Value& list) {
  std::vector<std::string> out;
  for (const json::Value& item : list.items()) out.push_back(item.as_string());
  return out;
}

}  // namespace berth::http
