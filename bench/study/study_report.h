// A study as JSON: bench/schema/berth-study.json. Tables and page are made of it by bench/report.
#pragma once

#include "base/json.h"
#include "study/study.h"

namespace berth::study {

[[nodiscard]] json::Value to_json(const Study& study);

}  // namespace berth::study
