#include "http/stores/keyring.h"

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>

#include <algorithm>
#include <stdexcept>

#include "base/text.h"
#include "http/stores/fresh.h"
#include "http/stores/web_token.h"
#include "io/json_parse.h"

namespace berth::http {

namespace {

constexpr unsigned kModulusBits = 2048;

struct FreeContext {
  void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
};
struct FreeBio {
  void operator()(BIO* bio) const { BIO_free(bio); }
};
struct FreeNumber {
  void operator()(BIGNUM* number) const { BN_free(number); }
};

[[noreturn]] void fail_key(const char* what) { throw std::runtime_error(std::string("OpenSSL cannot ") + what); }

}  // namespace

// ---------------------------------------------------------------- one key

SigningKey::~SigningKey() { EVP_PKEY_free(pair_); }

evp_pkey_st* SigningKey::pair() const {
  std::call_once(once_, [this] {
    if (pem_.empty()) {
      pair_ = EVP_RSA_gen(kModulusBits);
    } else {
      const std::unique_ptr<BIO, FreeBio> text(BIO_new_mem_buf(pem_.data(), static_cast<int>(pem_.size())));
      pair_ = PEM_read_bio_PrivateKey(text.get(), nullptr, nullptr, nullptr);
      if (pair_ && (EVP_PKEY_get_base_id(pair_) != EVP_PKEY_RSA || EVP_PKEY_get_bits(pair_) < 1024))
        EVP_PKEY_free(std::exchange(pair_, nullptr));
      if (!pair_) pair_ = EVP_RSA_gen(kModulusBits);  // the snapshot has an invalid key
    }
    if (!pair_) fail_key("make an RSA key");
    is_made_ = true;
  });
  return pair_;
}

std::string SigningKey::modulus() const {
  BIGNUM* number = nullptr;
  if (EVP_PKEY_get_bn_param(pair(), OSSL_PKEY_PARAM_RSA_N, &number) != 1) fail_key("read an RSA key");
  const std::unique_ptr<BIGNUM, FreeNumber> held(number);
  std::string bytes(static_cast<std::size_t>(BN_num_bytes(number)), '\0');
  BN_bn2bin(number, reinterpret_cast<unsigned char*>(bytes.data()));
  return to_base64url(bytes);
}

std::string SigningKey::sign(std::string_view text) const {
  const std::unique_ptr<EVP_MD_CTX, FreeContext> context(EVP_MD_CTX_new());
  std::size_t size = 0;
  const auto* data = reinterpret_cast<const unsigned char*>(text.data());
  if (EVP_DigestSignInit(context.get(), nullptr, EVP_sha256(), nullptr, pair()) != 1 ||
      EVP_DigestSign(context.get(), nullptr, &size, data, text.size()) != 1)
    fail_key("sign");
  std::string out(size, '\0');
  if (EVP_DigestSign(context.get(), reinterpret_cast<unsigned char*>(out.data()), &size, data, text.size()) != 1)
    fail_key("sign");
  out.resize(size);
  return to_base64url(out);
}

bool SigningKey::verifies(std::string_view text, std::string_view signature) const {
  if (!is_made_ && pem_.empty()) return false;  // it has signed nothing
  const auto bytes = from_base64url(signature);
  if (!bytes) return false;
  const std::unique_ptr<EVP_MD_CTX, FreeContext> context(EVP_MD_CTX_new());
  return EVP_DigestVerifyInit(context.get(), nullptr, EVP_sha256(), nullptr, pair()) == 1 &&
         EVP_DigestVerify(context.get(), reinterpret_cast<const unsigned char*>(bytes->data()), bytes->size(),
                          reinterpret_cast<const unsigned char*>(text.data()), text.size()) == 1;
}

std::string SigningKey::pem() const {
  if (!pem_.empty()) return pem_;
  const std::unique_ptr<BIO, FreeBio> out(BIO_new(BIO_s_mem()));
  if (PEM_write_bio_PrivateKey(out.get(), pair(), nullptr, nullptr, 0, nullptr, nullptr) != 1) fail_key("write a key");
  char* text = nullptr;
  const long size = BIO_get_mem_data(out.get(), &text);
  return {text, static_cast<std::size_t>(size)};
}

json::Value root_key_json(const RootKey& key) {
  json::Value out = json::Value::object();
  out.set("Algorithm", "aes256-gcm"), out.set("CreateIndex", key.create_index), out.set("CreateTime", key.create_time);
  out.set("KeyID", key.id), out.set("ModifyIndex", key.modify_index), out.set("PublishTime", key.publish_time);
  out.set("State", key.state);
  return out;
}

// ---------------------------------------------------------------- all of them

void Keyring::begin(std::int64_t now) {
  RootKey key;
  key.id = fresh_uuid(), key.state = "active", key.create_index = key.modify_index = 1, key.create_time = now;
  key.signing = std::make_shared<SigningKey>();
  active_ = key.id;
  keys_.emplace(active_, std::move(key));
}

void Keyring::activate(const std::string& id, std::uint64_t index) {
  if (const auto before = keys_.find(active_); before != keys_.end() && active_ != id)
    before->second.state = "inactive", before->second.modify_index = index;
  RootKey& key = keys_.at(id);
  key.state = "active", key.modify_index = index;
  active_ = id;
}

const RootKey& Keyring::rotate(std::uint64_t index, std::int64_t now, std::int64_t publish_time) {
  RootKey key;
  key.id = fresh_uuid(), key.create_index = key.modify_index = index, key.create_time = now;
  key.signing = std::make_shared<SigningKey>();
  const std::string id = key.id;
  if (publish_time != 0) key.state = "prepublished", key.publish_time = publish_time;
  RootKey& stored = keys_.emplace(id, std::move(key)).first->second;
  if (publish_time == 0) activate(id, index);
  return stored;
}

bool Keyring::remove(const std::string& id) { return keys_.erase(id) != 0; }

std::string Keyring::signed_token(const RootKey& key, const json::Value& claims) {
  json::Value head = json::Value::object();
  head.set("alg", "RS256"), head.set("kid", key.id), head.set("typ", "JWT");
  std::string text = to_base64url(json::to_text(head)) + "." + to_base64url(json::to_text(claims));
  const std::string signature = key.signing->sign(text);
  return text.append(".").append(signature);
}

bool Keyring::is_own(std::string_view token) const {
  const auto parts = base::split(token, '.');
  if (parts.size() != 3) return false;
  const auto head_text = from_base64url(parts[0]);
  if (!head_text) return false;
  const auto head = io::parse_json(*head_text, "token");
  if (!head || (*head)["alg"].as_string() != "RS256") return false;
  const auto key = keys_.find((*head)["kid"].as_string());
  return key != keys_.end() &&
         key->second.signing->verifies(token.substr(0, parts[0].size() + 1 + parts[1].size()), parts[2]);
}

std::int64_t Keyring::next_due() const {
  std::int64_t out = kNever;
  for (const auto& [id, key] : keys_)
    if (key.state == "prepublished") out = std::min(out, key.publish_time);
  return out;
}

void Keyring::publish_due(std::int64_t now, std::uint64_t index) {
  const RootKey* next = nullptr;  // of several due ones, the last
  for (const auto& [id, key] : keys_)
    if (key.state == "prepublished" && key.publish_time <= now && (!next || next->publish_time <= key.publish_time))
      next = &key;
  if (!next) return;
  const std::string id = next->id;
  for (auto& [other, key] : keys_)
    if (other != id && key.state == "prepublished" && key.publish_time <= now)
      key.state = "inactive", key.modify_index = index;
  activate(id, index);
}

std::function<json::Value()> Keyring::copy() const {
  return [keys = keys_] {
    json::Value out = json::Value::array();
    for (const auto& [id, key] : keys) {
      json::Value row = root_key_json(key);
      row.set("PrivateKey", key.signing->pem());
      out.push(std::move(row));
    }
    return out;
  };
}

void Keyring::restore(const json::Value& stored) {
  std::map<std::string, RootKey> keys;
  std::string active;
  for (const json::Value& row : stored.items()) {
    RootKey key;
    key.id = row["KeyID"].as_string(), key.state = row["State"].as_string();
    key.create_index = row["CreateIndex"].as_uint(), key.modify_index = row["ModifyIndex"].as_uint();
    key.create_time = row["CreateTime"].as_int(), key.publish_time = row["PublishTime"].as_int();
    key.signing = std::make_shared<SigningKey>();
    key.signing->set_pem(row["PrivateKey"].as_string());
    if (key.state == "active") active = key.id;
    keys.emplace(key.id, std::move(key));
  }
  if (active.empty() || keys.size() > kMost) return;
  keys_ = std::move(keys), active_ = active;
}

}  // namespace berth::http
