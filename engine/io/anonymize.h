// Clusters and job files that can be given to others: every name becomes a numbered word, and decisions stay the same.
//
// One injective map over words does this. Every text is cut into words, numbers, addresses and separators:
// `web-frontend` becomes `n0042-n0017` in job IDs, service names, allocation names and constraints alike. A name that
// the scheduler composes of others (`web.app[3]`, `connect-proxy-web`) is replaced part by part. What stays:
//   - UUIDs, times, numbers up to five digits, JSON numbers: decisions use IDs to shuffle, and numbers to compute;
//   - Nomad's own words (anonymous_words.h), depending on where they occur;
//   - values that an operand reads as more than equal or not (regexp, version, semver, <, <=, >, >=), and datacenters
//     that a job's pattern matches; notes() lists them;
//   - versions and amounts among the attributes that Nomad itself reads.
// Replaced words sort like the originals, since names break some ties (device groups, groups, jobs).
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/json.h"
#include "berth/result.h"
#include "io/anonymous_words.h"

namespace berth::io {

class Anonymizer {
 public:
  /// Starts a new map.
  Anonymizer() = default;
  /// Continues a map that to_json() returned.
  [[nodiscard]] static Result<Anonymizer> from_json(const json::Value& map, const std::string& path);
  [[nodiscard]] json::Value to_json() const;

  /// Numbers the words of `documents`: clusters as cluster_to_json() returns them, and jobs in API form. Pass all
  /// documents of one map in one call, because their constraints decide which values stay. The documents do not change
  /// yet. Error: a constraint reads values that an earlier call has replaced.
  [[nodiscard]] Result<void, std::string> prepare(std::span<json::Value* const> documents);
  /// Replaces the names in `document`, which must have been passed to prepare().
  void rewrite(json::Value& document);

  /// One line for each target whose values stay, and why.
  [[nodiscard]] std::vector<std::string> notes() const;

 private:
  class Constraints;
  struct Place;
  [[nodiscard]] static Place place_of(const std::string& key, const json::Value& value);

  void walk(json::Value& value, const Place& place);
  void walk_members(json::Value& value, const Place& place);
  [[nodiscard]] std::string text(const std::string& text, Vocabulary vocabulary);
  [[nodiscard]] std::string composed(std::string_view text, Vocabulary vocabulary);
  [[nodiscard]] std::string pieces(std::string_view text, Vocabulary vocabulary);
  [[nodiscard]] std::string variable(std::string_view inside);
  [[nodiscard]] std::string meta_key(std::string_view key);
  void put(std::string& out, std::string_view text, const Unit& unit, Vocabulary vocabulary);

  void keep(std::string_view text);
  void keep_values(const json::Value& cluster);
  void number_words();
  [[nodiscard]] std::string new_address(bool is_v6);
  void note_replaced(const json::Value& cluster);

  std::map<std::string, std::string, std::less<>> words_;      // word -> numbered word; both ascend
  std::unordered_set<std::string> numbered_;                   // values of words_ and addresses_
  std::map<std::string, std::string, std::less<>> addresses_;  // address -> replacement
  std::set<std::string, std::less<>> kept_;                    // units that stay
  std::map<std::string, std::string> targets_;  // target whose values stay -> the operand that reads them
  std::set<std::string> replaced_;              // target whose values stay -> operand that reads them
  std::uint64_t address_count_ = 0;             // numbers used so far, for both kinds of address
  std::set<std::string, std::less<>> found_;    // while collecting: words without a number
  std::string conflict_;                        // set by keep(): a unit that was already replaced
  bool collecting_ = false;
  std::unordered_map<std::string, std::string> texts_;  // cache: vocabulary and text -> replaced text
};

}  // namespace berth::io
