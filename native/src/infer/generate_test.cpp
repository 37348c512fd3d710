#include "infer/generate.h"

#include "core/error.h"
#include "core/random.h"
#include "io/peft.h"
#include "io/safetensors.h"
#include "models/load.h"
#include "nn/lora.h"
#include "testing/fixtures.h"

#include <doctest/doctest.h>

#include <map>
#include <set>

using namespace atelier;
using namespace atelier::testing;

namespace {

using Ids = std::vector<int32_t>;

std::vector<Ids> id_rows(const Json& json) {
  return json.get<std::vector<Ids>>();
}

std::vector<Ids> left_prompts(const std::string& model) {
  const Params io = load_safetensors(fixture("models/" + model + "/io.safetensors"), std::nullopt);
  const mx::array ids = mx::contiguous(mx::astype(io.at("left.input_ids"), mx::int32));
  const mx::array mask = mx::contiguous(mx::astype(io.at("left.attention_mask"), mx::int32));
  mx::eval(ids, mask);
  std::vector<Ids> out(ids.shape(0));
  for (int b = 0; b < ids.shape(0); b++) {
    for (int t = 0; t < ids.shape(1); t++) {
      if (mask.data<int32_t>()[b * ids.shape(1) + t]) {
        out[b].push_back(ids.data<int32_t>()[b * ids.shape(1) + t]);
      }
    }
  }
  return out;
}

GenerateRequest greedy(std::vector<Ids> prompts, int tokens) {
  GenerateRequest r;
  r.prompts = std::move(prompts);
  r.max_new_tokens = tokens;
  r.sampling.temperature = 0;
  return r;
}

// Prompts of lengths 1..9, three samples each, T = 1, ending early at common tokens.
GenerateRequest ragged() {
  GenerateRequest r;
  for (int i = 0; i < 9; i++) {
    Ids p;
    for (int t = 0; t <= i; t++) {
      p.push_back((37 * i + 11 * t) % 500);
    }
    r.prompts.push_back(p);
  }
  r.samples_per_prompt = 3;
  r.max_new_tokens = 24;
  for (int id = 0; id < 512; id += 16) {
    r.stop_ids.push_back(id);
  }
  r.seed = 5;
  return r;
}

}  // namespace

TEST_CASE("greedy ids are transformers', also with prompts of different length and an end token") {
  for (const std::string name : {"qwen3_tied", "qwen3_untied", "smollm2", "llama3_rope"}) {
    CAPTURE(name);
    const LoadedModel m = load_model(fixture("models/" + name), mx::float32);
    const Json io = fixture_json("models/" + name + "/io.json");
    auto check = [&](GenerateRequest request, const std::vector<Ids>& expected) {
      const auto rows = generate(*m.model, m.weights, {}, request);
      REQUIRE(rows.size() == expected.size());
      for (size_t i = 0; i < rows.size(); i++) {
        CHECK(rows[i].ids == expected[i]);
        CHECK(rows[i].prompt == static_cast<int>(i));
      }
      return rows;
    };
    check(greedy(id_rows(io["greedy"]["prompt_ids"]), 16), id_rows(io["greedy"]["new_ids"]));
    check(greedy(left_prompts(name), 16), id_rows(io["greedy_left_padded"]["new_ids"]));

    const Json eos = io["greedy_with_eos"];
    GenerateRequest request = greedy(id_rows(io["greedy"]["prompt_ids"]), 16);
    request.stop_ids = {eos["eos_token_id"].get<int32_t>()};
    std::vector<Ids> expected = id_rows(eos["new_ids"]);
    std::vector<Finish> finish;
    for (Ids& row : expected) {
      // The fixture fills up with padding after the end token; rows here end with it.
      const auto end = std::find(row.begin(), row.end(), request.stop_ids[0]);
      finish.push_back(end == row.end() ? Finish::length : Finish::stop);
      row.erase(end == row.end() ? end : end + 1, row.end());
    }
    const auto rows = check(request, expected);
    for (size_t i = 0; i < rows.size(); i++) {
      CHECK(rows[i].finish == finish[i]);
    }
  }
}

