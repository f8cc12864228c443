#include "io/snapshot/msgpack.h"

#include <bit>

namespace berth::io::msgpack {
namespace {

std::uint64_t big_endian(std::string_view bytes) {
  std::uint64_t out = 0;
  for (const char c : bytes) out = out << 8 | static_cast<unsigned char>(c);
  return out;
}

/// Number of bytes after the first that hold a length, a count or a number; indexed by first byte, c0 to df.
constexpr std::array<std::uint8_t, 32> kOperandBytes = {
    0, 0, 0, 0, 1, 2, 4, 2,
    3, 5, 4, 8, 1, 2, 4, 8,  // c0-cf: constants, bytes, extensions with their type, floats, u8 to u64
    1, 2, 4, 8, 1, 1, 1, 1,
    1, 1, 2, 4, 2, 4, 2, 4};  // d0-df: i8 to i64, fixed extensions' type, texts, arrays, maps

}  // namespace

std::size_t head_bytes(std::uint8_t first) {
  return first < 0xc0 || first > 0xdf ? 1 : 1 + kOperandBytes[static_cast<std::size_t>(first - 0xc0)];
}

Head read_head(std::string_view bytes) {
  const auto first = static_cast<std::uint8_t>(bytes[0]);
  Head head;
  head.bytes = static_cast<std::uint8_t>(head_bytes(first));
  const std::string_view rest = bytes.substr(1, head.bytes - 1U);
  const auto of = [&](Kind kind, std::uint64_t size) { head.kind = kind, head.size = size; };
  const auto number = [&](std::int64_t value) { head.kind = Kind::integer, head.integer = value; };
  if (first < 0x80) return number(first), head;
  if (first < 0x90) return of(Kind::map, first & 0x0f), head;
  if (first < 0xa0) return of(Kind::array, first & 0x0f), head;
  if (first < 0xc0) return of(Kind::text, first & 0x1f), head;
  if (first >= 0xe0) return number(static_cast<std::int8_t>(first)), head;
  const std::uint64_t operand = big_endian(rest);
  switch (first) {
    case 0xc0:
      head.kind = Kind::nil;
      break;
    case 0xc2:
    case 0xc3:
      head.kind = Kind::boolean, head.truth = first == 0xc3;
      break;
    case 0xc4:
    case 0xc5:
    case 0xc6:
    case 0xd9:
    case 0xda:
    case 0xdb:
      of(Kind::text, operand);
      break;
    case 0xc7:
    case 0xc8:
    case 0xc9:
      of(Kind::extension, operand >> 8), head.extension = static_cast<std::int8_t>(operand & 0xff);
      break;
    case 0xd4:
    case 0xd5:
    case 0xd6:
    case 0xd7:
    case 0xd8:
      of(Kind::extension, std::uint64_t{1} << (first - 0xd4)), head.extension = static_cast<std::int8_t>(operand);
      break;
    case 0xca:
      head.kind = Kind::real, head.real = std::bit_cast<float>(static_cast<std::uint32_t>(operand));
      break;
    case 0xcb:
      head.kind = Kind::real, head.real = std::bit_cast<double>(operand);
      break;
    case 0xcc:
    case 0xcd:
    case 0xce:
    case 0xcf:
      if (operand <= std::uint64_t{INT64_MAX})
        number(static_cast<std::int64_t>(operand));
      else
        head.kind = Kind::unsigned_integer, head.unsigned_ = operand;
      break;
    case 0xd0:
      number(static_cast<std::int8_t>(operand));
      break;
    case 0xd1:
      number(static_cast<std::int16_t>(operand));
      break;
    case 0xd2:
      number(static_cast<std::int32_t>(operand));
      break;
    case 0xd3:
      number(static_cast<std::int64_t>(operand));
      break;
    case 0xdc:
    case 0xdd:
      of(Kind::array, operand);
      break;
    case 0xde:
    case 0xdf:
      of(Kind::map, operand);
      break;
    default:  // c1
      head.kind = Kind::invalid;
  }
  return head;
}

Walk::State Walk::go_on(std::string_view window, std::uint64_t left) {
  while (!started_ || depth_ > 0) {
    if (position_ >= left) return State::truncated;
    if (position_ >= window.size()) return State::more;
    const std::string_view here = window.substr(position_);
    const std::size_t bytes = head_bytes(static_cast<std::uint8_t>(here[0]));
    if (bytes > left - position_) return State::truncated;
    if (bytes > here.size()) return State::more;
    const Head head = read_head(here);
    const std::uint64_t after = left - position_ - bytes;
    std::uint64_t children = 0;
    switch (head.kind) {
      case Kind::invalid:
        return State::invalid;
      case Kind::text:
      case Kind::extension:
        if (head.size > after) return State::absurd_length;
        break;
      case Kind::array:
      case Kind::map:
        children = head.kind == Kind::map ? 2 * head.size : head.size;  // at most 33 bits
        if (children > after) return State::absurd_length;
        if (depth_ == kDepthMax) return State::too_deep;
        break;
      default:
        break;
    }
    const bool has_bytes = head.kind == Kind::text || head.kind == Kind::extension;
    position_ += bytes + (has_bytes ? head.size : 0);
    if (started_) --open_[depth_ - 1];
    started_ = true;
    if (children > 0) open_[depth_++] = children;
    while (depth_ > 0 && open_[depth_ - 1] == 0) --depth_;
  }
  return position_ <= window.size() ? State::done : State::more;
}

}  // namespace berth::io::msgpack
