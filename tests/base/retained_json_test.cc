// Retained compared with a plain Value, also after copies.
#include "base/retained_json.h"

#include <gtest/gtest.h>

#include <utility>

#include "base/json.h"

namespace berth::json {
namespace {

Value object(const char* key, Value value) {
  Value out = Value::object();
  out.set(key, std::move(value));
  return out;
}

TEST(Retained, ReadsAsItsValue) {
  static_assert(sizeof(Retained) == sizeof(void*));
  const Retained none, null = Value();
  EXPECT_TRUE(none.is_null() && null.is_null());
  EXPECT_EQ(none, null);
  EXPECT_TRUE(none.items().empty() && none.members().empty() && none["a"].is_null() && none[0].is_null());
  const Retained one = object("a", 1);
  EXPECT_TRUE(one.is_object() && one.has("a") && !one.has("b"));
  EXPECT_EQ(one["a"].as_int(), 1);
  EXPECT_EQ(one, object("a", 1)) << "equal without being shared";
  EXPECT_NE(one, object("a", 2));
  EXPECT_NE(one, none);
  const Value& read = one;
  EXPECT_EQ(&read, &*one);
}

TEST(Retained, ANullThatIsSharedCanBeWrittenTo) {
  Retained a;
  (void)a.own();  // holds a null now
  Retained b = a;
  b.set("x", 1);
  EXPECT_TRUE(a.is_null());
  EXPECT_EQ(b, object("x", 1));
}

TEST(Retained, CopiesShareUntilOneIsWrittenTo) {
  Retained a = object("a", 1);
  Retained b = a;
  EXPECT_EQ(&*a, &*b);
  b.set("b", 2);
  EXPECT_EQ(a, object("a", 1));
  EXPECT_EQ(b["b"].as_int(), 2);
  const Value* place = &*b;
  b.set("c", 3);
  EXPECT_EQ(&*b, place) << "its own already";
  Retained c = b;
  EXPECT_FALSE(c.erase("d"));
  EXPECT_EQ(&*b, &*c) << "nothing was written";
  EXPECT_TRUE(c.erase("c"));
  EXPECT_TRUE(b.has("c"));
  c = a;
  EXPECT_EQ(&*a, &*c);
  c = std::move(b);
  EXPECT_TRUE(b.is_null() && c.has("b"));  // NOLINT(bugprone-use-after-move): a moved one is null
  c.own() = Value();
  EXPECT_TRUE(c.is_null());
  EXPECT_EQ(c, Retained());
}

TEST(Retained, ANullBecomesWhatIsAdded) {
  Retained list, members;
  list.push(1), list.push(2);
  EXPECT_EQ(list.items().size(), 2u);
  EXPECT_EQ(members.find("a"), nullptr);
  EXPECT_TRUE(members.is_null());
  members.set("a", 1);
  EXPECT_EQ(members, object("a", 1));
  members = nullptr;
  EXPECT_TRUE(members.is_null());
}

}  // namespace
}  // namespace berth::json
