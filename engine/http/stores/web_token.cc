#include "http/stores/web_token.h"

#include <openssl/bn.h>
#include <openssl/ecdsa.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>

#include "base/base64.h"
#include "base/duration.h"
#include "base/text.h"
#include "base/time.h"
#include "io/json_parse.h"

namespace berth::http {

namespace {

enum class Scheme : std::uint8_t { rsa, rsa_pss, ecdsa, eddsa };
struct Algorithm {
  std::string_view name;
  Scheme scheme;
  const EVP_MD* (*digest)();     ///< null: part of the scheme
  std::size_t number_bytes = 0;  ///< of each of the two numbers of an ECDSA signature
};
constexpr std::array<Algorithm, 10> kAlgorithms = {{{"RS256", Scheme::rsa, EVP_sha256},
                                                    {"RS384", Scheme::rsa, EVP_sha384},
                                                    {"RS512", Scheme::rsa, EVP_sha512},
                                                    {"PS256", Scheme::rsa_pss, EVP_sha256},
                                                    {"PS384", Scheme::rsa_pss, EVP_sha384},
                                                    {"PS512", Scheme::rsa_pss, EVP_sha512},
                                                    {"ES256", Scheme::ecdsa, EVP_sha256, 32},
                                                    {"ES384", Scheme::ecdsa, EVP_sha384, 48},
                                                    {"ES512", Scheme::ecdsa, EVP_sha512, 66},
                                                    {"EdDSA", Scheme::eddsa, nullptr}}};

const Algorithm* find_algorithm(std::string_view name) {
  const auto* const found =
      std::find_if(kAlgorithms.begin(), kAlgorithms.end(), [&](const Algorithm& one) { return one.name == name; });
  return found == kAlgorithms.end() ? nullptr : found;
}

template <auto kFree>
struct FreeWith {
  template <class T>
  void operator()(T* object) const {
    kFree(object);
  }
};
using PublicKey = std::unique_ptr<EVP_PKEY, FreeWith<EVP_PKEY_free>>;

PublicKey public_key(const std::string& pem) {
  const std::unique_ptr<BIO, FreeWith<BIO_free>> text(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  return PublicKey(PEM_read_bio_PUBKEY(text.get(), nullptr, nullptr, nullptr));
}

int key_kind(Scheme scheme) {
  switch (scheme) {
    case Scheme::ecdsa:
      return EVP_PKEY_EC;
    case Scheme::eddsa:
      return EVP_PKEY_ED25519;
    default:
      return EVP_PKEY_RSA;
  }
}

/// An ECDSA signature of two numbers as the structure that OpenSSL takes; "": it has another size.
std::string der_signature(const std::string& numbers, std::size_t bytes) {
  if (numbers.size() != 2 * bytes) return "";
  const auto* data = reinterpret_cast<const unsigned char*>(numbers.data());
  const std::unique_ptr<ECDSA_SIG, FreeWith<ECDSA_SIG_free>> signature(ECDSA_SIG_new());
  ECDSA_SIG_set0(signature.get(), BN_bin2bn(data, static_cast<int>(bytes), nullptr),
                 BN_bin2bn(data + bytes, static_cast<int>(bytes), nullptr));
  unsigned char* out = nullptr;
  const int size = i2d_ECDSA_SIG(signature.get(), &out);
  std::string text(reinterpret_cast<const char*>(out), static_cast<std::size_t>(std::max(size, 0)));
  OPENSSL_free(out);
  return text;
}

bool verifies(EVP_PKEY* key, const Algorithm& algorithm, std::string_view text, const std::string& signature) {
  if (EVP_PKEY_get_base_id(key) != key_kind(algorithm.scheme)) return false;
  const std::string given =
      algorithm.scheme == Scheme::ecdsa ? der_signature(signature, algorithm.number_bytes) : signature;
  if (given.empty()) return false;
  const std::unique_ptr<EVP_MD_CTX, FreeWith<EVP_MD_CTX_free>> context(EVP_MD_CTX_new());
  EVP_PKEY_CTX* of_key = nullptr;
  const EVP_MD* digest = algorithm.digest ? algorithm.digest() : nullptr;
  if (EVP_DigestVerifyInit(context.get(), &of_key, digest, nullptr, key) != 1) return false;
  if (algorithm.scheme == Scheme::rsa_pss && (EVP_PKEY_CTX_set_rsa_padding(of_key, RSA_PKCS1_PSS_PADDING) != 1 ||
                                              EVP_PKEY_CTX_set_rsa_pss_saltlen(of_key, RSA_PSS_SALTLEN_DIGEST) != 1))
    return false;
  return EVP_DigestVerify(context.get(), reinterpret_cast<const unsigned char*>(given.data()), given.size(),
                          reinterpret_cast<const unsigned char*>(text.data()), text.size()) == 1;
}

bool list_has(const json::Value& texts, std::string_view text) {
  return std::any_of(texts.items().begin(), texts.items().end(),
                     [&](const json::Value& one) { return one.as_string() == text; });
}

/// A claim in seconds since 1970; nullopt: absent.
std::optional<double> seconds_claim(const json::Value& claims, std::string_view key) {
  const json::Value* value = claims.find(key);
  if (!value || !value->is_number()) return std::nullopt;
  return value->is_double() ? value->as_double() : static_cast<double>(value->as_int());
}

/// A configured leeway in seconds: 0 means the default, a negative one none.
double leeway(const json::Value& config, std::string_view key, double otherwise) {
  const auto ns = base::parse_duration(config[key].as_string());
  if (!ns || *ns == 0) return otherwise;
  return std::max(0.0, static_cast<double>(*ns) / static_cast<double>(base::kSecond));
}

/// Why the token is not valid now; "": it is. Absent times follow from those that are there.
std::string time_problem(const json::Value& claims, const json::Value& config, std::int64_t now_ns) {
  constexpr double kAge = 150, kSkew = 60;  // seconds
  const auto issued = seconds_claim(claims, "iat"), begins = seconds_claim(claims, "nbf"),
             ends = seconds_claim(claims, "exp");
  if (!issued && !begins && !ends)
    return "no issued at (iat), not before (nbf), or expiration time (exp) claims in token";
  const double now = static_cast<double>(now_ns) / static_cast<double>(base::kSecond);
  const double skew = leeway(config, "ClockSkewLeeway", kSkew);
  const double begin = begins ? *begins : issued ? *issued : *ends - leeway(config, "NotBeforeLeeway", kAge);
  const double end = ends ? *ends
                          : std::max(issued.value_or(-INFINITY), begins.value_or(-INFINITY)) +
                                leeway(config, "ExpirationLeeway", kAge);
  if (now > end + skew) return "invalid expiration time (exp) claim: token is expired";
  if (now + skew < begin) return "invalid not before (nbf) claim: token not yet valid";
  if (issued && now + skew < *issued) return "invalid issued at (iat) claim: token issued in the future";
  return "";
}

std::string audience_problem(const json::Value& claims, const json::Value& config) {
  const json::Value &bound = config["BoundAudiences"], &given = claims["aud"];
  if (bound.size() > 0) {
    bool found = list_has(bound, given.as_string());
    for (const json::Value& one : given.items()) found |= list_has(bound, one.as_string());
    if (!found) return "invalid audience (aud) claim";
  }
  if (config["BoundIssuer"].size() > 0 && !list_has(config["BoundIssuer"], claims["iss"].as_string()))
    return "invalid issuer (iss) claim";
  return "";
}

}  // namespace

std::string to_base64url(std::string_view bytes) {
  std::string out = base::to_base64(bytes);
  for (char& c : out) c = c == '+' ? '-' : c == '/' ? '_' : c;
  while (out.ends_with('=')) out.pop_back();
  return out;
}

std::optional<std::string> from_base64url(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = c == '-' ? '+' : c == '_' ? '/' : c;
  while (out.size() % 4 != 0) out += '=';
  return base::from_base64(out);
}

tl::expected<json::Value, std::string> verified_claims(std::string_view token, const json::Value& config,
                                                       std::int64_t now_ns) {
  const auto refuse = [](std::string why) { return tl::unexpected(std::move(why)); };
  const auto parts = base::split(token, '.');
  if (parts.size() != 3) return refuse("compact JWS format must have three parts");
  const auto head_text = from_base64url(parts[0]), claims_text = from_base64url(parts[1]),
             signature = from_base64url(parts[2]);
  if (!head_text || !claims_text || !signature) return refuse("a part of the token is not base64 for URLs");
  auto head = io::parse_json(*head_text, "token"), claims = io::parse_json(*claims_text, "token");
  if (!head || !head->is_object() || !claims || !claims->is_object())
    return refuse("a part of the token is no JSON object");
  const std::string& name = (*head)["alg"].as_string();
  const json::Value& allowed = config["SigningAlgs"];
  const Algorithm* algorithm = find_algorithm(name);
  if (!algorithm || !(allowed.size() > 0 ? list_has(allowed, name) : name == "RS256"))
    return refuse("token signed with unexpected algorithm " + base::go_quote(name));
  const std::string_view text = token.substr(0, parts[0].size() + 1 + parts[1].size());
  const auto& keys = config["JWTValidationPubKeys"].items();
  if (keys.empty()) return refuse("this server is simulated and asks no provider of identities for its keys");
  if (std::none_of(keys.begin(), keys.end(), [&](const json::Value& pem) {
        const PublicKey key = public_key(pem.as_string());
        return key && verifies(key.get(), *algorithm, text, *signature);
      }))
    return refuse("no known key successfully validated the token signature");
  if (std::string problem = time_problem(*claims, config, now_ns); !problem.empty()) return refuse(std::move(problem));
  if (std::string problem = audience_problem(*claims, config); !problem.empty()) return refuse(std::move(problem));
  return std::move(*claims);
}

}  // namespace berth::http
