#include "base/files/file_io.h"
#include "base/text/text.h"
#include "unit.h"

#include <stdlib.h>
#include <unistd.h>

#include "doctor/proof.h"

static const char *root;

static const char good[] =
    "# a comment\n"
    "id: a-b-1\n"
    "title: a title: with a colon\n"
    "severity: warning\n"
    "event: cache-hit\n"
    "rank: 7\n"
    "systems: jax, xla\n"
    "remedy: level=1\n"
    "remedy: other=a=b\n"
    "== match\n"
    "literal: \" padded text \"\n"
    "not: never\n"
    "regex: (?<module>[a-z]+): x\n"
    "== match\n"
    "literal: another way\n"
    "== meaning\n"
    "\n"
    "Two lines.\n"
    "\\== not a section\n"
    "\n"
    "== workaround\n"
    "Do it.\n"
    "== references\n"
    "https://example.com/1 what it says\n"
    "== proof log\n"
    "\\\\ a line with a backslash\n"
    "  another way\n";

static hsc_status *parse(const char *text, hsc_arena *arena, hsc_entry *entry) {
  return hsc_entry_parse(hsc_view_of(text), "some/where/a-b-1.entry", arena, entry);
}

static void an_entry_is_read_whole(void **state) {
  hsc_arena *arena = NULL;
  EXPECT_OK(hsc_arena_create(&arena));
  hsc_entry e;
  EXPECT_OK(parse(good, arena, &e));
  assert_string_equal(e.id, "a-b-1");
  assert_string_equal(e.title, "a title: with a colon");
  assert_int_equal(e.severity, HSC_SEVERITY_WARNING);
  assert_int_equal(e.event, HSC_EVENT_CACHE_HIT);
  assert_int_equal(e.rank, 7);
  assert_string_equal(e.systems[1], "xla");
  assert_null(e.systems[2]);
  assert_int_equal(e.match_count, 2);
  assert_true(hsc_view_equals_text(e.matches[0].literals[0], " padded text "));
  assert_true(hsc_view_equals_text(e.matches[0].absent[0], "never"));
  assert_string_equal(e.matches[0].regex, "(?<module>[a-z]+): x");
  assert_string_equal(e.meaning, "Two lines.\n== not a section");
  assert_string_equal(e.references[0].url, "https://example.com/1");
  assert_string_equal(e.references[0].note, "what it says");
  assert_true(hsc_view_equals_text(e.logs[0].text, "\\ a line with a backslash\n  another way"));
  assert_int_equal(e.remedy_count, 2);
  assert_string_equal(e.remedies[1].name, "other");
  assert_string_equal(e.remedies[1].value, "a=b");
  hsc_arena_destroy(arena);
}

// The text with `from` replaced by `to` fails with a message that holds `message`, at `line` (0:
// whatever).
static void expect_wrong(const char *from, const char *to, const char *message, int line) {
  hsc_arena *arena = NULL;
  EXPECT_OK(hsc_arena_create(&arena));
  const char *place = strstr(good, from);
  assert_non_null(place);
  const char *text =
      hsc_arena_printf(arena, "%.*s%s%s", (int)(place - good), good, to, place + strlen(from));
  hsc_entry e;
  hsc_status *status = parse(text, arena, &e);
  assert_non_null(status);
  if (!strstr(hsc_status_message(status), message))
    fail_msg("'%s' does not speak of '%s'", hsc_status_message(status), message);
  assert_string_equal(hsc_status_path(status), "some/where/a-b-1.entry");
  if (line)
    assert_int_equal(hsc_status_line(status), line);
  hsc_status_free(status);
  hsc_arena_destroy(arena);
}

static void what_is_wrong_is_said_with_its_line(void **state) {
  expect_wrong("severity: warning", "severity: bad", "severity is info, warning or error", 4);
  expect_wrong("severity: warning\n", "", "no severity", 0);
  expect_wrong("rank: 7", "rank: 101", "rank is a whole number", 6);
  expect_wrong("rank: 7", "ronk: 7", "did you mean 'rank'", 6);
  expect_wrong("rank: 7", "title: again", "'title' is given twice", 6);
  expect_wrong("event: cache-hit", "event: cache-hot", "did you mean 'cache-hit'", 5);
  expect_wrong("== meaning", "== meanin", "did you mean 'meaning'", 16);
  expect_wrong("== match\nliteral: \" padded text \"", "== match\nliteral: short",
               "at least 6 bytes", 10);
  expect_wrong("id: a-b-1", "id: a-b-2", "the file is a-b-1.entry", 0);
  expect_wrong("id: a-b-1", "id: A", "other characters", 0);
  expect_wrong("== workaround\nDo it.\n", "", "has a workaround", 0);
  expect_wrong("https://example.com/1", "http://example.com/1", "a reference is", 24);
  expect_wrong("remedy: level=1", "remedy: level", "NAME=VALUE", 8);
  expect_wrong("== proof log\n\\\\ a line with a backslash\n  another way\n", "== proof log\n",
               "the proof is empty", 25);
  expect_wrong("== proof log", "== proof movie", "'proof log'", 25);
  expect_wrong("literal: another way", "literal: another way\nregex: a\nregex: b", "one regex", 17);
}

