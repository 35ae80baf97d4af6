#include "format/zkey.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/check.h"
#include "format/zkey_layout.h"
#include "format/zkey_points.h"

namespace cuzk::format {

namespace {

using circom::CurveId;
using namespace zkey_internal;

Result<CurveId> read_primes(ByteReader& reader) {
  CUZK_TRY(const std::uint32_t n8q, reader.u32_le("bytes of q"));
  CUZK_TRY(const ByteSpan q, reader.take(n8q, "q"));
  CUZK_TRY(const std::uint32_t n8r, reader.u32_le("bytes of r"));
  CUZK_TRY(const ByteSpan r, reader.take(n8r, "r"));
  const auto of_q = circom::curve_of_base_prime(q);
  const auto of_r = circom::curve_of_scalar_prime(r);
  if (!of_q || !of_r || *of_q != *of_r) {
    return fail(ErrorCode::kCorruptInput,
                "{}: the primes q and r are neither BN254's nor BLS12-381's", reader.what());
  }
  return *of_q;
}

// The name among a contribution's parameters, which are (tag, value) pairs.
Result<std::string> contribution_name(ByteSpan parameters, const std::string& what) {
  ByteReader reader(parameters, what);
  std::string name;
  while (reader.remaining() > 0) {
    CUZK_TRY(const std::uint8_t tag, reader.u8("parameter tag"));
    CUZK_TRY(const std::uint8_t length, reader.u8("parameter length"));
    if (tag == 2) continue;  // a number of one byte
    if (tag != 1 && tag != 3) {
      return fail(ErrorCode::kCorruptInput, "{}: unknown parameter {}", what, tag);
    }
    CUZK_TRY(const ByteSpan value, reader.take(length, "parameter"));
    if (tag == 1) name.assign(value.begin(), value.end());
  }
  return name;
}

}  // namespace

Result<ZkeyFile> ZkeyFile::parse(InputBytes input) {
  ZkeyFile out(std::move(input));
  CUZK_TRY(out.sections_, Iden3Sections::parse(out.input_.bytes(), out.name(), "zkey", 2));
  CUZK_TRY(const auto section, out.sections_.find(kProtocol, name_of(kProtocol)));
  ByteReader reader(out.input_.bytes().subspan(section.offset, section.size),
                    section_name(out.name(), kProtocol, name_of(kProtocol)));
  CUZK_TRY(out.protocol_, reader.u32_le("protocol"));
  CUZK_TRY_VOID(reader.expect_end());
  if (out.protocol_ == static_cast<std::uint32_t>(ZkeyProtocol::kGroth16)) {
    CUZK_TRY_VOID(out.check_groth16_layout());
  }
  return out;
}

std::string ZkeyFile::protocol_name() const {
  switch (static_cast<ZkeyProtocol>(protocol_)) {
    case ZkeyProtocol::kGroth16:
      return "Groth16";
    case ZkeyProtocol::kPlonk:
      return "PLONK";
    case ZkeyProtocol::kFflonk:
      return "FFLONK";
  }
  return fmt::format("protocol {}", protocol_);
}

Status ZkeyFile::check_groth16_layout() {
  CUZK_TRY(const auto section, sections_.find(kHeader, name_of(kHeader)));
  ByteReader reader(input_.bytes().subspan(section.offset, section.size),
                    section_name(name(), kHeader, name_of(kHeader)));
  CUZK_TRY(header_.curve, read_primes(reader));
  CUZK_TRY(header_.num_wires, reader.u32_le("number of wires"));
  CUZK_TRY(header_.num_public, reader.u32_le("number of public signals"));
  CUZK_TRY(header_.domain_size, reader.u32_le("domain size"));
  CUZK_TRY_VOID(reader.take(header_points(header_.curve).end - reader.offset(), "points"));
  CUZK_TRY_VOID(reader.expect_end());
  const std::uint32_t domain = header_.domain_size;
  if (domain == 0 || (domain & (domain - 1)) != 0) {
    return fail(ErrorCode::kCorruptInput, "{}: the domain size {} is no power of two",
                reader.what(), domain);
  }
  if (header_.num_wires <= header_.num_public) {
    return fail(ErrorCode::kCorruptInput,
                "{}: {} wires cannot hold the constant one and {} public signals", reader.what(),
                header_.num_wires, header_.num_public);
  }
  if (header_.num_wires > ColumnRef::kIndexMask) {
    return fail(ErrorCode::kCorruptInput, "{}: {} wires, more than the {} that a circuit may have",
                reader.what(), header_.num_wires, ColumnRef::kIndexMask);
  }

  const std::uint64_t g1 = g1_bytes(header_.curve), g2 = g2_bytes(header_.curve);
  const std::uint64_t wires = header_.num_wires;
  const std::uint64_t inputs = std::uint64_t{header_.num_public} + 1;
  struct Expected {
    std::uint32_t id;
    std::uint64_t count;
    std::uint64_t bytes;
  };
  const Expected expected[] = {{kIc, inputs, g1}, {kA, wires, g1},          {kB1, wires, g1},
                               {kB2, wires, g2},  {kC, wires - inputs, g1}, {kH, domain, g1}};
  for (const auto& [id, count, bytes] : expected) {
    CUZK_TRY(const auto found, sections_.find(id, name_of(id)));
    if (found.size != count * bytes) {
      return fail(ErrorCode::kCorruptInput,
                  "{} has {} bytes, the header asks for {} points of {} bytes, that is {}",
                  section_name(name(), id, name_of(id)), found.size, count, bytes, count * bytes);
    }
  }
  CUZK_TRY(const auto coefficients, sections_.find(kCoefficients, name_of(kCoefficients)));
  ByteReader counts(input_.bytes().subspan(coefficients.offset, coefficients.size),
                    section_name(name(), kCoefficients, name_of(kCoefficients)));
  CUZK_TRY(header_.num_coefficients, counts.u32_le("number of coefficients"));
  if (counts.remaining() != std::uint64_t{header_.num_coefficients} * kCoefficientBytes) {
    return fail(ErrorCode::kCorruptInput,
                "{}: {} coefficients of {} bytes are declared, {} bytes are there", counts.what(),
                header_.num_coefficients, kCoefficientBytes, counts.remaining());
  }
  return {};
}

Result<ZkeyHeader> ZkeyFile::header() const {
  if (protocol_ != static_cast<std::uint32_t>(ZkeyProtocol::kGroth16)) {
    return fail(ErrorCode::kCorruptInput, "{}: this is a {} key, a Groth16 key is needed", name(),
                protocol_name());
  }
  return header_;
}

namespace {

// One record of section 10; its delta.
Result<ByteSpan> take_contribution(ByteReader& reader, CurveId curve, ZkeyContribution& out) {
  CUZK_TRY(const ByteSpan delta, reader.take(g1_bytes(curve), "delta"));
  CUZK_TRY_VOID(reader.take(2 * g1_bytes(curve) + g2_bytes(curve) + 64, "proof of knowledge"));
  CUZK_TRY(const std::uint32_t type, reader.u32_le("type"));
  CUZK_TRY(const std::uint32_t length, reader.u32_le("length of the parameters"));
  CUZK_TRY(const ByteSpan parameters, reader.take(length, "parameters"));
  out.is_beacon = type == 1;
  CUZK_TRY(out.name, contribution_name(parameters, reader.what()));
  return delta;
}

template <class G>
Status read_head_point(ByteSpan header, std::size_t offset, std::string_view field,
                       const std::string& what, PointCheck check, Affine<G>& out) {
  out = load_point<G>(header.data() + offset);
  if (const auto problem = problem_of(out, check); !problem.empty()) {
    return fail(ErrorCode::kCorruptInput, "{}: {}: {}", section_name(what, kHeader, "header"),
                field, problem);
  }
  return {};
}

}  // namespace

Result<std::vector<ZkeyContribution>> ZkeyFile::contributions() const {
  CUZK_TRY(const ZkeyHeader head, header());
  CUZK_TRY(const auto found, sections_.find(kContributions, name_of(kContributions)));
  ByteReader reader(input_.bytes().subspan(found.offset, found.size),
                    section_name(name(), kContributions, name_of(kContributions)));
  CUZK_TRY_VOID(reader.take(64, "circuit hash"));
  CUZK_TRY(const std::uint32_t count, reader.u32_le("number of contributions"));
  std::vector<ZkeyContribution> out;
  ByteSpan delta;
  for (std::uint32_t i = 0; i < count; ++i) {
    CUZK_TRY(delta, take_contribution(reader, head.curve, out.emplace_back()));
  }
  CUZK_TRY_VOID(reader.expect_end());
  const ByteSpan key_delta =
      section(kHeader).subspan(header_points(head.curve).delta_g1, g1_bytes(head.curve));
  if (count > 0 && !std::ranges::equal(delta, key_delta)) {
    return fail(ErrorCode::kCorruptInput,
                "{}: the delta of the last of {} contributions is not the key's delta_g1",
                reader.what(), count);
  }
  return out;
}

template <class Curve>
Result<VerifyingKey<Curve>> ZkeyFile::verifying_key(PointCheck check) const {
  CUZK_TRY(const ZkeyHeader head, header());
  CUZK_CHECK(head.curve == circom::kCurveId<Curve>);
  const ByteSpan bytes = section(kHeader);
  const HeaderPoints at = header_points(head.curve);
  VerifyingKey<Curve> vk;
  CUZK_TRY_VOID(read_head_point(bytes, at.alpha_g1, "alpha_g1", name(), check, vk.alpha_g1));
  CUZK_TRY_VOID(read_head_point(bytes, at.beta_g1, "beta_g1", name(), check, vk.beta_g1));
  CUZK_TRY_VOID(read_head_point(bytes, at.beta_g2, "beta_g2", name(), check, vk.beta_g2));
  CUZK_TRY_VOID(read_head_point(bytes, at.gamma_g2, "gamma_g2", name(), check, vk.gamma_g2));
  CUZK_TRY_VOID(read_head_point(bytes, at.delta_g1, "delta_g1", name(), check, vk.delta_g1));
  CUZK_TRY_VOID(read_head_point(bytes, at.delta_g2, "delta_g2", name(), check, vk.delta_g2));
  using G1 = typename Curve::G1;
  const ByteSpan ic = section(kIc);
  vk.ic.resize(std::size_t{head.num_public} + 1);
  for (std::size_t i = 0; i < vk.ic.size(); ++i) {
    vk.ic[i] = load_point<G1>(ic.data() + i * sizeof(Affine<G1>));
    if (const auto problem = problem_of(vk.ic[i], check); !problem.empty()) {
      return fail(ErrorCode::kCorruptInput, "{}[{}]: {}", section_name(name(), kIc, name_of(kIc)),
                  i, problem);
    }
  }
  return vk;
}

template <class Curve>
Status ZkeyFile::check_points(const groth16::Context& context) const {
  const auto span = context.timeline.span("check_points", context.lane);
  CUZK_TRY_VOID(verifying_key<Curve>(PointCheck::kSubgroup));
  for (const std::uint32_t id : {kA, kB1, kB2, kC, kH}) {
    const std::string what = section_name(name(), id, name_of(id));
    if (id == kB2) {
      CUZK_TRY_VOID(check_all_points<typename Curve::G2>(context, input_, section(id), what));
    } else {
      CUZK_TRY_VOID(check_all_points<typename Curve::G1>(context, input_, section(id), what));
    }
  }
  return {};
}

bool ZkeyFile::h_is_all_identity() const {
  return std::ranges::all_of(section(kH), [](std::uint8_t byte) { return byte == 0; });
}

ByteSpan ZkeyFile::section(std::uint32_t id) const {
  const auto found = sections_.find(id, name_of(id));
  return found ? input_.bytes().subspan(found->offset, found->size) : ByteSpan();
}

#define CUZK_INSTANTIATE(Curve)                                                          \
  template Result<VerifyingKey<Curve>> ZkeyFile::verifying_key<Curve>(PointCheck) const; \
  template Status ZkeyFile::check_points<Curve>(const groth16::Context&) const
CUZK_INSTANTIATE(Bn254);
CUZK_INSTANTIATE(Bls12_381);
#undef CUZK_INSTANTIATE

}  // namespace cuzk::format
