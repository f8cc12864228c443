// Logins with web tokens (R-STORE-117): which tokens are valid, and what binding rules grant.
#include <gtest/gtest.h>
#include <openssl/bn.h>
#include <openssl/ec.h>
#include <openssl/ecdsa.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>

#include <memory>

#include "http/stores/web_token.h"
#include "io/json_parse.h"
#include "serve/client.h"
#include "serve/started.h"

namespace berth::http {
namespace {

constexpr std::int64_t kNow = 1'800'000'000;  // seconds

/// A key pair that signs tokens.
class Signer {
 public:
  explicit Signer(std::string algorithm) : algorithm_(std::move(algorithm)) {
    if (algorithm_ == "EdDSA")
      key_.reset(EVP_PKEY_Q_keygen(nullptr, nullptr, "ED25519"));
    else if (algorithm_.starts_with("ES"))
      key_.reset(EVP_EC_gen(algorithm_ == "ES512" ? "P-521" : algorithm_ == "ES384" ? "P-384" : "P-256"));
    else
      key_.reset(EVP_RSA_gen(2048));
  }
  [[nodiscard]] std::string pem() const {
    const std::unique_ptr<BIO, Free> out(BIO_new(BIO_s_mem()));
    PEM_write_bio_PUBKEY(out.get(), key_.get());
    char* text = nullptr;
    const long size = BIO_get_mem_data(out.get(), &text);
    return {text, static_cast<std::size_t>(size)};
  }
  [[nodiscard]] std::string token(const std::string& claims) const {
    std::string text = to_base64url(R"({"alg":")" + algorithm_ + R"("})") + "." + to_base64url(claims);
    return text + "." + to_base64url(signature(text));
  }

 private:
  struct Free {
    void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
    void operator()(BIO* bio) const { BIO_free(bio); }
    void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
    void operator()(ECDSA_SIG* signature) const { ECDSA_SIG_free(signature); }
  };
  [[nodiscard]] std::string signature(const std::string& text) const {
    const std::unique_ptr<EVP_MD_CTX, Free> context(EVP_MD_CTX_new());
    EVP_PKEY_CTX* of_key = nullptr;
    const EVP_MD* digest = algorithm_.ends_with("384")   ? EVP_sha384()
                           : algorithm_.ends_with("512") ? EVP_sha512()
                           : algorithm_ == "EdDSA"       ? nullptr
                                                         : EVP_sha256();
    EVP_DigestSignInit(context.get(), &of_key, digest, nullptr, key_.get());
    if (algorithm_.starts_with("PS")) EVP_PKEY_CTX_set_rsa_padding(of_key, RSA_PKCS1_PSS_PADDING);
    if (algorithm_.starts_with("PS")) EVP_PKEY_CTX_set_rsa_pss_saltlen(of_key, RSA_PSS_SALTLEN_DIGEST);
    const auto* data = reinterpret_cast<const unsigned char*>(text.data());
    std::size_t size = 0;
    EVP_DigestSign(context.get(), nullptr, &size, data, text.size());
    std::string out(size, '\0');
    EVP_DigestSign(context.get(), reinterpret_cast<unsigned char*>(out.data()), &size, data, text.size());
    out.resize(size);
    if (!algorithm_.starts_with("ES")) return out;
    const auto* der = reinterpret_cast<const unsigned char*>(out.data());
    const std::unique_ptr<ECDSA_SIG, Free> numbers(d2i_ECDSA_SIG(nullptr, &der, static_cast<long>(size)));
    const int bytes = algorithm_ == "ES512" ? 66 : algorithm_ == "ES384" ? 48 : 32;
    std::string raw(2 * static_cast<std::size_t>(bytes), '\0');
    auto* at = reinterpret_cast<unsigned char*>(raw.data());
    BN_bn2binpad(ECDSA_SIG_get0_r(numbers.get()), at, bytes);
    BN_bn2binpad(ECDSA_SIG_get0_s(numbers.get()), at + bytes, bytes);
    return raw;
  }

