#include "infer/scheduler.h"

#include "core/error.h"
#include "core/random.h"
#include "infer/prefill.h"

#include <algorithm>
#include <cmath>

namespace atelier {
namespace {

[[noreturn]] void invalid(const std::string& message) {
  throw Error(ErrorCode::invalid_argument, message);
}

void check(const ModelConfig& model, const GenerateRequest& r) {
  if (r.prompts.empty()) {
    invalid("prompts: there must be at least one");
  }
  if (r.samples_per_prompt < 1 || r.max_new_tokens < 1 || r.max_rows < 1) {
    invalid("samplesPerPrompt, maxNewTokens and maxRows must be at least 1");
  }
  const Sampling& s = r.sampling;
  if (!(s.temperature >= 0) || !std::isfinite(s.temperature)) {
    invalid("temperature: must be a number from 0 up");
  }
  if (s.top_k < 0 || !(s.top_p > 0 && s.top_p <= 1) || !(s.min_p >= 0 && s.min_p <= 1)) {
    invalid("topK must be 0 or more, topP above 0 and at most 1, minP from 0 to 1");
  }
  for (size_t i = 0; i < r.prompts.size(); i++) {
    const auto& p = r.prompts[i];
    const std::string at = "prompts[" + std::to_string(i) + "]";
    if (p.empty()) {
      invalid(at + ": must have at least one token");
    }
    if (p.size() + r.max_new_tokens > static_cast<size_t>(model.context)) {
      invalid(
          at + ": " + std::to_string(p.size()) + " tokens and maxNewTokens " +
          std::to_string(r.max_new_tokens) + " are more than the model's context of " +
          std::to_string(model.context));
    }
    for (int32_t id : p) {
      if (id < 0 || id >= model.vocabulary) {
        invalid(
            at + ": token " + std::to_string(id) + " is not in the vocabulary of " +
            std::to_string(model.vocabulary));
      }
    }
  }
  if (!r.rollout_ids.empty() && r.rollout_ids.size() != r.prompts.size() * r.samples_per_prompt) {
    invalid(
        "rolloutIds: there must be one a row, " +
        std::to_string(r.prompts.size() * r.samples_per_prompt));
  }
}

}  // namespace

Scheduler::Scheduler(
    const Model& model,
    const Params& weights,
    const Params& lora,
    const GenerateRequest& request)
    : model_(model),
      weights_(weights),
      lora_(lora),
      request_(request),
      stop_(request.stop_ids.begin(), request.stop_ids.end()) {
  check(model.config(), request);
  rows_.resize(request.prompts.size() * request.samples_per_prompt);
  for (size_t i = 0; i < rows_.size(); i++) {
    rows_[i].prompt = static_cast<int>(i) / request.samples_per_prompt;
  }
}

std::vector<NewToken> Scheduler::step() {
  std::vector<NewToken> out;
  admit(out);
  if (batch_.empty()) {
    return out;
  }
  const mx::array h = model_.hidden(weights_, lora_, mx::expand_dims(*last_, 1), &cache_);
  draw(model_.logits(weights_, mx::squeeze(h, 1)), out);
  drop_finished();
  return out;
}

// Groups come in whole, so that a prompt is prefilled once; only a group larger than the batch is split.
int Scheduler::fitting(int free) const {
  const int samples = request_.samples_per_prompt, waiting = static_cast<int>(rows_.size()) - next_;
  const int rest = samples - next_ % samples;
  if (free < rest) {
    return batch_.empty() ? free : 0;
  }
  return std::min(waiting, rest + (free - rest) / samples * samples);
}

void Scheduler::admit(std::vector<NewToken>& out) {
  const int waiting = static_cast<int>(rows_.size()) - next_;
  const int free = request_.max_rows - static_cast<int>(batch_.size());
  // Joining copies the cache: wait until it is worth it.
  if (waiting == 0 || (!batch_.empty() && free < std::min(waiting, (request_.max_rows + 3) / 4))) {
    return;
  }
  const int count = fitting(free);
  if (count == 0) {
    return;
  }
  std::vector<const std::vector<int32_t>*> prompts;
  std::vector<int32_t> prompt_of;
  std::vector<int> joining;
  for (int i = 0; i < count; i++, next_++) {
    const std::vector<int32_t>* prompt = &request_.prompts[rows_[next_].prompt];
    if (prompts.empty() || prompts.back() != prompt) {
      prompts.push_back(prompt);
    }
    prompt_of.push_back(static_cast<int32_t>(prompts.size()) - 1);
    joining.push_back(next_);
  }
  Prefilled ready = prefill(model_, weights_, lora_, prompts);
  std::vector<int> batch = std::move(batch_);
  KvCache cache = std::move(cache_);
  std::optional<mx::array> last = std::move(last_);
  const mx::array index(prompt_of.begin(), {count}, mx::int32);
  batch_ = joining;
  draw(mx::take(ready.logits, index, 0), out);

  KvCache joined = take_rows(ready.cache, prompt_of);
  if (last) {
    batch_.insert(batch_.begin(), batch.begin(), batch.end());
    cache_ = join_rows({std::move(cache), std::move(joined)});
    last_ = mx::concatenate({*last, *last_}, 0);
  } else {
    cache_ = std::move(joined);
  }
  drop_finished();
}

mx::array Scheduler::uniforms() const {
  std::vector<float> u;
  for (int row : batch_) {
    const uint32_t id = row < 0                        ? 0
                        : request_.rollout_ids.empty() ? row
                                                       : request_.rollout_ids[row];
    const auto position = static_cast<uint32_t>(row < 0 ? 0 : rows_[row].ids.size());
    u.push_back(random_uniform(request_.seed, Stream::sampling, id, position));
  }
  return mx::array(u.begin(), {static_cast<int>(u.size())}, mx::float32);
}

void Scheduler::draw(const mx::array& logits_BV, std::vector<NewToken>& out) {
  Draw d = sample(logits_BV, request_.sampling, uniforms());
  mx::eval(d.token, d.logprob, d.raw_logprob);
  const auto* token = d.token.data<int32_t>();
  const auto* logprob = d.logprob.data<float>();
  const auto* raw = d.raw_logprob.data<float>();
  for (size_t b = 0; b < batch_.size(); b++) {
    if (batch_[b] < 0) {
      continue;
    }
    if (!std::isfinite(raw[b]) || !std::isfinite(logprob[b])) {
      throw Error(
          ErrorCode::non_finite,
          "the model's logits are not finite",
          "The weights or the adapter have diverged.");
    }
    GeneratedRow& row = rows_[batch_[b]];
    row.ids.push_back(token[b]);
    row.logprob.push_back(logprob[b]);
    row.raw_logprob.push_back(raw[b]);
    out.push_back({batch_[b], token[b]});
    const bool stopped = stop_.count(token[b]) > 0;
    if (stopped || static_cast<int>(row.ids.size()) == request_.max_new_tokens) {
      row.finish = stopped ? Finish::stop : Finish::length;
      batch_[b] = -1;
      finished_++;
    }
  }
  last_ = d.token;
}

// Finished rows cost as much as live ones until the batch is copied without them: worth it from one in eight.
void Scheduler::drop_finished() {
  std::vector<int32_t> keep;
  std::vector<int> batch;
  for (size_t b = 0; b < batch_.size(); b++) {
    if (batch_[b] >= 0) {
      keep.push_back(static_cast<int32_t>(b));
      batch.push_back(batch_[b]);
    }
  }
  if (keep.empty()) {
    batch_.clear();
    cache_ = {};
    last_.reset();
  } else if ((batch_.size() - keep.size()) * 8 >= batch_.size()) {
    cache_ = take_rows(cache_, keep);
    last_ =
        mx::take(*last_, mx::array(keep.begin(), {static_cast<int>(keep.size())}, mx::int32), 0);
    batch_ = std::move(batch);
  }
}

}  // namespace atelier
