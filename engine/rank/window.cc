#include "rank/window.h"

#include "base/assert.h"
#include "rank/kernels.h"

namespace berth::rank {

WindowScores score_window(const WindowColumns& columns, std::size_t first, std::size_t last, double threshold,
                          double* values) noexcept {
  BERTH_ASSERT(last - first <= kWindowMost);
  return kernels::score_columns(columns, first, last, threshold, values);
}

}  // namespace berth::rank
