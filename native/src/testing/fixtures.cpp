#include "testing/fixtures.h"

#include "io/file.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>

namespace atelier::testing {
namespace {

// Told at the end to who asks for it: the conformance runner gives it beside pass and fail.
struct Largest {
  double share = 0;
  ~Largest() {
    if (std::getenv("ATELIER_REPORT")) {
      std::printf("largest share of a tolerance: %g\n", share);
    }
  }
} largest;

}  // namespace

std::string fixture(const std::string& path) {
  const char* other = std::getenv("ATELIER_FIXTURES");
  return (other ? std::string(other) : ATELIER_SOURCE_DIR "/conformance/fixtures") + "/" + path;
}

Json fixture_json(const std::string& path) {
  return parse_json(read_text(fixture(path), 100'000'000), path, 64);
}

double excess(
    const mx::array& a,
    const mx::array& b,
    double atol,
    double rtol,
    const std::optional<mx::array>& mask) {
  if (a.shape() != b.shape()) {
    throw std::runtime_error("shapes differ");
  }
  const mx::array bound = mx::array(float(atol)) + mx::array(float(rtol)) * mx::abs(b);
  mx::array share = mx::abs(a - b) / bound;
  // A NaN must fail, not vanish in a maximum.
  share = mx::where(mx::isnan(share), mx::array(INFINITY), share);
  if (mask) {
    share = mx::where(mx::not_equal(*mask, mx::array(0, mask->dtype())), share, mx::array(0.0f));
  }
  const double worst = mx::max(share).item<float>();
  largest.share = std::max(largest.share, worst);
  return worst;
}

mx::array token_logprobs(const mx::array& logits, const mx::array& ids) {
  const int B = ids.shape(0), L = ids.shape(1);
  const mx::array logp = logits - mx::logsumexp(logits, -1, true);
  const mx::array next = mx::expand_dims(mx::slice(ids, {0, 1}, {B, L}), 2);
  return mx::squeeze(
      mx::take_along_axis(mx::slice(logp, {0, 0, 0}, {B, L - 1, logp.shape(2)}), next, 2), 2);
}

mx::array ids_array(const Json& rows) {
  std::vector<int32_t> flat;
  for (const Json& row : rows) {
    for (const Json& id : row) {
      flat.push_back(id.get<int32_t>());
    }
  }
  const int n = static_cast<int>(rows.size());
  return mx::array(flat.begin(), {n, static_cast<int>(flat.size()) / n}, mx::int32);
}

}  // namespace atelier::testing
