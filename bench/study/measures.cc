#include "study/measures.h"

#include <algorithm>
#include <vector>

#include "compare/metrics.h"

namespace berth::study {

std::span<const run::Measure> measures() {
  static const std::vector<run::Measure> kAll = [] {
    std::vector<run::Measure> out(run::measures().begin(), run::measures().end());
    for (const compare::MetricSet* set :
         {&compare::packing_metrics(compare::kAllGiven), &compare::preemption_metrics(), &compare::rebalance_metrics()})
      for (std::size_t m = 0; m < set->all.size(); ++m) {
        const compare::Metric& metric = set->all[m];
        const bool tested = std::find(set->tested.begin(), set->tested.end(), m) != set->tested.end();
        const auto same = std::find_if(out.begin(), out.end(),
                                       [&](const run::Measure& one) { return run::name_of(one) == metric.name; });
        if (same == out.end())
          out.push_back({metric.name,
                         metric.name,
                         metric.title,
                         "",
                         metric.direction,
                         run::MeasureKind::quality,
                         {},
                         tested ? run::kTested : 0U});
        else
          same->uses |= tested ? run::kTested : 0U;  // the same measure in both sets
      }
    return out;
  }();
  return kAll;
}

}  // namespace berth::study
