#include "model/codec/values.h"

namespace berth::model {

#define BERTH_X(T)                                                                               \
  template Result<void> from_json<T>(const json::Value& value, T& out, const ReadOptions& opts); \
  template json::Value to_json<T>(const T& value, WriteMode mode, const JobTable* jobs);
BERTH_MODEL_TYPES(BERTH_X)
#undef BERTH_X

}  // namespace berth::model
