#pragma once
// What every stage of the pipeline is given: who works, within which memory, and who measures.

#include "base/memory.h"
#include "base/tasks.h"
#include "base/timeline.h"

namespace cuzk::engine {

struct Context {
  Tasks& tasks;
  MemoryBudget& memory;
  Timeline& timeline;
};

}  // namespace cuzk::engine