  std::string algorithm_;
  std::unique_ptr<EVP_PKEY, Free> key_;
};

json::Value parsed(std::string_view text) {
  auto value = io::parse_json(std::string(text));
  EXPECT_TRUE(value) << text;
  return value ? std::move(*value) : json::Value();
}

std::string times(std::int64_t issued, std::int64_t begins, std::int64_t ends) {
  return R"("iat":)" + std::to_string(kNow + issued) + R"(,"nbf":)" + std::to_string(kNow + begins) + R"(,"exp":)" +
         std::to_string(kNow + ends);
}

json::Value config_of(const Signer& signer, std::string_view more = "{}") {
  json::Value out = parsed(more), keys = json::Value::array();
  keys.push(Signer("EdDSA").pem()), keys.push(signer.pem());  // any of the keys may have signed
  out.set("JWTValidationPubKeys", std::move(keys));
  return out;
}

/// "" if the claims are valid, else why not.
std::string problem(const Signer& signer, const std::string& claims, std::string_view config) {
  const auto read = verified_claims(signer.token(claims), config_of(signer, config), kNow * base::kSecond);
  return read ? "" : read.error();
}

TEST(WebToken, EveryAllowedSignatureIsVerified) {
  for (const char* name : {"RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"}) {
    const Signer signer(name), other(name);
    const std::string claims = "{" + times(-9, -9, 9) + "}", all = R"({"SigningAlgs":[")" + std::string(name) + "\"]}";
    EXPECT_EQ(problem(signer, claims, all), "") << name;
    EXPECT_EQ(
        problem(signer, claims, "{}"),
        name == std::string("RS256") ? "" : "token signed with unexpected algorithm \"" + std::string(name) + "\"");
    const auto foreign = verified_claims(other.token(claims), config_of(signer, all), kNow * base::kSecond);
    ASSERT_FALSE(foreign) << name;
    EXPECT_EQ(foreign.error(), "no known key successfully validated the token signature");
    std::string changed = signer.token(claims);
    changed.replace(changed.find('.') + 1, 4, to_base64url("{ \""));  // other claims under the same signature
    EXPECT_FALSE(verified_claims(changed, config_of(signer, all), kNow * base::kSecond)) << name;
  }
}

TEST(WebToken, UnsignedTokensAreRefused) {
  const Signer signer("ES256");
  const std::string head = to_base64url(R"({"alg":"none"})"), claims = to_base64url("{" + times(-9, -9, 9) + "}");
  for (const std::string& token :
       {std::string(), std::string("a.b"), head + "." + claims + ".", head + "." + claims + ".AA", std::string("....."),
        std::string("\xff.\xff.\xff"), to_base64url("[]") + ".e30.e30"})
    EXPECT_FALSE(verified_claims(token, config_of(signer, R"({"SigningAlgs":["none","ES256"]})"), kNow * base::kSecond))
        << token;
}

TEST(WebToken, TimesAudienceAndIssuerAreChecked) {
  const Signer signer("ES256");
  const auto why = [&](const std::string& claims, const std::string& more = "") {
    return problem(signer, "{" + claims + "}", R"({"SigningAlgs":["ES256"])" + more + "}");
  };
  EXPECT_EQ(why(times(-9, -9, -59)), "");  // a minute of skew
  EXPECT_EQ(why(times(-99, -99, -61)), "invalid expiration time (exp) claim: token is expired");
  EXPECT_EQ(why(times(-99, -99, -2), R"(,"ClockSkewLeeway":"1s")"),
            "invalid expiration time (exp) claim: token is expired");
  EXPECT_EQ(why(times(-9, 61, 99)), "invalid not before (nbf) claim: token not yet valid");
  EXPECT_EQ(why(times(61, -9, 99)), "invalid issued at (iat) claim: token issued in the future");
  EXPECT_EQ(why(R"("sub":"x")"), "no issued at (iat), not before (nbf), or expiration time (exp) claims in token");
  EXPECT_EQ(why(R"("iat":)" + std::to_string(kNow - 200)), "");  // valid for 150 s, and the skew
  EXPECT_NE(why(R"("iat":)" + std::to_string(kNow - 220)), "");
  const std::string good = times(-9, -9, 9), bound = R"(,"BoundAudiences":["a","b"],"BoundIssuer":["ci"])";
  EXPECT_EQ(why(good + R"(,"aud":"b","iss":"ci")", bound), "");
  EXPECT_EQ(why(good + R"(,"aud":["x","a"],"iss":"ci")", bound), "");
  EXPECT_EQ(why(good + R"(,"aud":["x"],"iss":"ci")", bound), "invalid audience (aud) claim");
  EXPECT_EQ(why(good + R"(,"aud":"a","iss":"x")", bound), "invalid issuer (iss) claim");
}

class LoginTest : public ::testing::Test {
 protected:
  void SetUp() override {
    serve::ServiceOptions options;
    options.start.nodes = 2;
    options.start.now_ns = kNow * base::kSecond;
    options.simulation.speed = *Speed::parse("step");
    options.access.acl = true;
    service_ = start_service(options);
    client_ = std::make_unique<Client>(service_->address());
    root_ = parsed(ask("POST", "/v1/acl/bootstrap", "", "").body)["SecretID"].as_string();
    json::Value method = parsed(R"({"Name": "ci", "Type": "JWT", "TokenLocality": "global", "MaxTokenTTL": "1h",
        "TokenNameFormat": "${auth_method_name}-${value.team}"})");
    method.set("Config", config_of(signer_, R"({"SigningAlgs": ["ES256"], "ClaimMappings": {"team": "team"},
        "ListClaimMappings": {"groups": "groups"}})"));
    ASSERT_EQ(manage("/v1/acl/auth-method", json::to_text(method)), "");
    for (const char* name : {"read-blue", "ops"})
      ASSERT_EQ(
          manage("/v1/acl/policy/" + std::string(name),
                 R"({"Name": ")" + std::string(name) + R"(", "Rules": "namespace \"default\" { policy = \"read\" }"})"),
          "");
  }
  Answer ask(const std::string& method, const std::string& target, const std::string& body, const std::string& secret) {
    client_->ask(method, target, body, secret.empty() ? "" : "X-Nomad-Token: " + secret + "\r\n");
    return client_->receive();
  }
  /// "" if the write succeeded.
  std::string manage(const std::string& target, const std::string& body) {
    const Answer answer = ask("PUT", target, body, root_);
    return answer.status == 200 ? "" : answer.body;
  }
  Answer log_in(const std::string& claims) {
    json::Value body = parsed(R"({"AuthMethodName": "ci"})");
    body.set("LoginToken", signer_.token("{" + times(-9, -9, 9) + claims + "}"));
    return ask("PUT", "/v1/acl/login", json::to_text(body), "");
  }

  Signer signer_{"ES256"};
  std::unique_ptr<Service> service_;
  std::unique_ptr<Client> client_;
  std::string root_;
};

