#include "compare/seeds.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace berth::compare {

Result<std::vector<std::int64_t>> parse_seeds(const std::string& text, std::int64_t first) {
  constexpr std::int64_t kSeedsMax = 10'000, kSeedMax = std::int64_t{1} << 62;
  const auto bad = [&] {
    return tl::unexpected(
        InputError{"--seeds", "", fmt::format("'{}' names no seeds", text.substr(0, 40)),
                   "write a number of seeds, a range as 42..51, or a list as 1,5,9 (at most 10,000)"});
  };
  const auto seed_of = [](std::string_view word) { return base::parse_int64(base::trim_space(word)); };
  std::vector<std::int64_t> out;
  if (const std::size_t dots = text.find(".."); dots != std::string::npos) {
    const auto from = seed_of(std::string_view(text).substr(0, dots)),
               to = seed_of(std::string_view(text).substr(dots + 2));
    if (!from || !to || *from < 0 || *to < *from || *to > kSeedMax || *to - *from >= kSeedsMax) return bad();
    for (std::int64_t seed = *from; seed <= *to; ++seed) out.push_back(seed);
    return out;
  }
  const auto words = base::split(text, ',');
  if (words.size() == 1) {
    const auto count = seed_of(words[0]);
    if (!count || *count < 1 || *count > kSeedsMax) return bad();
    for (std::int64_t i = 0; i < *count; ++i) out.push_back(first + i);
    return out;
  }
  for (const std::string_view word : words) {
    const auto seed = seed_of(word);
    if (!seed || *seed < 0 || *seed > kSeedMax || std::find(out.begin(), out.end(), *seed) != out.end()) return bad();
    out.push_back(*seed);
  }
  return out;
}

}  // namespace berth::compare
