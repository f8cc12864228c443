// Shared and SharedOptional compared with plain values, also after copies; Chunked compared with std::vector.
#include "base/shared.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/chunked.h"

namespace berth::base {
namespace {

using Text = Shared<std::string>;

TEST(Shared, ReadsAsItsValue) {
  Text text;
  EXPECT_TRUE(text.empty());
  EXPECT_EQ(text, "");
  EXPECT_EQ(text, std::string());
  text = "a";
  EXPECT_FALSE(text.empty());
  EXPECT_EQ(text, "a");
  EXPECT_EQ(text->size(), 1u);
  const std::string& read = text;
  EXPECT_EQ(&read, &*text);
  text = "";
  EXPECT_EQ(text, Text()) << "an empty text is none";
  text = "b";
  text.clear();
  EXPECT_TRUE(text.empty());
}

TEST(Shared, CopiesShareUntilOneIsWrittenTo) {
  Text a = std::string("a");
  Text b = a;
  EXPECT_EQ(&*a, &*b);
  EXPECT_EQ(a, b);
  b.own() += "b";
  EXPECT_EQ(a, "a");
  EXPECT_EQ(b, "ab");
  const std::string* place = &*b;
  b.own() += "c";
  EXPECT_EQ(&*b, place) << "its own already";
  Text none;
  none.own() = "n";
  EXPECT_EQ(Text(), "");
  EXPECT_EQ(none, "n");
  b = "a";
  EXPECT_EQ(a, b) << "equal without being shared";
}

TEST(SharedOptional, IsAnOptionalWhoseCopiesShare) {
  using Maybe = SharedOptional<std::string>;
  Maybe a;
  EXPECT_FALSE(a);
  EXPECT_EQ(a, Maybe(std::nullopt));
  a.emplace() = "a";
  EXPECT_NE(a, Maybe());
  EXPECT_NE(Maybe(std::string()), Maybe()) << "an empty one is there";
  Maybe b = a;
  const Maybe &read_a = a, &read_b = b;
  EXPECT_EQ(&*read_a, &*read_b);
  b->push_back('b');
  EXPECT_EQ(*read_a, "a");
  EXPECT_EQ(*read_b, "ab");
  b = a;
  *b = "c";
  EXPECT_EQ(*read_a, "a");
  b = a;
  b.emplace("d");
  EXPECT_EQ(*read_a, "a");
  b.reset();
  EXPECT_FALSE(b.has_value());
  EXPECT_TRUE(a.has_value());
  EXPECT_EQ(Maybe(std::optional<std::string>("a")), a);
  EXPECT_FALSE(Maybe(std::optional<std::string>()));
}

TEST(Chunked, GrowsWithoutMoving) {
  Chunked<std::uint64_t> list;
  EXPECT_EQ(list.size(), 0u);
  std::vector<const std::uint64_t*> places;
  for (std::uint64_t i = 0; i < 4096 * 2 + 1; ++i) {
    if (i % 2 != 0)
      list.push_back(i);
    else
      list.emplace_back() = i;
    places.push_back(&list[i]);
  }
  list.resize(4096 * 5);
  EXPECT_EQ(list.size(), 4096u * 5);
  EXPECT_EQ(list[4096 * 3], 0u);
  for (std::uint64_t i = 0; i < places.size(); ++i) {
    ASSERT_EQ(list[i], i);
    ASSERT_EQ(&list[i], places[i]);
  }
}

}  // namespace
}  // namespace berth::base
