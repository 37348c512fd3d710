// Shapes: R rows of a micro-batch, T their targets, D model, V vocabulary.
#include "train/quantities.h"

#include "core/error.h"
#include "kernels/from_host.h"
#include "train/chunks.h"
#include "train/divergence.h"
#include "train/token_stats.h"
#include "train/vocabulary.h"

#include <algorithm>
#include <set>

namespace atelier {
namespace {

const std::set<std::string> of_token_stats = {"logp", "entropy"};
const std::set<std::string> of_vocabulary = {"meanLogp", "logSumSqProbs", "meanLogit", "correct"};
const std::set<std::string> of_teacher = {"jsd", "topkDivergence"};
const std::set<std::string> of_scalar_head = {"value", "score"};
const std::set<std::string> of_router = {"routerAux"};

// The state after a row's last token is that before one more target.
Rows with_end(const Rows& rows) {
  Rows ended;
  auto token = rows.ids.begin();
  for (auto length : rows.lengths) {
    ended.ids.insert(ended.ids.end(), token, token + length);
    ended.ids.push_back(0);
    ended.lengths.push_back(length + 1);
    token += length;
  }
  return ended;
}

mx::array indices(const std::vector<int32_t>& values) {
  return from_host(values, {static_cast<int>(values.size())});
}

mx::array times_scalar_head(const mx::array& hidden_TD, const Bound& bound) {
  auto head = mx::reshape(*bound.scalar_head, {-1, 1});
  return mx::squeeze(mx::matmul(mx::astype(hidden_TD, mx::float32), head), 1);
}

float option(const Wanted& wanted, const char* name) {
  auto found = wanted.options.find(name);
  if (found == wanted.options.end()) {
    refuse("program: '" + wanted.name + "' has no option '" + name + "'");
  }
  return static_cast<float>(found->second);
}

}  // namespace

Forward::Forward(const Rows& rows, QuantityOptions options, std::optional<Teacher> teacher)
    : options_(std::move(options)),
      teacher_(std::move(teacher)),
      rows_(with_ends() ? with_end(rows) : rows),
      offsets_(rows_),
      targets_(rows) {
  for (const auto& [name, _, gradient] : options_.wanted) {
    bool teaches = of_teacher.count(name) > 0;
    if (!teaches && !of_token_stats.count(name) && !of_vocabulary.count(name) &&
        !of_scalar_head.count(name) && !of_router.count(name)) {
      refuse("program: the engine does not make '" + name + "'");
    }
    if (teaches && !teacher_) {
      refuse("teacher: missing; the program asks for '" + name + "'");
    }
  }
}

bool Forward::wants(const std::string& name) const {
  return std::any_of(options_.wanted.begin(), options_.wanted.end(), [&](const Wanted& w) {
    return w.name == name;
  });
}

// As transformers 5.24.0 pools (GenericForSequenceClassification), which takes the first token where all are padding.
int Forward::pads_at_end(int row) const {
  const int last = rows_.lengths[row] - 2;  // the one after it was added by with_end
  const auto token = rows_.ids.begin() + offsets_.token[row];
  int pads = 0;
  while (pads < last && options_.pad_token == token[last - pads]) {
    pads++;
  }
  return pads;
}

Forward::Batch Forward::prepare(const MicroBatch& micro) const {
  bool ends = with_ends();
  MicroBatch ended = micro;
  ended.length += ends ? 1 : 0;
  Batch batch{pad(rows_, offsets_, ended), {}, {}, {}, {}, {}};
  std::vector<int32_t> target, end;
  int32_t at = 0;
  for (int row : micro.rows) {
    int count = rows_.lengths[row] - 1 - (ends ? 1 : 0);
    const auto first = static_cast<int32_t>(target.size());
    for (int t = 0; t < count; t++) {
      batch.share_of_position.push_back(first + t);
      target.push_back(at++);
      batch.place_T.push_back(targets_.target[row] + t);
    }
    if (ends) {
      // A row of one token has no target to give its share to; it has none.
      batch.share_of_position.push_back(count > 0 ? first + count - 1 : -1);
      end.push_back(at++ - pads_at_end(row));
    }
  }
  if (ends) {
    batch.target_T = indices(target);
    batch.end_R = indices(end);
  }
  bool teaches = std::any_of(options_.wanted.begin(), options_.wanted.end(), [](const Wanted& w) {
    return of_teacher.count(w.name) > 0;
  });
  if (teaches && !batch.place_T.empty()) {
    auto hidden = forward_hidden(*teacher_->model, teacher_->bound, batch.padded);
    batch.teacher_TD = batch.target_T ? mx::take(hidden, *batch.target_T, 0) : hidden;
    // Its layers' activations go before the student's come.
    batch.teacher_TD->eval();
  }
  return batch;
}

Quantities Forward::make(const Model& model, const Bound& bound, const Batch& batch) const {
  Quantities made;
  auto none = mx::zeros({0}, mx::float32);
  if (batch.padded.place_T.empty()) {
    for (const auto& wanted : options_.wanted) {
      made.insert_or_assign(wanted.name, none);
    }
    return made;
  }
  if ((wants("value") || wants("score")) && !bound.scalar_head) {
    refuse(
        "adapter: neither it nor its model has a scalar head, so there is no value and no score");
  }
  std::vector<mx::array> routers;
  auto hidden = forward_hidden(
      model, bound, batch.padded, options_.forward, wants("routerAux") ? &routers : nullptr);
  if (batch.end_R && wants("score")) {
    made.insert_or_assign("score", times_scalar_head(mx::take(hidden, *batch.end_R, 0), bound));
  }
  if (batch.place_T.empty()) {
    for (const auto& wanted : options_.wanted) {
      made.emplace(wanted.name, none);
    }
    return made;
  }
  auto targets_T = batch.padded.targets_T;
  if (batch.target_T) {
    hidden = mx::take(hidden, *batch.target_T, 0);
    targets_T = mx::take(targets_T, *batch.target_T, 0);
  }
  HeadOptions stats{.temperature = options_.temperature, .train_head = options_.train_head};
  stats.gradient = false;
  bool tokens = false;
  for (const auto& wanted : options_.wanted) {
    if (of_token_stats.count(wanted.name)) {
      tokens = true;
      stats.gradient |= wanted.gradient;
      stats.entropy |= wanted.name == "entropy";
      stats.entropy_gradient |= wanted.name == "entropy" && wanted.gradient;
    } else if (wanted.name == "value") {
      made.insert_or_assign("value", times_scalar_head(hidden, bound));
    } else if (wanted.name == "routerAux") {
      made.insert_or_assign("routerAux", router_aux(routers, batch));
    } else if (wanted.name != "score") {
      const Weight head = model.head(bound.weights);
      made.insert_or_assign(wanted.name, over_vocabulary(wanted, hidden, head, targets_T, batch));
    }
  }
  if (tokens) {
    const Weight head = model.head(bound.weights);
    stats.chunk = head_chunk(head.out(), chunk_bytes());
    stats.train_head &= stats.gradient;
    auto of = token_stats(hidden, head, targets_T, stats);
    made.insert_or_assign("logp", of.logp);
    if (of.entropy) {
      made.insert_or_assign("entropy", *of.entropy);
    }
  }
  return made;
}

namespace {

// Positions that have a share of routerAux, among all B L, and the target that each gives it to.
std::pair<mx::array, mx::array> shares(const Forward::Batch& batch) {
  std::vector<int32_t> kept, target;
  for (size_t i = 0; i < batch.share_of_position.size(); i++) {
    if (batch.share_of_position[i] >= 0) {
      kept.push_back(static_cast<int32_t>(i));
      target.push_back(batch.share_of_position[i]);
    }
  }
  return {mx::take(batch.padded.at_T, indices(kept), 0), indices(target)};
}

}  // namespace

ExpertCounts Forward::count_experts(
    const Model& model,
    const Bound& bound,
    const std::vector<MicroBatch>& step,
    const std::atomic<bool>& cancelled) const {
  if (model.chosen_experts() == 0) {
    refuse(
        "program: 'routerAux' is of a mixture of experts with softmax routers; the model has none");
  }
  std::optional<mx::array> counts;
  ExpertCounts result;
  for (const auto& micro : step) {
    if (cancelled) {
      throw Error(ErrorCode::cancelled, "step: cancelled");
    }
    auto batch = prepare(micro);
    auto at_N = shares(batch).first;
    if (at_N.size() == 0) {
      continue;
    }
    std::vector<mx::array> routers;
    // As the forwards that follow see them, noise included.
    forward_hidden(model, bound, batch.padded, options_.forward, &routers);
    auto some = expert_counts(routers, at_N, model.chosen_experts());
    counts = counts ? *counts + some : some;
    counts->eval();
    result.tokens += static_cast<double>(at_N.size());
    result.layers = static_cast<double>(routers.size());
  }
  if (counts) {
    result.chosen_E = {counts->data<float>(), counts->data<float>() + counts->size()};
  }
  return result;
}

void Forward::use_experts(const ExpertCounts& counts) {
  if (!counts.chosen_E.empty()) {
    const auto E = static_cast<int>(counts.chosen_E.size());
    const mx::array chosen(counts.chosen_E.begin(), {E}, mx::float32);
    const auto places = static_cast<float>(1 / (counts.tokens * counts.layers));
    use_ = {chosen * mx::array(places), counts.tokens};
  }
}

mx::array Forward::router_aux(const std::vector<mx::array>& router_logits, const Batch& batch)
    const {
  if (!use_) {
    refuse("program: 'routerAux' cannot be part of a number of the whole step");
  }
  auto [at_N, target_N] = shares(batch);
  auto share_N = router_loss(router_logits, at_N, *use_);
  auto none_T = mx::zeros({static_cast<int>(batch.place_T.size())}, mx::float32);
  return mx::scatter_add(none_T, target_N, mx::expand_dims(share_N, 1), 0);
}

mx::array Forward::over_vocabulary(
    const Wanted& wanted,
    const mx::array& hidden_TD,
    const Weight& head,
    const mx::array& targets_T,
    const Batch& batch) const {
  // Several arrays of a chunk's size live at once.
  VocabularyOptions o{
      head_chunk(head.out(), chunk_bytes() / 4), options_.train_head, wanted.gradient};
  if (of_teacher.count(wanted.name)) {
    const Weight teacher_VD = teacher_->model->head(teacher_->bound.weights).as(mx::float32);
    auto teacher_TD = mx::astype(*batch.teacher_TD, mx::float32);
    bool topk = wanted.name == "topkDivergence";
    float temperature = option(wanted, "temperature");
    float beta = option(wanted, topk ? "alpha" : "beta");
    TopkOptions chosen;
    if (topk) {
      chosen = {
          static_cast<int>(option(wanted, "k")), option(wanted, "tail") != 0, beta, temperature};
    }
    return atelier::over_vocabulary(
        hidden_TD, head, o, [=](const mx::array& student_CV, int from, int to) {
          // Only once the student's chunk is there: see chunks.h.
          auto teacher_CV = logits_of(after(rows(teacher_TD, from, to), {student_CV}), teacher_VD);
          return topk ? topk_divergence(student_CV, teacher_CV, chosen)
                      : jsd(student_CV, teacher_CV, beta, temperature);
        });
  }
  auto hidden = mx::astype(hidden_TD, mx::float32);
  if (options_.temperature != 1.0f) {
    hidden = hidden * mx::array(1.0f / options_.temperature);
  }
  if (wanted.name == "meanLogp") {
    return atelier::over_vocabulary(
        hidden, head, o, [](const mx::array& logits, int, int) { return mean_logp(logits); });
  }
  if (wanted.name == "meanLogit") {
    return mx::stop_gradient(mean_logit(hidden, head));
  }
  o.gradient = false;
  auto value =
      wanted.name == "correct"
          ? atelier::over_vocabulary(
                hidden,
                head,
                o,
                [=](const mx::array& logits, int from, int to) {
                  return is_correct(logits, rows(targets_T, from, to));
                })
          : atelier::over_vocabulary(hidden, head, o, [](const mx::array& logits, int, int) {
              return log_sum_sq_probs(logits);
            });
  return mx::stop_gradient(value);
}

}  // namespace atelier
