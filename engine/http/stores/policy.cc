#include "http/stores/policy.h"

#include <algorithm>
#include <set>
#include <span>

#include "base/text.h"
#include "http/stores/policy_syntax.h"
#include "http/stores/texts.h"

namespace berth::http {

namespace {

using Names = std::span<const std::string_view>;

// The position of a name is its bit.
constexpr std::string_view kNamespaceNames[] = {"deny",
                                                "list-jobs",
                                                "parse-job",
                                                "read-job",
                                                "submit-job",
                                                "dispatch-job",
                                                "read-logs",
                                                "read-fs",
                                                "alloc-exec",
                                                "alloc-node-exec",
                                                "alloc-lifecycle",
                                                "csi-register-plugin",
                                                "csi-write-volume",
                                                "csi-read-volume",
                                                "csi-list-volume",
                                                "csi-mount-volume",
                                                "list-scaling-policies",
                                                "read-scaling-policy",
                                                "read-job-scaling",
                                                "scale-job",
                                                "submit-recommendation",
                                                "sentinel-override",
                                                "host-volume-create",
                                                "host-volume-register",
                                                "host-volume-read",
                                                "host-volume-write",
                                                "host-volume-delete",
                                                "register-job",
                                                "revert-job",
                                                "deregister-job",
                                                "purge-job",
                                                "evaluate-job",
                                                "plan-job",
                                                "tag-job-version",
                                                "stable-job",
                                                "fail-deployment",
                                                "pause-deployment",
                                                "promote-deployment",
                                                "unblock-deployment",
                                                "cancel-deployment",
                                                "set-alloc-health-deployment",
                                                "gc-allocation",
                                                "pause-allocation",
                                                "force-periodic-job",
                                                "delete-service-registration"};
constexpr std::string_view kNodePoolNames[] = {"deny", "delete", "read", "write"};
constexpr std::string_view kHostVolumeNames[] = {"deny", "mount-readonly", "mount-readwrite"};
constexpr std::string_view kOperatorNames[] = {"deny",         "snapshot-save",  "license-read",
                                               "keyring-read", "keyring-rotate", "keyring-delete"};
constexpr std::string_view kSentinelNames[] = {"deny", "sentinel-read", "sentinel-submit", "sentinel-delete"};
constexpr std::string_view kVariableNames[] = {"deny", "list", "read", "write", "destroy"};

Capabilities bit_of(Names names, std::string_view name) {
  const auto at = std::find(names.begin(), names.end(), name);
  return at == names.end() ? 0 : Capabilities{1} << (at - names.begin());
}

/// The capabilities of a policy word, in printing order (R-STORE-95).
std::vector<std::string_view> words_of(std::string_view block, std::string_view word) {
  using List = std::vector<std::string_view>;
  if (word == "deny") return {"deny"};
  const bool reads = word == "read", writes = word == "write";
  if (block == "namespace") {
    if (word == "scale")
      return {"list-scaling-policies", "read-scaling-policy", "read-job-scaling", "scale-job", "read-job",
              "submit-recommendation"};
    List out;
    if (reads || writes)
      out = {"list-jobs",
             "parse-job",
             "read-job",
             "csi-list-volume",
             "csi-read-volume",
             "read-job-scaling",
             "list-scaling-policies",
             "read-scaling-policy",
             "host-volume-read"};
    if (writes)
      for (const char* more :
           {"scale-job", "submit-job", "dispatch-job", "read-logs", "read-fs", "alloc-exec", "alloc-lifecycle",
            "csi-mount-volume", "csi-write-volume", "submit-recommendation", "host-volume-create"})
        out.emplace_back(more);
    return out;
  }
  if (block == "node_pool") return writes ? List{"delete", "read", "write"} : reads ? List{"read"} : List{};
  if (block == "host_volume")
    return writes ? List{"mount-readonly", "mount-readwrite"} : reads ? List{"mount-readonly"} : List{};
  if (block == "operator")
    return writes  ? List{"snapshot-save", "license-read", "keyring-rotate", "keyring-read", "keyring-delete"}
           : reads ? List{"license-read", "keyring-read"}
                   : List{};
  return writes ? List{"sentinel-read", "sentinel-submit", "sentinel-delete"} : reads ? List{"sentinel-read"} : List{};
}

void add_once(std::vector<std::string>& to, std::string_view name) {
  if (std::find(to.begin(), to.end(), name) == to.end()) to.emplace_back(name);
}

bool has(const std::vector<std::string>& all, std::string_view name) {
  return std::find(all.begin(), all.end(), name) != all.end();
}

/// Adds capabilities implied by those on host volumes (R-STORE-97).
void add_implied(std::vector<std::string>& capabilities) {
  const auto bring = [&](std::string_view name, std::initializer_list<std::string_view> more) {
    if (!has(capabilities, name)) return;
    for (const std::string_view one : more) add_once(capabilities, one);
  };
  bring("host-volume-write", {"host-volume-register", "host-volume-create", "host-volume-delete", "host-volume-read"});
  bring("host-volume-register", {"host-volume-create", "host-volume-read"});
  bring("host-volume-create", {"host-volume-read"});
}

bool is_word(std::string_view word) { return word == "deny" || word == "read" || word == "write" || word == "scale"; }

bool is_label(std::string_view name, bool underscores) {
  if (name.empty() || name.size() > 128) return false;
  return std::all_of(name.begin(), name.end(), [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '*' ||
           (underscores && c == '_');
  });
}

/// A kind of block with capabilities.
struct BlockKind {
  std::string_view key;
  Names capabilities;
  std::string name, capability, policy;  ///< error texts; `%` stands for the given text, `@` for the label
};

const BlockKind& kind_of(std::string_view key) {
  static const BlockKind kKinds[] = {
      {"namespace", kNamespaceNames, "Invalid namespace name: \"%\"",
       "Invalid namespace capability '%': namespace \"@\"", "Invalid namespace policy: \"%\" of namespace \"@\""},
      {"node_pool", kNodePoolNames, "Invalid node pool name '%'", "Invalid node pool capability '%' for '@'",
       "Invalid node pool policy '%' for '@'"},
      {"host_volume", kHostVolumeNames, "Invalid host volume name: \"%\"",
       "Invalid host volume capability '%': host volume \"@\"",
       "Invalid host volume policy: \"%\" of host volume \"@\""},
      {"operator", kOperatorNames, "", "Invalid operator capability '%'", "Invalid operator policy: \"%\""},
      {"sentinel", kSentinelNames, "", "Invalid sentinel capability '%'", "Invalid sentinel policy: \"%\""}};
  return *std::find_if(std::begin(kKinds), std::end(kKinds), [&](const BlockKind& kind) { return kind.key == key; });
}

std::string filled(const std::string& form, std::string_view written, std::string_view label) {
  std::string out;
  for (const char c : form)
    if (c == '%')
      out += written;
    else if (c == '@')
      out += label;
    else
      out += c;
  return out;
}

std::string text_member(const PolicyValue& block, std::string_view key) {
  const PolicyValue* found = block.find(key);
  return found && found->kind == PolicyValue::Kind::text ? found->text : "";
}

/// The texts of a list; other items are "".
std::vector<std::string> list_member(const PolicyValue& block, std::string_view key) {
  std::vector<std::string> out;
  if (const PolicyValue* found = block.find(key))
    for (const PolicyValue& item : found->list) out.push_back(item.text);
  return out;
}

class Reader {
 public:
  /// Reads the rules. Returns the error or "".
  std::string read(const PolicyTree& tree, AclRules& out) {
    tree_ = &tree;
    if (std::string unknown = unknown_keys(); !unknown.empty()) return "Invalid or duplicate policy keys: " + unknown;
    for (const auto& [key, blocks] : {std::pair("namespace", &out.namespaces), std::pair("node_pool", &out.node_pools),
                                      std::pair("host_volume", &out.host_volumes)})
      each(key, [&](std::string label, const PolicyValue& body) {
        if (error_.empty()) take_labelled(kind_of(key), std::move(label), body, blocks->emplace_back());
      });
    for (const auto& [key, word] : {std::pair("agent", &out.agent), std::pair("node", &out.node),
                                    std::pair("quota", &out.quota), std::pair("plugin", &out.plugin)})
      each(key, [&](const std::string&, const PolicyValue& body) { take_word(key, body, *word); });
    for (const auto& [key, block] : {std::pair("operator", &out.operators), std::pair("sentinel", &out.sentinel)})
      each(key, [&](const std::string&, const PolicyValue& body) {
        take_capabilities(kind_of(key), "", body, block->emplace());
      });
    return error_;
  }

