#pragma once
// Commitments as the chain spells them: CIDs of sealed (comm_r) and unsealed (comm_d) sectors.
//
// Form:    "bagboea4b5abc..." and "baga6ea4seaq...": multibase base32 (RFC 4648, lower case, no
//          padding) of version 1, codec, multihash code, length 32, and the commitment's 32 bytes.
// Threads: pure functions.
// Source:  CIDv1, multibase and multicodec tables; go-fil-commcid for the codecs.

#include <string>
#include <string_view>

#include "base/error.h"
#include "filecoin/vanilla.h"

namespace cuzk::filecoin {

enum class CommitmentKind {
  kSealed,    // comm_r: codec 0xf102, Poseidon multihash 0xb401
  kUnsealed,  // comm_d and pieces: codec 0xf101, truncated SHA-256 multihash 0x1012
};

std::string cid_of(CommitmentKind kind, const Node& commitment);

// Errors: kInvalidArgument for anything that is not exactly such a CID: another alphabet or base,
// spare bits or bytes, a version, codec or multihash of something else. A CID of the other kind is
// named as such.
Result<Node> parse_cid(CommitmentKind kind, std::string_view text);

// A CID, or the bare 32 bytes as 64 hexadecimal digits (no CID consists of hexadecimal digits
// only). `what` names the value in errors: "--comm-r-old".
Result<Node> parse_commitment(CommitmentKind kind, std::string_view text, std::string_view what);

}  // namespace cuzk::filecoin
