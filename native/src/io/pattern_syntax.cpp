// Grammar: CPython 3.11's re._parser.
#include "io/pattern_syntax.h"

#include "core/error.h"
#include "core/text.h"

#include <cctype>
#include <optional>
#include <set>

namespace atelier {
namespace {

using Bytes = NamePattern::Bytes;
using Node = PatternNode;

constexpr size_t length_limit = 1000;
constexpr int depth_limit = 50;
constexpr int unbounded = -1;

class Parser {
 public:
  Parser(const std::string& text, const std::string& field) : text_(text), field_(field) {}

  Node whole() {
    if (text_.size() > length_limit) {
      refuse("is longer than " + std::to_string(length_limit) + " characters");
    }
    for (const char c : text_) {
      if (static_cast<unsigned char>(c) >= 128) {
        refuse("has characters that no module's name has");
      }
    }
    Node node = choice(0);
    if (more()) {
      refuse("has a ) too many");
    }
    return node;
  }

 private:
  [[noreturn]] void refuse(const std::string& why) const {
    refuse_pattern(text_, field_, why);
  }
  [[noreturn]] void beyond(const std::string& what) const {
    throw Error(
        ErrorCode::invalid_argument,
        "LoRA: " + field_ + ": " + quoted(text_) + " uses " + quoted(what) +
            ", which is not supported in a pattern here",
        "Write it with names, '.', classes, groups, '|' and the quantifiers * + ? {m,n}.");
  }
  bool more() const {
    return at_ < text_.size();
  }
  bool next_is(char c) const {
    return more() && text_[at_] == c;
  }
  bool take(char c) {
    const bool there = next_is(c);
    at_ += there;
    return there;
  }
  char take_any(const char* unfinished) {
    if (!more()) {
      refuse(unfinished);
    }
    return text_[at_++];
  }

  Node choice(int depth) {
    if (depth > depth_limit) {
      refuse("has groups nested deeper than " + std::to_string(depth_limit));
    }
    Node out{Node::choice};
    do {
      out.children.push_back(sequence(depth));
    } while (take('|'));
    return out;
  }

  Node sequence(int depth) {
    Node out{Node::sequence};
    while (more() && !next_is('|') && !next_is(')')) {
      Node item = atom(depth);
      out.children.push_back(quantified(std::move(item)));
    }
    return out;
  }

  Node atom(int depth) {
    const char c = text_[at_++];
    switch (c) {
      case '.': {
        Node any{Node::bytes, ~Bytes{}};
        any.set.reset('\n');
        return any;
      }
      case '^':
      case '$':
        return {Node::check, {}, c};
      case '[':
        return byte_class();
      case '(':
        return group(depth);
      case '\\':
        return escape();
      case '*':
      case '+':
      case '?':
        refuse(std::string("has nothing to repeat before ") + c);
      case '{':
        at_--;
        if (counts()) {
          refuse("has nothing to repeat before {");
        }
        at_++;
        [[fallthrough]];
      default:
        return literal(c);
    }
  }

  static Node literal(char c) {
    Node node{Node::bytes};
    node.set.set(static_cast<unsigned char>(c));
    return node;
  }

  Node group(int depth) {
    if (take('?')) {
      if (take('P') && take('<')) {
        const size_t from = at_;
        while (more() && is_word_byte(text_[at_])) {
          at_++;
        }
        const std::string name = text_.substr(from, at_ - from);
        if (name.empty() || std::isdigit(static_cast<unsigned char>(name[0])) || !take('>') ||
            !names_.insert(name).second) {
          refuse("has a group whose name is none, or taken");
        }
      } else if (!take(':')) {
        beyond("(?" + text_.substr(at_, 2));
      }
    }
    Node node = choice(depth + 1);
    if (!take(')')) {
      refuse("has a group that is not closed");
    }
    return node;
  }

  // {m,n} at the place, taken; nothing is taken where the brace is a literal, as in Python.
  std::optional<std::pair<int, int>> counts() {
    const size_t from = at_;
    auto number = [&]() -> std::optional<int> {
      std::optional<int> value;
      while (more() && std::isdigit(static_cast<unsigned char>(text_[at_]))) {
        value = std::min(value.value_or(0) * 10 + (text_[at_++] - '0'), 1'000'000);
      }
      return value;
    };
    if (!take('{') || next_is('}')) {
      at_ = from;
      return std::nullopt;
    }
    const std::optional<int> low = number();
    const bool range = take(',');
    const std::optional<int> high = range ? number() : low;
    if (!take('}')) {
      at_ = from;
      return std::nullopt;
    }
    if (high && low && *high < *low) {
      refuse("has a repeat {m,n} with m above n");
    }
    return std::pair(low.value_or(0), high.value_or(unbounded));
  }

