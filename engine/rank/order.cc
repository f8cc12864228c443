#include "rank/order.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

#include "base/assert.h"
#include "base/stages.h"

namespace berth::rank {
namespace {

/// R-RANK-307: the last 8 bytes of the text, big-endian, a shorter text padded with zero bytes on the left.
std::uint64_t mix_seed(std::string_view eval_id, std::uint64_t index) {
  std::uint64_t tail = 0;
  for (const char c : eval_id.substr(eval_id.size() < 8 ? 0 : eval_id.size() - 8))
    tail = tail << 8 | static_cast<unsigned char>(c);
  return tail ^ index;
}

/// One draw of R-RANK-307; advances z.
inline std::uint64_t draw(std::uint64_t& z) {
  z += 0x9e3779b97f4a7c15;
  std::uint64_t x = z;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
  x = (x ^ x >> 27) * 0x94d049bb133111eb;
  return x ^ x >> 31;
}

/// Upper 64 bits of the 128-bit product.
inline std::uint64_t scaled(std::uint64_t x, std::uint64_t n) {
  __extension__ using Wide = unsigned __int128;
  return static_cast<std::uint64_t>(static_cast<Wide>(x) * n >> 64);
}

}  // namespace

void VisitingOrder::grow(std::size_t n) {
  if (order_.size() < n) order_.resize(n);
}

void VisitingOrder::fill_ascending() {
  grow(size_);
  std::iota(order_.begin(), order_.begin() + static_cast<std::ptrdiff_t>(size_), 0u);
}

Result<void> VisitingOrder::set(OrderProvider provider, std::string_view eval_id, std::uint64_t index, std::size_t n,
                                std::size_t expected) {
  BERTH_ASSERT(n < (std::size_t{1} << 30));
  std::uint64_t seed = 0;
  if (provider == OrderProvider::nomad) {
    if (eval_id.size() < 8)
      return tl::unexpected(InputError{"", "", "evaluation ID " + std::string(eval_id) + " has fewer than 8 bytes",
                                       "provider nomad needs 8 (R-RANK-306)"});
    seed = static_cast<std::uint64_t>(base::shuffle_seed(eval_id, index));
  } else if (provider != OrderProvider::identity) {
    seed = mix_seed(eval_id, index);
  }
  if (provider == provider_ && seed == seed_ && n == size_) return {};
  provider_ = provider, seed_ = seed, size_ = n, fixed_ = n, expected_ = std::min(n, expected);
  switch (provider) {
    case OrderProvider::nomad:
    case OrderProvider::mix:
      if (n <= 1) {  // takes no draw, so it needs no seeding either (R-FEAS-206)
        fill_ascending();
        break;
      }
      grow(n);
      if (picks_.size() < n + base::GoRand::kPadding) picks_.resize(n + base::GoRand::kPadding);
      fixed_ = 0;
      drawn_ = false;
      break;
    case OrderProvider::lazy:
      grow(n);
      if (moved_.size() < n) moved_.resize(n, Moved{0, 0});
      if (++stamp_ == 0) {  // once in 2^32 orders the old stamps could be mistaken for new ones
        std::fill(moved_.begin(), moved_.end(), Moved{0, 0});
        stamp_ = 1;
      }
      state_ = seed, fixed_ = 0;
      break;
    case OrderProvider::identity:
      grow(n);
      fixed_ = 0;
      break;
  }
  return {};
}

void VisitingOrder::draw_picks() noexcept {
  drawn_ = true;
  if (provider_ == OrderProvider::nomad) {
    rand_.reseed(static_cast<std::int64_t>(seed_));
    rand_.shuffle_picks(std::span(picks_).first(size_ - 1));
    return;
  }
  std::uint64_t z = seed_;
  for (std::size_t k = 0; k + 1 < size_; ++k) picks_[k] = static_cast<std::uint32_t>(scaled(draw(z), size_ - k));
}

void VisitingOrder::shuffle() noexcept {
  fill_ascending();
  std::uint32_t* const last = order_.data() + (size_ - 1);
  for (std::size_t k = 0; k + 1 < size_; ++k) std::swap(last[-static_cast<std::ptrdiff_t>(k)], order_[picks_[k]]);
  fixed_ = size_;
}

/// Shuffles the first `count` entries. The fate of later entries is ignored, so a swap with one of them is a plain
/// move.
void VisitingOrder::shuffle_front(std::size_t count) noexcept {
  fill_ascending();
  std::uint32_t* const order = order_.data();
  const std::uint32_t* pick = picks_.data();
  for (std::size_t i = size_; i-- > count; ++pick) order[*pick] = order[i];
  for (std::size_t i = count; i-- > 1; ++pick) std::swap(order[i], order[*pick]);
  fixed_ = count;
}

void VisitingOrder::extend(std::size_t count) noexcept {
  BERTH_ASSERT(count <= size_);
  if (provider_ == OrderProvider::nomad || provider_ == OrderProvider::mix) {
    const base::StageScope ordering(base::Stage::order);
    if (!drawn_) draw_picks();
    const std::size_t traced = most_traced(size_);
    std::size_t wanted = std::max(count, expected_);
    if (wanted > traced) return fixed_ > 0 || traced == 0 || wanted > size_ / 2 ? shuffle() : shuffle_front(wanted);
    if (fixed_ == 0)
      trace_.begin(std::span(picks_).first(size_ - 1));
    else if (!ShuffleTrace::is_tabled(size_))
      wanted = traced;
    trace_.find(fixed_, std::span(order_).subspan(fixed_, wanted - fixed_));
    fixed_ = wanted;
    return;
  }
  if (provider_ != OrderProvider::lazy) {
    for (; fixed_ < count; ++fixed_) order_[fixed_] = static_cast<std::uint32_t>(fixed_);
    return;
  }
  // Entry k is final once drawn, so only the entry it is swapped with must be stored.
  const auto entry = [&](std::size_t i) {
    return moved_[i].stamp == stamp_ ? moved_[i].position : static_cast<std::uint32_t>(i);
  };
  for (; fixed_ < count; ++fixed_) {
    const std::size_t k = fixed_;
    const std::size_t j = k + 1 == size_ ? k : k + scaled(draw(state_), size_ - k);
    const std::uint32_t displaced = entry(k);
    order_[k] = entry(j);
    moved_[j] = {stamp_, displaced};
  }
}

}  // namespace berth::rank
