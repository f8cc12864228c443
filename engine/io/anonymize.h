// Clusters and job files that may be handed on: every name replaced by a numbered word, so that the decisions about
// them stay the same.
//
// One injective map over words does it. A text is cut into words, numbers, addresses and separators, wherever it is:
// `web-frontend` becomes `n0042-n0017`, in job IDs, service names, allocation names and constraints alike. So a name
// that the scheduler composes of others (`web.app[3]`, `connect-proxy-web`) is replaced as its parts are. What stays:
//   - UUIDs, times, numbers up to five digits, JSON numbers: decisions shuffle by IDs and count with the rest;
//   - words that are Nomad's (anonymous_words.h), by where they are;
//   - values that an operand reads as more than equal or not: regexp, version, semver, <, <=, >, >=, and datacenters
//     that a pattern of a job matches; notes() names them;
//   - versions and amounts among the attributes that Nomad itself reads.
// Replaced words sort as the words did, since some ties are broken by names (device groups, groups, jobs).
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
  /// A map of its own for these documents.
  Anonymizer() = default;
  /// Continues a map that to_json() gave.
  [[nodiscard]] static Result<Anonymizer> from_json(const json::Value& map, const std::string& path);
  [[nodiscard]] json::Value to_json() const;

  /// Numbers the words of all `documents`, which are clusters as cluster_to_json() gives them and jobs as the API takes
  /// them. All documents that one map is made for come in one call: what their constraints read decides what stays.
  /// Nothing in them changes yet. Error: a constraint of a document reads values that an earlier call has replaced.
  [[nodiscard]] Result<void, std::string> prepare(std::span<json::Value* const> documents);
  /// `document` with its names replaced; it was among those prepared.
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

  std::map<std::string, std::string, std::less<>> words_;      // word -> numbered word, ascending in both
  std::unordered_set<std::string> numbered_;                   // values of words_ and addresses_
  std::map<std::string, std::string, std::less<>> addresses_;  // address -> another one
  std::set<std::string, std::less<>> kept_;                    // units that stay
  std::map<std::string, std::string> targets_;                 // whose values stay -> what reads them
  std::set<std::string> replaced_;                             // targets some of whose values are replaced
  std::uint64_t address_count_ = 0;                            // numbers given, to each kind of address
  std::set<std::string, std::less<>> found_;                   // while collecting: words without a number
  std::string conflict_;                                       // of keep(): a unit that is replaced already
  bool collecting_ = false;
  std::unordered_map<std::string, std::string> texts_;  // done already, by vocabulary and text
};

}  // namespace berth::io
