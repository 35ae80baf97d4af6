#pragma once
// The rows of a circuit and the quotient on a CUDA device: matrix products from the compact
// matrices and the compact assignment, and the element-wise steps between the transforms.
//
// Form:    Montgomery, unless a scalar is said to be canonical.
// Order:   vectors over the domain are written in reversed order (ntt.h), where the inverse
//          transform to natural order and both odd-coset transforms are free of extra products.
// Memory:  all of it is the caller's; nothing is allocated, freed or synchronised.
// Threads: no state; kernels are queued on `stream` in order.
// Source:  instantiated for the scalar fields of both curves.

#include <cstdint>

#include "base/error.h"
#include "field/bls12_381.h"
#include "field/bn254.h"
#include "gpu/device_span.h"
#include "gpu/stream_handle.h"
#include "msm/witness_cuda.h"
#include "r1cs/compact_r1cs.h"

namespace cuzk::groth16 {

// A row with more terms than this in one of its matrices is a warp's work, not a thread's: the
// additions of SHA-256 have a hundred terms among rows of two or three.
inline constexpr std::uint32_t kLongRowTerms = 12;

// Where the rows of a block lie in the flat arrays, one entry for each matrix.
struct DeviceBlock {
  std::uint64_t row_end[3] = {};  // index of the block's first entry
  std::uint64_t terms[3] = {};    // index of its first term
  std::uint64_t long_rows = 0;    // index of its first long row
};

// A CompactR1cs, flattened: the rows of all blocks of a matrix one after the other.
template <class Fr>
struct DeviceMatrices {
  std::uint32_t num_inputs = 0;
  std::uint32_t num_rows = 0;
  unsigned domain_log2 = 0;
  gpu::DeviceSpan<const Fr> dictionary;
  gpu::DeviceSpan<const DeviceBlock> blocks;
  gpu::DeviceSpan<const std::uint32_t> row_ends;
  gpu::DeviceSpan<const Term> terms;
  gpu::DeviceSpan<const Segment> segments;
  gpu::DeviceSpan<const ColumnRef> ports;
  gpu::DeviceSpan<const std::uint32_t> long_rows;    // of all blocks, as rows of their block
  gpu::DeviceSpan<const std::uint32_t> long_before;  // long rows before each segment
  std::uint32_t long_count = 0;                      // of all segments
};

template <class Fr>
struct DeviceAssignment {
  gpu::DeviceSpan<const Fr> inputs;
  gpu::DeviceSpan<const Fr> full_values;
  DeviceWires wires;
};

// a = A z and b = B z over the whole domain, the appended input rows included. `failing`, one word
// that the caller set to all ones, becomes the first row with a b != C z; empty, C is not looked
// at. `products`, unless it is empty, becomes a b.
template <class Fr>
Status rows_of_a_and_b(gpu::StreamHandle stream, const DeviceMatrices<Fr>& matrices,
                       const DeviceAssignment<Fr>& assignment, gpu::DeviceSpan<Fr> a,
                       gpu::DeviceSpan<Fr> b, gpu::DeviceSpan<Fr> products,
                       gpu::DeviceSpan<std::uint32_t> failing);

// c = (A z)(B z): what C z is in a satisfied circuit.
template <class Fr>
Status rows_of_products(gpu::StreamHandle stream, const DeviceMatrices<Fr>& matrices,
                        const DeviceAssignment<Fr>& assignment, gpu::DeviceSpan<Fr> c);

// a[i] *= b[i].
template <class Fr>
Status multiply_into(gpu::StreamHandle stream, gpu::DeviceSpan<Fr> a, gpu::DeviceSpan<const Fr> b);

// h = (C - C') / 2, canonical, in the place of c. `c` holds N C and `product` N^3 C': what
// transforms without their 1/N leave of the values of C on the domain and of A B on the odd coset.
template <class Fr>
Status quotient_scalars(gpu::StreamHandle stream, unsigned domain_log2, gpu::DeviceSpan<Fr> c,
                        gpu::DeviceSpan<const Fr> product);

// h = A B - C on the odd coset, canonical, in the place of c. `c` holds N C and `product` N^2 A B:
// what transforms without their 1/N leave.
template <class Fr>
Status coset_scalars(gpu::StreamHandle stream, unsigned domain_log2, gpu::DeviceSpan<Fr> c,
                     gpu::DeviceSpan<const Fr> product);

// The twiddles of ntt_cuda.h for the domain of another generator's roots of unity.
template <class Fr>
Status fill_twiddles(gpu::StreamHandle stream, std::uint64_t generator, gpu::DeviceSpan<Fr> table);

// out[i] = in[i], canonical; in place or not.
template <class Fr>
Status to_scalars(gpu::StreamHandle stream, gpu::DeviceSpan<const Fr> in,
                  gpu::DeviceSpan<typename Fr::Scalar> out);

// out[i] = first * step^i.
template <class Fr>
Status powers_of(gpu::StreamHandle stream, const Fr& first, const Fr& step,
                 gpu::DeviceSpan<Fr> out);

}  // namespace cuzk::groth16
