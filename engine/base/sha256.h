// SHA-256 (FIPS 180-4) of data that arrives in pieces, for digests of recorded decisions that other programs can
// recompute. By OpenSSL's libcrypto.
#pragma once

#include <memory>
#include <string>
#include <string_view>

struct evp_md_ctx_st;

namespace berth::base {

class Sha256 {
 public:
  Sha256();
  void add(std::string_view data);
  /// The digest, 32 bytes. Nothing may be added afterwards.
  [[nodiscard]] std::string bytes();
  /// The same as 64 hex digits.
  [[nodiscard]] std::string hex();

 private:
  struct Free {
    void operator()(evp_md_ctx_st* context) const;
  };
  std::unique_ptr<evp_md_ctx_st, Free> context_;
};

}  // namespace berth::base