  Node quantified(Node item) {
    std::pair<int, int> times;
    if (next_is('{')) {
      const auto counted = counts();
      if (!counted) {
        return item;
      }
      times = *counted;
    } else if (take('*')) {
      times = {0, unbounded};
    } else if (take('+')) {
      times = {1, unbounded};
    } else if (take('?')) {
      times = {0, 1};
    } else {
      return item;
    }
    if (item.kind == Node::check) {
      refuse("has nothing to repeat before a quantifier");
    }
    // Lazy or not, the same names match.
    if (!take('?') && next_is('+')) {
      beyond("a possessive quantifier");
    }
    const size_t from = at_;
    if (next_is('*') || next_is('+') || next_is('?') || counts()) {
      at_ = from;
      refuse("repeats a repeat");
    }
    Node out{Node::repeat, {}, 0, times.first, times.second};
    out.children.push_back(std::move(item));
    return out;
  }

  // \d and its like; absent where the letter names no class.
  static std::optional<Bytes> class_of(char letter) {
    Bytes set;
    for (int c = 0; c < 128; c++) {
      const bool space = (c >= 9 && c <= 13) || (c >= 28 && c <= 32);
      const char lower = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
      set[c] = lower == 'd'   ? std::isdigit(c) != 0
               : lower == 'w' ? is_word_byte(static_cast<char>(c))
                              : space;
    }
    switch (letter) {
      case 'd':
      case 'w':
      case 's':
        return set;
      case 'D':
      case 'W':
      case 'S':
        return ~set;
      default:
        return std::nullopt;
    }
  }

  char escaped(char c) const {
    static const std::string from = "ntrfva", to = "\n\t\r\f\v\a";
    if (const size_t known = from.find(c); known != std::string::npos) {
      return to[known];
    }
    if (std::isalnum(static_cast<unsigned char>(c))) {
      beyond(std::string("\\") + c);
    }
    return c;
  }

  Node escape() {
    const char c = take_any("ends with a backslash");
    if (const auto set = class_of(c)) {
      return {Node::bytes, *set};
    }
    switch (c) {
      case 'A':
        return {Node::check, {}, '^'};
      case 'Z':
        return {Node::check, {}, 'Z'};
      case 'b':
      case 'B':
        return {Node::check, {}, c};
      default:
        return literal(escaped(c));
    }
  }

  Node byte_class() {
    static const char* const open = "has a [ that is not closed";
    Node out{Node::bytes};
    const bool negated = take('^');
    // One member: a class, or one character.
    auto member = [&](std::optional<unsigned char>& single) {
      const char c = take_any(open);
      single.reset();
      if (c != '\\') {
        single = c;
        return;
      }
      const char letter = take_any(open);
      if (const auto set = class_of(letter)) {
        out.set |= *set;
      } else {
        single = letter == 'b' ? '\b' : escaped(letter);
      }
    };
    for (bool first = true; first || !next_is(']'); first = false) {
      std::optional<unsigned char> low, high;
      member(low);
      if (!take('-')) {
        if (low) {
          out.set.set(*low);
        }
        continue;
      }
      if (next_is(']')) {
        out.set.set('-');
        if (low) {
          out.set.set(*low);
        }
        continue;
      }
      member(high);
      if (!low || !high || *high < *low) {
        refuse("has a senseless range in [ ]");
      }
      for (int c = *low; c <= *high; c++) {
        out.set.set(c);
      }
    }
    take(']');
    if (negated) {
      out.set.flip();
    }
    return out;
  }

  const std::string& text_;
  const std::string& field_;
  size_t at_ = 0;
  std::set<std::string> names_;
};

}  // namespace

bool is_word_byte(char c) {
  return static_cast<unsigned char>(c) < 128 &&
         (std::isalnum(static_cast<unsigned char>(c)) || c == '_');
}

void refuse_pattern(const std::string& text, const std::string& field, const std::string& why) {
  throw Error(ErrorCode::invalid_argument, "LoRA: " + field + ": " + quoted(text) + " " + why);
}

PatternNode parse_pattern(const std::string& text, const std::string& field) {
  return Parser(text, field).whole();
}

}  // namespace atelier
