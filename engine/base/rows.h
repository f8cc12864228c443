// Row numbers with a type per table, so that the compiler rejects a node's row where an allocation's is expected.
//
// A row is made from a number explicitly, NodeRow(i), or from a constant, NodeRow row = 0. It converts to a number
// implicitly, to index columns. kNoRow means "none" for every table. The tables are in engine/tables, except
// evaluations, which are in engine/broker.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

namespace berth::base {

struct NoRow {
  constexpr operator std::uint32_t() const { return ~0u; }  // NOLINT(google-explicit-constructor)
};
inline constexpr NoRow kNoRow;

template <class Table>
class Row {
 public:
  constexpr Row() = default;
  constexpr Row(NoRow none) : number_(none) {}  // NOLINT(google-explicit-constructor)
  template <std::integral Constant>
  consteval Row(Constant constant) : number_(static_cast<std::uint32_t>(constant)) {}  // NOLINT
  constexpr explicit Row(std::uint32_t number) : number_(number) {}
  constexpr explicit Row(std::size_t number) : number_(static_cast<std::uint32_t>(number)) {}
  constexpr explicit Row(std::int32_t number) : number_(static_cast<std::uint32_t>(number)) {}
  constexpr explicit Row(std::int64_t number) : number_(static_cast<std::uint32_t>(number)) {}
  template <class Other>
  explicit Row(Row<Other>) = delete;

  constexpr operator std::uint32_t() const { return number_; }  // NOLINT(google-explicit-constructor)
  constexpr Row& operator++() {
    ++number_;
    return *this;
  }
  constexpr Row operator++(int) { return Row(number_++); }

 private:
  std::uint32_t number_ = 0;
};

template <class A, class B>
requires(!std::same_as<A, B>) bool operator==(Row<A>, Row<B>) = delete;
template <class A, class B>
requires(!std::same_as<A, B>) auto operator<=>(Row<A>, Row<B>) = delete;

/// The same rows as plain numbers, for loops over vectors of numbers.
template <class Table>
[[nodiscard]] std::span<const std::uint32_t> numbers(std::span<const Row<Table>> rows) {
  static_assert(sizeof(Row<Table>) == sizeof(std::uint32_t));
  return {reinterpret_cast<const std::uint32_t*>(rows.data()), rows.size()};
}

using NodeRow = Row<struct NodesOf>;
using AllocRow = Row<struct AllocsOf>;
using JobKeyRow = Row<struct JobsOf>;       ///< a job: (namespace, ID)
using VersionRow = Row<struct VersionsOf>;  ///< one version of a job
using DeploymentRow = Row<struct DeploymentsOf>;
using EvalRow = Row<struct EvalsOf>;              ///< in progress: in the broker, the tracker or the server's books
using StoredEvalRow = Row<struct StoredEvalsOf>;  ///< in the state

}  // namespace berth::base

template <class Table>
struct std::hash<berth::base::Row<Table>> {
  std::size_t operator()(berth::base::Row<Table> row) const noexcept { return std::hash<std::uint32_t>{}(row); }
};
