#pragma once

#include "io/name_pattern.h"

#include <string>
#include <vector>

namespace atelier {

/** The tree of a NamePattern. */
struct PatternNode {
  enum Kind { bytes, check, sequence, choice, repeat } kind;
  NamePattern::Bytes set = {};
  /** Of a check: ^ $ Z b B. */
  char at = 0;
  /** Of a repeat; max = -1: without end. */
  int min = 0, max = 0;
  std::vector<PatternNode> children = {};
};

/** Throws as NamePattern does. */
PatternNode parse_pattern(const std::string& text, const std::string& field);

bool is_word_byte(char c);

/** The error of a pattern that cannot be used. */
[[noreturn]] void
refuse_pattern(const std::string& text, const std::string& field, const std::string& why);

}  // namespace atelier
