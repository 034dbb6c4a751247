// replay_main.c - runs a fuzz target over its corpus, and over mutations of it, as a plain test
// (TAP on stdout).
//
//   fuzz_replay_<name> DIRECTORY [ROUNDS | --update | --say FILE]
//
// Every file is run as it is, cut short, and with bytes flipped, replaced, removed and repeated,
// from a fixed seed; then as it is while memory runs out at one allocation after the other: what
// reads on with an arena that has failed is found so. A crash ends the program, so the plan printed
// at first is not fulfilled, and the name of the case is last.
//
// What a target says came of each input (rules.h) is hashed and compared with what was recorded in
// ../outcomes/<name>.tsv: a line for each file, with a number for the file as it is and one for
// each 20 rounds. --update writes it anew; --say shows what is said of a file, round by round.
#include <dirent.h>
#include <stdlib.h>

#include "base/core/bytes.h"
#include "base/core/hash.h"
#include "base/core/memory.h"
#include "base/core/random.h"
#include "base/core/status.h"
#include "base/files/file_io.h"

#include "rules.h"
#include "runner.h"

// Each target's LLVMFuzzerTestOneInput is compiled as fuzz_<name>; a row TARGET(name) for each.
typedef int (*fuzz_target)(const uint8_t *data, size_t size);
#define TARGET(name) int fuzz_##name(const uint8_t *data, size_t size);
#include "fuzz_targets.inc"
#undef TARGET

static fuzz_target target;

enum { DEFAULT_ROUNDS = 400, ROUNDS_TOGETHER = 20 };

// ---- what came of the inputs --------------------------------------------------------------------

static uint64_t said;       // of the inputs since the last number
static bool is_saying;      // print it
static hsc_bytes numbers;   // of the file: " 0123abcd ..."
static hsc_bytes recorded;  // ../outcomes/<name>.tsv; empty = none

void fuzz_said(hsc_view text) {
  said = hsc_hash64(text.data, text.size, said);
  if (is_saying)
    printf("%.*s\n", (int)text.size, text.data);
}

static void next_number(void) {
  hsc_bytes_printf(&numbers, " %08x", (unsigned)(said ^ said >> 32));
  said = 0;
}

// The recorded numbers of a file, "" when there are none.
static const char *recorded_of(const char *name, size_t *out_size) {
  size_t size = strlen(name);
  const char *line = hsc_bytes_text(&recorded);
  while (line && *line) {
    const char *end = strchr(line, '\n');
    if (!end)
      break;
    if (!strncmp(line, name, size) && line[size] == '\t') {
      *out_size = (size_t)(end - line) - size - 1;
      return line + size + 1;
    }
    line = end + 1;
  }
  *out_size = 0;
  return "";
}

// Whether the numbers are those that were recorded, as far as there are both; says where not.
static bool is_as_recorded(const char *name) {
  size_t size;
  const char *wanted = recorded_of(name, &size);
  const char *found = hsc_bytes_text(&numbers);
  if (!recorded.size)
    return true;
  if (!size) {
    printf("# nothing is recorded of %s: run with --update\n", name);
    return false;
  }
  size_t both = size < numbers.size ? size : numbers.size;
  size_t same = 0;
  while (same < both && wanted[same] == found[same])
    same++;
  if (same == both)
    return true;
  size_t number = same / 9;
  if (number == 0)
    printf("# what comes of %s is not what was recorded; --say %s shows it\n", name, name);
  else
    printf("# what comes of %s in rounds %zu to %zu is not what was recorded; --say %s shows it\n",
           name, (number - 1) * ROUNDS_TOGETHER, number * ROUNDS_TOGETHER - 1, name);
  return false;
}

// ---- inputs -------------------------------------------------------------------------------------

// The target gets an exact copy on the heap, so that a sanitizer sees reads past the end.
static void run_copy(const char *data, size_t size) {
  uint8_t *copy = malloc(size ? size : 1);
  if (size)
    memcpy(copy, data, size);
  target(copy, size);
  free(copy);
}

static void mutate(hsc_bytes *bytes, hsc_random *random) {
  uint64_t edits = 1 + hsc_random_below(random, 4);
  for (uint64_t i = 0; i < edits && bytes->size > 0; i++) {
    size_t at = hsc_random_below(random, bytes->size);
    size_t length = 1 + hsc_random_below(random, 8);
    if (length > bytes->size - at)
      length = bytes->size - at;
    switch (hsc_random_below(random, 6)) {
      case 0:
        bytes->data[at] ^= (char)(1 << hsc_random_below(random, 8));
        break;
      case 1:
        bytes->data[at] = (char)hsc_random_u64(random);
        break;
      case 2:
        bytes->size = at;
        break;
      case 3:
        memmove(bytes->data + at, bytes->data + at + length, bytes->size - at - length);
        bytes->size -= length;
        break;
      case 4: {
        static const char *const words[] = {
            "{",  "}", "(",  ")",  "[",   "]", ",", "=", "-1", "999999999999999999999",
            "\"", "%", "/*", "\n", "nan", "0"};
        const char *word = words[hsc_random_below(random, HSC_COUNT_OF(words))];
        size_t n = strlen(word);
        size_t tail = bytes->size - at;
        if (!hsc_bytes_extend(bytes, n))
          return;
        memmove(bytes->data + at + n, bytes->data + at, tail);
        memcpy(bytes->data + at, word, n);
        break;
      }
      default: {
        char saved[8];
        size_t tail = bytes->size - at;
        memcpy(saved, bytes->data + at, length);
        if (!hsc_bytes_extend(bytes, length))
          return;
        memmove(bytes->data + at + length, bytes->data + at, tail);
        memcpy(bytes->data + at, saved, length);
      }
    }
  }
}

