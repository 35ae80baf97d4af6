#pragma once
// Points on the device, in the bytes of Affine<G> and Xyzz<G> (curve/point.h), with the same
// formulas and the same completeness: any operands, equal, opposite or the identity.
//
// Threads: values.

#include "curve/bls12_381.h"
#include "curve/bn254.h"
#include "field/fp_cuda.cuh"

namespace cuzk::device {

template <class F>
struct DeviceAffine {
  F x;
  F y;
  __device__ __forceinline__ bool is_identity() const { return x.is_zero() && y.is_zero(); }
};

template <class F>
struct DeviceXyzz {
  F x;
  F y;
  F zz;
  F zzz;

  __device__ __forceinline__ static DeviceXyzz identity() {
    return {F::zero(), F::zero(), F::zero(), F::zero()};
  }
  __device__ __forceinline__ static DeviceXyzz from_affine(const DeviceAffine<F>& p) {
    if (p.is_identity()) return identity();
    return {p.x, p.y, F::one(), F::one()};
  }
  __device__ __forceinline__ bool is_identity() const { return zz.is_zero(); }

  __device__ __noinline__ void double_in_place() {
    if (is_identity()) return;
    const F u = y.dbl();
    const F v = u.square();
    const F w = u * v;
    const F s = x * v;
    const F x2 = x.square();
    const F m = x2.dbl() + x2;
    x = m.square() - s.dbl();
    y = m * (s - x) - w * y;
    zz = v * zz;
    zzz = w * zzz;
  }

  // Twice `p`, out of line and through a copy: *this must not get an address in memory because of
  // what only equal operands need.
  __device__ __forceinline__ static DeviceXyzz doubled(const DeviceXyzz& p) {
    DeviceXyzz copy = p;
    copy.double_in_place();
    return copy;
  }

  // *this += b. Cost: 8 products and 2 squares.
  __device__ __forceinline__ void add(const DeviceAffine<F>& b) {
    if (b.is_identity()) return;
    if (is_identity()) {
      *this = from_affine(b);
      return;
    }
    const F p = b.x * zz - x;
    const F r = b.y * zzz - y;
    if (p.is_zero()) {
      if (r.is_zero()) {
        *this = doubled(from_affine(b));
      } else {
        *this = identity();
      }
      return;
    }
    const F pp = p.square();
    zz = zz * pp;
    const F ppp = p * pp;
    zzz = zzz * ppp;
    const F q = x * pp;
    x = r.square() - ppp - q.dbl();
    y = r * (q - x) - y * ppp;
  }

  // *this += b. Cost: 12 products and 2 squares.
  __device__ __forceinline__ void add(const DeviceXyzz& b) {
    if (b.is_identity()) return;
    if (is_identity()) {
      *this = b;
      return;
    }
    const F u1 = x * b.zz;
    const F s1 = y * b.zzz;
    const F p = b.x * zz - u1;
    const F r = b.y * zzz - s1;
    if (p.is_zero()) {
      if (r.is_zero()) {
        *this = doubled(*this);
      } else {
        *this = identity();
      }
      return;
    }
    const F pp = p.square();
    zz = zz * b.zz * pp;
    const F ppp = p * pp;
    zzz = zzz * b.zzz * ppp;
    const F q = u1 * pp;
    x = r.square() - ppp - q.dbl();
    y = r * (q - x) - s1 * ppp;
  }
};

// 16-byte loads and stores of a value whose size is a multiple of 16.
template <class T>
__device__ __forceinline__ T load_wide(const T* from) {
  static_assert(sizeof(T) % 16 == 0);
  T out;
#pragma unroll
  for (unsigned i = 0; i < sizeof(T) / 16; ++i) {
    reinterpret_cast<uint4*>(&out)[i] = __ldg(reinterpret_cast<const uint4*>(from) + i);
  }
  return out;
}

}  // namespace cuzk::device
