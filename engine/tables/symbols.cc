#include "tables/symbols.h"

#include "base/assert.h"

namespace berth::tables {

SymbolTable::SymbolTable() { intern(""); }

SymbolTable::~SymbolTable() {
  for (auto& segment : segments_) delete[] segment.load(std::memory_order_relaxed);
}

Symbol SymbolTable::intern(std::string_view text) {
  const auto found = index_.find(text);
  if (found == index_.end()) return add(text, kForEver);
  uses_[found->second] = kForEver;
  return found->second;
}

Symbol SymbolTable::intern_use(std::string_view text) {
  const auto found = index_.find(text);
  if (found == index_.end()) return add(text, 1);
  std::uint32_t& uses = uses_[found->second];
  if (uses != kForEver) ++uses;
  return found->second;
}

void SymbolTable::release(Symbol symbol) {
  std::uint32_t& uses = uses_[symbol];
  if (uses == kForEver) return;
  BERTH_ASSERT(uses > 0);
  if (--uses != 0) return;
  index_.erase(text(symbol));
  free_.push_back(symbol);
}

Symbol SymbolTable::add(std::string_view text, std::uint32_t uses) {
  Symbol symbol;
  if (free_.empty()) {
    symbol = size_++;
    uses_.push_back(uses);
  } else {
    symbol = free_.back();
    free_.pop_back();
    uses_[symbol] = uses;
  }
  const auto [segment, offset] = locate(symbol);
  std::string* texts = segments_[segment].load(std::memory_order_relaxed);
  if (!texts) {
    texts = new std::string[segment == 0 ? kFirst : kFirst << (segment - 1)];
    // Publish the segment: pairs with the acquire load in text(). A symbol reaches other threads through a table.
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
