// test_attr_spellings.c - what a value that is empty, missing or spelled in another way becomes.
//
// Every attribute of every instruction of the programs that XLA printed is taken out, emptied, set
// to a default and written with blanks, one at a time. What the reader takes must then mean the
// same after each writer and its reader, and blanks must mean nothing. No list of attributes is
// kept here: one that is new is tried because a program has it.
#include "hlo_snippets.h"
#include "random_module.h"

static char *source_dir;

// Where a value is in the text of a program: ", name=value" from `start`, the value from `value`.
typedef struct place {
  size_t start, value, end;
} place;

// The end of a value: a comma or a line's end outside of brackets and strings. Groups by the axes
// of a mesh have a comma of their own.
static size_t value_end(const char *text, size_t at) {
  int depth = 0;
  for (; text[at] && text[at] != '\n'; at++) {
    if (text[at] == '"')
      for (at++; text[at] != '"'; at++)
        at += text[at] == '\\';
    depth += strchr("{[(", text[at]) != NULL;
    depth -= strchr("}])", text[at]) != NULL;
    if (depth < 0 || (depth == 0 && text[at] == ',' && strncmp(text + at, ", device_ids", 12) != 0))
      break;
  }
  return at;
}

// The next attribute from `at`: a comma, a blank, a name and "=".
static bool next_place(const char *text, size_t at, place *out) {
  for (; text[at]; at++) {
    if (text[at] != ',' || text[at + 1] != ' ')
      continue;
    size_t name = strspn(text + at + 2, "abcdefghijklmnopqrstuvwxyz_-");
    size_t value = at + 2 + name;
    if (name < 2 || text[value] != '=')
      continue;
    *out = (place){.start = at, .value = value + 1, .end = value_end(text, value + 1)};
    return true;
  }
  return false;
}

static hsc_module *read_text(hsc_view text) {
  hsc_module *module = NULL;
  hsc_status *status = hsc_hlo_text_parse(text, NULL, &module);
  hsc_status *verified = status ? NULL : hsc_module_verify(module);
  if (verified) {
    hsc_module_destroy(module);
    module = NULL;
  }
  hsc_status_free(status);
  hsc_status_free(verified);
  return module;
}

static bool same_meaning(const hsc_module *a, const hsc_module *b) {
  hsc_hash128 x = hsc_module_fingerprint(a);
  hsc_hash128 y = hsc_module_fingerprint(b);
  return x.low == y.low && x.high == y.high;
}

// What each writer makes of the module reads as the same. A writer may refuse, by name.
static int changed_by_writers(const hsc_module *module, hsc_view text, const place *at) {
  static const hsc_format formats[] = {HSC_FORMAT_HLO_TEXT, HSC_FORMAT_HLO_PROTO};
  int changed = 0;
  for (size_t i = 0; i < HSC_COUNT_OF(formats); i++) {
    hsc_bytes out = {0};
    hsc_module *again = NULL;
    hsc_status *status = hsc_program_write(module, formats[i], &out);
    if (!status) {
      EXPECT_OK(hsc_program_read_as(formats[i], hsc_bytes_view(&out), "again", &again));
      bool same = same_meaning(module, again);
      if (!same)
        print_error("%s: \"%.*s\" reads as another program\n", i ? "proto" : "text",
                    (int)hsc_view_shown((hsc_view){text.data + at->start + 2, 60}, 60),
                    text.data + at->start + 2);
      changed += !same;
      hsc_module_destroy(again);
    }
    hsc_status_free(status);
    hsc_bytes_deinit(&out);
  }
  return changed;
}

// A blank behind each bracket and comma of the value, outside of strings.
static void put_with_blanks(hsc_bytes *out, const char *value, size_t size) {
  bool quoted = false;
  for (size_t i = 0; i < size; i++) {
    hsc_bytes_append_char(out, value[i]);
    quoted ^= value[i] == '"' && (i == 0 || value[i - 1] != '\\');
    if (!quoted && strchr("{,}", value[i]) && i + 1 < size)
      hsc_bytes_append_char(out, ' ');
  }
}

typedef enum change { TAKEN_OUT, EMPTY_LIST, EMPTY_TEXT, ZERO, NO, BLANKS, CHANGES } change;

// Whether the value is of the kind that the change is for.
static bool put_changed(hsc_bytes *out, const char *text, const place *at, change kind) {
  char first = text[at->value];
  hsc_bytes_append(out, text, at->start);
  if (kind != TAKEN_OUT)
    hsc_bytes_append(out, text + at->start, at->value - at->start);
  size_t before = out->size;
  switch (kind) {
    case EMPTY_LIST:
      hsc_bytes_append_text(out, first == '{' || first == '[' || first == 'm' ? "{}" : "");
      break;
    case EMPTY_TEXT:
      hsc_bytes_append_text(out, first == '"' ? "\"\"" : "");
      break;
    case ZERO:
      hsc_bytes_append_text(out, first >= '0' && first <= '9' ? "0" : "");
      break;
    case NO:
      hsc_bytes_append_text(out, first == 't' ? "false" : "");
      break;
    case BLANKS:
      if (first == '{')
        put_with_blanks(out, text + at->value, at->end - at->value);
      break;
    default:
      break;
  }
  bool fits = kind == TAKEN_OUT || out->size > before;
  hsc_bytes_append_text(out, text + at->end);
  return fits;
}

