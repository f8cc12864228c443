#include "cli/slowed_stage.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <deque>
#include <string>

#include "base/text.h"
#include "model/job.h"

namespace berth::cli {
namespace {

class SlowedStage final : public run::Observer {
 public:
  SlowedStage(const std::string& text, run::Observer* next) : next_(next) {
    const std::size_t equals = text.find('=');
    share_ = equals == std::string::npos ? -1 : base::parse_double(text.substr(equals + 1)).value_or(-1);
    while (stage_ < base::kStages && base::to_text(stage()) != text.substr(0, equals)) ++stage_;
    if (!(share_ >= 0) || stage_ == base::kStages)
      throw CLI::ValidationError("--testing-slowdown", "'" + text + "' is not STAGE=SHARE");
  }

  base::StageClock* new_clock() override { return next_ ? next_->new_clock() : &clocks_.emplace_back(); }
  bool detailed(std::uint64_t number, std::uint32_t round) override {
    if (owed_ticks_ > 0) {
      base::StageClock* const clock = base::stage_clock;  // null: a grid, without marked stages yet
      const base::Stage before = clock ? clock->enter(stage()) : base::Stage{};
      const std::uint64_t began = base::read_ticks();
      // Records the spent time, not the owed one: a thread interrupted here spends more, which is not the stage's.
      do paid_ticks_ = base::read_ticks() - began;
      while (paid_ticks_ < owed_ticks_);
      if (clock)
        clock->enter(before);
      else
        paid_ticks_ = 0;  // not in the record
      owed_ticks_ = 0;
    }
    return next_ ? next_->detailed(number, round) : true;
  }
  bool begin() override { return next_ ? next_->begin() : true; }
  void end() override {
    if (next_) next_->end();
  }
  void evaluation(const run::EvalRecord& record) override {
    const std::uint64_t own = record.ticks[stage_] - std::min(record.ticks[stage_], paid_ticks_);
    owed_ticks_ += static_cast<std::uint64_t>(share_ * static_cast<double>(own));
    paid_ticks_ = 0;
    if (next_) next_->evaluation(record);
  }
  bool finished() override { return next_ && next_->finished(); }

 private:
  [[nodiscard]] base::Stage stage() const { return static_cast<base::Stage>(stage_); }

  run::Observer* const next_;
  std::deque<base::StageClock> clocks_;
  std::size_t stage_ = 0;
  double share_ = 0;
  std::uint64_t owed_ticks_ = 0, paid_ticks_ = 0;
};

}  // namespace

void add_slowdown(CLI::App& command, std::string& text) { command.add_option("--testing-slowdown", text)->group(""); }

std::unique_ptr<run::Observer> slowed_stage(const std::string& text, run::Observer* next) {
  return text.empty() ? nullptr : std::make_unique<SlowedStage>(text, next);
}

}  // namespace berth::cli