static int compare_names(const void *a, const void *b) {
  return strcmp(*(char *const *)a, *(char *const *)b);
}

static int is_file_name(const struct dirent *entry) {
  return entry->d_name[0] != '.';
}

// The first run of a target, which prepares what stays, is over. Every allocation near the
// beginning, then further and further apart, until all of them are granted. With
// HSC_FUZZ_ALLOCATIONS=0 not at all, with another number up to so many failures.
static void run_without_memory(const hsc_bytes *input) {
  const char *wanted = getenv("HSC_FUZZ_ALLOCATIONS");
  int most = wanted ? atoi(wanted) : 24;
  uint64_t n = 1;
  bool failed = true;
  for (int i = 0; i < most && failed; i++) {
    hsc_alloc_fail_after(n);
    run_copy(input->size ? input->data : "", input->size);
    void *probe = hsc_alloc(1);
    failed = probe == NULL;
    hsc_alloc_fail_after(0);
    hsc_free(probe);
    n += 1 + n / 6;
  }
}

static int run_file(const char *path, int rounds, bool with_failures) {
  hsc_bytes original = {0};
  hsc_bytes changed = {0};
  hsc_random random;
  hsc_status *status = hsc_file_read(path, &original);
  if (status) {
    printf("# %s\n", hsc_status_message(status));
    hsc_status_free(status);
    return 1;
  }
  hsc_bytes_reset(&numbers);
  said = 0;
  run_copy(hsc_bytes_text(&original), original.size);
  next_number();
  hsc_random_init(&random, hsc_hash64(original.data, original.size, 0));
  if (original.size > 20000)
    rounds /= 20;
  for (int round = 0; round < rounds; round++) {
    hsc_bytes_reset(&changed);
    hsc_bytes_append(&changed, original.data, original.size);
    mutate(&changed, &random);
    if (is_saying)
      printf("# round %d\n", round);
    run_copy(hsc_bytes_text(&changed), changed.size);
    if (round % ROUNDS_TOGETHER == ROUNDS_TOGETHER - 1)
      next_number();
  }
  if (original.size <= 20000 && with_failures)
    run_without_memory(&original);
  hsc_bytes_deinit(&original);
  hsc_bytes_deinit(&changed);
  return 0;
}

static int replay(int argc, char **argv) {
  if (argc < 2) {
    fprintf(stderr, "usage: %s DIRECTORY [ROUNDS | --update | --say FILE]\n", argv[0]);
    return 2;
  }
  bool updates = argc > 2 && !strcmp(argv[2], "--update");
  const char *shown = argc > 3 && !strcmp(argv[2], "--say") ? argv[3] : NULL;
  is_saying = shown != NULL;
  hsc_bytes outcomes = {0};
  hsc_bytes written = {0};
  const char *target_name = strrchr(argv[1], '/') ? strrchr(argv[1], '/') + 1 : argv[1];
  hsc_bytes_printf(&outcomes, "%s/../../outcomes/%s.tsv", argv[1], target_name);
  if (!updates && hsc_file_exists(hsc_bytes_text(&outcomes)))
    hsc_status_free(hsc_file_read(hsc_bytes_text(&outcomes), &recorded));
  char **names = NULL;
  struct dirent **entries = NULL;
  int failed = 0;
  int count = scandir(argv[1], &entries, is_file_name, NULL);
  int rounds = argc > 2 && !updates && !shown ? atoi(argv[2]) : DEFAULT_ROUNDS;
  if (count <= 0) {
    printf("1..1\nnot ok 1 - the corpus %s is empty or missing\n", argv[1]);
    return 1;
  }
  names = calloc((size_t)count, sizeof *names);
  for (int i = 0; i < count; i++)
    names[i] = entries[i]->d_name;
  qsort(names, (size_t)count, sizeof *names, compare_names);
  printf("1..%d\n", count);
  for (int i = 0; i < count; i++) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", argv[1], names[i]);
    if (shown && strcmp(shown, names[i]) != 0)
      continue;
    printf("# %s\n", names[i]);
    fflush(stdout);
    int bad = run_file(path, rounds, !updates && !shown);
    hsc_bytes_printf(&written, "%s\t%s\n", names[i], hsc_bytes_text(&numbers));
    if (!updates && !bad)
      bad = !is_as_recorded(names[i]);
    printf("%s %d - %s\n", bad ? "not ok" : "ok", i + 1, names[i]);
    failed += bad;
  }
  if (updates) {
    hsc_status *status =
        hsc_file_write_atomic(hsc_bytes_text(&outcomes), written.data, written.size);
    if (status)
      printf("# %s\n", hsc_status_message(status));
    failed += status != NULL;
    hsc_status_free(status);
  }
  hsc_bytes_deinit(&outcomes);
  hsc_bytes_deinit(&written);
  hsc_bytes_deinit(&recorded);
  hsc_bytes_deinit(&numbers);
  for (int i = 0; i < count; i++)
    free(entries[i]);
  free(entries);
  free(names);
  return failed ? 1 : 0;
}

#define TARGET(name) \
  static int replay_##name(int argc, char **argv) { \
    target = fuzz_##name; \
    return replay(argc, argv); \
  }
#include "fuzz_targets.inc"
#undef TARGET

int main(int argc, char **argv) {
  static const runner_program programs[] = {
#define TARGET(name) {"fuzz_replay_" #name, replay_##name},
#include "fuzz_targets.inc"
#undef TARGET
  };
  const runner_program *program = runner_pick(programs, HSC_COUNT_OF(programs), &argc, &argv);
  return program ? program->run(argc, argv) : 2;
}
