// msgpack as a snapshot's records are written in it (R-SNAP-30): the heads of values, and a walk that finds where an
// object ends. The walk keeps no value, allocates nothing that a length in the file decides, and goes on where it
// stopped when more bytes have come.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace berth::io::msgpack {

enum class Kind : std::uint8_t { nil, boolean, integer, unsigned_integer, real, text, array, map, extension, invalid };

/// The head of a value: everything of a scalar, the size of a text or extension, the number of children of the others.
struct Head {
  Kind kind = Kind::invalid;
  std::uint8_t bytes = 1;       ///< of the head itself; a text's bytes follow it
  std::int8_t extension = 0;    ///< type of an extension
  bool truth = false;           ///< of a boolean
  std::uint64_t size = 0;       ///< bytes of a text or extension, entries of an array or map
  std::int64_t integer = 0;     ///< of an integer
  std::uint64_t unsigned_ = 0;  ///< of an unsigned integer: one above the range of `integer`
  double real = 0;
};

/// Bytes of the head that begins with `first`, 1 to 9.
[[nodiscard]] std::size_t head_bytes(std::uint8_t first);
/// Reads a head; `bytes` holds all of it.
[[nodiscard]] Head read_head(std::string_view bytes);

/// Deepest nesting of arrays and maps that is taken (R-SNAP-130).
inline constexpr std::size_t kDepthMax = 64;

/// Where one object ends. Iterative; its cost is linear in the bytes however they arrive.
class Walk {
 public:
  enum class State : std::uint8_t { done, more, truncated, absurd_length, too_deep, invalid };

  /// `window` holds the bytes from the object's first on that have come, `left` is how many there can be at all: those
  /// up to the end of the member. Lengths are held against it before anything is made of them (R-SNAP-131).
  [[nodiscard]] State go_on(std::string_view window, std::uint64_t left);
  /// Bytes walked over; after `done`, those of the object; after a fault, its place.
  [[nodiscard]] std::uint64_t position() const { return position_; }
  void restart() { position_ = 0, depth_ = 0, started_ = false; }

 private:
  std::array<std::uint64_t, kDepthMax> open_{};  ///< children that each open array or map still waits for
  std::size_t depth_ = 0;
  std::uint64_t position_ = 0;
  bool started_ = false;
};

}  // namespace berth::io::msgpack
