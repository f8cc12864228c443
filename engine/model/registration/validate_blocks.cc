// Blocks of a task that placement never reads: artifacts, templates, actions, identities, secrets, Vault, CSI plugins
// (R-REG-331 to 336).
#include <re2/re2.h>

#include <map>
#include <set>

#include "base/text.h"
#include "base/time.h"
#include "model/job.h"
#include "model/registration/blocks.h"
#include "model/registration/validate_job.h"

namespace berth::model {
namespace {

using base::go_quote;
using json::Value;

/// True if `path` under `base` leaves the allocation directory; a leading slash is no root (R-REG-336).
bool escapes(const std::string& base, const std::string& path) {
  return clean_path(base + "/" + path).starts_with("..");
}

constexpr const char* kEscapes = "destination escapes allocation directory";

std::string hex_problem(const std::string& digits) {
  for (const char c : digits)
    if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'))) {
      const auto code = static_cast<unsigned char>(c);
      std::string shown = base::go_quote(std::string_view(&c, 1));
      shown = "'" + shown.substr(1, shown.size() - 2) + "'";
      const char* hex = "0123456789ABCDEF";
      return std::string("invalid checksum: encoding/hex: invalid byte: U+00") + hex[code >> 4] + hex[code & 15] + " " +
             shown;
    }
  return digits.size() % 2 == 0 ? "" : "invalid checksum: encoding/hex: odd length hex string";
}

std::string checksum_problem(const std::string& given) {
  if (given.find("${") != std::string::npos) return "";
  const std::string text(base::trim_space(given));
  if (text.empty()) return "checksum value cannot be empty";
  const auto parts = base::split(text, ':');
  if (parts.size() != 2) return "checksum must be given as \"type:value\"; got " + go_quote(text);
  const std::string type(parts[0]), value(parts[1]);
  if (std::string problem = hex_problem(value); !problem.empty()) return problem;
  static const std::map<std::string_view, std::size_t> bytes = {
      {"md5", 16}, {"sha1", 20}, {"sha256", 32}, {"sha512", 64}};
  const auto known = bytes.find(type);
  if (known == bytes.end()) return "unsupported checksum type: " + type;
  return value.size() == 2 * known->second ? "" : "invalid " + type + " checksum: " + value;
}

ErrorList artifact_errors(const Value& artifact) {
  ErrorList errors;
  if (text_at(artifact, "GetterSource").empty()) errors.add("source must be specified");
  if (const std::string& mode = text_at(artifact, "GetterMode");
      !mode.empty() && mode != "any" && mode != "file" && mode != "dir")
    errors.add("invalid artifact mode " + go_quote(mode) + "; must be one of: any, file, dir");
  if (escapes("task", text_at(artifact, "RelativeDest"))) errors.add(kEscapes);
  if (const Value* checksum = artifact["GetterOptions"].find("checksum"); checksum && checksum->is_string())
    if (std::string problem = checksum_problem(checksum->as_string()); !problem.empty()) errors.add(std::move(problem));
  return errors;
}

/// Go's strconv.ParseUint error for a file mode of at most 7777.
std::string octal_problem(const std::string& text) {
  const bool digits = !text.empty() && text.find_first_not_of("01234567") == std::string::npos;
  const std::size_t significant = text.find_first_not_of('0');
  if (digits && (significant == std::string::npos || text.size() - significant <= 4)) return "";
  return "Failed to parse " + go_quote(text) + " as octal: strconv.ParseUint: parsing " + go_quote(text) + ": " +
         (digits ? "value out of range" : "invalid syntax");
}

void validate_change(const Value& entry, ErrorList& errors) {
  const std::string& mode = text_at(entry, "ChangeMode");
  if (mode == "signal") {
    if (text_at(entry, "ChangeSignal").empty()) errors.add("Must specify signal value when change mode is signal");
    if (entry["Envvars"].as_bool()) errors.add("cannot use signals with env var templates");
  } else if (mode == "script") {
    if (!entry["ChangeScript"].is_object())
      errors.add("must specify change script configuration value when change mode is script");
    else if (text_at(entry["ChangeScript"], "Command").empty())
      errors.add("must specify script path value when change mode is script");
  } else if (mode != "noop" && mode != "restart") {
    errors.add("Invalid change mode. Must be one of the following: noop, signal, script, restart");
  }
}

ErrorList template_errors(const Value& entry) {
  ErrorList errors;
  if (text_at(entry, "SourcePath").empty() && text_at(entry, "EmbeddedTmpl").empty())
    errors.add("Must specify a source path or have an embedded template");
  const std::string& destination = text_at(entry, "DestPath");
  if (destination.empty()) errors.add("Must specify a destination for the template");
  if (escapes("task", destination)) errors.add(kEscapes);
  validate_change(entry, errors);
  if (entry["Splay"].as_int() < 0) errors.add("Must specify positive splay value");
  if (const std::string& perms = text_at(entry, "Perms"); !perms.empty())
    if (std::string problem = octal_problem(perms); !problem.empty()) errors.add(std::move(problem));
  if (const Value& wait = entry["Wait"]; wait["Min"].is_int() && wait["Max"].is_int())
    if (const std::int64_t min = wait["Min"].as_int(), max = wait["Max"].as_int(); min > max)
      errors.add("wait min " + base::duration_text(min) + " is greater than max " + base::duration_text(max));
  return errors;
}

void validate_templates(const Task& task, ErrorList& errors) {
  const json::Array& templates = task.templates.items();
  std::map<std::string_view, std::size_t> first;  // position by destination, from 1
  for (std::size_t i = 0; i < templates.size(); ++i) {
    errors.add_nested("Template " + std::to_string(i + 1) + " validation failed: ", template_errors(templates[i]));
    if (const auto [at, fresh] = first.emplace(text_at(templates[i], "DestPath"), i + 1); !fresh)
      errors.add("Template " + std::to_string(i + 1) + " has same destination as " + std::to_string(at->second));
  }
}

void validate_vault_block(const Value& vault, ErrorList& errors) {
  if (!vault.is_object()) return;
  ErrorList inner;
  const std::string& mode = text_at(vault, "ChangeMode");
  if (mode == "signal") {
    if (text_at(vault, "ChangeSignal").empty()) inner.add("Signal must be specified when using change mode \"signal\"");
  } else if (mode != "noop" && mode != "restart") {
    inner.add("Unknown change mode " + go_quote(mode));
  }
  errors.add_nested("Vault validation failed: ", inner);
}

void validate_actions(const Task& task, ErrorList& errors) {
  std::map<std::string, int> seen;
  for (const Value& action : task.actions.items()) {
    const std::string& name = text_at(action, "Name");
    ErrorList inner;
    if (text_at(action, "Command").empty()) inner.add("command cannot be empty");
    if (name.empty() || name.size() > 128 || name.find(' ') != std::string::npos || has_nul(name))
      inner.add("invalid name '" + name + "'");
    errors.add_nested("Action " + name + " validation failed: ", inner);
    if (++seen[name] == 2) errors.add("Action " + name + " defined multiple times");
  }
}

ErrorList identity_errors(const Value& identity) {
  static const RE2 valid("[a-zA-Z0-9-_]{1,128}");
  ErrorList errors;
  const std::string &name = text_at(identity, "Name"), &mode = text_at(identity, "ChangeMode"),
                    &signal = text_at(identity, "ChangeSignal");
  if (!RE2::FullMatch(name, valid))
    errors.add("invalid name " + go_quote(name) + ". Must match regex ^[a-zA-Z0-9-_]{1,128}$");
  const json::Array& audience = identity["Audience"].items();
  for (std::size_t i = 0; i < audience.size(); ++i)
    if (audience[i].as_string().empty())
      errors.add("an empty string is an invalid audience (" + std::to_string(i + 1) + ")");
  if (mode.empty() || mode == "noop" || mode == "restart") {
    if (!signal.empty()) errors.add("can only use change_signal=" + go_quote(signal) + " with change_mode=\"signal\"");
  } else if (mode == "signal") {
    if (signal.empty()) errors.add("change_signal must be specified when using change_mode=\"signal\"");
  } else {
    errors.add("invalid change_mode: " + mode);
  }
  const std::int64_t ttl = identity["TTL"].as_int();
  if (ttl > 0 && (name.empty() || name == "default")) errors.add("ttl for default identity not yet supported");
  if (ttl < 0) errors.add("ttl must be >= 0");
  if (!text_at(identity, "Filepath").empty() && !identity["File"].as_bool())
    errors.add("file parameter must be true in order to specify filepath");
  return errors;
}

ErrorList secret_errors(const Value& secret) {
  static const RE2 valid("[a-zA-Z0-9_]{1,128}");
  ErrorList errors;
  const std::string &name = text_at(secret, "Name"), &provider = text_at(secret, "Provider");
  if (name.empty()) errors.add("secret name cannot be empty");
  if (!RE2::FullMatch(name, valid)) errors.add("secret name must match regex ^[a-zA-Z0-9_]{1,128}$");
  if (provider.empty()) errors.add("secret provider cannot be empty");
  if (text_at(secret, "Path").empty()) errors.add("secret path cannot be empty");
  if (provider == "nomad" || provider == "vault") {
    if (secret["Env"].size() > 0) errors.add(provider + " provider cannot use the env block");
  } else if (secret["Config"].size() > 0) {
    errors.add("custom plugin provider " + provider + " cannot use the config block");
  }
  return errors;
}

}  // namespace

