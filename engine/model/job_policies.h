// Policies of jobs and task groups: restarts, reschedules, updates, migrations, disconnects (R-MODEL-110 to 114), and
// how a job starts others (R-MODEL-117, 118). Part of job.h, for headers that need only these.
#pragma once

#include "model/resources.h"

namespace berth::model {

struct RestartPolicy {
  std::int64_t attempts = 0;
  Duration interval = 0, delay = 0;
  std::string mode;
  bool render_templates = false;
  template <class S, class V>
  static void fields(S& s, V& v) {
    v("Attempts", s.attempts), v("Interval", s.interval), v("Delay", s.delay), v("Mode", s.mode);
    v("RenderTemplates", s.render_templates);
  }
  friend bool operator==(const RestartPolicy&, const RestartPolicy&) = default;
};

struct ReschedulePolicy {
  std::int64_t attempts = 0;
  Duration interval = 0, delay = 0;
  std::string delay_function;
  Duration max_delay = 0;
  bool unlimited = false;
  template <class S, class V>
  static void fields(S& s, V& v) {
    v("Attempts", s.attempts), v("Interval", s.interval), v("Delay", s.delay), v("DelayFunction", s.delay_function);
    v("MaxDelay", s.max_delay), v("Unlimited", s.unlimited);
  }
  [[nodiscard]] bool enabled() const { return attempts > 0 || unlimited; }
  friend bool operator==(const ReschedulePolicy&, const ReschedulePolicy&) = default;
};

struct UpdateStrategy {
  Duration stagger = 0;
  std::int64_t max_parallel = 0;
  std::string health_check;
  Duration min_healthy_time = 0, healthy_deadline = 0, progress_deadline = 0;
  bool auto_revert = false, auto_promote = false;
  std::int64_t canary = 0;
  template <class S, class V>
  static void fields(S& s, V& v) {
    v("Stagger", s.stagger), v("MaxParallel", s.max_parallel), v("HealthCheck", s.health_check);
    v("MinHealthyTime", s.min_healthy_time), v("HealthyDeadline", s.healthy_deadline);
    v("ProgressDeadline", s.progress_deadline), v("AutoRevert", s.auto_revert), v("AutoPromote", s.auto_promote);
    v("Canary", s.canary);
  }
  [[nodiscard]] bool empty() const { return max_parallel == 0; }  ///< R-MODEL-112, R-RECON-98
  friend bool operator==(const UpdateStrategy&, const UpdateStrategy&) = default;
};

struct MigrateStrategy {
  std::int64_t max_parallel = 0;
  std::string health_check;
  Duration min_healthy_time = 0, healthy_deadline = 0;
  template <class S, class V>
  static void fields(S& s, V& v) {
    v("MaxParallel", s.max_parallel), v("HealthCheck", s.health_check);
    v("MinHealthyTime", s.min_healthy_time), v("HealthyDeadline", s.healthy_deadline);
  }
  friend bool operator==(const MigrateStrategy&, const MigrateStrategy&) = default;
};

struct DisconnectStrategy {
  Duration lost_after = 0;
  std::optional<Duration> stop_on_client_after;
  std::optional<bool> replace;  ///< absent = true
  std::string reconcile;        ///< "" = best_score
  template <class S, class V>
  static void fields(S& s, V& v) {
    v("LostAfter", s.lost_after), v("StopOnClientAfter", s.stop_on_client_after), v("Replace", s.replace);
    v("Reconcile", s.reconcile);
  }
  friend bool operator==(const DisconnectStrategy&, const DisconnectStrategy&) = default;
};

struct PeriodicConfig {
  bool enabled = false;
  std::string spec;
  std::vector<std::string> specs;
  std::string spec_type;
  bool prohibit_overlap = false;
  std::string time_zone;
  template <class S, class V>
  static void fields(S& s, V& v) {
    v("Enabled", s.enabled), v("Spec", s.spec), v("Specs", s.specs), v("SpecType", s.spec_type);
    v("ProhibitOverlap", s.prohibit_overlap), v("TimeZone", s.time_zone);
  }
  friend bool operator==(const PeriodicConfig&, const PeriodicConfig&) = default;
};

struct ParameterizedJob {
  std::string payload;
  std::vector<std::string> meta_required, meta_optional;
  json::Retained extra;
  template <class S, class V>
  static void fields(S& s, V& v) {
    v("Payload", s.payload), v("MetaRequired", s.meta_required), v("MetaOptional", s.meta_optional);
    v.extra(s.extra);
  }
  friend bool operator==(const ParameterizedJob&, const ParameterizedJob&) = default;
};

}  // namespace berth::model
