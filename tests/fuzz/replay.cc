// Replays the recorded inputs of the targets of this program. A file of `corpus/` has those of one target, each line
// an input as a JSON string whose characters are its bytes.
#include <gtest/gtest.h>

#include "fuzz/harness.h"
#include "io/files.h"
#include "io/json_parse.h"

namespace berth::fuzz {
namespace {

/// The bytes of a text whose characters are at most U+00FF.
std::string bytes_of(const std::string& text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    if (c < 0x80)
      out += text[i];
    else
      out += static_cast<char>((c & 3) << 6 | (static_cast<unsigned char>(text[++i]) & 0x3f));
  }
  return out;
}

class Replay : public ::testing::TestWithParam<FuzzTarget> {};

TEST_P(Replay, HoldsForEveryRecordedInput) {
  const std::string path = std::string(BERTH_SOURCE_DIR) + "/tests/fuzz/corpus/" + GetParam().name + ".jsonl";
  std::size_t count = 0;
  const auto read = io::read_lines(path, [&](std::string_view line, std::size_t number) {
    const auto input = io::parse_json(line, path, std::to_string(number));
    EXPECT_TRUE(input && input->is_string()) << path << ":" << number;
    if (!input) return false;
    SCOPED_TRACE(path + ":" + std::to_string(number));
    EXPECT_NO_THROW(GetParam().run(bytes_of(input->as_string())));
    ++count;
    return true;
  });
  ASSERT_TRUE(read) << read.error().line();
  EXPECT_GT(count, 0U) << path;
}

INSTANTIATE_TEST_SUITE_P(FuzzTargets, Replay, ::testing::ValuesIn(fuzz_targets()),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace berth::fuzz
