#pragma once
// Groth16 proving keys of snarkjs (.zkey).
//
// Form:    points affine, little-endian Montgomery, the identity all zero: this project's memory
//          form, though not aligned. Coefficients times R^2.
// Checks:  parse settles the structure: every count of the header against the section that must
//          hold it. load checks the coefficients one by one, the rows that tie the public signals,
//          and, when a query is read, that coordinates are reduced and that a wire outside a matrix
//          has no point. check_points looks at the curve and the subgroup of every point.
// Errors:  kCorruptInput names file, section, index, expected and found. PLONK and FFLONK keys are
//          refused by name by all but parse.
// Threads: immutable; calls use context.tasks.
// Source:  docs/formats/circom.md.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "circom/curve_id.h"
#include "circom/dev_setup.h"
#include "circom/key.h"
#include "circom/program.h"
#include "curve/encoding.h"
#include "format/iden3_sections.h"
#include "format/input_bytes.h"
#include "groth16/context.h"

namespace cuzk::format {

enum class ZkeyProtocol : std::uint32_t { kGroth16 = 1, kPlonk = 2, kFflonk = 10 };

struct ZkeyHeader {
  circom::CurveId curve = circom::CurveId::kBn254;
  std::uint32_t num_wires = 0;
  std::uint32_t num_public = 0;
  std::uint32_t domain_size = 0;
  std::uint32_t num_coefficients = 0;
};

struct ZkeyContribution {
  std::string name;  // may be empty
  bool is_beacon = false;
};

class ZkeyFile {
 public:
  static Result<ZkeyFile> parse(InputBytes input);

  const InputBytes& input() const { return input_; }
  const std::string& name() const { return input_.name(); }
  std::uint32_t protocol() const { return protocol_; }
  // "Groth16", "PLONK", "FFLONK" or "protocol 7".
  std::string protocol_name() const;
  const Iden3Sections& sections() const { return sections_; }

  // Fails for another protocol than Groth16: kCorruptInput says which it is.
  Result<ZkeyHeader> header() const;

  // Section 10. Errors: kCorruptInput, also when the last contribution's delta is not the key's.
  Result<std::vector<ZkeyContribution>> contributions() const;

  template <class Curve>
  Result<VerifyingKey<Curve>> verifying_key(PointCheck check) const;

  // The key; its queries read the file when they are needed and keep it open.
  // Spans: read_coefficients.
  template <class Curve>
  Result<circom::Key<Curve>> load(const groth16::Context& context) const;

  // Curve and subgroup of every point of every section; names the first that is wrong.
  // Span: check_points.
  template <class Curve>
  Status check_points(const groth16::Context& context) const;

  // Is every point of the section of h the identity?
  bool h_is_all_identity() const;

 private:
  explicit ZkeyFile(InputBytes input) : input_(std::move(input)) {}
  Status check_groth16_layout();
  ByteSpan section(std::uint32_t id) const;

  InputBytes input_;
  Iden3Sections sections_;
  std::uint32_t protocol_ = 0;
  ZkeyHeader header_;
};

// A development key as a .zkey, its coefficients those of A and B in the order of snarkjs: by
// constraint, A's terms then B's, and at the end the rows that tie the public signals. With no
// contribution. The file appears under its name only when it is whole.
template <class Curve>
Status write_zkey(const std::filesystem::path& path,
                  const circom::Program<typename Curve::Fr>& program,
                  const circom::DevKey<Curve>& key);

}  // namespace cuzk::format
