#include "addon/requests.h"
#include "addon/verb.h"
#include "core/error.h"

namespace atelier {
namespace {

struct ModelFile {
  int model;
  /** A path, or a config.json's text. */
  std::string source;
  std::string dtype;
  uint64_t seed;
};

struct NewModel {
  std::string path;
  std::string dtype;
  std::optional<Quantise> quantise;
};

NewModel read_new_model(const Fields& f) {
  return {f.text("path"), f.text_or_empty("dtype"), read_quantise(f)};
}

struct OnRows {
  int model;
  std::optional<int> adapter;
  Rows rows;
  ScoreOptions score;
  bool last_only;
};

OnRows on_rows(const Fields& f) {
  return {read_id(f, "model"), read_adapter(f), read_rows(f), {}, false};
}

OnRows read_logits(const Fields& f) {
  auto positions = f.text("positions");
  if (positions != "all" && positions != "last") {
    throw Error(ErrorCode::invalid_argument, f.path("positions") + " must be 'all' or 'last'");
  }
  auto request = on_rows(f);
  request.last_only = positions == "last";
  return request;
}

}  // namespace

std::vector<Verb> model_verbs() {
  auto nothing = [](const Fields&) { return 0; };
  auto model = [](const Fields& f) { return read_id(f, "model"); };
  return {
      verb("clearCache", nothing, [](Engine& e, int, const CancelFlag&) { e.clear_cache(); }),
      verb("resetPeak", nothing, [](Engine& e, int, const CancelFlag&) { e.reset_peak(); }),
      verb(
          "loadModel",
          read_new_model,
          [](Engine& e, const NewModel& r, const CancelFlag&) {
            return e.load_model(r.path, r.dtype, r.quantise);
          }),
      verb(
          "initModel",
          [](const Fields& f) {
            return ModelFile{0, f.text("config"), f.text_or_empty("dtype"), f.seed("seed")};
          },
          [](Engine& e, const ModelFile& r, const CancelFlag&) {
            return e.init_model(r.source, r.seed, r.dtype);
          }),
      verb(
          "saveModel",
          [](const Fields& f) {
            return ModelFile{read_id(f, "model"), f.text("dir"), f.text_or_empty("dtype"), 0};
          },
          [](Engine& e, const ModelFile& r, const CancelFlag&) {
            e.save_model(r.model, r.source, r.dtype);
          }),
      verb("unloadModel", model, [](Engine& e, int id, const CancelFlag&) { e.unload_model(id); }),
      verb(
          "score",
          [](const Fields& f) {
            auto request = on_rows(f);
            request.score = read_score(f);
            return request;
          },
          [](Engine& e, const OnRows& r, const CancelFlag& cancelled) {
            return e.score(r.model, r.adapter, r.rows, r.score, cancelled);
          }),
      verb("logits", read_logits, [](Engine& e, const OnRows& r, const CancelFlag&) {
        return e.logits(r.model, r.adapter, r.rows, r.last_only);
      })};
}

}  // namespace atelier
