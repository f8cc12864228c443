#include "tables/symbols.h"

namespace berth::tables {

SymbolTable::SymbolTable() { intern(""); }

SymbolTable::~SymbolTable() {
  for (auto& segment : segments_) delete[] segment.load(std::memory_order_relaxed);
}

Symbol SymbolTable::intern(std::string_view text) {
  if (const auto found = index_.find(text); found != index_.end()) return found->second;
  const Symbol symbol = size_++;
  const auto [segment, offset] = locate(symbol);
  std::string* texts = segments_[segment].load(std::memory_order_relaxed);
  if (!texts) {
    texts = new std::string[segment == 0 ? kFirst : kFirst << (segment - 1)];
    // Publish the segment: pairs with the acquire load in text(). A symbol itself reaches other threads through a
    // table.
    segments_[segment].store(texts, std::memory_order_release);
  }
  texts[offset] = std::string(text);
  index_.emplace(std::string_view(texts[offset]), symbol);
  return symbol;
}

Symbol SymbolTable::find(std::string_view text) const {
  const auto found = index_.find(text);
  return found == index_.end() ? kUnknown : found->second;
}

}  // namespace berth::tables
