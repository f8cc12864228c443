// Reads and writes the entries of large files: as codec.h does, without copies on the way.
#pragma once

#include <string>

#include "model/codec/codec.h"

namespace berth::model {

/// Like from_json(), but moves strings and retained values out of `value`; numbers stay.
template <class T>
[[nodiscard]] Result<void> take_json(json::Value&& value, T& out, const ReadOptions& options);

/// Appends the text of to_json(value, WriteMode::sparse), of an allocation without its job.
template <class T>
void append_sparse(std::string& out, const T& value);

// clang-format off
#define BERTH_BULK_TYPES(X) \
  X(Node) X(NodePool) X(Namespace) X(Allocation) X(Evaluation) X(Deployment) X(HostVolume) X(HostVolumeClaim) \
  X(CsiVolume) X(CsiPlugin)
// clang-format on
#define BERTH_X(T)                                                                                      \
  extern template Result<void> take_json<T>(json::Value && value, T & out, const ReadOptions& options); \
  extern template void append_sparse<T>(std::string & out, const T& value);
BERTH_BULK_TYPES(BERTH_X)
#undef BERTH_X

}  // namespace berth::model
