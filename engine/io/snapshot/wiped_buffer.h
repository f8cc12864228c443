// Buffer for file contents that may hold secrets; it is overwritten before it is freed (R-SNAP-112).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <string_view>

namespace berth::io {

class WipedBuffer {
 public:
  WipedBuffer() = default;
  explicit WipedBuffer(std::size_t capacity) { grow(capacity); }
  ~WipedBuffer() { wipe(); }
  WipedBuffer(const WipedBuffer&) = delete;
  WipedBuffer& operator=(const WipedBuffer&) = delete;

  [[nodiscard]] char* data() { return bytes_.get(); }
  [[nodiscard]] std::size_t capacity() const { return capacity_; }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] std::string_view view() const { return {bytes_.get(), size_}; }
  /// After bytes were written to data(): `size` of them are the content.
  void set_size(std::size_t size) { size_ = size, written_ = std::max(written_, size); }

  void append(std::string_view more) {
    if (more.empty()) return;
    if (more.size() > capacity_ - size_) grow(2 * (size_ + more.size()));
    std::memcpy(bytes_.get() + size_, more.data(), more.size());
    set_size(size_ + more.size());
  }
  void drop(std::size_t count) {
    if (count > 0 && count < size_) std::memmove(bytes_.get(), bytes_.get() + count, size_ - count);
    size_ -= count;
  }

 private:
  void grow(std::size_t capacity) {
    auto bytes = std::make_unique_for_overwrite<char[]>(capacity);
    if (size_ > 0) std::memcpy(bytes.get(), bytes_.get(), size_);
    wipe();
    bytes_ = std::move(bytes), capacity_ = capacity, written_ = size_;
  }
  void wipe() {
    if (bytes_) explicit_bzero(bytes_.get(), written_);
  }

  std::unique_ptr<char[]> bytes_;
  std::size_t capacity_ = 0, size_ = 0;
  std::size_t written_ = 0;  // bytes from here on were never written
};

}  // namespace berth::io
