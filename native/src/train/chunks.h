#pragma once

#include "nn/weight.h"
#include "train/pace.h"

#include <algorithm>
#include <vector>

// What is made from hidden states chunk by chunk, so that logits exist for a few targets at a time.
// Shapes: T targets, C targets of one chunk, D model, V vocabulary.
namespace atelier {

using Arrays = std::vector<mx::array>;

inline mx::array rows(const mx::array& a, int from, int to) {
  mx::Shape start(a.ndim(), 0), stop = a.shape();
  start[0] = from;
  stop[0] = to;
  return mx::slice(a, start, stop);
}

inline mx::array join(const Arrays& parts) {
  return parts.size() == 1 ? parts[0] : mx::concatenate(parts, 0);
}

inline mx::array column(const mx::array& a_C) {
  return mx::expand_dims(a_C, 1);
}

// Independent chunks would be evaluated breadth first, all their logits alive at once: each chunk's input
// depends on the results of the chunk before, and takes over its memory.
inline mx::array after(const mx::array& a, const Arrays& done) {
  return keep_pace(done.empty() ? a : mx::depends({a}, done)[0]);
}

/** `body(from, to, done)` gives what the next chunk waits for. */
template <class Chunk>
void for_chunks(int targets, int chunk, Arrays done, Chunk&& body) {
  for (int from = 0; from < targets; from += chunk) {
    done = body(from, std::min(targets, from + chunk), done);
  }
}

inline mx::array logits_of(const mx::array& hidden_CD, const Weight& head_VD) {
  return head_VD.times(hidden_CD);
}

}  // namespace atelier
