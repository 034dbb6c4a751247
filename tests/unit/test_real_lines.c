// Every row of real_lines.txt: what explain finds in the line, neither less nor more.
#include "base/files/file_io.h"
#include "unit.h"

#include <stdlib.h>

#include "doctor/log_reader.h"

static hsc_knowledge *kb;
static const char *path;

static int by_text(const void *a, const void *b) {
  return strcmp(*(const char *const *)a, *(const char *const *)b);
}

// The ids, sorted, separated by commas; "-" for none.
static const char *join(hsc_arena *arena, const char **ids, size_t count) {
  if (!count)
    return "-";
  qsort(ids, count, sizeof *ids, by_text);
  const char *text = ids[0];
  for (size_t i = 1; i < count; i++)
    text = hsc_arena_printf(arena, "%s,%s", text, ids[i]);
  return text;
}

static const char *found_in(hsc_arena *arena, hsc_view line) {
  hsc_log_reader *reader = NULL;
  const char *ids[32];
  size_t count = 0;
  EXPECT_OK(hsc_log_reader_create(kb, NULL, &reader));
  EXPECT_OK(hsc_log_reader_feed(reader, line.data, line.size));
  EXPECT_OK(hsc_log_reader_finish(reader));
  const hsc_log_report *report = hsc_log_reader_report(reader);
  for (size_t i = 0; i < report->finding_count && count < HSC_COUNT_OF(ids); i++)
    ids[count++] = report->findings[i]->entry->id;
  const char *text = join(arena, ids, count);
  hsc_log_reader_destroy(reader);
  return text;
}

static void posted_lines_are_read_rightly(void **state) {
  hsc_arena *arena = NULL;
  hsc_bytes text = {0};
  EXPECT_OK(hsc_arena_create(&arena));
  EXPECT_OK(hsc_file_read(path, &text));
  int rows = 0;
  int bad = 0;
  int number = 0;
  for (char *at = text.data, *end = text.data + text.size; at < end;) {
    char *stop = memchr(at, '\n', (size_t)(end - at));
    if (!stop)
      stop = end;
    number++;
    if (*at != '#' && stop > at) {
      char *first = memchr(at, '\t', (size_t)(stop - at));
      char *second = first ? memchr(first + 1, '\t', (size_t)(stop - first - 1)) : NULL;
      if (!second)
        fail_msg("%s:%d: not ids, thread and line", path, number);
      const char *wanted[32];
      size_t count = 0;
      for (const char *id = at; id < first && count < HSC_COUNT_OF(wanted);) {
        size_t length = strcspn(id, ",\t");
        wanted[count++] = hsc_arena_strndup(arena, id, length);
        id += length + 1;
      }
      const char *want = join(arena, wanted, count);
      const char *got = found_in(arena, (hsc_view){second + 1, (size_t)(stop - second - 1)});
      rows++;
      if (strcmp(want, got) != 0) {
        print_message("%s:%d: wanted %s, got %s: %.120s\n", path, number, want, got, second + 1);
        bad++;
      }
    }
    at = stop + 1;
  }
  assert_true(rows > 90);
  assert_int_equal(bad, 0);
  hsc_bytes_deinit(&text);
  hsc_arena_destroy(arena);
}

int main(int argc, char **argv) {
  static char directory[512], file[512];
  const char *root = argc > 1 ? argv[1] : ".";
  snprintf(directory, sizeof directory, "%s/knowledge", root);
  snprintf(file, sizeof file, "%s/tests/unit/real_lines.txt", root);
  path = file;
  const struct CMUnitTest tests[] = {cmocka_unit_test(posted_lines_are_read_rightly)};
  hsc_status *status = hsc_knowledge_load(directory, &kb);
  if (status) {
    print_message("%s\n", hsc_status_message(status));
    return 1;
  }
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  hsc_knowledge_destroy(kb);
  return failed;
}
