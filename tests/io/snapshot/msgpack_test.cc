// The scan over msgpack values: where an object ends, however its bytes arrive (R-SNAP-12, 30, 123, 131).
#include "io/snapshot/msgpack.h"

#include <gtest/gtest.h>

#include <string>

namespace berth::io::msgpack {
namespace {

using State = Walk::State;

struct WalkCase {
  const char* name;
  std::string bytes;
  State state;
  std::uint64_t position;
};
class WalkOver : public ::testing::TestWithParam<WalkCase> {};

std::string bytes(std::initializer_list<int> list) {
  std::string out;
  for (const int b : list) out += static_cast<char>(b);
  return out;
}

TEST_P(WalkOver, EndsWhereTheObjectDoes) {
  const WalkCase& c = GetParam();
  Walk whole;
  EXPECT_EQ(whole.go_on(c.bytes, c.bytes.size()), c.state);
  EXPECT_EQ(whole.position(), c.position);
  Walk bytewise;  // one byte at a time: the same end, and no error before its place
  State state = State::more;
  for (std::size_t n = 1; n <= c.bytes.size() && state == State::more; ++n)
    state = bytewise.go_on(std::string_view(c.bytes).substr(0, n), c.bytes.size());
  EXPECT_EQ(state, c.state);
  EXPECT_EQ(bytewise.position(), c.position);
}

INSTANTIATE_TEST_SUITE_P(
    Forms, WalkOver,
    ::testing::Values(WalkCase{"empty_map", bytes({0x80}), State::done, 1},
                      WalkCase{"nested", bytes({0x82, 0xa1, 'a', 0x92, 1, 0xc0, 0xa1, 'b', 0x80, 0x05}), State::done,
                               9},
                      WalkCase{"numbers", bytes({0x98, 0xcc, 200, 0xcd, 1,    2, 0xce, 0, 0, 0,    1,   0xd0,
                                                 9,    0xd1, 1,   2,    0xca, 0, 0,    0, 0, 0xe0, 0x7f}),
                               State::done, 23},
                      WalkCase{"texts", bytes({0x93, 0xd9, 1, 'x', 0xda, 0, 1, 'y', 0xc4, 1, 'z'}), State::done, 11},
                      WalkCase{"extensions", bytes({0x93, 0xd4, 5, 0, 0xd8, 5, 0, 0, 0,    0, 0, 0, 0, 0,
                                                    0,    0,    0, 0, 0,    0, 0, 0, 0xc7, 2, 5, 0, 0}),
                               State::done, 27},
                      WalkCase{"cut_before_value", bytes({0x81, 0xa1, 'a'}), State::truncated, 3},
                      WalkCase{"cut_in_text", bytes({0x91, 0xa5, 'a'}), State::absurd_length, 1},
                      WalkCase{"cut_in_number", bytes({0x91, 0xcf, 0, 0}), State::truncated, 1},
                      WalkCase{"never", bytes({0x91, 0xc1}), State::invalid, 1},
                      WalkCase{"four_billion", bytes({0xdd, 0xff, 0xff, 0xff, 0xff, 0}), State::absurd_length, 0}),
    [](const auto& test) { return std::string(test.param.name); });

TEST(MsgpackWalk, RefusesDeepNesting) {
  Walk fine, deep;
  const std::string nested(64, '\x91');
  EXPECT_EQ(fine.go_on(nested + "\x01", 65), State::done);
  EXPECT_EQ(deep.go_on(std::string(100'000, '\x91'), 100'000), State::too_deep);
  EXPECT_EQ(deep.position(), 64u);
}

TEST(MsgpackHead, ReadsEachFormOfANumber) {  // R-SNAP-31
  EXPECT_EQ(read_head(bytes({0xcd, 0x5c, 0xd2})).integer, 23762);
  EXPECT_EQ(read_head(bytes({0xd1, 0x01, 0x2c})).integer, 300);
  EXPECT_EQ(read_head(bytes({0xff})).integer, -1);
  EXPECT_EQ(read_head(bytes({0xd3, 255, 255, 255, 255, 255, 255, 255, 254})).integer, -2);
  const Head large = read_head(bytes({0xcf, 255, 255, 255, 255, 255, 255, 255, 255}));
  EXPECT_EQ(large.kind, Kind::unsigned_integer);
  EXPECT_EQ(large.unsigned_, UINT64_MAX);
  EXPECT_EQ(read_head(bytes({0xcb, 0x3f, 0xf0, 0, 0, 0, 0, 0, 0})).real, 1.0);
}

}  // namespace
}  // namespace berth::io::msgpack
