// A library that is loaded when it is first used (base/late_library.h).
#include "base/late_library.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

namespace berth::base {
namespace {

std::string refusal_of(const char* library, const char* name) {
  try {
    LateFunction<double(double)>({library, "libgiven"}, name)(1.0);
  } catch (const std::runtime_error& problem) {
    return problem.what();
  }
  return "";
}

TEST(LateLibrary, LoadsAFunctionOfTheLibrary) {
  constexpr LateFunction<double(double)> cosine({"libm.so.6", "libc6"}, "cos");
  EXPECT_EQ(cosine(0.0), 1.0);
}

TEST(LateLibrary, NamesTheRemedyForAMissingLibrary) {
  const std::string refusal = refusal_of("libnone.so.7", "cos");
  EXPECT_NE(refusal.find("libnone.so.7"), std::string::npos) << refusal;
  EXPECT_TRUE(refusal.ends_with("; remedy: apt-get install libgiven")) << refusal;
}

TEST(LateLibrary, NamesTheFunctionThatTheLibraryLacks) {
  const std::string refusal = refusal_of("libm.so.6", "no_such_function");
  EXPECT_NE(refusal.find("no_such_function"), std::string::npos) << refusal;
}

}  // namespace
}  // namespace berth::base
