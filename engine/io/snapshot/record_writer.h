// Writes objects of Nomad's API as records of a snapshot: the reverse of RecordReader (R-SNAP-30 to 40).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/json.h"

namespace berth::io {

/// Appends one object of this record type as msgpack. `job`: the bytes under the key `Job` of an allocation, written
/// before, so that allocations of one job share the work.
void append_record_object(std::string& out, std::uint8_t type, const json::Value& object, std::string_view job = {});

}  // namespace berth::io
