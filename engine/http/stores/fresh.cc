#include "http/stores/fresh.h"

#include <openssl/rand.h>

#include <array>
#include <stdexcept>

#include "base/uuid.h"

namespace berth::http {

std::string fresh_uuid() {
  std::array<unsigned char, 16> bytes{};
  if (RAND_bytes(bytes.data(), static_cast<int>(bytes.size())) != 1)
    throw std::runtime_error("the system has no random numbers");
  base::Uuid id;
  for (std::size_t i = 0; i < 8; ++i) id.hi = id.hi << 8 | bytes[i], id.lo = id.lo << 8 | bytes[i + 8];
  id.hi = (id.hi & ~std::uint64_t{0xf000}) | 0x4000;
  id.lo = (id.lo & ~(std::uint64_t{0xc} << 60)) | std::uint64_t{0x8} << 60;
  return base::to_text(id);
}

}  // namespace berth::http
