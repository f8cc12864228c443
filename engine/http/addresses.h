// Replaces addresses of machines before they are served (R-API-303).
//
// A served import describes a real cluster. A client that read an address from it would connect to the real machine:
// the command line runs `alloc exec` at the node's HTTPAddr, a proxy sends requests to the address of a service. So
// every address is replaced when a node or an allocation enters the state: at the start, when a node joins, when a
// snapshot is read. An address that is not in the state cannot be served by any endpoint.
//
//   HTTPAddr                  removed: clients then go through the server
//   IPv4                      the first 4 bits become 1111: 10.0.0.7 is 250.0.0.7. 240.0.0.0/4 is reserved (RFC 1112)
//   IPv6                      the first 32 bits become 2001:db8: addresses of documentation (RFC 3849)
//   host names                `simulated.invalid`: .invalid never resolves (RFC 2606)
//   loopback, unspecified     unchanged: they name no machine of a cluster
//   in other texts            addresses in descriptions, paths of volumes, events and unknown members as above; host
//                             names there look like other words and are unchanged
// The other bits are unchanged, so that address blocks (CIDR) and comparisons of addresses keep their meaning and
// decisions are the same. Replacing twice changes nothing.
//
// Not replaced, because constraints, jobs or operators read them and no client connects to them: attributes
// (`unique.network.ip-address`), metadata, links, topologies, names, job specifications, messages of task events.
#pragma once

#include <string>

#include "model/cluster.h"

namespace berth::http {

[[nodiscard]] std::string replaced_address(const std::string& address);
/// Replaces each IPv4 and IPv6 address in a text.
[[nodiscard]] std::string replaced_in_text(const std::string& text);
/// Keeps the length of the prefix.
[[nodiscard]] std::string replaced_block(const std::string& cidr);

void remove_client_address(model::Node& node);  ///< only HTTPAddr
void replace_addresses(model::Node& node);
void replace_addresses(model::Allocation& alloc);
/// Replaces the addresses of all nodes and allocations; with `keep` only removes each node's HTTPAddr.
void replace_addresses(model::ClusterState& state, bool keep);

}  // namespace berth::http