 private:
  static bool is_labelled(std::string_view key) {
    return key == "namespace" || key == "node_pool" || key == "host_volume";
  }
  static bool is_single(std::string_view key) {
    return key == "agent" || key == "node" || key == "operator" || key == "quota" || key == "sentinel" ||
           key == "plugin";
  }

  /// Error for unknown keys, second blocks and second labels (R-STORE-123).
  [[nodiscard]] std::string unknown_keys() const {
    std::set<std::string> wrong;
    std::set<std::string_view> seen;
    for (const PolicyItem& item : tree_->items) {
      const std::string& key = item.keys[0];
      const std::size_t most = is_labelled(key) ? 2 : 1;
      if ((!is_labelled(key) && !is_single(key)) || (is_single(key) && !seen.insert(key).second)) wrong.insert(key);
      for (std::size_t i = most; i < item.keys.size(); ++i) wrong.insert(item.keys[i]);
    }
    return base::join({wrong.begin(), wrong.end()}, ", ");
  }

  /// Visits the blocks of a kind. In JSON the label is a member, and the body may be a list of one.
  template <class Visit>
  void each(std::string_view key, const Visit& visit) const {
    for (const PolicyItem& item : tree_->items) {
      if (item.keys[0] != key) continue;
      if (item.keys.size() > 1 || !is_labelled(key))
        visit(item.keys.size() > 1 ? item.keys[1] : "", item.value);
      else
        each_labelled(item.value, visit);
    }
  }
  template <class Visit>
  void each_labelled(const PolicyValue& value, const Visit& visit) const {
    if (!tree_->is_json) return visit("", value);
    for (const PolicyValue& part : value.list) each_labelled(part, visit);
    for (const PolicyItem& member : value.items) {
      for (const PolicyValue& body : member.value.list) visit(member.keys[0], body);
      if (member.value.kind != PolicyValue::Kind::list) visit(member.keys[0], member.value);
    }
  }

