#pragma once

#include "core/params.h"
#include "io/json.h"

#include <string>

namespace atelier::testing {

/** Path of a file or folder under conformance/fixtures. */
std::string fixture(const std::string& path);

Json fixture_json(const std::string& path);

/**
 * The largest |a - b| beyond atol + rtol |b| that the two arrays (f32) have, as a share of that bound: at most 1
 * where they agree. Where `mask` is given, only entries where it is not 0 count.
 */
double excess(
    const mx::array& a,
    const mx::array& b,
    double atol,
    double rtol,
    const std::optional<mx::array>& mask = std::nullopt);

/** log p of token t+1 at position t: [B, L-1] from logits [B, L, V] and ids [B, L]. */
mx::array token_logprobs(const mx::array& logits, const mx::array& ids);

mx::array ids_array(const Json& rows);

}  // namespace atelier::testing
