#include "tables/symbols.h"

#include <gtest/gtest.h>

#include <vector>

namespace berth::tables {
namespace {

TEST(SymbolTable, EmptyTextIsSymbolZero) {
  SymbolTable table;
  EXPECT_EQ(table.intern(""), kEmptySymbol);
  EXPECT_EQ(table.text(kEmptySymbol), "");
  EXPECT_EQ(table.size(), 1u);
}

TEST(SymbolTable, EqualTextsShareOneSymbol) {
  SymbolTable table;
  const Symbol a = table.intern("linux"), b = table.intern("windows");
  EXPECT_NE(a, b);
  EXPECT_EQ(table.intern(std::string("lin") + "ux"), a);
  EXPECT_EQ(table.find("windows"), b);
  EXPECT_EQ(table.find("plan9"), SymbolTable::kUnknown);
  const Symbol zero_inside = table.intern(std::string_view("a\0b", 3));
  EXPECT_EQ(table.find(std::string_view("a\0b", 3)), zero_inside);
  EXPECT_NE(table.intern("a"), zero_inside);
}

TEST(SymbolTable, CountedNamesMakeRoomForOthers) {
  SymbolTable table;
  const Symbol job = table.intern_use("job-1");
  EXPECT_EQ(table.intern_use("job-1"), job);  // in two namespaces
  table.release(job);
  EXPECT_EQ(table.find("job-1"), job);
  table.release(job);
  EXPECT_EQ(table.find("job-1"), SymbolTable::kUnknown);
  EXPECT_EQ(table.intern_use("job-2"), job);
  EXPECT_EQ(table.text(job), "job-2");
  EXPECT_EQ(table.size(), 2u);
  EXPECT_EQ(table.intern("job-2"), job);  // now another permanent text has it
  table.release(job);
  EXPECT_EQ(table.find("job-2"), job);
  const Symbol group = table.intern("web");
  EXPECT_EQ(table.intern_use("web"), group);
  table.release(group);
  EXPECT_EQ(table.find("web"), group);
  for (int i = 0; i < 10'000; ++i) table.release(table.intern_use("job-" + std::to_string(100 + i)));
  EXPECT_EQ(table.size(), 4u);
}

TEST(SymbolTable, TextsStayAcrossSegments) {  // segments end at 1,024, 2,048, 4,096, ... symbols
  SymbolTable table;
  std::vector<const std::string*> places;
  for (int i = 1; i < 10'000; ++i) {
    const Symbol symbol = table.intern("text " + std::to_string(i));
    ASSERT_EQ(symbol, static_cast<Symbol>(i));
    places.push_back(&table.text(symbol));
  }
  for (int i = 1; i < 10'000; ++i) {
    ASSERT_EQ(*places[static_cast<std::size_t>(i - 1)], "text " + std::to_string(i));
    ASSERT_EQ(&table.text(static_cast<Symbol>(i)), places[static_cast<std::size_t>(i - 1)]);
  }
}

}  // namespace
}  // namespace berth::tables
