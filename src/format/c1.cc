#include "format/c1.h"

#include <algorithm>
#include <charconv>

#include "base/mapped_file.h"
#include "format/base64.h"
#include "format/c1_bincode.h"
#include "format/c1_json.h"

namespace cuzk::format {

using filecoin::Node;

Result<filecoin::PorepC1> read_c1(const std::filesystem::path& path) {
  CUZK_TRY(const MappedFile file, MappedFile::open(path));
  return parse_c1(file.bytes(), path.string());
}

Result<filecoin::PorepC1> parse_c1(ByteSpan bytes, std::string_view what) {
  if (bytes.empty()) return fail(ErrorCode::kCorruptInput, "{}: the file is empty", what);
  auto c1 = internal::looks_like_json(bytes) ? internal::parse_c1_json(bytes, what)
                                             : internal::parse_c1_bincode(bytes, what);
  if (!c1) return c1;
  if (auto status = filecoin::check_shape(*c1); !status) return fail(status.error().in(what));
  return c1;
}

namespace {

// Writes what serde_json writes: no white space, fields in the order of the Rust structs.
class JsonWriter {
 public:
  std::string take() { return std::move(out_); }

  void c1(const filecoin::PorepC1& c1) {
    out_ += fmt::format("{{\"registered_proof\":\"{}\",\"vanilla_proofs\":{{\"StackedDrg{}V1\":",
                        c1.proof.name, filecoin::sector_size_name(c1.proof.sector_bytes));
    list(c1.partitions, [&](const auto& partition) {
      list(partition, [&](const auto& proof) { challenge(proof); });
    });
    out_ += '}';
    const std::pair<const char*, const Node*> nodes[] = {{"comm_r", &c1.comm_r},
                                                         {"comm_d", &c1.comm_d},
                                                         {"replica_id", &c1.replica_id},
                                                         {"seed", &c1.seed},
                                                         {"ticket", &c1.ticket}};
    for (const auto& [name, value] : nodes) {
      out_ += fmt::format(",\"{}\":", name);
      node(*value);
    }
    out_ += '}';
  }

 private:
  template <class T, class F>
  void list(const std::vector<T>& items, F&& write) {
    out_ += '[';
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (i) out_ += ',';
      write(items[i]);
    }
    out_ += ']';
  }
  void number(std::uint64_t v) {
    char digits[20];
    out_.append(digits, std::to_chars(digits, digits + sizeof digits, v).ptr);
  }
  void node(const Node& n) {
    out_ += '[';
    for (std::size_t i = 0; i < n.size(); ++i) {
      if (i) out_ += ',';
      number(n[i]);
    }
    out_ += ']';
  }
  void nodes(const std::vector<Node>& items) {
    list(items, [&](const Node& n) { node(n); });
  }
  void path(const filecoin::MerkleProof& p, std::size_t begin, std::size_t end) {
    out_ += "{\"path\":[";
    for (std::size_t i = begin; i < end; ++i) {
      out_ += i == begin ? "{\"hashes\":" : ",{\"hashes\":";
      nodes(p.path[i].siblings);
      out_ += ",\"index\":";
      number(p.path[i].index);
      out_ += '}';
    }
    out_ += "]}";
  }
  void merkle(const filecoin::MerkleProof& p) {
    out_ +=
        fmt::format("{{\"data\":{{\"{}\":{{", filecoin::kMerkleKindNames[static_cast<int>(p.kind)]);
    if (p.kind == filecoin::MerkleKind::kSingle) {
      ends(p);
      out_ += ",\"path\":";
      path(p, 0, p.path.size());
    } else {
      const std::size_t sub = p.base_steps + p.sub_steps;
      out_ += "\"base_proof\":";
      path(p, 0, p.base_steps);
      out_ += ",\"sub_proof\":";
      path(p, p.base_steps, sub);
      if (p.kind == filecoin::MerkleKind::kTop) {
        out_ += ",\"top_proof\":";
        path(p, sub, p.path.size());
      }
      out_ += ',';
      ends(p);
    }
    out_ += "}}}";
  }
  void ends(const filecoin::MerkleProof& p) {
    out_ += "\"root\":";
    node(p.root);
    out_ += ",\"leaf\":";
    node(p.leaf);
  }
  void column(const filecoin::ColumnProof& c) {
    out_ += "{\"column\":{\"index\":";
    number(c.index);
    out_ += ",\"rows\":";
    nodes(c.rows);
    out_ += ",\"_h\":null},\"inclusion_proof\":";
    merkle(c.inclusion);
    out_ += '}';
  }
  void labeling(const filecoin::LabelingProof& l) {
    out_ += "{\"parents\":";
    nodes(l.parents);
    out_ += ",\"layer_index\":";
    number(l.layer);
    out_ += ",\"node\":";
    number(l.node);
    out_ += '}';
  }
  void challenge(const filecoin::PorepChallengeProof& p) {
    out_ += "{\"comm_d_proofs\":";
    merkle(p.comm_d_proof);
    out_ += ",\"comm_r_last_proof\":";
    merkle(p.comm_r_last_proof);
    out_ += ",\"replica_column_proofs\":{\"c_x\":";
    column(p.c_x);
    out_ += ",\"drg_parents\":";
    list(p.drg_parents, [&](const auto& c) { column(c); });
    out_ += ",\"exp_parents\":";
    list(p.exp_parents, [&](const auto& c) { column(c); });
    out_ += "},\"labeling_proofs\":";
    list(p.labeling, [&](const auto& l) { labeling(l); });
    out_ += ",\"encoding_proof\":";
    labeling(p.encoding);
    out_ += '}';
  }

  std::string out_;
};

}  // namespace

std::string write_c1_json(const filecoin::PorepC1& c1) {
  JsonWriter writer;
  writer.c1(c1);
  return writer.take();
}

std::string write_c1_envelope(const filecoin::PorepC1& c1, std::uint64_t sector) {
  const std::string raw = write_c1_json(c1);
  const std::string encoded =
      encode_base64({reinterpret_cast<const std::uint8_t*>(raw.data()), raw.size()});
  return fmt::format("{{\"SectorNum\":{},\"Phase1Out\":\"{}\",\"SectorSize\":{}}}", sector, encoded,
                     c1.proof.sector_bytes);
}

}  // namespace cuzk::format