static void failing_allocations_are_told(void **state) {
  for (uint64_t n = 1; n < 12; n++) {
    hsc_arena *arena = NULL;
    EXPECT_OK(hsc_arena_create(&arena));
    hsc_entry e;
    hsc_alloc_fail_after(n);
    hsc_status *status = parse(good, arena, &e);
    hsc_alloc_fail_after(0);
    if (status)
      assert_int_equal(hsc_status_code(status), HSC_RESOURCE_EXHAUSTED);
    hsc_status_free(status);
    hsc_arena_destroy(arena);
  }
}

// The installed base: nothing malformed, every entry recognises its own proof and no other's.
static void the_base_proves_itself(void **state) {
  hsc_arena *arena = NULL;
  EXPECT_OK(hsc_arena_create(&arena));
  char directory[512];
  snprintf(directory, sizeof directory, "%s/knowledge", root);
  hsc_knowledge *kb = NULL;
  EXPECT_OK(hsc_knowledge_load(directory, &kb));
  size_t count = 0;
  const hsc_knowledge_problem *problems = hsc_knowledge_problems(kb, &count);
  for (size_t i = 0; i < count; i++)
    print_message("%s:%d: %s\n", problems[i].path, problems[i].line, problems[i].message);
  assert_int_equal(count, 0);
  assert_true(hsc_knowledge_count(kb) >= 100);
  hsc_proof_result result;
  EXPECT_OK(hsc_knowledge_prove(kb, NULL, arena, &result));
  for (size_t i = 0; i < result.problem_count; i++)
    print_message("%s:%d: %s\n", result.problems[i].path, result.problems[i].line,
                  result.problems[i].message);
  assert_int_equal(result.problem_count, 0);
  assert_int_equal(result.entry_count, hsc_knowledge_count(kb));
  EXPECT_CODE(NOT_FOUND, hsc_knowledge_prove(kb, "not-there", arena, &result));
  hsc_knowledge_destroy(kb);
  hsc_arena_destroy(arena);
}

static void write_text(const char *directory, const char *name, const char *text) {
  char path[300];
  snprintf(path, sizeof path, "%s/%s", directory, name);
  EXPECT_OK(hsc_file_write_atomic(path, text, strlen(text)));
}

static void a_bad_entry_is_left_out_and_an_own_one_comes_first(void **state) {
  char directory[] = "/tmp/hloscope-kb-XXXXXX";
  char command[64];
  char user[300];
  assert_non_null(mkdtemp(directory));
  write_text(directory, "a-b-1.entry", good);
  write_text(directory, "broken.entry", "id: broken\nnonsense\n");
  write_text(directory, "note.txt", "not an entry");
  hsc_knowledge *kb = NULL;
  EXPECT_OK(hsc_knowledge_load(directory, &kb));
  size_t count = 0;
  const hsc_knowledge_problem *problems = hsc_knowledge_problems(kb, &count);
  assert_int_equal(count, 1);
  assert_int_equal(problems[0].line, 2);
  assert_true(hsc_ends_with(problems[0].path, "broken.entry"));
  assert_int_equal(hsc_knowledge_count(kb), 1);
  assert_string_equal(hsc_knowledge_near(kb, "a-b-2"), "a-b-1");
  hsc_knowledge_destroy(kb);
  setenv("HLOSCOPE_KNOWLEDGE", directory, 1);
  setenv("XDG_DATA_HOME", directory, 1);
  snprintf(user, sizeof user, "%s/hloscope/knowledge", directory);
  EXPECT_OK(hsc_dir_make(user));
  char own[2000];
  snprintf(own, sizeof own, "%s", good);
  memcpy(strstr(own, "a title"), "MY", 2);
  write_text(user, "a-b-1.entry", own);
  EXPECT_OK(hsc_knowledge_load(NULL, &kb));
  assert_string_equal(hsc_knowledge_find(kb, "a-b-1")->title, "MYtitle: with a colon");
  hsc_knowledge_destroy(kb);
  EXPECT_CODE(NOT_FOUND, hsc_knowledge_load("/no/such/directory", &kb));
  unsetenv("HLOSCOPE_KNOWLEDGE");
  snprintf(command, sizeof command, "rm -rf %s", directory);
  assert_int_equal(system(command), 0);
}

int main(int argc, char **argv) {
  root = argc > 1 ? argv[1] : ".";
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(an_entry_is_read_whole),
      cmocka_unit_test(what_is_wrong_is_said_with_its_line),
      cmocka_unit_test(failing_allocations_are_told),
      cmocka_unit_test(the_base_proves_itself),
      cmocka_unit_test(a_bad_entry_is_left_out_and_an_own_one_comes_first),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
