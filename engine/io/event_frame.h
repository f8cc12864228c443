// Frames of the event stream (R-API-580 to 587): the objects that one entry of the log wrote or deleted.
//
// Objects are read as an import reads them: IDs checked, jobs and nodes in their stored form, secrets dropped. A frame
// written by to_json() has Nomad's shape and only what reading keeps.
#pragma once

#include <string>
#include <vector>

#include "berth/result.h"
#include "model/codec/codec.h"

namespace berth::io {

struct EventFrame {
  std::uint64_t index = 0;
  std::string type;             ///< of the entry (R-API-586)
  model::ClusterState objects;  ///< written ones, whole; allocations without their job
  struct Gone {
    std::string topic, name_space, key;  ///< "Job", "Node" or "NodePool"
  };
  std::vector<Gone> gone;
};

/// The topics with objects that a scheduler reads.
[[nodiscard]] const std::vector<std::string>& event_topics();

/// Reads a frame. Events of other topics are skipped. An object that cannot be read is left out, with a line in
/// `faults`. Error: this is no frame.
[[nodiscard]] Result<EventFrame> read_event_frame(const json::Value& frame, const std::string& path,
                                                  const std::string& place, std::vector<InputError>& faults);

[[nodiscard]] json::Value to_json(const EventFrame& frame);

}  // namespace berth::io
