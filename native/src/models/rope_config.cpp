// Frequencies as transformers 5.24.0 makes them (modeling_rope_utils.py), rounded to f32 where it rounds.
#include "core/text.h"
#include "models/config_reader.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace atelier {
namespace {

using Frequencies = std::vector<float>;

// _compute_llama3_parameters
void scale_llama3(const ConfigReader& r, int context, Frequencies& inv_freq) {
  const double factor = r.number("factor"), low = r.number("low_freq_factor"),
               high = r.number("high_freq_factor"),
               original = r.number("original_max_position_embeddings", context);
  if (!(factor > 0) || !(low > 0) || !(high > low) || !(original > 0)) {
    r.invalid("type llama3 has senseless factors");
  }
  for (float& f : inv_freq) {
    const double wavelength = 2 * std::numbers::pi / f;
    if (wavelength > original / low) {
      f = static_cast<float>(f / factor);
    } else if (!(wavelength < original / high)) {
      const double smooth = (original / wavelength - low) / (high - low);
      f = static_cast<float>((1 - smooth) * f / factor + smooth * f);
    }
  }
}

// _compute_yarn_parameters (Peng et al., "YaRN", 2023)
float scale_yarn(const ConfigReader& r, int context, double theta, Frequencies& inv_freq) {
  const double original = r.number("original_max_position_embeddings", context);
  const double factor = r.number(
      "factor",
      r.has("original_max_position_embeddings") ? std::optional(context / original) : std::nullopt);
  const double fast = r.number("beta_fast", 32), slow = r.number("beta_slow", 1);
  const double mscale = r.number("mscale", 0), mscale_all = r.number("mscale_all_dim", 0);
  if (!(original > 0) || !(factor >= 1) || !(slow > 0) || !(fast >= slow)) {
    r.invalid("type yarn has senseless factors");
  }
  const int half = static_cast<int>(inv_freq.size()), dim = 2 * half;
  auto dimension = [&](double rotations) {
    return dim * std::log(original / (rotations * 2 * std::numbers::pi)) / (2 * std::log(theta));
  };
  double low = dimension(fast), high = dimension(slow);
  if (r.flag("truncate", true)) {
    low = std::floor(low);
    high = std::ceil(high);
  }
  low = std::max(low, 0.0);
  high = std::min(high, dim - 1.0);
  if (low == high) {
    high += 0.001;
  }
  for (int i = 0; i < half; i++) {
    const double ramp = std::clamp((i - low) / (high - low), 0.0, 1.0);
    inv_freq[i] = static_cast<float>(inv_freq[i] / factor * ramp + inv_freq[i] * (1 - ramp));
  }
  auto amplitude = [&](double by) { return factor <= 1 ? 1.0 : 0.1 * by * std::log(factor) + 1; };
  const double otherwise =
      mscale != 0 && mscale_all != 0 ? amplitude(mscale) / amplitude(mscale_all) : amplitude(1);
  return static_cast<float>(r.number("attention_factor", otherwise));
}

// In any order of keys; without the base, which older files have elsewhere.
nlohmann::json scaling_of(const Json& parameters) {
  nlohmann::json out = parameters;
  if (!out.is_object()) {
    return out;
  }
  if (!out.contains("rope_type")) {
    out["rope_type"] = out.value("type", nlohmann::json("default"));
  }
  out.erase("type");
  out.erase("rope_theta");
  return out;
}

}  // namespace

void ConfigReader::require_one_scaling(const Json& parameters) const {
  const Json& before = value("rope_scaling");
  const bool both = !parameters.is_null() && !before.is_null() && !before.empty();
  if (both && scaling_of(parameters) != scaling_of(before)) {
    unsupported(
        "rope_scaling beside other rope_parameters",
        "Programs differ in which they take. Leave the one in config.json that is meant.");
  }
}

Rope ConfigReader::rope_of(const Json& parameters, int head_dim, int context, double default_theta)
    const {
  if (!parameters.is_object() && !parameters.is_null()) {
    invalid("rope_parameters and rope_scaling must be objects");
  }
  static const Json none = Json::object();
  const ConfigReader r(parameters.is_null() ? none : parameters, where_ + ": rope");
  const double theta = r.number("rope_theta", default_theta);
  if (!(theta > 1) || !std::isfinite(theta)) {
    invalid("rope_theta must be above 1");
  }
  if (r.number("partial_rotary_factor", 1.0) != 1.0) {
    unsupported("partial_rotary_factor other than 1");
  }
  Rope rope;
  for (int i = 0; i < head_dim; i += 2) {
    rope.inv_freq.push_back(1.0f / static_cast<float>(std::pow(theta, double(i) / head_dim)));
  }
  const std::string type = r.text("rope_type", r.text("type", "default"));
  if (type == "linear") {
    const double factor = r.number("factor");
    if (!(factor > 0)) {
      r.invalid("type linear has a senseless factor");
    }
    for (float& f : rope.inv_freq) {
      f = static_cast<float>(f / factor);
    }
  } else if (type == "llama3") {
    scale_llama3(r, context, rope.inv_freq);
  } else if (type == "yarn") {
    rope.amplitude = scale_yarn(r, context, theta, rope.inv_freq);
  } else if (type != "default") {
    unsupported("rope type " + quoted(type));
  }
  r.require_known_keys();
  return rope;
}

Rope ConfigReader::rope(int head_dim, int context, double default_theta) const {
  const double theta = number("rope_theta", default_theta);
  if (number("partial_rotary_factor", 1.0) != 1.0) {
    unsupported("partial_rotary_factor other than 1");
  }
  // transformers 5 writes rope_parameters; older files have rope_theta and rope_scaling (null: default).
  const Json& now = value("rope_parameters");
  const Json& before = value("rope_scaling");
  require_one_scaling(now);
  return rope_of(now.is_null() ? before : now, head_dim, context, theta);
}

}  // namespace atelier
