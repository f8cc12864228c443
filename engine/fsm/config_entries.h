// Payloads of log entries on node pools and namespaces.
#pragma once

#include <string>
#include <vector>

#include "model/cluster.h"

namespace berth::fsm {

struct NodePoolUpsertEntry {
  std::vector<model::NodePool> pools;
};
struct NodePoolDeleteEntry {
  std::vector<std::string> names;
};
struct NamespaceUpsertEntry {
  std::vector<model::Namespace> namespaces;
};
struct NamespaceDeleteEntry {
  std::vector<std::string> names;
};

}  // namespace berth::fsm