TEST_CASE(
    "what a row says does not depend on its neighbours, and its log-probabilities are a "
    "forward's") {
  const LoadedModel m = load_model(fixture("models/qwen3_tied"), mx::float32);
  const std::vector<LinearModule> modules = m.model->linears();
  const Adapter adapter = load_adapter(fixture("lora/qwen3_tied/patterns"), modules, {512, 64});
  const Params lora = stack_lora(modules, adapter.sites, adapter.params, m.weights, mx::float32);
  const GenerateRequest request = ragged();
  const auto rows = generate(*m.model, m.weights, lora, request);
  std::map<Finish, int> ends;
  for (const GeneratedRow& row : rows) {
    ends[row.finish]++;
    CHECK(row.ids.size() == row.logprob.size());
    const Ids& prompt = request.prompts[row.prompt];
    Ids whole = prompt;
    whole.insert(whole.end(), row.ids.begin(), row.ids.end());
    const mx::array ids(whole.begin(), {1, static_cast<int>(whole.size())}, mx::int32);
    const mx::array logp =
        token_logprobs(m.model->logits(m.weights, m.model->hidden(m.weights, lora, ids)), ids);
    mx::eval(logp);
    for (size_t t = 0; t < row.ids.size(); t++) {
      const float expected = logp.data<float>()[prompt.size() - 1 + t];
      CHECK(std::abs(row.raw_logprob[t] - expected) < 1e-4);
      CHECK(std::abs(row.logprob[t] - expected) < 1e-4);
    }
  }
  // The test means nothing unless rows end at different times, both ways.
  CHECK(ends[Finish::stop] > 3);
  CHECK(ends[Finish::length] > 1);

  for (int max_rows : {1, 2, 4, 7, 12}) {
    CAPTURE(max_rows);
    GenerateRequest fewer = request;
    fewer.max_rows = max_rows;
    const auto again = generate(*m.model, m.weights, lora, fewer);
    for (size_t i = 0; i < rows.size(); i++) {
      CHECK(again[i].ids == rows[i].ids);
    }
  }

  // One row alone, by its rollout id.
  GenerateRequest alone = request;
  alone.prompts = {request.prompts[4]};
  alone.samples_per_prompt = 1;
  alone.rollout_ids = {14};
  CHECK(generate(*m.model, m.weights, lora, alone)[0].ids == rows[14].ids);
}

TEST_CASE("penalties hold for every row of a batch whose rows come and go") {
  const LoadedModel m = load_model(fixture("models/qwen3_tied"), mx::float32);
  GenerateRequest request = ragged();
  request.sampling.penalties = {.repetition = 1.2f, .no_repeat_ngram = 1, .min_new_tokens = 6};
  const auto rows = generate(*m.model, m.weights, {}, request);
  const std::set<int32_t> stops(request.stop_ids.begin(), request.stop_ids.end());
  int shortest = request.max_new_tokens;
  for (const GeneratedRow& row : rows) {
    Ids whole = request.prompts[row.prompt];
    whole.insert(whole.end(), row.ids.begin(), row.ids.end());
    const std::set<int32_t> prompt(
        request.prompts[row.prompt].begin(), request.prompts[row.prompt].end());
    CHECK(std::set<int32_t>(whole.begin(), whole.end()).size() == prompt.size() + row.ids.size());
    shortest = std::min(shortest, static_cast<int>(row.ids.size()));
    for (size_t t = 0; t + 1 < row.ids.size(); t++) {
      CHECK(stops.count(row.ids[t]) == 0);
    }
  }
  CHECK(shortest >= 7);
  for (int max_rows : {1, 4, 7}) {
    request.max_rows = max_rows;
    const auto again = generate(*m.model, m.weights, {}, request);
    for (size_t i = 0; i < rows.size(); i++) {
      CHECK(again[i].ids == rows[i].ids);
    }
  }
}

TEST_CASE("another seed says something else, the same seed the same") {
  const LoadedModel m = load_model(fixture("models/smollm2"), mx::float32);
  GenerateRequest request = ragged();
  for (auto& p : request.prompts) {
    for (auto& id : p) {
      id %= 100;
    }
  }
  const auto first = generate(*m.model, m.weights, {}, request);
  CHECK(generate(*m.model, m.weights, {}, request)[3].ids == first[3].ids);
  request.seed = (uint64_t{1} << 53) - 1;
  const auto other = generate(*m.model, m.weights, {}, request);
  int different = 0;
  for (size_t i = 0; i < first.size(); i++) {
    different += first[i].ids != other[i].ids;
  }
  CHECK(different > 20);
}

