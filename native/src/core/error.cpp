#include "core/error.h"

namespace atelier {

const char* to_string(ErrorCode code) {
  switch (code) {
    case ErrorCode::invalid_argument:
      return "invalid_argument";
    case ErrorCode::device_unavailable:
      return "device_unavailable";
    case ErrorCode::invalid_file:
      return "invalid_file";
    case ErrorCode::unsupported_model:
      return "unsupported_model";
    case ErrorCode::out_of_memory:
      return "out_of_memory";
    case ErrorCode::cancelled:
      return "cancelled";
    case ErrorCode::not_found:
      return "not_found";
    case ErrorCode::io:
      return "io";
    case ErrorCode::non_finite:
      return "non_finite";
    case ErrorCode::internal:
      return "internal";
  }
  return "internal";
}

}  // namespace atelier
