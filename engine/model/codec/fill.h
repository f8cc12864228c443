// Fills absent members of JSON objects; used for the defaults of the API layer.
#pragma once

#include <string_view>

#include "base/json.h"

namespace berth::model {

inline void fill(json::Value& object, std::string_view key, json::Value value) {
  if (!object.has(key)) object.set(key, std::move(value));
}

/// Weight 50 for each entry of a list that has no weight (R-MODEL-230).
inline void fill_weights(json::Value& object, std::string_view key) {
  if (json::Value* list = object.find(key))
    for (json::Value& entry : list->items()) fill(entry, "Weight", 50);
}

}  // namespace berth::model
