// Interned strings: every name that enters the engine becomes a 32-bit symbol at the border.
//
// Most stay for ever. Names that come and go, the IDs of jobs, are counted: a symbol that was only ever counted, and
// whose last use is over, is given to another text.
//
// Threads: one writer interns; any thread may read the text of a symbol it was given. Texts never move: segments double
// in size and are published by an atomic pointer (release store in intern(), acquire load in text()).
#pragma once

#include <tsl/robin_map.h>

#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace berth::tables {

using Symbol = std::uint32_t;
inline constexpr Symbol kEmptySymbol = 0;  ///< ""

class SymbolTable {
 public:
  SymbolTable();
  ~SymbolTable();
  SymbolTable(const SymbolTable&) = delete;
  SymbolTable& operator=(const SymbolTable&) = delete;

  Symbol intern(std::string_view text);
  /// As intern(), for as long as release() is not called as often.
  Symbol intern_use(std::string_view text);
  /// One use less. After the last nobody may have the symbol any more, on no thread.
  void release(Symbol symbol);
  /// The symbol of a text that was interned before, or kUnknown. Writer's side only.
  [[nodiscard]] Symbol find(std::string_view text) const;
  [[nodiscard]] const std::string& text(Symbol symbol) const {
    const auto [segment, offset] = locate(symbol);
    return segments_[segment].load(std::memory_order_acquire)[offset];
  }
  [[nodiscard]] std::uint32_t size() const { return size_; }  ///< those that wait for another text included
  /// Memory of the texts and the index, without what texts of more than 15 bytes hold outside.
  [[nodiscard]] std::size_t bytes() const {
    std::size_t texts = kFirst;
    while (texts < size_) texts *= 2;
    return texts * sizeof(std::string) + index_.bucket_count() * (sizeof(std::string_view) + 16) +
           uses_.capacity() * sizeof(std::uint32_t);
  }

  static constexpr Symbol kUnknown = ~0u;

 private:
  static constexpr std::uint32_t kFirst = 1024;
  static constexpr std::uint32_t kForEver = ~0u;
  Symbol add(std::string_view text, std::uint32_t uses);
  struct Place {
    std::uint32_t segment, offset;
  };
  // Segment 0 holds [0, kFirst), segment s >= 1 holds [kFirst << (s - 1), kFirst << s).
  static Place locate(Symbol symbol) {
    if (symbol < kFirst) return {0, symbol};
    const auto segment = static_cast<std::uint32_t>(std::bit_width(symbol / kFirst));
    return {segment, symbol - (kFirst << (segment - 1))};
  }

  std::array<std::atomic<std::string*>, 23> segments_{};
  std::uint32_t size_ = 0;
  tsl::robin_map<std::string_view, Symbol> index_;
  std::vector<std::uint32_t> uses_;  // by symbol
  std::vector<Symbol> free_;
};

}  // namespace berth::tables
