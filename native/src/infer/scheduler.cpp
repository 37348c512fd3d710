#include "infer/scheduler.h"

#include "core/error.h"
#include "core/random.h"
#include "infer/prefill.h"

#include <algorithm>
#include <cmath>

namespace atelier {
namespace {

// Steps that a GPU is given before the oldest is looked at: it never waits for the host. A row that ends is decoded
// as often again, and what it would have said is dropped.
constexpr size_t steps_ahead = 2;

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
  if (!(s.typical_p > 0 && s.typical_p <= 1) || !(s.epsilon >= 0 && s.epsilon < 1)) {
    invalid("typicalP must be above 0 and at most 1, epsilonCutoff from 0 to below 1");
  }
  const Penalties& p = s.penalties;
  if (!(p.repetition > 0) || !std::isfinite(p.repetition) || !std::isfinite(p.frequency) ||
      !std::isfinite(p.presence) || p.no_repeat_ngram < 0 || p.min_new_tokens < 0) {
    invalid(
        "repetitionPenalty must be above 0, frequencyPenalty and presencePenalty numbers, "
        "noRepeatNgram and minNewTokens 0 or more");
  }
  for (const auto& [id, value] : s.bias) {
    if (id < 0 || id >= model.vocabulary || std::isnan(value) || value == INFINITY) {
      invalid(
          "logitBias, suppressIds: token " + std::to_string(id) + " must be in the vocabulary of " +
          std::to_string(model.vocabulary) + ", its bias a number");
    }
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

int longest_row(const GenerateRequest& r) {
  size_t longest = 0;
  for (const auto& prompt : r.prompts) {
    longest = std::max(longest, prompt.size());
  }
  return static_cast<int>(longest) + r.max_new_tokens;
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
      stop_(request.stop_ids.begin(), request.stop_ids.end()),
      decoding_(model, weights, lora, request.sampling, request.seed) {
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
  if (wants_more()) {
    unread_.push_back({batch_, decoding_.step(said())});
    const Draw& d = unread_.back().draw;
    mx::async_eval(d.token, d.logprob, d.raw_logprob);
  }
  const size_t ahead = decoding_.runs_ahead() ? steps_ahead : 0;
  if (unread_.size() > ahead || !wants_more()) {
    read(out);
  }
  drop_finished(out);
  return out;
}

std::vector<NewToken> Scheduler::rest() {
  std::vector<NewToken> out;
  read_all(out);
  return out;
}

// Whether some row would still have room for a token after those that are under way.
bool Scheduler::wants_more() const {
  return std::any_of(batch_.begin(), batch_.end(), [this](int row) {
    return row >= 0 &&
           static_cast<int>(rows_[row].ids.size() + unread_.size()) < request_.max_new_tokens;
  });
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
  read_all(out);
  Prefilled ready = prefill(model_, weights_, lora_, prompts);
  if (decoding_.records(ready.cache)) {
    ready.cache.reserve = longest_row(request_);
  }
  std::vector<int> batch = std::move(batch_);
  batch_ = joining;
  const mx::array index(prompt_of.begin(), {count}, mx::int32);
  const Draw first = sample(
      mx::take(ready.logits, index, 0),
      request_.sampling,
      uniforms(request_.seed, draws()),
      said());
  unread_.push_back({batch_, first});
  read(out);

  KvCache joined = take_rows(ready.cache, prompt_of);
  mx::array last = first.token;
  if (!batch.empty()) {
    batch_.insert(batch_.begin(), batch.begin(), batch.end());
    joined = join_rows({decoding_.cache(), std::move(joined)});
    last = mx::concatenate({decoding_.last(), last}, 0);
  }
  decoding_.begin(std::move(joined), std::move(last), draws());
  drop_finished(out);
}

RowDraws Scheduler::draws() const {
  RowDraws draws;
  for (int row : batch_) {
    draws.rollout.push_back(
        row < 0                        ? 0
        : request_.rollout_ids.empty() ? row
                                       : request_.rollout_ids[row]);
    draws.drawn.push_back(static_cast<uint32_t>(row < 0 ? 0 : rows_[row].ids.size()));
  }
  return draws;
}

// Every draw has been read: a batch whose sampling looks at this does not run ahead.
Said Scheduler::said() const {
  static const std::vector<int32_t> nothing;
  Said said{{}, &request_.stop_ids};
  if (request_.sampling.penalties.any()) {
    for (int row : batch_) {
      said.rows.push_back(
          row < 0 ? History{&nothing, &nothing}
                  : History{&request_.prompts[rows_[row].prompt], &rows_[row].ids});
    }
  }
  return said;
}

void Scheduler::read_all(std::vector<NewToken>& out) {
  while (!unread_.empty()) {
    read(out);
  }
}

// Takes the oldest draw over.
void Scheduler::read(std::vector<NewToken>& out) {
  const Drawn drawn = std::move(unread_.front());
  unread_.pop_front();
  const Draw& d = drawn.draw;
  mx::eval(d.token, d.logprob, d.raw_logprob);
  const auto* token = d.token.data<int32_t>();
  const auto* logprob = d.logprob.data<float>();
  const auto* raw = d.raw_logprob.data<float>();
  for (size_t b = 0; b < drawn.batch.size(); b++) {
    const int at = drawn.batch[b];
    if (at < 0 || rows_[at].finish != Finish::cancelled) {
      continue;
    }
    if (std::isfinite(raw[b]) && !std::isfinite(logprob[b]) && request_.sampling.edits()) {
      throw Error(
          ErrorCode::invalid_argument,
          "sampling: suppressed ids, bias and noRepeatNgram leave no token to draw",
          "Forbid fewer tokens, or longer sequences only.");
    }
    if (!std::isfinite(raw[b]) || !std::isfinite(logprob[b])) {
      throw Error(
          ErrorCode::non_finite,
          "the model's logits are not finite",
          "The weights or the adapter have diverged.");
    }
    GeneratedRow& row = rows_[at];
    row.ids.push_back(token[b]);
    row.logprob.push_back(logprob[b]);
    row.raw_logprob.push_back(raw[b]);
    out.push_back({at, token[b]});
    const bool stopped = stop_.count(token[b]) > 0;
    if (stopped || static_cast<int>(row.ids.size()) == request_.max_new_tokens) {
      row.finish = stopped ? Finish::stop : Finish::length;
      std::replace(batch_.begin(), batch_.end(), at, -1);
      finished_++;
    }
  }
}

std::vector<int32_t> Scheduler::unfinished() const {
  std::vector<int32_t> keep;
  for (size_t b = 0; b < batch_.size(); b++) {
    if (batch_[b] >= 0) {
      keep.push_back(static_cast<int32_t>(b));
    }
  }
  return keep;
}

// Finished rows cost as much as live ones until the batch is copied without them: worth it from one in eight, and from
// one in four where a step is recorded anew.
void Scheduler::drop_finished(std::vector<NewToken>& out) {
  const size_t share = decoding_.runs_ahead() ? 4 : 8;
  auto many = [&] { return (batch_.size() - unfinished().size()) * share >= batch_.size(); };
  if (batch_.empty() || !many()) {
    return;
  }
  if (!unfinished().empty()) {
    read_all(out);
  }
  const std::vector<int32_t> keep = unfinished();
  if (keep.empty()) {
    // What is still under way is of rows that have finished.
    unread_.clear();
    batch_.clear();
    decoding_.begin({}, mx::array(0), {});
    return;
  }
  const mx::array index(keep.begin(), {static_cast<int>(keep.size())}, mx::int32);
  std::vector<int> batch;
  for (int32_t b : keep) {
    batch.push_back(batch_[b]);
  }
  batch_ = std::move(batch);
  decoding_.begin(
      take_rows(decoding_.cache(), keep), mx::take(decoding_.last(), index, 0), draws());
}

}  // namespace atelier
