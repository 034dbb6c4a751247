// fuzz_knowledge_match.c - any bytes as an entry of a knowledge base and a log that it is looked
// for in: the expression compiles or is a problem, and a match stays inside its line.
//
// The input is the "== match" lines of an entry, a line "----", and the log. The entry lies in a
// folder, as one that somebody sends would.
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/files/file_io.h"
#include "doctor/line_match.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char folder[64], path[96];

static void leave(void) {
  unlink(path);
  rmdir(folder);
}

static void prepare(void) {
  snprintf(folder, sizeof folder, "/tmp/hsc-fuzz-match-XXXXXX");
  if (!mkdtemp(folder))
    abort();
  snprintf(path, sizeof path, "%s/a.entry", folder);
  atexit(leave);
}

static void write_entry(hsc_view matches) {
  static const char head[] =
      "id: a\ntitle: a title\nseverity: info\nevent: other\nrank: 50\nsystems: jax\nsince: "
      "any\nuntil: any\n== match\n";
  static const char tail[] =
      "\n== meaning\nm\n== matters\nm\n== cause\nc\n== next\nn\n== references\nhttps://a.b/c "
      "note\n== proof log\nl\n";
  hsc_bytes text = {0};
  hsc_bytes_append_text(&text, head);
  hsc_bytes_append(&text, matches.data, matches.size);
  hsc_bytes_append_text(&text, tail);
  hsc_status_free(hsc_file_write_atomic(path, text.data, text.size));
  hsc_bytes_deinit(&text);
}

static void check_group(hsc_view group, hsc_view line) {
  if (group.data && (group.data < line.data || group.data + group.size > line.data + line.size))
    abort();
}

// The whole log is one line: what a reader of lines would cut is in other targets.
static void look(hsc_matcher *matcher, hsc_view line) {
  size_t at = 0;
  int anchor = -1;
  for (int tries = 0; tries < 64 && hsc_matcher_next(matcher, line.data, line.size, &at, &anchor);
       tries++) {
    hsc_capture_groups groups;
    hsc_matcher_try(matcher, anchor, line, line.data + at, &groups);
    check_group(groups.module, line);
    check_group(groups.seconds, line);
    check_group(groups.subject, line);
    check_group(groups.package, line);
    check_group(groups.version, line);
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const char cut[] = "\n----\n";
  if (size > 20000)
    return 0;
  if (!*folder)
    prepare();
  const uint8_t *found = memmem(data, size, cut, sizeof cut - 1);
  size_t before = found ? (size_t)(found - data) : size;
  size_t after = found ? before + sizeof cut - 1 : size;
  write_entry((hsc_view){(const char *)data, before});
  hsc_knowledge *base = NULL;
  hsc_matcher *matcher = NULL;
  hsc_status *status = hsc_knowledge_load(folder, &base);
  if (!status && hsc_knowledge_count(base))
    status = hsc_matcher_create(base, &matcher);
  char *line = malloc(size - after + 4);  // 4 more must be readable (line_match.h)
  if (matcher && line) {
    memcpy(line, data + after, size - after);
    memset(line + size - after, 0, 4);
    look(matcher, (hsc_view){line, size - after});
  }
  free(line);
  hsc_matcher_destroy(matcher);
  hsc_knowledge_destroy(base);
  hsc_status_free(status);
  return 0;
}
