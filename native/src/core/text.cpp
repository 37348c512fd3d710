#include "core/text.h"

#include <cstdio>

namespace atelier {

std::string quoted(const std::string& text) {
  constexpr size_t most = 80;
  std::string out = "'";
  for (size_t i = 0; i < text.size() && i < most; i++) {
    const auto c = static_cast<unsigned char>(text[i]);
    if (c < 0x20 || c >= 0x7f || c == '\'' || c == '\\') {
      char escape[8];
      std::snprintf(escape, sizeof escape, "\\x%02x", c);
      out += escape;
    } else {
      out += static_cast<char>(c);
    }
  }
  return out + (text.size() > most ? "...'" : "'");
}

}  // namespace atelier
