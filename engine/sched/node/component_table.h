// The components of a node's score (R-RANK-201, 7xx, R-PREEMPT-702), by place in the row.
//
// To add a component: write a file with its function, like nomad_components.h, and add a line here. Its place is the
// next free one of rank::kComponentPlaces. If jobs request it, give it a Need (tables/needs.h); if it always applies,
// name a need in `adds`. Once Columns compute it, add the need to Columns::kServes.
#pragma once

#include <array>

#include "sched/node/nomad_components.h"

namespace berth::sched {

// clang-format off
inline constexpr std::array kScoreComponents = {
    //             place                           name                       always system changes
    ScoreComponent{rank::Component::binpack,       "binpack",                 true,  true,  ScoreComponent::Changes::with_node, binpack_of},
    ScoreComponent{rank::Component::devices,       "devices",                 false, true,  ScoreComponent::Changes::with_node, devices_of_option},
    ScoreComponent{rank::Component::anti_affinity, "job-anti-affinity",       true,  false, ScoreComponent::Changes::with_node, anti_affinity_of},
    ScoreComponent{rank::Component::penalty,       "node-reschedule-penalty", true,  false, ScoreComponent::Changes::with_select, nullptr, penalty_of},
    ScoreComponent{rank::Component::affinity,      "node-affinity",           true,  false, ScoreComponent::Changes::with_node, affinity_of},
    ScoreComponent{rank::Component::spread,        "allocation-spread",       false, false, ScoreComponent::Changes::with_select, nullptr, spread_of},
    ScoreComponent{rank::Component::preemption,    "preemption",              false, false, ScoreComponent::Changes::with_victims},
};
// clang-format on

/// Calls visit(component as a constant) for each component of the table. The calls of its functions are inlined.
template <class Visit>
constexpr void each_component(Visit visit) {
  [&]<std::size_t... kAt>(std::index_sequence<kAt...>) { (visit(std::integral_constant<std::size_t, kAt>()), ...); }
  (std::make_index_sequence<kScoreComponents.size()>());
}

/// Bits of the components that a node's score map shows as 0 if they are not appended (R-RANK-701).
inline constexpr std::uint8_t kLoggedAlways = [] {
  unsigned bits = 0;
  for (const ScoreComponent& c : kScoreComponents) bits |= c.logged_always ? rank::component_bit(c.place) : 0U;
  return static_cast<std::uint8_t>(bits);
}();

static_assert(
    [] {
      for (std::size_t i = 0; i < kScoreComponents.size(); ++i)
        if (kScoreComponents[i].place != static_cast<rank::Component>(i)) return false;
      return kScoreComponents.size() <= rank::kComponentPlaces;
    }(),
    "a line per place, in their order");

}  // namespace berth::sched
