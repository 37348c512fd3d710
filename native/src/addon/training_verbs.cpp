#include "addon/requests.h"
#include "addon/verb.h"
#include "core/error.h"

namespace atelier {
namespace {

struct NewOptimizer {
  std::optional<int> adapter, model;
  OptimizerSpec spec;
};

struct OptimizerFile {
  int optimizer;
  std::string file;
};

NewOptimizer read_optimizer(const Fields& f) {
  auto what = f.object("trainable");
  auto kind = what.text("kind");
  if (kind == "adapter") {
    return {read_id(what, "adapter"), std::nullopt, read_optimizer_spec(f.object("spec"))};
  }
  if (kind == "full") {
    return {std::nullopt, read_id(what, "model"), read_optimizer_spec(f.object("spec"))};
  }
  throw Error(ErrorCode::invalid_argument, what.path("kind") + " must be 'adapter' or 'full'");
}

struct Step {
  int optimizer;
  StepRequest request;
  std::optional<std::pair<int, std::optional<int>>> teacher;
};

Step read_step_of(const Fields& f) {
  Step step{read_id(f, "optimizer"), read_step(f), std::nullopt};
  if (f.has("teacher")) {
    auto teacher = f.object("teacher");
    step.teacher.emplace(read_id(teacher, "model"), read_adapter(teacher));
  }
  return step;
}

OptimizerFile read_file(const Fields& f) {
  return {read_id(f, "optimizer"), f.text("file")};
}

}  // namespace

std::vector<Verb> training_verbs() {
  return {
      verb(
          "createOptimizer",
          read_optimizer,
          [](Engine& e, const NewOptimizer& r, const CancelFlag&) {
            return e.create_optimizer(r.adapter, r.model, r.spec);
          }),
      verb(
          "saveOptimizer",
          read_file,
          [](Engine& e, const OptimizerFile& r, const CancelFlag&) {
            e.save_optimizer(r.optimizer, r.file);
          }),
      verb(
          "loadOptimizer",
          read_file,
          [](Engine& e, const OptimizerFile& r, const CancelFlag&) {
            e.load_optimizer(r.optimizer, r.file);
          }),
      verb(
          "freeOptimizer",
          [](const Fields& f) { return read_id(f, "optimizer"); },
          [](Engine& e, int id, const CancelFlag&) { e.free_optimizer(id); }),
      verb(
          "step",
          read_step_of,
          [](Engine& e, const Step& r, const CancelFlag& cancelled) {
            return e.step(r.optimizer, r.request, r.teacher, cancelled);
          },
          true),
      verb(
          "joinRanks",
          [](const Fields&) { return 0; },
          [](Engine& e, int, const CancelFlag&) { e.join_ranks(); }),
      verb(
          "evaluateProgram",
          read_program,
          [](Engine& e, const ProgramRequest& r, const CancelFlag&) {
            return e.evaluate_program(r);
          })};
}

}  // namespace atelier
