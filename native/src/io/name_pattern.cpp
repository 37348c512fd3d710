// Matching: all places of the pattern at once (Thompson 1968), so that none is tried twice.
#include "io/name_pattern.h"

#include "io/pattern_syntax.h"

namespace atelier {
namespace {

using Step = NamePattern::Step;

constexpr size_t steps_limit = 2000;

// Writes the steps of a node behind those that are there.
class Writer {
 public:
  Writer(std::vector<Step>& out, const std::string& text, const std::string& field)
      : out_(out), text_(text), field_(field) {}

  void write(const PatternNode& node) {
    switch (node.kind) {
      case PatternNode::bytes:
        add({Step::byte, node.set});
        return;
      case PatternNode::check:
        add({Step::check, {}, 0, node.at});
        return;
      case PatternNode::sequence:
        for (const PatternNode& child : node.children) {
          write(child);
        }
        return;
      case PatternNode::choice:
        write_choice(node);
        return;
      case PatternNode::repeat:
        write_repeat(node);
        return;
    }
  }

  size_t add(Step step) {
    if (out_.size() >= steps_limit) {
      refuse_pattern(text_, field_, "is too large when its repeats are written out");
    }
    out_.push_back(step);
    return out_.size() - 1;
  }

 private:
  void lead_here(size_t step) {
    out_[step].to = static_cast<uint32_t>(out_.size());
  }

  void write_choice(const PatternNode& node) {
    std::vector<size_t> ends;
    for (size_t i = 0; i + 1 < node.children.size(); i++) {
      const size_t other = add({Step::fork});
      write(node.children[i]);
      ends.push_back(add({Step::jump}));
      lead_here(other);
    }
    write(node.children.back());
    for (const size_t end : ends) {
      lead_here(end);
    }
  }

  void write_repeat(const PatternNode& node) {
    const PatternNode& item = node.children.front();
    for (int i = 0; i < node.min; i++) {
      // What writes nothing may be written a million times: nothing else bounds it.
      const size_t before = out_.size();
      write(item);
      if (out_.size() == before) {
        break;
      }
    }
    if (node.max < 0) {
      const size_t again = add({Step::fork});
      write(item);
      add({Step::jump, {}, static_cast<uint32_t>(again)});
      lead_here(again);
      return;
    }
    std::vector<size_t> ends;
    for (int i = node.min; i < node.max; i++) {
      ends.push_back(add({Step::fork}));
      write(item);
    }
    for (const size_t end : ends) {
      lead_here(end);
    }
  }

  std::vector<Step>& out_;
  const std::string& text_;
  const std::string& field_;
};

bool holds(char check, const std::string& name, size_t at) {
  const bool word =
      (at > 0 && is_word_byte(name[at - 1])) != (at < name.size() && is_word_byte(name[at]));
  switch (check) {
    case '^':
      return at == 0;
    case '$':
      return at == name.size() || (at + 1 == name.size() && name[at] == '\n');
    case 'Z':
      return at == name.size();
    case 'b':
      return word;
    default:
      return !word;
  }
}

}  // namespace

NamePattern::NamePattern(const std::string& text, const std::string& field) {
  Writer writer(steps_, text, field);
  writer.write(parse_pattern(text, field));
  writer.add({Step::accept});
}

bool NamePattern::run(const std::string& name, bool to_the_end) const {
  std::vector<size_t> seen(steps_.size(), SIZE_MAX);
  std::vector<uint32_t> now{0}, next, open;
  for (size_t at = 0; at <= name.size() && !now.empty(); at++) {
    next.clear();
    open.swap(now);
    while (!open.empty()) {
      const uint32_t index = open.back();
      open.pop_back();
      if (seen[index] == at) {
        continue;
      }
      seen[index] = at;
      const Step& step = steps_[index];
      switch (step.kind) {
        case Step::byte: {
          const auto c = at < name.size() ? static_cast<unsigned char>(name[at]) : 255;
          if (c < 128 && step.bytes[c]) {
            next.push_back(index + 1);
          }
          break;
        }
        case Step::fork:
          open.push_back(index + 1);
          open.push_back(step.to);
          break;
        case Step::jump:
          open.push_back(step.to);
          break;
        case Step::check:
          if (holds(step.at, name, at)) {
            open.push_back(index + 1);
          }
          break;
        case Step::accept:
          if (!to_the_end || at == name.size()) {
            return true;
          }
          break;
      }
    }
    now.swap(next);
  }
  return false;
}

bool NamePattern::matches_all_of(const std::string& name) const {
  return run(name, true);
}

bool NamePattern::matches_start_of(const std::string& name) const {
  return run(name, false);
}

}  // namespace atelier
