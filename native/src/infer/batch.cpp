// Shapes: B rows.
#include "infer/batch.h"

#include "core/random.h"
#include "kernels/uniforms.h"

#include <algorithm>
#include <numeric>

namespace atelier {
namespace {

// The recorded step's state: the tokens said last, the slot, the rows' counts of tokens, and the layers' keys and values.
constexpr size_t last_at = 0, slot_at = 1, drawn_at = 2, layers_at = 3;

mx::array ints(const std::vector<uint32_t>& values) {
  return mx::array(
      reinterpret_cast<const int32_t*>(values.data()),
      {static_cast<int>(values.size())},
      mx::int32);
}

void set_layers(KvCache& cache, const Replay::Arrays& state) {
  for (size_t i = 0; i < cache.layers.size(); i++) {
    cache.layers[i].k = state[layers_at + 2 * i];
    cache.layers[i].v = state[layers_at + 2 * i + 1];
  }
}

}  // namespace

mx::array uniforms(uint64_t seed, const RowDraws& rows) {
  std::vector<float> u;
  for (size_t b = 0; b < rows.rollout.size(); b++) {
    u.push_back(random_uniform(seed, Stream::sampling, rows.rollout[b], rows.drawn[b]));
  }
  return mx::array(u.begin(), {static_cast<int>(u.size())}, mx::float32);
}

Batch::Batch(
    const Model& model,
    const Params& weights,
    const Params& lora,
    const Sampling& sampling,
    uint64_t seed)
    : model_(model), weights_(weights), lora_(lora), sampling_(sampling), seed_(seed) {}

bool records_steps(const Sampling& sampling) {
  return Replay::available() && !sampling.edits();
}

// A recurrence's state is no buffer that a step writes in place.
bool Batch::records(const KvCache& cache) const {
  return records_steps(sampling_) && !cache.layers.empty() &&
         std::all_of(cache.layers.begin(), cache.layers.end(), [](const KvCache::Layer& layer) {
           return layer.k && layer.v && !layer.state && !layer.tail;
         });
}

void Batch::begin(KvCache cache, mx::array last, RowDraws rows) {
  replay_.reset();
  cache_ = std::move(cache);
  last_ = std::move(last);
  rows_ = std::move(rows);
  recorded_ = records(cache_);
}

KvCache Batch::cache() const {
  KvCache now = cache_;
  if (replay_) {
    set_layers(now, replay_->state());
  }
  return now;
}

mx::array Batch::last() const {
  return replay_ ? replay_->state()[last_at] : *last_;
}

Draw Batch::step(const Said& said) {
  auto counted = [this] {
    for (uint32_t& n : rows_.drawn) {
      n++;
    }
  };
  if (recorded_) {
    if (cache_.length >= cache_.layers[0].k->shape(2)) {
      // Rows that came late pushed the others along: room for twice as many.
      KvCache now = cache();
      now.reserve = 2 * now.length;
      std::vector<int32_t> all(now.rows());
      std::iota(all.begin(), all.end(), 0);
      begin(take_rows(now, all), last(), std::move(rows_));
    }
    if (!replay_) {
      record();
    }
    const Replay::Arrays drawn = replay_->run();
    cache_.length++;
    counted();
    return {drawn[0], drawn[1], drawn[2]};
  }
  const mx::array h = model_.hidden(weights_, lora_, mx::expand_dims(*last_, 1), &cache_);
  const Draw drawn =
      sample(model_.logits(weights_, mx::squeeze(h, 1)), sampling_, uniforms(seed_, rows_), said);
  counted();
  last_ = drawn.token;
  return drawn;
}

void Batch::record() {
  Replay::Arrays state{*last_, mx::array({cache_.length}, mx::int32), ints(rows_.drawn)};
  for (KvCache::Layer& layer : cache_.layers) {
    state.push_back(std::move(*layer.k));
    state.push_back(std::move(*layer.v));
  }
  const DecodeRows rows = cache_.decode_rows(state[slot_at]);
  const mx::array rollout = ints(rows_.rollout);
  const mx::array seed = ints({static_cast<uint32_t>(seed_), static_cast<uint32_t>(seed_ >> 32)});
  auto step = [&](const Replay::Arrays& in) {
    KvCache cache = cache_;
    set_layers(cache, in);
    cache.on_device = rows;
    cache.on_device->slot = in[slot_at];
    const mx::array h = model_.hidden(weights_, lora_, mx::expand_dims(in[last_at], 1), &cache);
    const Draw drawn = sample(
        model_.logits(weights_, mx::squeeze(h, 1)),
        sampling_,
        uniforms_gpu(seed, Stream::sampling, rollout, in[drawn_at]),
        {});
    Replay::Arrays out{drawn.token, cache.on_device->slot, in[drawn_at] + mx::array(1, mx::int32)};
    for (const KvCache::Layer& layer : cache.layers) {
      out.push_back(*layer.k);
      out.push_back(*layer.v);
    }
    out.insert(out.end(), {drawn.token, drawn.logprob, drawn.raw_logprob});
    return out;
  };
  replay_.emplace(step, std::move(state));
  set_layers(cache_, replay_->state());
}

}  // namespace atelier
