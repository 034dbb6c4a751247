// test_groups.c - the texts of groups of devices: what they name, and what is no such text.
#include "hlo/ir/groups.h"
#include "unit.h"

static hsc_arena *arena;

static int set_up(void **state) {
  return hsc_arena_create(&arena) ? -1 : 0;
}

static int tear_down(void **state) {
  hsc_arena_destroy(arena);
  return 0;
}

// As a list, whatever the form was.
static const char *list_of(const char *text) {
  hsc_groups groups;
  hsc_bytes out = {0};
  hsc_status *status = hsc_groups_parse(arena, text, &groups);
  if (status) {
    assert_int_equal(hsc_status_code(status), HSC_INVALID_ARGUMENT);
    hsc_status_free(status);
    return "refused";
  }
  for (int64_t g = 0; g < groups.count; g++) {
    hsc_bytes_append_text(&out, "{");
    for (int64_t i = groups.first[g]; i < groups.first[g + 1]; i++)
      hsc_bytes_printf(&out, "%s%lld", i > groups.first[g] ? "," : "", (long long)groups.ids[i]);
    hsc_bytes_append_text(&out, "}");
  }
  if (groups.count)
    assert_int_equal(groups.first[groups.count], groups.id_count);
  const char *list = hsc_arena_strndup(arena, hsc_bytes_text(&out), out.size);
  hsc_bytes_deinit(&out);
  return list;
}

// The numbers on the right of the last ones are what NumPy's arange, reshape and transpose give.
static void test_what_they_name(void **state) {
  static const struct {
    const char *text, *list;
    int64_t largest;
  } rows[] = {
      {NULL, "", 0},
      {"{}", "", 0},
      {"{{0}}", "{0}", 1},
      {"{{0,1},{2,3}}", "{0,1}{2,3}", 2},
      {"{{3,1,2},{0}}", "{3,1,2}{0}", 3},
      {"{{0, 1}, {2,3}}", "{0,1}{2,3}", 2},
      {"{{},{1}}", "{}{1}", 1},
      {"[2,2]<=[4]", "{0,1}{2,3}", 2},
      {"[1,4]<=[4]", "{0,1,2,3}", 4},
      {"[4,1]<=[4]", "{0}{1}{2}{3}", 1},
      {"[4,2]<=[2,4]T(1,0)", "{0,4}{1,5}{2,6}{3,7}", 2},
      {"[2,4]<=[4,2]T(1,0)", "{0,2,4,6}{1,3,5,7}", 4},
      {"[4,2]<=[2,2,2]T(1,0,2)", "{0,1}{4,5}{2,3}{6,7}", 2},
      {"[2,6]<=[2,3,2]T(2,0,1)", "{0,2,4,6,8,10}{1,3,5,7,9,11}", 6},
      {"[2,2]<=[2,2]T(0,1)", "{0,1}{2,3}", 2},
      // arange(8).reshape(2, 4), the axes of the groups moved to the end
      {"mesh['x'=2,'y'=4] {'y'}", "{0,1,2,3}{4,5,6,7}", 4},
      {"mesh['x'=2,'y'=4]{'x'}", "{0,4}{1,5}{2,6}{3,7}", 2},
      {"mesh['x'=2,'y'=4] {'y','x'}", "{0,4,1,5,2,6,3,7}", 8},
      {"mesh[\"x\"=2, 'y'=4] {}", "{0}{1}{2}{3}{4}{5}{6}{7}", 1},
      {"mesh['x'=2,'y'=2], device_ids=(3,2,1,0) {'y'}", "{3,2}{1,0}", 2},
      {"mesh['x'=2,'y'=4], device_ids=([4,2]T(1,0)) {'x'}", "{0,1}{2,3}{4,5}{6,7}", 2},
      {"mesh['x'=8] {'x':(2)2}", "{0,2}{1,3}{4,6}{5,7}", 2},
      {"mesh['x'=8] {'x':(4)2,'x':(1)2}", "{0,4,1,5}{2,6,3,7}", 4},
      {"mesh[] {}", "{0}", 1},
  };
  for (size_t i = 0; i < HSC_COUNT_OF(rows); i++) {
    assert_string_equal(list_of(rows[i].text), rows[i].list);
    assert_int_equal(hsc_groups_largest(rows[i].text), rows[i].largest);
  }
}

static void test_what_is_refused(void **state) {
  static const char *const texts[] = {"x",
                                      "{",
                                      "{{0,1}",
                                      "{{0,1},{2,3}",
                                      "{{0,,1}}",
                                      "{{0,1}}x",
                                      "{{-1}}",
                                      "{0,1}",
                                      "[2,2]",
                                      "[2,2]<=4",
                                      "[2,2]<=[5]",
                                      "[2]<=[2]",
                                      "[2,2]<=[4]T",
                                      "[2,2]<=[2,2]T(0)",
                                      "[2,2]<=[2,2]T(0,0)",
                                      "[0,4]<=[0]",
                                      "[2,2]<=[4]x",
                                      "[2,2]<=[2,2]T(2)",
                                      "[65536,2]<=[131072]",
                                      "[2,2]<=[2,2]T(1,2)",
                                      "[-2,-2]<=[4]",
                                      "mesh",
                                      "mesh['x'=2",
                                      "mesh['x'=2]",
                                      "mesh['x'=2] {",
                                      "mesh['x'=2] {'x'",
                                      "mesh['x'=2] {'y'}",
                                      "mesh['x'=2] {'x'}x",
                                      "mesh['x'=0] {'x'}",
                                      "mesh['x'=2,'x'=2] {'x'}",
                                      "mesh['x'=2] {'x','x'}",
                                      "mesh['x'=65536,'y'=2] {'x'}",
                                      "mesh['x'=8] {'x':(3)2}",
                                      "mesh['x'=8] {'x':(2)8}",
                                      "mesh['x'=16] {'x':(1)4,'x':(2)4}",
                                      "mesh['x'=4], device_ids=(0,1,2) {'x'}",
                                      "mesh['x'=4], device_ids=(0,1,2,4) {'x'}",
                                      "mesh['x'=4], device_ids=([2]T(0)) {'x'}",
                                      "mesh['x'=4], ids=(0,1,2,3) {'x'}"};
  for (size_t i = 0; i < HSC_COUNT_OF(texts); i++)
    if (strcmp(list_of(texts[i]), "refused") != 0)
      fail_msg("%s is read as %s", texts[i], list_of(texts[i]));
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_what_they_name),
                                     cmocka_unit_test(test_what_is_refused)};
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