std::string clean_path(std::string_view path) {
  const bool rooted = path.starts_with('/');
  std::vector<std::string> parts;
  for (const std::string_view part : base::split(path, '/')) {
    if (part.empty() || part == ".") continue;
    if (part == ".." && !parts.empty() && parts.back() != "..")
      parts.pop_back();
    else if (part != ".." || !rooted)
      parts.emplace_back(part);
  }
  const std::string joined = base::join(parts, "/");
  return rooted ? "/" + joined : joined.empty() ? "." : joined;
}

void validate_fetched(const Task& task, ErrorList& errors) {
  const json::Array& artifacts = task.artifacts.items();
  for (std::size_t i = 0; i < artifacts.size(); ++i)
    errors.add_nested("Artifact " + std::to_string(i + 1) + " validation failed: ", artifact_errors(artifacts[i]));
  validate_vault_block(task.vault, errors);
  validate_templates(task, errors);
  validate_actions(task, errors);
  if (task.dispatch_payload.is_object() && escapes("task/local", text_at(task.dispatch_payload, "File")))
    errors.add(std::string("Dispatch Payload validation failed: ") + kEscapes);
}

void validate_csi_plugin(const Value& plugin, ErrorList& errors) {
  if (!plugin.is_object()) return;
  if (text_at(plugin, "ID").empty()) errors.add("CSIPluginConfig must have a non-empty PluginID");
  if (const std::string& type = text_at(plugin, "Type"); type != "node" && type != "controller" && type != "monolith")
    errors.add("CSIPluginConfig PluginType must be one of 'node', 'controller', or 'monolith', got: " + go_quote(type));
  const std::string &base = text_at(plugin, "StagePublishBaseDir"), &mount = text_at(plugin, "MountDir");
  if (base.empty() || mount.empty()) return;
  const std::string inner = clean_path(base), outer = clean_path(mount);
  if (inner == outer || inner.starts_with(outer == "/" ? outer : outer + "/"))
    errors.add("CSIPluginConfig StagePublishBaseDir must not be a subdirectory of MountDir, got: StagePublishBaseDir=" +
               go_quote(base) + " MountDir=" + go_quote(mount));
}

void validate_identities(const Task& task, ErrorList& errors) {
  const auto check = [&](const Value& identity) {
    errors.add_nested("Identity " + go_quote(text_at(identity, "Name")) + " is invalid: ", identity_errors(identity));
  };
  if (task.identity.is_object()) check(task.identity);
  for (const Value& identity : task.identities.items()) {
    if (text_at(identity, "Name") == "default") errors.add("Duplicate default identities found");
    check(identity);
  }
}

void validate_secrets(const Task& task, ErrorList& errors) {
  std::set<std::string_view> seen;
  for (const Value& secret : task.secrets.items()) {
    const std::string& name = text_at(secret, "Name");
    if (!seen.insert(name).second) errors.add("Duplicate secret " + go_quote(name) + " found");
    if (text_at(secret, "Provider") == "vault" && !task.vault.is_object())
      errors.add("Secret " + go_quote(name) + " has provider \"vault\" but no vault block");
    errors.add_nested("Secret " + go_quote(name) + " is invalid: ", secret_errors(secret));
  }
}

}  // namespace berth::model
