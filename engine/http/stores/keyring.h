// The keyring: root keys, and the RSA keys that sign identities (R-STORE-180 to 190). One active key is made at the
// start. A key pair is generated at first use, because that takes a tenth of a second or more, and many servers never
// need one.
//
// Uses OpenSSL. Threads: the simulation's; a key pair may be generated on any thread, once.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "http/stores/variables.h"

struct evp_pkey_st;

namespace berth::http {

/// An RSA key of 2,048 bits.
class SigningKey {
 public:
  SigningKey() = default;
  ~SigningKey();
  SigningKey(const SigningKey&) = delete;
  SigningKey& operator=(const SigningKey&) = delete;

  [[nodiscard]] std::string modulus() const;  ///< base64url without padding
  /// RS256 over `text`, base64url without padding.
  [[nodiscard]] std::string sign(std::string_view text) const;
  [[nodiscard]] bool verifies(std::string_view text, std::string_view signature) const;
  [[nodiscard]] std::string pem() const;                    ///< of the private key, for snapshots
  void set_pem(std::string pem) { pem_ = std::move(pem); }  ///< to be called before all other functions

 private:
  evp_pkey_st* pair() const;
  std::string pem_;
  mutable std::once_flag once_;
  mutable std::atomic<bool> is_made_{false};
  mutable evp_pkey_st* pair_ = nullptr;
};

struct RootKey {
  std::string id, state;  ///< active, inactive, prepublished, deprecated
  std::uint64_t create_index = 0, modify_index = 0;
  std::int64_t create_time = 0, publish_time = 0;  ///< virtual, unix ns
  std::shared_ptr<SigningKey> signing;
};

[[nodiscard]] json::Value root_key_json(const RootKey& key);

class Keyring {
 public:
  static constexpr std::int64_t kNever = Variables::kNever;
  static constexpr std::size_t kMost = 64;  ///< maximum number of keys; every answer of jwks.json contains all

  /// Makes the first key (R-STORE-180).
  void begin(std::int64_t now);
  [[nodiscard]] const std::map<std::string, RootKey>& keys() const { return keys_; }  ///< by ID
  [[nodiscard]] const RootKey& active() const { return keys_.at(active_); }
  /// Adds a new key, active from `publish_time` on; 0: at once. Returns the stored key.
  const RootKey& rotate(std::uint64_t index, std::int64_t now, std::int64_t publish_time);
  bool remove(const std::string& id);

  /// A signed token with these claims.
  [[nodiscard]] static std::string signed_token(const RootKey& key, const json::Value& claims);
  /// True if one of the keys signed this token.
  [[nodiscard]] bool is_own(std::string_view token) const;

  /// Next time at which a prepublished key becomes active.
  [[nodiscard]] std::int64_t next_due() const;
  /// Activates the keys due at `now`. `index`: of the log entry. To be called when next_due() is due.
  void publish_due(std::int64_t now, std::uint64_t index);

  [[nodiscard]] std::function<json::Value()> copy() const;
  /// Replaces the keys by stored ones; without stored keys nothing changes.
  void restore(const json::Value& stored);

 private:
  void activate(const std::string& id, std::uint64_t index);

  std::map<std::string, RootKey> keys_;
  std::string active_;
};

}  // namespace berth::http
