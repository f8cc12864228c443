// Maps names of a control script to rows of the broker; shared by the scripts of broker and blocked tracker.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "broker/eval.h"
#include "conform/control/control_script.h"

namespace berth::conform {

/// "_core" -> Queue::core; unknown names give service.
[[nodiscard]] broker::Queue queue_of(std::string_view name);

/// Numbers texts in order of first occurrence.
class Numbered {
 public:
  std::uint32_t number(const std::string& text) {
    const auto [at, added] = numbers_.try_emplace(text, static_cast<std::uint32_t>(texts_.size()));
    if (added) texts_.push_back(text);
    return at->second;
  }
  [[nodiscard]] const std::string& text(std::uint32_t number) const { return texts_.at(number); }
  [[nodiscard]] std::uint32_t count() const { return static_cast<std::uint32_t>(texts_.size()); }

 private:
  std::map<std::string, std::uint32_t> numbers_;
  std::vector<std::string> texts_;
};

class ScriptNames {
 public:
  /// The broker's row of a recorded evaluation; new names get new rows.
  broker::EvalRow row(const std::string& id) { return static_cast<broker::EvalRow>(evals_.number(id)); }
  broker::Eval read(const Field& eval);
  [[nodiscard]] const std::string& eval(broker::EvalRow row) const {
    return evals_.text(static_cast<std::uint32_t>(row));
  }
  [[nodiscard]] const std::string& job(broker::JobKeyRow job) const {
    return jobs_.text(static_cast<std::uint32_t>(job));
  }
  broker::JobKeyRow job_row(const std::string& namespace_and_id) {
    return static_cast<broker::JobKeyRow>(jobs_.number(namespace_and_id));
  }
  [[nodiscard]] json::Value list(const std::vector<broker::EvalRow>& rows) const;

  /// Labels the next delivery's token: t1, t2, ...
  std::string delivered(broker::Token token) {
    tokens_.push_back(token);
    return numbered_label(tokens_.size());
  }
  /// The label of a token; "" for Token::none, "?" for one that was never delivered.
  [[nodiscard]] std::string label(broker::Token token) const {
    if (token == broker::Token::none) return "";
    for (std::size_t i = 0; i < tokens_.size(); ++i)
      if (tokens_[i] == token) return numbered_label(i + 1);
    return "?";
  }
  /// The token of a label; Token::none for any other text.
  [[nodiscard]] broker::Token token(const std::string& label) const {
    for (std::size_t i = 0; i < tokens_.size(); ++i)
      if (label == numbered_label(i + 1)) return tokens_[i];
    return broker::Token::none;
  }

 private:
  static std::string numbered_label(std::size_t number) {
    std::string out = std::to_string(number);
    out.insert(out.begin(), 't');
    return out;
  }

  Numbered evals_, jobs_, job_ids_;
  std::vector<broker::Token> tokens_;
};

}  // namespace berth::conform
