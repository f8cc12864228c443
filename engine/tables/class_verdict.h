// The computed classes that a waiting evaluation found eligible or not (R-FEAS-1701). One list is shared by all its
// users: the result of a retry, the tracker's entry, the result of the next retry.
#pragma once

#include "base/shared_vector.h"
#include "tables/symbols.h"

namespace berth::tables {

struct ClassVerdict {
  Symbol node_class = kEmptySymbol;
  bool eligible = false;
  friend bool operator==(const ClassVerdict&, const ClassVerdict&) = default;
};
using ClassVerdicts = base::SharedVector<ClassVerdict>;

}  // namespace berth::tables
