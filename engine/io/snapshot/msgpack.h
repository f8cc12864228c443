// The subset of msgpack that snapshot records use (R-SNAP-30): heads of values, and a walk that finds the end of an
// object. The walk stores no value and allocates nothing whose size the file decides. It resumes where it stopped once
// more bytes are available.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace berth::io::msgpack {

enum class Kind : std::uint8_t { nil, boolean, integer, unsigned_integer, real, text, array, map, extension, invalid };

/// Head of a value: all of a scalar, the size of a text or extension, the number of children of an array or map.
struct Head {
  Kind kind = Kind::invalid;
  std::uint8_t bytes = 1;       ///< size of the head itself; the bytes of a text follow it
  std::int8_t extension = 0;    ///< type of an extension
  bool truth = false;           ///< value of a boolean
  std::uint64_t size = 0;       ///< bytes of a text or extension, entries of an array or map
  std::int64_t integer = 0;     ///< value of an integer
  std::uint64_t unsigned_ = 0;  ///< value of an unsigned integer above the range of `integer`
  double real = 0;
};

/// Length in bytes of the head that begins with `first`: 1 to 9.
[[nodiscard]] std::size_t head_bytes(std::uint8_t first);
/// Reads a head; `bytes` must hold all of it.
[[nodiscard]] Head read_head(std::string_view bytes);

/// Deepest accepted nesting of arrays and maps (R-SNAP-130).
inline constexpr std::size_t kDepthMax = 64;

/// Finds the end of one object. Iterative; linear in the bytes however they are split.
class Walk {
 public:
  enum class State : std::uint8_t { done, more, truncated, absurd_length, too_deep, invalid };

  /// `window` holds the bytes read so far, from the object's first. `left` is the number of bytes up to the end of the
  /// member: lengths are checked against it before they are used (R-SNAP-131).
  [[nodiscard]] State go_on(std::string_view window, std::uint64_t left);
  /// Number of bytes passed. After `done`: size of the object. After a fault: its offset.
  [[nodiscard]] std::uint64_t position() const { return position_; }
  void restart() { position_ = 0, depth_ = 0, started_ = false; }

 private:
  std::array<std::uint64_t, kDepthMax> open_{};  ///< children still missing in each open array or map
  std::size_t depth_ = 0;
  std::uint64_t position_ = 0;
  bool started_ = false;
};

}  // namespace berth::io::msgpack