  void fail(std::string text) {
    if (error_.empty()) error_ = std::move(text);
  }

  void take_labelled(const BlockKind& kind, std::string label, const PolicyValue& body, PolicyBlock& out) {
    out.name = std::move(label);
    if (!is_label(out.name, kind.key == "node_pool")) return fail(filled(kind.name, out.name, ""));
    take_capabilities(kind, out.name, body, out);
    if (kind.key != "namespace") return;
    add_implied(out.capabilities);
    if (const PolicyValue* variables = body.find("variables")) take_variables(*variables, out);
  }

  void take_capabilities(const BlockKind& kind, const std::string& label, const PolicyValue& body, PolicyBlock& out) {
    out.policy = text_member(body, "policy");
    if (body.find("policy") && !is_word(out.policy)) return fail(filled(kind.policy, out.policy, label));
    for (const std::string& capability : list_member(body, "capabilities")) {
      if (bit_of(kind.capabilities, capability) == 0) return fail(filled(kind.capability, capability, label));
      add_once(out.capabilities, capability);
    }
    for (const std::string_view word : words_of(kind.key, out.policy)) add_once(out.capabilities, word);
  }

  void take_word(const std::string& key, const PolicyValue& body, std::optional<std::string>& out) {
    out = text_member(body, "policy");
    if (*out == "deny" || *out == "read" || *out == "write") return;
    if (*out == (key == "plugin" ? "list" : "scale")) return;
    std::string type = key;
    type[0] = static_cast<char>(type[0] - 'a' + 'A');
    fail("Invalid " + key + " policy: &acl." + type + "Policy{Policy:" + base::go_quote(*out) + "}");
  }

  void take_variables(const PolicyValue& variables, PolicyBlock& out) {
    out.has_variables = true;
    for (const PolicyItem& item : variables.items) {
      if (item.keys[0] != "path") continue;
      if (item.keys.size() > 1 || !tree_->is_json) {
        take_path(item.keys.size() > 1 ? item.keys[1] : "", item.value, out);
        continue;
      }
      each_labelled(item.value, [&](const std::string& path, const PolicyValue& body) { take_path(path, body, out); });
    }
    if (out.paths.empty()) fail("Invalid variable policy: no variable paths in namespace " + out.name);
  }

