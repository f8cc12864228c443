#include "base/shared_vector.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>

namespace berth::base {
namespace {

using Texts = SharedVector<std::string>;

TEST(SharedVector, CopiesShareUntilOneIsWrittenTo) {
  Texts a{"x", "y"};
  const Texts b = a;
  EXPECT_TRUE(a.shares(b));
  EXPECT_EQ(a, b);
  const Texts& read = a;
  EXPECT_EQ(read.front() + read[1] + read.back() + read.at(0), "xyyx");
  EXPECT_TRUE(a.shares(b)) << "reading does not copy";
  a[1] = "z";
  EXPECT_FALSE(a.shares(b));
  EXPECT_EQ(b, (Texts{"x", "y"}));
  EXPECT_EQ(a, (Texts{"x", "z"}));
  const std::string* place = &a.front();
  a.back() = "w";
  EXPECT_EQ(&a.front(), place) << "its own already";
}

TEST(SharedVector, NoWayToWriteChangesCopies) {
  const Texts original{"a", "b", "c"};
  const auto differs = [&](auto change) {
    Texts copy = original;
    change(copy);
    EXPECT_EQ(original, (Texts{"a", "b", "c"}));
    return copy != original;
  };
  EXPECT_TRUE(differs([](Texts& t) { t.push_back("d"); }));
  EXPECT_TRUE(differs([](Texts& t) { t.emplace_back() = "d"; }));
  EXPECT_TRUE(differs([](Texts& t) { t.resize(1); }));
  EXPECT_TRUE(differs([](Texts& t) { t.clear(); }));
  EXPECT_TRUE(differs([](Texts& t) { t.at(2) = "d"; }));
  EXPECT_TRUE(differs([](Texts& t) { t.erase_if([](const std::string& s) { return s == "b"; }); }));
  EXPECT_TRUE(differs([](Texts& t) {
    for (std::string& s : t) s += "!";
  }));
  EXPECT_FALSE(differs([](Texts& t) { t.reserve(100); }));
}

TEST(SharedVector, EmptyOnesAreEqual) {
  Texts none, emptied{"a"};
  emptied.clear();
  EXPECT_TRUE(none.empty() && emptied.empty());
  EXPECT_EQ(none, emptied);
  EXPECT_EQ(none.begin(), none.end());
  EXPECT_NE(none, Texts{"a"});
}

TEST(SharedVector, CopiesMayBeWrittenToOnOtherThreads) {
  Texts shared;
  for (int i = 0; i < 100; ++i) shared.push_back(std::to_string(i));
  const auto write = [](Texts mine, int by, bool* fine) {
    for (int i = 0; i < 100; ++i) {
      const Texts before = mine;
      mine[static_cast<std::size_t>(i)] += std::to_string(by);
      *fine = *fine && before[static_cast<std::size_t>(i)] == std::to_string(i);
    }
    for (int i = 0; i < 100; ++i)
      *fine = *fine && mine[static_cast<std::size_t>(i)] == std::to_string(i) + std::to_string(by);
  };
  bool fine[2] = {true, true};
  std::thread first(write, shared, 1, &fine[0]), second(write, shared, 2, &fine[1]);
  shared = {};
  first.join(), second.join();
  EXPECT_TRUE(fine[0] && fine[1]);
}

}  // namespace
}  // namespace berth::base
