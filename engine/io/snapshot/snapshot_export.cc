#include "io/snapshot/snapshot_export.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <functional>
#include <initializer_list>
#include <new>
#include <unordered_map>

#include "base/sha256.h"
#include "io/cluster_parts.h"
#include "io/snapshot/record_writer.h"

namespace berth::io {
namespace {

constexpr std::size_t kBlockBytes = 512;  // of a tar archive

using Sink = std::function<void(std::string_view)>;

/// Makes the bytes of state.bin, a record at a time.
class StateWriter {
 public:
  StateWriter(const model::ClusterState& state, const SnapshotHead& head) : state_(state), head_(head) {}

  /// In the order of R-SNAP-21.
  void write(const Sink& sink) {
    sink_ = &sink;
    sink("\x80");  // an empty header
    std::uint64_t newest = 0;
    for (const auto& [table, index] : head_.indexes) index_entry(table, index), newest = std::max(newest, index);
    if (newest < state_.index) index_entry("state", state_.index);  // a table without records here changed last
    for (const model::Node& node : state_.nodes) {
      json::Value object = model::to_json(node);
      object.erase("Drain");  // derived (R-SNAP-90)
      record(0, object);
    }
    all(28, state_.node_pools);
    for (const auto& job : state_.jobs) job_record(1, *job);
    all(3, state_.evals);
    for (const model::Allocation& alloc : state_.allocs) allocation(alloc);
    for (const auto& job : state_.job_versions) job_record(9, *job);
    all(10, state_.deployments);
    all(17, state_.csi_plugins);
    all(18, state_.csi_volumes);
    all(64, state_.namespaces);
    if (state_.scheduler_config) record(13, model::to_json(*state_.scheduler_config));
    all(31, state_.host_volumes);
  }

 private:
  void index_entry(const std::string& table, std::uint64_t index) {
    json::Value entry = json::Value::object();
    entry.set("Key", table), entry.set("Value", index);
    record(2, entry);
  }

  void record(std::uint8_t type, const json::Value& object, std::string_view job = {}) {
    record_.assign(1, static_cast<char>(type));
    append_record_object(record_, type, object, job);
    (*sink_)(record_);
  }

  template <class T>
  void all(std::uint8_t type, const std::vector<T>& objects) {
    for (const T& object : objects) record(type, model::to_json(object));
  }

  void job_record(std::uint8_t type, const model::Job& job) { record(type, model::to_json(job)); }

  void allocation(const model::Allocation& alloc) {
    model::Allocation bare = alloc;
    bare.job.reset();
    json::Value object = model::to_json(bare);
    if (!alloc.job) return record(4, object);
    object.set("Job", json::Value());  // its place
    std::string& job = jobs_[alloc.job.get()];
    if (job.empty()) append_record_object(job, 1, model::to_json(*alloc.job));
    record(4, object, job);
  }

  const model::ClusterState& state_;
  const SnapshotHead& head_;
  const Sink* sink_ = nullptr;
  std::string record_;
  std::unordered_map<const model::Job*, std::string> jobs_;  ///< of allocations, as msgpack
};

/// A part of a gzip stream, compressed without the parts before it, so that they can be made later.
class Part {
 public:
  Part() {
    constexpr int kRawWindow = -15, kMemory = 8;
    if (deflateInit2(&stream_, Z_BEST_SPEED, Z_DEFLATED, kRawWindow, kMemory, Z_DEFAULT_STRATEGY) != Z_OK)
      throw std::bad_alloc();
  }
  ~Part() { deflateEnd(&stream_); }
  Part(const Part&) = delete;
  Part& operator=(const Part&) = delete;

  void add(std::string_view bytes) {
    crc_ = crc32_z(crc_, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size());
    bytes_ += bytes.size();
    deflate_all(bytes, Z_NO_FLUSH);
  }
  /// Nothing more will be added.
  void end(bool is_last) { deflate_all({}, is_last ? Z_FINISH : Z_SYNC_FLUSH); }
  [[nodiscard]] const std::string& packed() const { return packed_; }
  [[nodiscard]] uLong crc() const { return crc_; }
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }

 private:
  void deflate_all(std::string_view bytes, int flush) {
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
    stream_.avail_in = static_cast<uInt>(bytes.size());
    do {
      stream_.next_out = piece_.data(), stream_.avail_out = static_cast<uInt>(piece_.size());
      deflate(&stream_, flush);
      packed_.append(reinterpret_cast<const char*>(piece_.data()), piece_.size() - stream_.avail_out);
    } while (stream_.avail_out == 0);
  }

  z_stream stream_{};
  std::array<Bytef, 64 << 10> piece_{};
  std::string packed_;
  uLong crc_ = 0;
  std::uint64_t bytes_ = 0;
};

/// One gzip stream of the parts, without name and time (R-SNAP-1).
std::string gzip_of(std::initializer_list<const Part*> parts) {
  std::string out("\x1f\x8b\x08\0\0\0\0\0\x04\x03", 10);  // RFC 1952: deflate, fastest, Unix
  uLong crc = 0;
  std::uint64_t bytes = 0;
  for (const Part* part : parts) {
    out += part->packed();
    crc = crc32_combine(crc, part->crc(), static_cast<z_off_t>(part->bytes()));
    bytes += part->bytes();
  }
  for (const std::uint64_t number : {static_cast<std::uint64_t>(crc), bytes})
    for (unsigned i = 0; i < 4; ++i) out += static_cast<char>(number >> (8 * i) & 0xff);
  return out;
}

/// The header of a regular file in a ustar archive; sizes of 8 GiB and more are binary (R-SNAP-2).
std::string tar_head(std::string_view name, std::uint64_t bytes) {
  std::string head(kBlockBytes, '\0');
  const auto put = [&](std::size_t at, std::string_view text) { head.replace(at, text.size(), text); };
  put(0, name), put(100, "0000600"), put(108, "0000000"), put(116, "0000000"), put(136, "00000000000");
  if (bytes < std::uint64_t{8} << 30) {
    put(124, fmt::format("{:011o}", bytes));
  } else {
    head[124] = static_cast<char>(0x80);
    for (std::size_t i = 0; i < 8; ++i) head[135 - i] = static_cast<char>(bytes >> (8 * i) & 0xff);
  }
  put(148, "        "), put(156, "0"),
      put(257, std::string_view("ustar\0"
                                "00",
                                8));
  unsigned sum = 0;
  for (const char c : head) sum += static_cast<unsigned char>(c);
  put(148, fmt::format("{:06o}", sum)), head[154] = '\0';
  return head;
}

std::string padding(std::uint64_t bytes) {
  return std::string((kBlockBytes - bytes % kBlockBytes) % kBlockBytes, '\0');
}

void add_member(Part& out, std::string_view name, std::string_view text) {
  out.add(tar_head(name, text.size())), out.add(text), out.add(padding(text.size()));
}

}  // namespace

std::string snapshot_file(const model::ClusterState& state, const SnapshotHead& head) {
  base::Sha256 sum, meta_sum;
  Part body;
  StateWriter(state, head).write([&](std::string_view record) { sum.add(record), body.add(record); });
  const std::uint64_t bytes = body.bytes();
  body.add(padding(bytes));
  const std::string meta =
      fmt::format(R"({{"Version":1,"ID":"1-{0}-{1}","Index":{0},"Term":1,"Peers":"","Configuration":{{"Servers":[]}},)"
                  R"("ConfigurationIndex":1,"Size":{2}}})"
                  "\n",
                  head.applied_index, head.now_ns / 1'000'000, bytes);
  meta_sum.add(meta);
  Part front, rest;
  add_member(front, "meta.json", meta);
  front.add(tar_head("state.bin", bytes));
  add_member(rest, "SHA256SUMS", meta_sum.hex() + "  meta.json\n" + sum.hex() + "  state.bin\n");
  rest.add(std::string(2 * kBlockBytes, '\0'));
  front.end(false), body.end(false), rest.end(true);
  return gzip_of({&front, &body, &rest});
}

}  // namespace berth::io
