// The vector kernels of this folder, compiled for several instruction sets and chosen at run time. One file compiles
// them all, because Highway's headers take longer to compile than the kernels. Internal to this folder: what the
// kernels compute and their preconditions are documented at the functions that call them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "rank/crossings.h"
#include "rank/score_fit.h"
#include "rank/window.h"

namespace berth::rank::kernels {

/// rank/number_arrays-inl.h; `scalar` computes the values outside the fast domain.
void exp_array(const double* x, double* out, std::size_t n, double (*scalar)(double)) noexcept;
void pow10_array(const double* y, double* out, std::size_t n, double (*scalar)(double)) noexcept;

void fit_array(const FitFigures& of, std::size_t n, bool binpack, double* out,
               double (*scalar)(bool, double, double)) noexcept;

/// rank/trace-inl.h.
void undo_swaps(const std::uint32_t* picks, std::size_t n, std::size_t from, std::uint32_t* places) noexcept;

/// rank/window-inl.h.
[[nodiscard]] WindowScores score_columns(const WindowColumns& columns, std::size_t first, std::size_t last,
                                         double threshold, double* values) noexcept;

/// rank/crossings-inl.h.
[[nodiscard]] std::size_t list_crossings(const LeftRanges& ranges, std::size_t n, const AskedAmounts& ask,
                                         std::uint32_t* out) noexcept;

}  // namespace berth::rank::kernels
