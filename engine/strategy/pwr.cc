#include "strategy/pwr.h"

#include <algorithm>

#include "strategy/row_choice.h"

namespace berth::strategy {
namespace {

class PwrWithFgd final : public Ranker {
 public:
  PwrWithFgd(Pwr pwr, Fgd fgd, std::int32_t fgd_weight)
      : pwr_(std::move(pwr)), fgd_(std::move(fgd)), fgd_weight_(fgd_weight) {}

  std::span<const double> scores(const Fleet& fleet, ClassId id) override {
    constexpr std::int32_t kNone = ScoreColumns<Pwr>::kNone, kWeights = 1000, kScoreMax = 100;
    const auto& power = pwr_scores_.refresh(fleet, pwr_, id).scores;
    const auto& fragments = fgd_scores_.refresh(fleet, fgd_, id).scores;
    std::int32_t least = INT32_MAX, greatest = kNone;
    for (const std::int32_t s : power)
      if (s != kNone) least = std::min(least, s), greatest = std::max(greatest, s);
    totals_.assign(power.size(), kNoScore);
    for (std::size_t row = 0; row < power.size(); ++row) {
      if (power[row] == kNone) continue;
      const std::int64_t scaled =
          greatest == least ? kScoreMax
                            : (std::int64_t{power[row]} - least) * kScoreMax / (std::int64_t{greatest} - least);
      totals_[row] =
          static_cast<double>((kWeights - fgd_weight_) * scaled + std::int64_t{fgd_weight_} * fragments[row]);
    }
    return totals_;
  }

  std::optional<Choice> choose(const Fleet& fleet, ClassId id, Exclusion without) override {
    const std::span<const double> totals = scores(fleet, id);
    const auto best = best_row(totals, without);
    if (!best) return std::nullopt;
    return Choice{*best, fgd_.devices(fleet.node(*best), fleet.task_class(id)), totals[*best]};
  }

 private:
  Pwr pwr_;
  Fgd fgd_;
  std::int32_t fgd_weight_;
  ScoreColumns<Pwr> pwr_scores_;
  ScoreColumns<Fgd> fgd_scores_;
  std::vector<double> totals_;
};

}  // namespace

DeviceMask Pwr::devices(const Node& node, const TaskClass& task) const {
  if (task.gpu_milli == 0 || task.gpu_milli == kWholeDevice) return choose_devices(node, task, DeviceRule::first);
  DeviceMask idle = 0;
  for (std::size_t i = 0; i < node.devices.size(); ++i) {
    if (node.devices[i] < task.gpu_milli) continue;
    if (node.devices[i] < kWholeDevice) return DeviceMask{1} << i;
    if (idle == 0) idle = DeviceMask{1} << i;
  }
  return idle;
}

std::unique_ptr<Ranker> make_pwr_with_fgd(Pwr pwr, Fgd fgd, std::int32_t fgd_weight) {
  return std::make_unique<PwrWithFgd>(std::move(pwr), std::move(fgd), fgd_weight);
}

}  // namespace berth::strategy
