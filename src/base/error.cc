#include "base/error.h"

namespace cuzk {

std::string_view error_code_name(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidArgument:
      return "invalid argument";
    case ErrorCode::kCorruptInput:
      return "corrupt input";
    case ErrorCode::kMismatch:
      return "mismatch";
    case ErrorCode::kUnsatisfied:
      return "unsatisfied";
    case ErrorCode::kInvalidProof:
      return "invalid proof";
    case ErrorCode::kOutOfBudget:
      return "out of budget";
    case ErrorCode::kDeviceLost:
      return "device lost";
    case ErrorCode::kCancelled:
      return "cancelled";
    case ErrorCode::kInsecureKey:
      return "insecure key";
    case ErrorCode::kNotFound:
      return "not found";
    case ErrorCode::kIo:
      return "input/output";
    case ErrorCode::kInternal:
      return "internal";
  }
  return "unknown";
}

}  // namespace cuzk
