// The table of Nomad's quirks as tests: one test suite per field of model::Quirks, with the field's name. Each test
// decides one small case twice, as Nomad does and with only that quirk off. list_test.cc fails if a field has no test.
#pragma once

#include <gtest/gtest.h>

#include "model/quirks.h"

namespace berth::testing_quirks {

inline model::Quirks without(bool model::Quirks::*quirk) {
  model::Quirks out;
  out.*quirk = false;
  return out;
}

/// For behaviour that is the same with all quirks and with none.
inline const model::Quirks kAllAndNone[] = {model::Quirks(), model::Quirks::none()};

}  // namespace berth::testing_quirks

using berth::testing_quirks::kAllAndNone;

/// The body runs twice, with the quirk on and off. `off` is true in the second run; `quirks` is the setting.
#define QUIRK_TEST(quirk, what)                                                                    \
  void quirk##_##what(const model::Quirks& quirks, bool off);                                      \
  TEST(quirk, what) {                                                                              \
    for (const bool off : {false, true}) {                                                         \
      SCOPED_TRACE(off ? #quirk "=off" : "as Nomad");                                              \
      quirk##_##what(off ? testing_quirks::without(&model::Quirks::quirk) : model::Quirks(), off); \
    }                                                                                              \
  }                                                                                                \
  void quirk##_##what([[maybe_unused]] const model::Quirks& quirks, bool off)