TEST_F(LoginTest, BindingRulesGrantRights) {
  EXPECT_EQ(log_in(R"(,"team":"blue")").body, "no role or policy bindings matched");
  ASSERT_EQ(manage("/v1/acl/role", R"({"Name": "operators", "Policies": [{"Name": "ops"}]})"), "");
  for (const char* rule :
       {R"({"AuthMethod": "ci", "BindType": "policy", "BindName": "read-${value.team}"})",
        R"({"AuthMethod": "ci", "BindType": "policy", "BindName": "nowhere"})",
        R"({"AuthMethod": "ci", "BindType": "role", "BindName": "operators", "Selector": "ops in list.groups"})",
        R"({"AuthMethod": "ci", "BindType": "management", "Selector": "value.team == \"root\""})"})
    ASSERT_EQ(manage("/v1/acl/binding-rule", rule), "");

  const Answer blue = log_in(R"(,"team":"blue","groups":["eng","ops"])");
  ASSERT_EQ(blue.status, 200) << blue.body;
  const json::Value token = parsed(blue.body);
  EXPECT_EQ(token["Name"].as_string(), "ci-blue");
  EXPECT_EQ(token["Type"].as_string(), "client");
  EXPECT_EQ(json::to_text(token["Policies"]), R"(["read-blue"])");
  EXPECT_EQ(token["Roles"].items().at(0)["Name"].as_string(), "operators");
  EXPECT_TRUE(token["Global"].as_bool());
  EXPECT_EQ(token["ExpirationTTL"].as_string(), "1h0m0s");
  EXPECT_EQ(token["ExpirationTime"].as_string(), "2027-01-15T09:00:00Z");
  const std::string secret = token["SecretID"].as_string();
  EXPECT_EQ(ask("GET", "/v1/jobs", "", secret).status, 200);
  EXPECT_EQ(ask("GET", "/v1/nodes", "", secret).status, 403);

  EXPECT_EQ(log_in(R"(,"team":"red")").body, "no role or policy bindings matched");
  const json::Value root = parsed(log_in(R"(,"team":"root","groups":"ops")").body);
  EXPECT_EQ(root["Type"].as_string(), "management");
  EXPECT_EQ(ask("GET", "/v1/nodes", "", root["SecretID"].as_string()).status, 200);
}

TEST_F(LoginTest, InvalidTokensAreRefused) {
  const auto refusal = [&](const std::string& token) {
    json::Value body = parsed(R"({"AuthMethodName": "ci"})");
    body.set("LoginToken", token);
    const Answer answer = ask("PUT", "/v1/acl/login", json::to_text(body), "");
    EXPECT_EQ(answer.status, 401) << answer.body;
    return answer.body;
  };
  EXPECT_EQ(refusal("x"), "unable to validate provided token: compact JWS format must have three parts");
  EXPECT_EQ(refusal(Signer("ES256").token("{" + times(-9, -9, 9) + "}")),
            "unable to validate provided token: no known key successfully validated the token signature");
}

}  // namespace
}  // namespace berth::http
