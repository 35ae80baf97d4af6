#pragma once
// What long calls are given: who works, within which memory, and who measures.

#include "base/memory.h"
#include "base/tasks.h"
#include "base/timeline.h"

namespace cuzk::groth16 {

struct Context {
  Tasks& tasks;
  MemoryBudget& memory;
  Timeline& timeline;
  int lane = 0;  // of the spans: the partition's number
};

}  // namespace cuzk::groth16