// Values that compilers and frameworks write for themselves, in which blanks may count.
static bool is_of_others(const char *text, const place *at) {
  static const char *const names[] = {"backend_config", "frontend_attributes", "domain", "entry",
                                      "exit"};
  for (size_t i = 0; i < HSC_COUNT_OF(names); i++)
    if (strncmp(text + at->start + 2, names[i], strlen(names[i])) == 0 &&
        text[at->start + 2 + strlen(names[i])] == '=')
      return true;
  return false;
}

static int wrong_changes(const char *text, const place *at, const hsc_module *original) {
  int wrong = 0;
  for (change kind = TAKEN_OUT; kind < CHANGES; kind++) {
    hsc_bytes changed = {0};
    bool fits = put_changed(&changed, text, at, kind);
    hsc_module *module = fits ? read_text(hsc_bytes_view(&changed)) : NULL;
    if (module) {
      wrong += changed_by_writers(module, hsc_bytes_view(&changed), at);
      if (kind == BLANKS && !is_of_others(text, at) && !same_meaning(original, module)) {
        print_error("with blanks \"%.*s\" is another program\n", (int)(at->end - at->start),
                    text + at->start);
        wrong++;
      }
      hsc_module_destroy(module);
    }
    hsc_bytes_deinit(&changed);
  }
  return wrong;
}

static void values_that_say_nothing_stay_nothing(void **state) {
  static const char *const names[] = {"hlo/printed/every_op.hlo", "hlo/printed/attributes.hlo",
                                      "formats/attributes.hlo", "formats/mesh_groups.hlo"};
  int places = 0;
  int wrong = 0;
  for (size_t i = 0; i < HSC_COUNT_OF(names); i++) {
    char path[512];
    hsc_bytes text = {0};
    snprintf(path, sizeof path, "%s/tests/conformance/%s", source_dir, names[i]);
    EXPECT_OK(hsc_file_read(path, &text));
    hsc_module *original = read_text(hsc_bytes_view(&text));
    assert_non_null(original);
    place at = {0};
    for (size_t from = 0; next_place(hsc_bytes_text(&text), from, &at); from = at.value) {
      wrong += wrong_changes(hsc_bytes_text(&text), &at, original);
      places++;
    }
    hsc_module_destroy(original);
    hsc_bytes_deinit(&text);
  }
  assert_true(places > 200);
  assert_int_equal(wrong, 0);
}

// What device 0 has after a permute with these pairs, of 7; -1: the program is refused.
static int permuted(const char *pairs) {
  hsc_bytes text = {0};
  hsc_literal *result = NULL;
  hsc_arena *arena = NULL;
  hsc_bytes_printf(&text,
                   "HloModule m\nENTRY e {\n  x = s32[] constant(7)\n"
                   "  ROOT y = s32[] collective-permute(x)%s\n}\n",
                   pairs);
  hsc_module *module = read_text(hsc_bytes_view(&text));
  hsc_bytes_deinit(&text);
  if (!module)
    return -1;
  EXPECT_OK(hsc_arena_create(&arena));
  EXPECT_OK(random_module_evaluate(module, 0, arena, &result));
  int32_t value = ((const int32_t *)result->data)[0];
  hsc_arena_destroy(arena);
  hsc_module_destroy(module);
  return value;
}

static void who_sends_nothing_gets_zeros(void **state) {
  assert_int_equal(permuted(", source_target_pairs={{0,0}}"), 7);
  assert_int_equal(permuted(", source_target_pairs={ { 0, 0 } }"), 7);
  assert_int_equal(permuted(", source_target_pairs={{1,1}, {0, 0}}"), 7);
  assert_int_equal(permuted(", source_target_pairs={{0,1},{1,0}}"), 0);
  assert_int_equal(permuted(", source_target_pairs={{10,0},{0,01}}"), 0);
  assert_int_equal(permuted(", source_target_pairs={}"), 0);
  assert_int_equal(permuted(", source_target_pairs={ }"), 0);
  // XLA wants them, and takes no groups in their place.
  assert_int_equal(permuted(""), -1);
  assert_int_equal(permuted(", replica_groups={{0,0}}"), -1);
  assert_int_equal(permuted(", source_target_pairs={{0,0}}, replica_groups={}"), -1);
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(values_that_say_nothing_stay_nothing),
      cmocka_unit_test(who_sends_nothing_gets_zeros),
  };
  source_dir = argc > 1 ? argv[1] : ".";
  return cmocka_run_group_tests(tests, NULL, NULL);
}
