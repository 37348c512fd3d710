#include "addon/progress.h"

namespace atelier {

Progress::Progress(EngineHost& host, Napi::Function listener)
    : host_(host), listener_(new Napi::FunctionReference(Napi::Persistent(listener))) {}

// The last owner may be the engine's thread; a JS reference may only be let go on JS's.
Progress::~Progress() {
  host_.post_to_js([listener = listener_](Napi::Env) { delete listener; });
}

void Progress::add(const std::vector<NewToken>& tokens, int finished) {
  std::lock_guard lock(mutex_);
  tokens_.insert(tokens_.end(), tokens.begin(), tokens.end());
  finished_ = finished;
  if (!under_way_) {
    under_way_ = true;
    host_.post_to_js([self = shared_from_this()](Napi::Env env) { self->deliver(env); });
  }
}

void Progress::deliver(Napi::Env env) {
  std::vector<NewToken> tokens;
  int finished;
  {
    std::lock_guard lock(mutex_);
    tokens.swap(tokens_);
    finished = finished_;
    under_way_ = false;
  }
  listener_->Call({progress_to_js(env, tokens, finished)});
}

}  // namespace atelier
