// Chunked<T>: an array that grows by chunks of 4,096 elements, so that growing neither copies the elements nor
// doubles the memory. References to elements stay valid.
//   read      two dependent loads
//   threads   as a vector
#pragma once

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

namespace berth::base {

template <class T>
class Chunked {
  static constexpr std::size_t kChunk = 4096;

 public:
  [[nodiscard]] std::size_t size() const { return size_; }
  T& operator[](std::size_t at) { return chunks_[at / kChunk][at % kChunk]; }
  const T& operator[](std::size_t at) const { return chunks_[at / kChunk][at % kChunk]; }
  T& emplace_back() {
    resize(size_ + 1);
    return (*this)[size_ - 1];
  }
  void push_back(T value) { emplace_back() = std::move(value); }
  /// Only grows; new elements are T{}.
  void resize(std::size_t size) {
    while (chunks_.size() * kChunk < size) chunks_.push_back(std::make_unique<T[]>(kChunk));
    size_ = size;
  }
  [[nodiscard]] std::size_t bytes() const { return chunks_.size() * kChunk * sizeof(T); }

 private:
  std::vector<std::unique_ptr<T[]>> chunks_;
  std::size_t size_ = 0;
};

}  // namespace berth::base
