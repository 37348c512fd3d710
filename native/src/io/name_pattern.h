#pragma once

#include <bitset>
#include <cstdint>
#include <string>
#include <vector>

namespace atelier {

/**
 * A regular expression for module names, with the meaning that Python's re gives it: literals, `.`, classes,
 * groups, alternatives, `* + ? {m,n}` and their lazy forms, `^ $ \A \Z \b \B`. Matching takes time proportional to
 * pattern times name, whatever the pattern: patterns come with adapters from elsewhere.
 */
class NamePattern {
 public:
  /**
   * `field` names the pattern in messages. invalid_argument where it is no regular expression, goes beyond the
   * list above (look-around, back-references, flags, possessive quantifiers ...) or is too large: 1,000
   * characters, 50 groups in one another, 2,000 steps when its counted repeats are written out.
   */
  NamePattern(const std::string& text, const std::string& field);

  /** re.fullmatch */
  bool matches_all_of(const std::string& name) const;
  /** re.match: from the start, not necessarily to the end. */
  bool matches_start_of(const std::string& name) const;

  /** A set of the bytes below 128. */
  using Bytes = std::bitset<128>;
  struct Step {
    enum Kind { byte, fork, jump, check, accept } kind;
    Bytes bytes = {};
    /** Of a fork and a jump: where it goes on; a fork goes to the next step as well. */
    uint32_t to = 0;
    /** Of a check: ^ $ b B. */
    char at = 0;
  };

 private:
  bool run(const std::string& name, bool to_the_end) const;

  std::vector<Step> steps_;
};

}  // namespace atelier
