#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "addon/engine_host.h"

namespace atelier {

/** Tokens on their way to a JS listener: at most one message is under way, it takes all that came meanwhile. */
class Progress : public std::enable_shared_from_this<Progress> {
 public:
  Progress(EngineHost& host, Napi::Function listener);
  ~Progress();

  /** On the engine's thread. */
  void add(const std::vector<NewToken>& tokens, int finished);

 private:
  void deliver(Napi::Env env);

  EngineHost& host_;
  Napi::FunctionReference* listener_;
  std::mutex mutex_;
  std::vector<NewToken> tokens_;
  int finished_ = 0;
  bool under_way_ = false;
};

}  // namespace atelier
