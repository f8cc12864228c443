#include "base/sha256.h"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <array>
#include <iterator>
#include <new>

namespace berth::base {

void Sha256::Free::operator()(evp_md_ctx_st* context) const { EVP_MD_CTX_free(context); }

Sha256::Sha256() : context_(EVP_MD_CTX_new()) {
  // Both fail only when memory runs out: the digest is one of libcrypto's own.
  if (!context_ || EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr) != 1) throw std::bad_alloc();
}

void Sha256::add(std::string_view data) { EVP_DigestUpdate(context_.get(), data.data(), data.size()); }

std::string Sha256::hex() {
  std::array<unsigned char, 32> digest{};
  EVP_DigestFinal_ex(context_.get(), digest.data(), nullptr);
  std::string out;
  for (const unsigned char byte : digest) fmt::format_to(std::back_inserter(out), "{:02x}", byte);
  return out;
}

}  // namespace berth::base
