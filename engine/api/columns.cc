// Converts a View to columns (berth/columns.h): one pass over nodes, one over allocations.
#include "berth/columns.h"

#include <tsl/robin_map.h>

#include "api/impl.h"

namespace berth {

using tables::kNoRow;

namespace {

IdBytes bytes_of(base::Uuid id) {
  IdBytes out;
  for (std::size_t i = 0; i < 8; ++i) {
    out[i] = static_cast<std::uint8_t>(id.hi >> (56 - 8 * i));
    out[8 + i] = static_cast<std::uint8_t>(id.lo >> (56 - 8 * i));
  }
  return out;
}

/// Numbers the symbols that a table uses, in order of first use.
class Dictionary {
 public:
  Dictionary(const tables::Snapshot& state, std::vector<std::string>& words) : state_(state), words_(words) {}
  std::uint32_t operator()(tables::Symbol symbol) {
    const auto [found, is_new] = known_.try_emplace(static_cast<std::uint32_t>(symbol), words_.size());
    if (is_new) words_.push_back(state_.text(symbol));
    return found->second;
  }

 private:
  const tables::Snapshot& state_;
  std::vector<std::string>& words_;
  tsl::robin_map<std::uint32_t, std::uint32_t> known_;
};

}  // namespace

NodeColumns View::node_columns() const {
  const tables::Snapshot& state = *impl_->state;
  const tables::NodeTable& nodes = state.nodes;
  NodeColumns out;
  Dictionary word(state, out.words);
  const auto keyed = [&](tables::ColumnId column, tables::NodeRow row) {
    const tables::KeyedColumn& c = nodes.column(column);
    const std::uint32_t code = c.code(row);
    return word(code == 0 ? tables::kEmptySymbol : c.value(code));
  };
  for (const tables::NodeRow row : *nodes.fixed->by_id) {
    out.id.push_back(bytes_of(nodes.id(row)));
    const std::string* name = state.value_text(tables::kNameColumn, row);
    out.name.push_back(name ? *name : std::string());
    out.datacenter.push_back(keyed(tables::kDatacenterColumn, row));
    out.pool.push_back(keyed(tables::kPoolColumn, row));
    out.node_class.push_back(keyed(tables::kClassColumn, row));
    out.status.push_back(static_cast<std::uint8_t>(nodes.status(row)));
    out.eligible.push_back((nodes.state[row] & tables::kEligible) != 0);
    out.draining.push_back((nodes.state[row] & tables::kDraining) != 0);
    const tables::NodeCapacity& capacity = nodes.capacity(row);
    const tables::NodeUse& use = nodes.use[row];
    out.allocs.push_back(use.alloc_count);
    out.cpu_usable_mhz.push_back(capacity.cpu_mhz), out.cpu_used_mhz.push_back(use.cpu_mhz);
    out.memory_usable_mb.push_back(capacity.memory_mb), out.memory_used_mb.push_back(use.memory_mb);
    out.disk_usable_mb.push_back(capacity.disk_mb), out.disk_used_mb.push_back(use.disk_mb);
  }
  return out;
}

AllocColumns View::alloc_columns() const {
  const tables::Snapshot& state = *impl_->state;
  const tables::AllocTable& allocs = state.allocs;
  AllocColumns out;
  Dictionary word(state, out.words);
  std::vector<std::int32_t> position(state.nodes.size(), -1), job_position(state.jobs.keys.size(), -1);
  std::int32_t next = 0;
  for (const tables::NodeRow row : *state.nodes.fixed->by_id) position[row] = next++;
  for (tables::AllocRow row = 0; row < allocs.size(); ++row) {
    if (!allocs.exists(row)) continue;
    out.id.push_back(bytes_of(allocs.id[row]));
    out.node.push_back(allocs.node[row] == kNoRow ? -1 : position[allocs.node[row]]);
    std::int32_t job = -1;
    if (const tables::JobKeyRow key = allocs.job_key[row]; key != kNoRow) {
      std::int32_t& known = job_position[key];
      if (known < 0) {
        known = static_cast<std::int32_t>(out.jobs.size());
        out.jobs.emplace_back(state.text(state.jobs.keys[key].job_namespace), state.text(state.jobs.keys[key].job_id));
      }
      job = known;
    }
    out.job.push_back(job);
    out.group.push_back(word(allocs.group[row]));
    const std::uint32_t index = allocs.name_index[row];
    out.index.push_back(index == tables::kOddName ? -1 : static_cast<std::int64_t>(index));
    out.desired.push_back(static_cast<std::uint8_t>(allocs.desired[row]));
    out.client.push_back(static_cast<std::uint8_t>(allocs.client[row]));
    const tables::ResourceShape& shape = allocs.shape_of(row);
    out.cpu_mhz.push_back(shape.cpu_mhz), out.memory_mb.push_back(shape.memory_mb),
        out.disk_mb.push_back(shape.disk_mb);
    out.score.push_back(allocs.links[row].score);
    out.create_index.push_back(allocs.create_index[row]), out.modify_index.push_back(allocs.modify_index[row]);
  }
  return out;
}

}  // namespace berth
