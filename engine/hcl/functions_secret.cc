// R-HCL-628 to 630: bcrypt, rsadecrypt and UUIDs, by libcrypt and OpenSSL.
#include <crypt.h>
#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/rsa.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <memory>

#include "base/base64.h"
#include "base/uuid.h"
#include "hcl/function_table.h"
#include "hcl/unicode.h"

namespace berth::hcl {
namespace {

/// A cost of 12 takes a quarter of a second; each step more doubles it.
constexpr std::int64_t kMaxCost = 12;
constexpr std::size_t kMaxPassword = 72;

CallOutcome bcrypt(Arguments arguments, const FileAccess&) {
  if (arguments.size() > 2) return fail("bcrypt() takes no more than two arguments");
  std::int64_t cost = 10;
  if (arguments.size() == 2) {
    const auto wanted = to_integer(arguments[1].number());
    if (!wanted) return fail(wanted.error());
    cost = *wanted < 4 ? 10 : *wanted;
  }
  const std::string begin = "error occured generating password ";
  if (cost > 31) {
    return fail(begin + "crypto/bcrypt: cost " + std::to_string(cost) + " is outside allowed inclusive range 4..31");
  }
  if (cost > kMaxCost) return fail(begin + "berth spends a cost of 12 at most on one password");
  const std::string& password = arguments[0].string();
  if (password.size() > kMaxPassword) return fail(begin + "bcrypt: password length exceeds 72 bytes");
  std::array<char, CRYPT_GENSALT_OUTPUT_SIZE> salt{};
  const auto data = std::make_unique<crypt_data>();
  if (crypt_gensalt_rn("$2a$", static_cast<unsigned long>(cost), nullptr, 0, salt.data(),
                       static_cast<int>(salt.size())) == nullptr) {
    return fail(begin + "libcrypt has no bcrypt");
  }
  const char* hashed = crypt_rn(password.c_str(), salt.data(), data.get(), sizeof(crypt_data));
  if (hashed == nullptr) return fail(begin + "libcrypt refuses it");
  return Value::of(hashed);
}

CallOutcome rsa_decrypt(Arguments arguments, const FileAccess&) {
  std::string text = arguments[0].string();
  std::erase_if(text, [](char c) { return c == '\r' || c == '\n'; });
  const auto cipher = base::from_base64(text);
  if (!cipher) {
    return fail("failed to decode input \"" + arguments[0].string() + "\": cipher text must be base64-encoded");
  }
  const std::string& pem = arguments[1].string();
  const std::unique_ptr<BIO, decltype(&BIO_free)> source(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())),
                                                         &BIO_free);
  const auto no_password = [](char*, int, int, void*) { return -1; };
  const std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key(
      PEM_read_bio_PrivateKey(source.get(), nullptr, no_password, nullptr), &EVP_PKEY_free);
  if (key == nullptr || EVP_PKEY_base_id(key.get()) != EVP_PKEY_RSA) return fail("failed to parse key: no key found");
  const std::unique_ptr<EVP_PKEY_CTX, decltype(&EVP_PKEY_CTX_free)> context(EVP_PKEY_CTX_new(key.get(), nullptr),
                                                                            &EVP_PKEY_CTX_free);
  const auto* input = reinterpret_cast<const unsigned char*>(cipher->data());
  std::size_t size = 0;
  std::string plain;
  const bool ready = context != nullptr && EVP_PKEY_decrypt_init(context.get()) == 1 &&
                     EVP_PKEY_CTX_set_rsa_padding(context.get(), RSA_PKCS1_PADDING) == 1 &&
                     EVP_PKEY_decrypt(context.get(), nullptr, &size, input, cipher->size()) == 1;
  plain.resize(size);
  if (!ready || EVP_PKEY_decrypt(context.get(), reinterpret_cast<unsigned char*>(plain.data()), &size, input,
                                 cipher->size()) != 1) {
    return fail("failed to decrypt: crypto/rsa: decryption error");
  }
  plain.resize(size);
  return Value::of(plain);
}

base::Uuid uuid_of(std::array<unsigned char, 16> bytes, unsigned version) {
  bytes[6] = static_cast<unsigned char>((bytes[6] & 0x0FU) | version << 4U);
  bytes[8] = static_cast<unsigned char>((bytes[8] & 0x3FU) | 0x80U);
  base::Uuid id;
  for (std::size_t i = 0; i < 8; ++i) {
    id.hi = id.hi << 8U | bytes[i];
    id.lo = id.lo << 8U | bytes[i + 8];
  }
  return id;
}

CallOutcome random_uuid(Arguments, const FileAccess&) {
  std::array<unsigned char, 16> bytes{};
  if (RAND_bytes(bytes.data(), bytes.size()) != 1) return fail("no random numbers");
  return Value::of(base::to_text(uuid_of(bytes, 4)));
}

/// The reason why a text is not a UUID, in the words of Go's common package.
std::string uuid_fault(const std::string& text) {
  if (text.size() != 32 && text.size() != 36 && text.size() != 38 && text.size() != 45) {
    return "invalid UUID length: " + std::to_string(text.size());
  }
  return "invalid UUID format";
}

CallOutcome named_uuid(Arguments arguments, const FileAccess&) {
  const std::string& space = arguments[0].string();
  // Namespaces of RFC 4122; they differ in their first four bytes only.
  constexpr std::array<const char*, 4> kNames = {"dns", "url", "oid", "x500"};
  constexpr std::array<const char*, 4> kIds = {
      "6ba7b810-9dad-11d1-80b4-00c04fd430c8", "6ba7b811-9dad-11d1-80b4-00c04fd430c8",
      "6ba7b812-9dad-11d1-80b4-00c04fd430c8", "6ba7b814-9dad-11d1-80b4-00c04fd430c8"};
  std::string id = space;
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    if (space == kNames[i]) id = kIds[i];
  }
  if (id.starts_with("urn:uuid:")) id = id.substr(9);
  if (id.size() == 38 && id.starts_with('{') && id.ends_with('}')) id = id.substr(1, 36);
  const auto parsed = base::parse_uuid(id);
  if (!parsed) return fail("uuidv5() doesn't support namespace " + space + " (" + uuid_fault(space) + ")");
  std::string text;
  for (int shift = 56; shift >= 0; shift -= 8) text += static_cast<char>(parsed->hi >> shift & 255U);
  for (int shift = 56; shift >= 0; shift -= 8) text += static_cast<char>(parsed->lo >> shift & 255U);
  text += arguments[1].string();
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  if (EVP_Digest(text.data(), text.size(), digest.data(), &size, EVP_sha1(), nullptr) != 1) {
    return fail("this build of OpenSSL refuses the hash");
  }
  std::array<unsigned char, 16> bytes{};
  std::copy_n(digest.begin(), bytes.size(), bytes.begin());
  return Value::of(base::to_text(uuid_of(bytes, 5)));
}

}  // namespace

void add_secret_functions(Functions& table) {
  table.push_back({"bcrypt", {{"str", Kind::string}}, Parameter{"cost", Kind::number}, bcrypt});
  table.push_back({"rsadecrypt", {{"ciphertext", Kind::string}, {"privatekey", Kind::string}}, {}, rsa_decrypt});
  table.push_back({"uuidv4", {}, {}, random_uuid});
  table.push_back({"uuidv5", {{"namespace", Kind::string}, {"name", Kind::string}}, {}, named_uuid});
}

}  // namespace berth::hcl
