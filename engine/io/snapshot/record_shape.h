// Forms of the values in snapshot records that neither msgpack nor JSON shows: times, byte strings, secrets (R-SNAP-36
// to 39, 90). The reader and the writer of records share them.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace berth::io {

/// Seconds from 1 January of year 1, from which records count (R-SNAP-36), to 1970.
inline constexpr std::int64_t kSecondsBefore1970 = 62135596800;

/// Types of the values under an object's keys, for those that their bytes do not show. The elements of a list have the
/// shape of the list.
struct RecordShape {
  enum class Leaf : std::uint8_t {
    plain,
    time,        ///< a time that the model stores as ns
    time_text,   ///< a time within retained JSON, as text
    bytes,       ///< a byte string, base64 in JSON
    numbers,     ///< a byte string, a list of numbers in JSON
    dropped,     ///< a secret, or a value that the API does not show
    unless_nil,  ///< omitted if nil
    job,         ///< the job of an allocation
    free,        ///< the user's own map, whose keys have no meaning here
  };
  Leaf leaf = Leaf::plain;
  std::vector<std::pair<std::string_view, const RecordShape*>> keys = {};
  const RecordShape* any = nullptr;  ///< shape of every other key

  [[nodiscard]] const RecordShape* under(std::string_view key) const {
    for (const auto& [name, shape] : keys)
      if (name == key) return shape;
    return any;
  }
};

/// The shape of the objects of a record type.
[[nodiscard]] const RecordShape& record_shape(std::uint8_t type);

}  // namespace berth::io
