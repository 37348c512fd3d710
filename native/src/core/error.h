#pragma once

#include <stdexcept>
#include <string>

namespace atelier {

/** The closed list of native/face.ts, EngineErrorCode. */
enum class ErrorCode {
  invalid_argument,
  device_unavailable,
  invalid_file,
  unsupported_model,
  out_of_memory,
  cancelled,
  not_found,
  io,
  non_finite,
  internal,
};

/** The code as native/face.ts spells it. */
const char* to_string(ErrorCode code);

/** The one error type of the engine. `what()` says what and where; `hint` what to do about it, or nothing. */
class Error : public std::runtime_error {
 public:
  Error(ErrorCode code, const std::string& message, std::string hint = {})
      : std::runtime_error(message), code(code), hint(std::move(hint)) {}

  ErrorCode code;
  std::string hint;
};

/** Throws an Error of the code invalid_argument. */
[[noreturn]] inline void refuse(const std::string& message) {
  throw Error(ErrorCode::invalid_argument, message);
}

}  // namespace atelier
