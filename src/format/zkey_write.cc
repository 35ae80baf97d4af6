#include <cstring>

#include "format/zkey.h"
#include "format/zkey_layout.h"

namespace cuzk::format {

namespace {

using namespace zkey_internal;

// Little-endian fields, one after the other, into a file.
class SectionWriter {
 public:
  explicit SectionWriter(FileWriter& file) : file_(file) {}

  Status begin(std::uint32_t id, std::uint64_t bytes) {
    CUZK_TRY_VOID(put(id));
    return put(bytes);
  }
  // Any type without padding: integers, limbs, points.
  template <class T>
  Status put(const T& value) {
    return file_.write({reinterpret_cast<const std::uint8_t*>(&value), sizeof value});
  }
  template <class G>
  Status points(std::uint32_t id, std::span<const Affine<G>> points) {
    CUZK_TRY_VOID(begin(id, points.size_bytes()));
    return file_.write({reinterpret_cast<const std::uint8_t*>(points.data()), points.size_bytes()});
  }

 private:
  FileWriter& file_;
};

template <class Curve>
Status write_header(SectionWriter& out, const circom::ProgramHeader& header,
                    const circom::DevKey<Curve>& key) {
  CUZK_TRY_VOID(out.begin(kHeader, header_points(circom::kCurveId<Curve>).end));
  CUZK_TRY_VOID(out.put(static_cast<std::uint32_t>(sizeof(typename Curve::Fq))));
  CUZK_TRY_VOID(out.put(Curve::Fq::kModulus));
  CUZK_TRY_VOID(out.put(static_cast<std::uint32_t>(sizeof(typename Curve::Fr))));
  CUZK_TRY_VOID(out.put(Curve::Fr::kModulus));
  CUZK_TRY_VOID(out.put(header.num_wires));
  CUZK_TRY_VOID(out.put(header.num_public()));
  CUZK_TRY_VOID(out.put(std::uint32_t{1} << key.domain_log2));
  CUZK_TRY_VOID(out.put(key.vk.alpha_g1));
  CUZK_TRY_VOID(out.put(key.vk.beta_g1));
  CUZK_TRY_VOID(out.put(key.vk.beta_g2));
  CUZK_TRY_VOID(out.put(key.vk.gamma_g2));
  CUZK_TRY_VOID(out.put(key.vk.delta_g1));
  return out.put(key.vk.delta_g2);
}

template <class Fr>
Status write_coefficient(SectionWriter& out, std::uint32_t matrix, std::uint32_t row,
                         std::uint32_t wire, const Fr& value) {
  CUZK_TRY_VOID(out.put(matrix));
  CUZK_TRY_VOID(out.put(row));
  CUZK_TRY_VOID(out.put(wire));
  return out.put((value * Fr{Fr::kR2}).limbs);  // value R^2 mod r
}

template <class Fr>
Status write_coefficients(SectionWriter& out, const circom::Program<Fr>& program) {
  const CompactR1cs<Fr>& r1cs = program.r1cs;
  std::uint64_t count = r1cs.num_inputs;
  for (const RowBlock& block : r1cs.blocks) {
    count += block.matrix(Matrix::kA).terms.size() + block.matrix(Matrix::kB).terms.size();
  }
  CUZK_TRY_VOID(out.begin(kCoefficients, 4 + count * kCoefficientBytes));
  CUZK_TRY_VOID(out.put(static_cast<std::uint32_t>(count)));
  for (const RowBlock& block : r1cs.blocks) {
    for (std::uint32_t row = 0; row < block.num_rows; ++row) {
      for (const std::uint32_t m : {0u, 1u}) {
        for (const Term& term : block.matrices[m].row(row)) {
          const std::uint32_t i = term.column.index();
          const bool is_input = term.column.kind() == ColumnRef::kInput;
          CUZK_TRY_VOID(write_coefficient(out, m, row, is_input ? i : r1cs.num_inputs + i,
                                          r1cs.dictionary[term.coefficient]));
        }
      }
    }
  }
  for (std::uint32_t s = 0; s < r1cs.num_inputs; ++s) {
    CUZK_TRY_VOID(write_coefficient(out, 0, r1cs.num_rows + s, s, Fr::one()));
  }
  return {};
}

}  // namespace

template <class Curve>
Status write_zkey(const std::filesystem::path& path,
                  const circom::Program<typename Curve::Fr>& program,
                  const circom::DevKey<Curve>& key) {
  using G1 = typename Curve::G1;
  return write_file_atomically(path, [&](FileWriter& file) -> Status {
    SectionWriter out(file);
    CUZK_TRY_VOID(file.write({reinterpret_cast<const std::uint8_t*>("zkey"), 4}));
    CUZK_TRY_VOID(out.put(std::uint32_t{1}));   // version
    CUZK_TRY_VOID(out.put(std::uint32_t{10}));  // sections
    CUZK_TRY_VOID(out.begin(kProtocol, 4));
    CUZK_TRY_VOID(out.put(static_cast<std::uint32_t>(ZkeyProtocol::kGroth16)));
    CUZK_TRY_VOID(write_header(out, program.header, key));
    CUZK_TRY_VOID(out.points(kIc, std::span<const Affine<G1>>(key.vk.ic)));
    CUZK_TRY_VOID(write_coefficients(out, program));
    CUZK_TRY_VOID(out.points(kA, key.a.span()));
    CUZK_TRY_VOID(out.points(kB1, key.b_g1.span()));
    CUZK_TRY_VOID(out.points(kB2, key.b_g2.span()));
    CUZK_TRY_VOID(out.points(kC, key.c.span()));
    CUZK_TRY_VOID(out.points(kH, key.h.span()));
    CUZK_TRY_VOID(out.begin(kContributions, 64 + 4));
    CUZK_TRY_VOID(out.put(std::array<std::uint8_t, 64>{}));  // no circuit hash
    return out.put(std::uint32_t{0});
  });
}

template Status write_zkey(const std::filesystem::path&, const circom::Program<bn254::Fr>&,
                           const circom::DevKey<Bn254>&);
template Status write_zkey(const std::filesystem::path&, const circom::Program<bls12_381::Fr>&,
                           const circom::DevKey<Bls12_381>&);

}  // namespace cuzk::format
