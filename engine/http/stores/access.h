// Access control: policies, tokens, roles, auth methods, binding rules, one-time tokens, and the sender of a request
// (R-STORE-60 to 120). All objects belong to the whole cluster, not to a namespace.
//
//   objects   immutable and shared, one map per kind, ordered as lists are: policies and methods by name, roles and
//             rules by ID, tokens by (CreateIndex, AccessorID)
//   rights    of a token are merged at its first use, and dropped when any object changes
//   cost      O(log rows) per lookup; merging costs the blocks of the token's policies
// Requests are checked in endpoints/acl_*.cc, which also draw the index of a write. Threads: the simulation's.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/time.h"
#include "http/stores/asker.h"
#include "http/stores/rights.h"

namespace berth::http {

struct AclPolicy {
  std::string name, description, rules;
  json::Value job_acl;  ///< {Namespace, JobID, Group, Task} or null
  std::string hash;
  std::uint64_t create_index = 0, modify_index = 0;
  AclRules parsed;
};

struct AclToken {
  std::string accessor, secret, name, type;
  std::vector<std::string> policies, role_ids;
  bool global = false;
  std::string hash;
  std::int64_t create_time = 0, ttl_ns = 0;
  std::optional<std::int64_t> expires;  ///< virtual, unix ns
  std::uint64_t create_index = 0, modify_index = 0;

  [[nodiscard]] bool is_management() const { return type == "management"; }
  [[nodiscard]] bool is_expired(std::int64_t now) const { return expires && *expires <= now; }
};

struct AclRole {
  std::string id, name, description;
  std::vector<std::string> policies;
  std::string hash;
  std::uint64_t create_index = 0, modify_index = 0;
};

struct AclMethod {
  std::string name, type, locality, name_format;
  std::int64_t ttl_ns = 0;
  bool is_default = false;
  json::Value config;  ///< with all keys (R-STORE-112)
  std::string hash;
  std::int64_t create_time = 0, modify_time = 0;
  std::uint64_t create_index = 0, modify_index = 0;
};

struct BindingRule {
  std::string id, description, method, selector, bind_type, bind_name, hash;
  std::int64_t create_time = 0, modify_time = 0;
  std::uint64_t create_index = 0, modify_index = 0;
};

struct OneTimeToken {
  std::string secret, accessor;
  std::int64_t expires = 0;
  std::uint64_t index = 0;
};

template <class T>
using Shared = std::shared_ptr<const T>;

class Access {
 public:
  static constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

  // --- reading ---
  /// The sender with this secret. `verify`: true if this server signed the text.
  [[nodiscard]] Asker who(const std::string& secret, std::int64_t now,
                          const std::function<bool(std::string_view)>& verify);
  [[nodiscard]] const std::map<std::string, Shared<AclPolicy>>& policies() const { return policies_; }
  [[nodiscard]] const std::map<std::string, Shared<AclRole>>& roles() const { return roles_; }
  [[nodiscard]] const std::map<std::string, Shared<AclMethod>>& methods() const { return methods_; }
  [[nodiscard]] const std::map<std::string, Shared<BindingRule>>& rules() const { return rules_; }
  [[nodiscard]] const std::map<std::string, Shared<AclToken>>& tokens() const { return tokens_; }
  [[nodiscard]] Shared<AclRole> role_named(const std::string& name) const;
  /// Names of a token's policies, including those of its roles (R-STORE-87).
  [[nodiscard]] std::set<std::string> policy_names(const AclToken& token) const;
  [[nodiscard]] bool has_role(const AclToken& token, const std::string& role_id) const;
  /// Index of the first bootstrap; 0: none.
  [[nodiscard]] std::uint64_t bootstrap_index() const { return bootstrap_index_; }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  [[nodiscard]] bool is_secret(const std::string& secret) const { return accessor_of_.contains(secret); }

  // --- writing: objects with their indexes set ---
  void put(AclPolicy policy);
  void put(AclToken token);
  void put(AclRole role);
  void put(AclMethod method);
  void put(BindingRule rule);
  void put(OneTimeToken token);
  bool remove_policy(const std::string& name);
  bool remove_token(const std::string& accessor);
  bool remove_role(const std::string& id);
  bool remove_method(const std::string& name);
  bool remove_rule(const std::string& id);
  /// Removes and returns a one-time token that can still be exchanged.
  [[nodiscard]] std::optional<OneTimeToken> take(const std::string& secret, std::int64_t now);
  void set_bootstrapped(std::uint64_t index) { bootstrap_index_ = index; }

  /// Next time to collect expired tokens (R-STORE-84).
  [[nodiscard]] std::int64_t next_due() const;
  /// Removes tokens that expired more than an hour ago, and expired one-time tokens. Returns the removed tokens.
  std::vector<Shared<AclToken>> collect(std::int64_t now);

  /// All objects, for a snapshot.
  [[nodiscard]] std::function<json::Value()> copy() const;
  void restore(const json::Value& stored);

 private:
  [[nodiscard]] Shared<Rights> rights_of(const AclToken& token);
  template <class T>
  void store(std::map<std::string, Shared<T>>& rows, const std::string& key, T object);
  template <class T>
  bool erase(std::map<std::string, Shared<T>>& rows, const std::string& key);

  std::map<std::string, Shared<AclPolicy>> policies_;             // by name
  std::map<std::string, Shared<AclToken>> tokens_;                // by accessor
  std::unordered_map<std::string, std::string> accessor_of_;      // by secret
  std::map<std::string, Shared<AclRole>> roles_;                  // by ID
  std::map<std::string, std::string> role_ids_;                   // by name
  std::map<std::string, Shared<AclMethod>> methods_;              // by name
  std::map<std::string, Shared<BindingRule>> rules_;              // by ID
  std::map<std::string, OneTimeToken> one_time_;                  // by secret
  std::set<std::pair<std::int64_t, std::string>> expiries_;       // (time, accessor)
  std::set<std::pair<std::int64_t, std::string>> one_time_ends_;  // (time, secret)
  std::unordered_map<std::string, Shared<Rights>> rights_;        // by accessor; dropped at any change
  Shared<Rights> anonymous_;
  std::uint64_t bootstrap_index_ = 0;
  std::size_t bytes_ = 0;
};

// --- output of the API, and hashes (R-STORE-74, 80, 87, 91, 106, 110, 112, 115) ---
[[nodiscard]] json::Value policy_json(const AclPolicy& policy);
[[nodiscard]] json::Value policy_stub(const AclPolicy& policy);
/// `secret` false: a stub.
[[nodiscard]] json::Value token_json(const AclToken& token, const Access& access, bool secret);
[[nodiscard]] json::Value role_json(const AclRole& role);
[[nodiscard]] json::Value method_json(const AclMethod& method);
[[nodiscard]] json::Value method_stub(const AclMethod& method);
[[nodiscard]] json::Value rule_json(const BindingRule& rule);
[[nodiscard]] json::Value rule_stub(const BindingRule& rule);
void set_hash(AclPolicy& policy);
void set_hash(AclToken& token);
void set_hash(AclRole& role);
void set_hash(AclMethod& method);
void set_hash(BindingRule& rule);

}  // namespace berth::http
