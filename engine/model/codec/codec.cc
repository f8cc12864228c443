#include "model/codec/bulk.h"
#include "model/codec/values.h"
#include "model/job.h"

namespace berth::model {

#define BERTH_X(T)                                                                               \
  template Result<void> from_json<T>(const json::Value& value, T& out, const ReadOptions& opts); \
  template json::Value to_json<T>(const T& value, WriteMode mode, const JobTable* jobs);
BERTH_MODEL_TYPES(BERTH_X)
#undef BERTH_X

template <class T>
Result<void> take_json(json::Value&& value, T& out, const ReadOptions& options) {
  codec::Reader reader(options, codec::Reader::Input::consumed);
  reader.read(value, out, codec::Place{nullptr, options.place});
  return std::move(reader).result();
}

#define BERTH_X(T) template Result<void> take_json<T>(json::Value && value, T & out, const ReadOptions& options);
BERTH_BULK_TYPES(BERTH_X)
#undef BERTH_X

}  // namespace berth::model
