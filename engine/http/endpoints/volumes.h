// Printing and listing both kinds of volumes (R-STORE-200 to 247). They are rows of the cluster's state, which
// schedulers read. The index of their table is that of the newest row or of the last deletion.
#pragma once

#include "http/endpoint.h"
#include "http/simulation.h"
#include "model/volume.h"

namespace berth::http {

[[nodiscard]] json::Value host_volume_json(const model::HostVolume& volume);  ///< R-STORE-200, without allocations
/// Pairs of access and attachment mode; null: none.
[[nodiscard]] json::Value capabilities_json(const std::vector<model::HostVolumeCapability>& capabilities);
[[nodiscard]] std::uint64_t host_volumes_index(Simulation& simulation);
[[nodiscard]] std::uint64_t csi_volumes_index(Simulation& simulation);
void list_host_volumes(Simulation& simulation, const Request& request, Reply& reply);
void list_csi_volumes(Simulation& simulation, const Request& request, Reply& reply);
void write_csi_volumes(Simulation& simulation, const Request& request, Reply& reply);

/// True if the sender has none of these capabilities in the namespace: the reply contains the error.
[[nodiscard]] bool forbidden(const Request& request, const std::string& name_space,
                             std::initializer_list<std::string_view> capabilities, Reply& reply);

void add_host_volume_routes(Router& router);
void add_csi_routes(Router& router);

}  // namespace berth::http
