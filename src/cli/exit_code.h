#pragma once
// Exit codes of the command line, documented in README.md.

#include "base/error.h"

namespace cuzk::cli {

enum ExitCode : int {
  kOk = 0,
  kProofInvalid = 1,
  kUsage = 2,
  kBadInput = 3,
  kDoesNotFit = 4,
  kResources = 5,
  kSelfCheckFailed = 6,
  kInsecureKeyRefused = 7,
};

constexpr ExitCode exit_code_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidArgument:
      return kUsage;
    case ErrorCode::kCorruptInput:
    case ErrorCode::kNotFound:
    case ErrorCode::kIo:
      return kBadInput;
    case ErrorCode::kMismatch:
    case ErrorCode::kUnsatisfied:
      return kDoesNotFit;
    case ErrorCode::kInvalidProof:
      return kProofInvalid;
    case ErrorCode::kOutOfBudget:
    case ErrorCode::kDeviceLost:
    case ErrorCode::kCancelled:
      return kResources;
    case ErrorCode::kInsecureKey:
      return kInsecureKeyRefused;
    case ErrorCode::kInternal:
      return kSelfCheckFailed;
  }
  return kSelfCheckFailed;
}

}  // namespace cuzk::cli
