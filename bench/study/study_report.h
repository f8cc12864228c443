// A study as JSON: bench/schema/berth-study.json. bench/report makes tables and page from it.
#pragma once

#include "base/json.h"
#include "study/study.h"

namespace berth::study {

[[nodiscard]] json::Value to_json(const Study& study);

}  // namespace berth::study
