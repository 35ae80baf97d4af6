#pragma once
// The names of a stream and an event as they pass through interfaces, without CUDA's headers.
// CUDA's own types are pointers to these two incomplete types, so no conversion happens.
//
// Threads: values; owners are in stream.h.

struct CUstream_st;
struct CUevent_st;

namespace cuzk::gpu {

using StreamHandle = CUstream_st*;
using EventHandle = CUevent_st*;

}  // namespace cuzk::gpu