TEST_CASE("progress names every token once, and cancelling keeps what there is") {
  const LoadedModel m = load_model(fixture("models/qwen3_tied"), mx::float32);
  GenerateRequest request = ragged();
  request.max_rows = 8;
  std::vector<Ids> seen(27);
  int last_finished = 0;
  const auto rows =
      generate(*m.model, m.weights, {}, request, [&](const auto& tokens, int finished) {
        for (const NewToken& t : tokens) {
          seen[t.row].push_back(t.id);
        }
        CHECK(finished >= last_finished);
        last_finished = finished;
      });
  CHECK(last_finished == 27);
  for (int i = 0; i < 27; i++) {
    CHECK(seen[i] == rows[i].ids);
  }

  std::atomic<bool> cancel = false;
  int steps = 0;
  request.stop_ids.clear();
  request.max_rows = 27;
  const auto cut = generate(
      *m.model, m.weights, {}, request, [&](const auto&, int) { cancel = ++steps == 3; }, &cancel);
  for (const GeneratedRow& row : cut) {
    CHECK(row.finish == Finish::cancelled);
    CHECK(row.ids.size() == 4);  // the prefill's token comes with the first step
  }
}

TEST_CASE("a long prompt is prefilled in pieces, many prompts in batches, with the same result") {
  const LoadedModel m = load_model(fixture("models/llama3_rope"), mx::float32);
  Ids prompt;
  for (int t = 0; t < 490; t++) {
    prompt.push_back((t * t + 3 * t) % 384);
  }
  GenerateRequest request = greedy({prompt, {1, 2, 3}, {4}}, 20);
  const auto rows = generate(*m.model, m.weights, {}, request);
  for (int i = 0; i < 3; i++) {
    CHECK(
        generate(*m.model, m.weights, {}, greedy({request.prompts[i]}, 20))[0].ids == rows[i].ids);
  }
  for (const GeneratedRow& row : rows) {
    Ids whole = request.prompts[row.prompt];
    whole.insert(whole.end(), row.ids.begin(), row.ids.end());
    const int n = static_cast<int>(whole.size());
    const mx::array ids(whole.begin(), {1, n}, mx::int32);
    const mx::array best =
        mx::argmax(m.model->logits(m.weights, m.model->hidden(m.weights, {}, ids)), -1);
    mx::array told = mx::astype(mx::slice(best, {0, n - 21}, {1, n - 1}), mx::int32);
    CHECK(
        mx::array_equal(mx::flatten(told), mx::array(row.ids.begin(), {20}, mx::int32))
            .item<bool>());
  }
}

TEST_CASE("a request that makes no sense names its field") {
  const LoadedModel m = load_model(fixture("models/qwen3_tied"), mx::float32);
  auto message = [&](const GenerateRequest& r) -> std::string {
    try {
      generate(*m.model, m.weights, {}, r);
    } catch (const Error& e) {
      CHECK(e.code == ErrorCode::invalid_argument);
      return e.what();
    }
    return "";
  };
  CHECK(message(greedy({{1}, {}}, 4)).find("prompts[1]") == 0);
  CHECK(message(greedy({{1, 512}}, 4)).find("token 512") != std::string::npos);
  CHECK(message(greedy({{1}}, 512)).find("context of 512") != std::string::npos);
  GenerateRequest r = greedy({{1}}, 4);
  r.sampling.temperature = NAN;
  CHECK(message(r).find("temperature") == 0);
  r = greedy({{1}}, 4);
  r.rollout_ids = {1, 2};
  CHECK(message(r).find("rolloutIds") == 0);
  r = greedy({{1}}, 4);
  r.sampling.penalties.repetition = 0;
  CHECK(message(r).find("repetitionPenalty") == 0);
  r = greedy({{1}}, 4);
  r.sampling.bias[512] = -INFINITY;
  CHECK(message(r).find("logitBias, suppressIds: token 512") == 0);
  r = greedy({{1}}, 4);
  for (int id = 0; id < 512; id++) {
    r.sampling.bias[id] = -INFINITY;
  }
  CHECK(message(r).find("no token to draw") != std::string::npos);
}

TEST_CASE("weights that have diverged are an error, not tokens") {
  LoadedModel m = load_model(fixture("models/qwen3_tied"), mx::float32);
  mx::array& w = m.weights.at("model.layers.1.mlp.down_proj.weight");
  w = w * mx::array(INFINITY);
  CHECK_THROWS_AS(generate(*m.model, m.weights, {}, greedy({{1}}, 4)), Error);
}
