// Replaces values that may be secret by numbered words, so that a cluster can be given to others. Equal texts get equal
// words, so two versions of a job still compare the same.
#pragma once

#include <initializer_list>
#include <map>
#include <string>

#include "model/cluster.h"

namespace berth::io {

/// Words by text: the states that one Redactor takes have the same word for the same text.
class Redactor {
 public:
  /// Replaces task inputs that placement never reads: environment, driver configuration, contents of templates, headers
  /// and bodies of checks; of artifacts the headers, options, and in source URLs credentials and values of the query;
  /// of dispatched jobs payload and metadata.
  void redact(model::ClusterState& state);

 private:
  [[nodiscard]] std::string word(const std::string& text);
  [[nodiscard]] std::string url(const std::string& text);
  void take(json::Value& value);
  void take(model::Job& job);
  void take_keys(json::Value& list, std::initializer_list<const char*> keys);
  void take_checks(json::Value& services);

  std::map<std::string, std::size_t> words_;
};

}  // namespace berth::io