  void take_path(const std::string& spec, const PolicyValue& body, PolicyBlock& block) {
    PolicyPath& out = block.paths.emplace_back();
    out.spec = spec;
    if (spec.empty()) return fail("Invalid missing variable path in namespace " + block.name);
    if (spec.starts_with('/'))
      return fail("Invalid variable path \"" + spec + "\" in namespace " + block.name +
                  ": cannot start with a leading '/'`");
    for (const std::string& capability : list_member(body, "capabilities")) {
      if (bit_of(kVariableNames, capability) == 0)
        return fail("Invalid variable capability '" + capability + "' in namespace " + block.name);
      add_once(out.capabilities, capability);
    }
    if (has(out.capabilities, "deny"))
      out.capabilities = {"deny"};
    else if (has(out.capabilities, "read"))
      add_once(out.capabilities, "list");
  }

  const PolicyTree* tree_ = nullptr;
  std::string error_;
};

json::Value blocks_json(const std::vector<PolicyBlock>& blocks, bool variables) {
  if (blocks.empty()) return {};
  json::Value out = json::Value::array();
  for (const PolicyBlock& block : blocks) {
    json::Value one = json::Value::object();
    one.set("Name", block.name), one.set("Policy", block.policy);
    one.set("Capabilities", texts_or_null(block.capabilities));
    if (variables) {
      json::Value of_paths;
      if (block.has_variables) {
        json::Value paths = json::Value::array();
        for (const PolicyPath& path : block.paths) {
          json::Value row = json::Value::object();
          row.set("PathSpec", path.spec), row.set("Capabilities", texts_or_null(path.capabilities));
          paths.push(std::move(row));
        }
        of_paths.set("Paths", std::move(paths));
      }
      one.set("Variables", std::move(of_paths));
    }
    out.push(std::move(one));
  }
  return out;
}

json::Value word_json(const std::optional<std::string>& word) {
  json::Value out;
  if (word) out.set("Policy", *word);
  return out;
}

json::Value single_json(const std::optional<PolicyBlock>& block) {
  json::Value out;
  if (block) out.set("Policy", block->policy), out.set("Capabilities", texts_or_null(block->capabilities));
  return out;
}

}  // namespace

Capabilities namespace_capability(std::string_view name) { return bit_of(kNamespaceNames, name); }
Capabilities node_pool_capability(std::string_view name) { return bit_of(kNodePoolNames, name); }
Capabilities host_volume_capability(std::string_view name) { return bit_of(kHostVolumeNames, name); }
Capabilities operator_capability(std::string_view name) { return bit_of(kOperatorNames, name); }
Capabilities variable_capability(std::string_view name) { return bit_of(kVariableNames, name); }

tl::expected<AclRules, std::string> AclRules::parse(const std::string& rules) {
  AclRules out;
  if (rules.empty()) return out;
  const auto tree = parse_policy_text(rules);
  if (!tree) return tl::unexpected("Failed to parse ACL Policy: " + tree.error());
  if (tree->items.empty()) return tl::unexpected("Invalid policy: " + rules);
  if (std::string error = Reader().read(*tree, out); !error.empty()) return tl::unexpected(std::move(error));
  return out;
}

json::Value policy_rules_json(const AclRules& policy, const std::string& rules) {
  json::Value out = json::Value::object();
  out.set("Namespaces", blocks_json(policy.namespaces, true));
  out.set("NodePools", blocks_json(policy.node_pools, false));
  out.set("HostVolumes", blocks_json(policy.host_volumes, false));
  out.set("Agent", word_json(policy.agent)), out.set("Node", word_json(policy.node));
  out.set("Operator", single_json(policy.operators)), out.set("Quota", word_json(policy.quota));
  out.set("Plugin", word_json(policy.plugin)), out.set("Sentinel", single_json(policy.sentinel));
  out.set("Raw", rules), out.set("ExtraKeysHCL", nullptr);
  return out;
}

}  // namespace berth::http
