#pragma once
// What every stage of the pipeline is given: who works, within which memory, and who measures.

#include "groth16/context.h"

namespace cuzk::engine {

using Context = groth16::Context;

}  // namespace cuzk::engine
