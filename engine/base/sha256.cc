#include "base/sha256.h"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <iterator>
#include <new>

namespace berth::base {

void Sha256::Free::operator()(evp_md_ctx_st* context) const { EVP_MD_CTX_free(context); }

Sha256::Sha256() : context_(EVP_MD_CTX_new()) {
  // Both fail only when memory runs out: the digest is one of libcrypto's own.
  if (!context_ || EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr) != 1) throw std::bad_alloc();
}

void Sha256::add(std::string_view data) { EVP_DigestUpdate(context_.get(), data.data(), data.size()); }

std::string Sha256::bytes() {
  std::string digest(32, '\0');
  EVP_DigestFinal_ex(context_.get(), reinterpret_cast<unsigned char*>(digest.data()), nullptr);
  return digest;
}

std::string Sha256::hex() {
  std::string out;
  for (const char byte : bytes()) fmt::format_to(std::back_inserter(out), "{:02x}", static_cast<unsigned char>(byte));
  return out;
}

}  // namespace berth::base
