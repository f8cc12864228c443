// Interned strings: every name that enters the engine becomes a 32-bit symbol on entry.
//
// Most symbols are permanent. Temporary names, the IDs of jobs, are counted: a symbol that was only ever counted is
// reused for another text after its last use ends.
//
// Threads: one writer interns; any thread may read the text of a symbol it received. Texts never move: segments double
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
  /// Like intern(), but only until release() was called as often.
  Symbol intern_use(std::string_view text);
  /// Ends one use. After the last one, no thread may hold the symbol any more.
  void release(Symbol symbol);
  /// The symbol of a text that was interned before, or kUnknown. Writer's thread only.
  [[nodiscard]] Symbol find(std::string_view text) const;
  [[nodiscard]] const std::string& text(Symbol symbol) const {
    const auto [segment, offset] = locate(symbol);
    return segments_[segment].load(std::memory_order_acquire)[offset];
  }
  [[nodiscard]] std::uint32_t size() const { return size_; }  ///< includes symbols that wait for reuse
  /// Memory of the texts and the index, without the heap memory of texts longer than 15 bytes.
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
