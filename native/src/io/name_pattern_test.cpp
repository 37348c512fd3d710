#include "io/name_pattern.h"

#include "core/error.h"

#include <doctest/doctest.h>

using namespace atelier;

namespace {

Error refusal(const std::string& pattern) {
  try {
    const NamePattern accepted(pattern, "target_modules");
  } catch (const Error& e) {
    return e;
  }
  return {ErrorCode::internal, "accepted"};
}

bool is_refused(const std::string& pattern) {
  const Error e = refusal(pattern);
  return e.code == ErrorCode::invalid_argument &&
         std::string(e.what()).find("LoRA: target_modules: ") == 0;
}

struct Case {
  const char* pattern;
  const char* name;
  bool all, start;
};

// re.fullmatch and re.match of Python 3.11.7.
const Case cases[] = {
    {R"~(.*\.1\.(self_attn\.q|mlp\.down)_proj)~",
     R"~(model.layers.1.self_attn.q_proj)~",
     true,
     true},
    {R"~(q_proj)~", R"~(model.layers.1.self_attn.q_proj)~", false, false},
    {R"~(.*q_proj)~", R"~(model.layers.1.self_attn.q_proj)~", true, true},
    {R"~(.*q_proj)~", R"~(model.layers.1.self_attn.q_projs)~", false, true},
    {R"~(model.*?proj)~", R"~(model.layers.1.self_attn.q_proj)~", true, true},
    {R"~((?:.*\.)?q_proj$)~", R"~(model.layers.1.self_attn.q_proj)~", true, true},
    {R"~(^model)~", R"~(model.layers.1.self_attn.q_proj)~", false, true},
    {R"~(\Amodel.*\Z)~", R"~(model.layers.1.self_attn.q_proj)~", true, true},
    {R"~(model\.layers\.\d{1,2}\..+)~", R"~(model.layers.1.self_attn.q_proj)~", true, true},
    {R"~(model\.layers\.\d{2}\..+)~", R"~(model.layers.1.self_attn.q_proj)~", false, false},
    {R"~([a-z]+(\.\w+)*)~", R"~(model.layers.1.self_attn.q_proj)~", true, true},
    {R"~([^.]*(?:\.[^.]+){4})~", R"~(model.layers.1.self_attn.q_proj)~", true, true},
    {R"~([^.]*(?:\.[^.]+){3})~", R"~(model.layers.1.self_attn.q_proj)~", false, true},
    {R"~(.*\.(?P<kind>[qkv])_proj)~", R"~(model.layers.1.self_attn.q_proj)~", true, true},
    {R"~(.*\b1\b.*)~", R"~(model.layers.1.self_attn.q_proj)~", true, true},
    {R"~(.*\B_proj)~", R"~(model.layers.1.self_attn.q_proj)~", true, true},
    {R"~(.*\Bq_proj)~", R"~(model.layers.1.self_attn.q_proj)~", false, false},
    {R"~(a|model|.*proj)~", R"~(model.layers.1.self_attn.q_proj)~", true, true},
    {R"~(a{)~", R"~(a{)~", true, true},
    {R"~(a{,2})~", R"~(aa)~", true, true},
    {R"~(a{,2})~", R"~(aaa)~", false, true},
    {R"~(a{})~", R"~(a{})~", true, true},
    {R"~(a{x})~", R"~(a{x})~", true, true},
    {R"~([]a]+)~", R"~(]a])~", true, true},
    {R"~([a-]+)~", R"~(a-a)~", true, true},
    {R"~([^]])~", R"~(])~", false, false},
    {R"~([\w.-]+)~", R"~(model.layers.1.self_attn.q_proj)~", true, true},
    {R"~(a{2}?)~", R"~(aa)~", true, true},
    {R"~((a|ab)(c|bcd))~", R"~(abcd)~", true, true},
    {R"~((a*)*b)~", R"~(aaab)~", true, true},
    {R"~((|a)+)~", R"~(aa)~", true, true},
    {R"~(())~", R"~()~", true, true},
    {R"~(x*)~", R"~(y)~", false, true},
    {R"~(\.)~", R"~(.)~", true, true},
    {R"~(\_)~", R"~(_)~", true, true},
    {R"~(a\Zb)~", R"~(ab)~", false, false},
    {R"~((?:^a)*b)~", R"~(b)~", true, true},
    {R"~([\d-]+)~", R"~(1-2)~", true, true},
    {R"~([.])~", R"~(x)~", false, false},
    {R"~(\S+\s\D)~", R"~(ab c)~", true, true},
    {R"~(a$)~", "a\n", false, true},
    {R"~(.)~", "\n", false, false},
    {R"~(})~", R"~(})~", true, true},
    {R"~(])~", R"~(])~", true, true},
};

}  // namespace

TEST_CASE("a pattern matches what Python's re matches") {
  for (const Case& c : cases) {
    CAPTURE(c.pattern);
    CAPTURE(c.name);
    const NamePattern pattern(c.pattern, "p");
    CHECK(pattern.matches_all_of(c.name) == c.all);
    CHECK(pattern.matches_start_of(c.name) == c.start);
  }
}

TEST_CASE("what is no pattern, and what goes beyond the plain ones, is refused") {
  for (const char* bad :
       {R"~((()~",
        R"~(a))~",
        R"~(*a)~",
        R"~(a**)~",
        R"~(a{2}{3})~",
        R"~(a|*)~",
        R"~([a)~",
        R"~([b-a])~",
        R"~(a{3,2})~",
        R"~(^*)~",
        R"~((?P<1>a))~",
        R"~((?P<a>x)(?P<a>y))~",
        R"~(\)~",
        R"~((*a))~",
        R"~([a-\d])~"}) {
    CAPTURE(bad);
    CHECK(is_refused(bad));
  }
  for (const char* beyond :
       {R"~((?=a))~",
        R"~((?!a))~",
        R"~((?<=a)b)~",
        R"~((a)\1)~",
        R"~((?i)a)~",
        R"~((?i:a))~",
        R"~(a*+)~",
        R"~(a++)~",
        R"~((?>a))~",
        R"~((?P<x>a)(?P=x))~",
        R"~((?#x)a)~",
        R"~(\x41)~",
        R"~(\u0041)~",
        R"~((a)?(?(1)b|c))~"}) {
    CAPTURE(beyond);
    CHECK(is_refused(beyond));
    CHECK(
        std::string(refusal(beyond).what()).find("not supported in a pattern") !=
        std::string::npos);
  }
}

TEST_CASE("a hostile pattern costs neither time nor stack") {
  const std::string name(200, 'a');
  CHECK(!NamePattern("(a*)*b", "p").matches_all_of(name));
  CHECK(!NamePattern("(a|aa)+$b", "p").matches_start_of(name));
  CHECK(!NamePattern("(.*.*.*.*.*.*.*.*)*x", "p").matches_all_of(name));
  CHECK(NamePattern("(){1000000}(a?){200}a{200}", "p").matches_all_of(name));
  CHECK(is_refused(std::string(100'000, '(')));
  CHECK(is_refused(std::string(400, '(') + std::string(400, ')')));
  CHECK(is_refused("a{1000000}"));
  CHECK(is_refused("((((a{50}){50}){50}){50}){50}"));
  CHECK(is_refused("\xc3\xa9*"));
}
