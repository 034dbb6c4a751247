// cache_why_jax.c - why JAX compiled again: what its log says at level DEBUG about the keys of its
// persistent cache.
//
// A key is a hash over the hashes of its inputs (jax/_src/cache_key.py); the log has each of them,
// the flags, the shapes of the arguments and, where jax._src.compiler may speak as well, the
// program's name. Programs of two logs belong together by name and by their order among those of
// one name.
#include "base/text/text.h"
#include "base/text/view_find.h"
#include "lab/cache_why/cache_why_internal.h"

static const char HASH[] = "get_cache_key hash of serialized ";
static const char FLAG[] = "Including XLA flag in cache key: ";
static const char SHAPES[] = " with global shapes and types ";
enum { SHOWN_DIGITS = 16 };  // of 64: enough to tell two apart
static const char *const outcomes[] = {"CACHE MISS for '", "compilation cache hit for '"};

// What an input that differs comes from.
static const char *const causes[][2] = {
    {"computation",
     "the program itself: another shape or type of an argument, a constant that was baked in, "
     "other code, or another version of JAX that writes the same code otherwise"},
    {"jax_lib version", "another version of jaxlib: nothing of the old one is ever found"},
    {"backend version", "another build of the platform's compiler or driver"},
    {"XLA flags",
     "XLA_FLAGS, LIBTPU_INIT_ARGS or a --xla argument; the rows \"XLA flag\" say which"},
    {"compile_options",
     "device count and assignment, options of jit, or the directory of the cache itself, which "
     "is in XLA's options: jax_persistent_cache_enable_xla_caches=none leaves it out"},
    {"accelerator_config", "another kind or number of devices"},
    {"compression", "zstandard is installed in one environment and not in the other"},
    {"custom_hook", "the hook of cache_key.custom_hook gave another text"},
};

bool hsc__why_is_jax_log(const char *text) {
  return strstr(text, HASH) != NULL;
}

void hsc__why_jax_deinit(why_side *side) {
  for (int i = 0; i < side->program_count; i++)
    hsc_bytes_deinit(&side->programs[i].inputs);
  hsc_free(side->programs);
}

static hsc_status *add_program(why_side *side,
                               const char *name,
                               size_t name_length,
                               hsc_bytes *inputs) {
  why_jax_program *more =
      hsc_realloc(side->programs, ((size_t)side->program_count + 1) * sizeof *more);
  if (!more)
    return hsc_status_out_of_memory();
  side->programs = more;
  why_jax_program *program = &more[side->program_count++];
  *program = (why_jax_program){.inputs = *inputs};
  snprintf(program->name, sizeof program->name, "%.*s", (int)name_length, name);
  *inputs = (hsc_bytes){0};
  return hsc_bytes_status(&program->inputs);
}

// JAX's handlers may write a line twice: the second time changes nothing.
static void put_once(hsc_bytes *inputs, const char *name, size_t name_length, hsc_view value) {
  char what[192];
  size_t length;
  if (hsc__why_value(hsc_bytes_text(inputs), name, name_length, &length))
    return;
  snprintf(what, sizeof what, "%.*s", (int)name_length, name);
  hsc__why_put(inputs, what, value);
}

static bool complete(const hsc_bytes *inputs) {
  size_t length;
  return hsc__why_value(hsc_bytes_text(inputs), "jax_lib version", 15, &length) != NULL;
}

static void read_hash(hsc_bytes *inputs, const char *at, const char *end) {
  size_t name = strcspn(at, ":\n");
  if (at + name + 2 > end)
    return;
  size_t digits = strspn(at + name + 2, "0123456789abcdef");
  put_once(inputs, at, name,
           (hsc_view){at + name + 2, digits < SHOWN_DIGITS ? digits : SHOWN_DIGITS});
}

static void read_flag(hsc_bytes *inputs, const char *at, const char *end) {
  char what[192];
  size_t length = strcspn(at, "\r\n");
  size_t name = strcspn(at, "=\r\n");
  int size = snprintf(what, sizeof what, "XLA flag %.*s", (int)name, at);
  if (at + length <= end && size > 0 && (size_t)size < sizeof what)
    put_once(inputs, what, (size_t)size,
             name < length ? (hsc_view){at + name + 1, length - name - 1} : HSC_VIEW("given"));
}

hsc_status *hsc__why_read_jax_log(why_side *side, const char *text) {
  hsc_bytes inputs = {0};
  hsc_bytes shapes = {0};
  hsc_status *status = NULL;
  for (const char *at = text, *next; *at; at = next) {
    const char *end = at + strcspn(at, "\n");
    const char *found;
    next = *end ? end + 1 : end;
    hsc_view line = {at, (size_t)(end - at)};
    if ((found = hsc_view_find(line, HASH))) {
      found += sizeof HASH - 1;
      if (hsc_starts_with(found, "computation:") && complete(&inputs))
        HSC_GOTO(add_program(side, "", 0, &inputs));
      if (!inputs.size && shapes.size)
        hsc__why_put(&inputs, "arguments", hsc_bytes_view(&shapes));
      read_hash(&inputs, found, end);
    } else if ((found = hsc_view_find(line, FLAG))) {
      read_flag(&inputs, found + sizeof FLAG - 1, end);
    } else if ((found = hsc_view_find(line, SHAPES))) {
      found += sizeof SHAPES - 1;
      const char *stop =
          hsc_view_find((hsc_view){found, (size_t)(end - found)}, ". Argument mapping");
      if (complete(&inputs))
        HSC_GOTO(add_program(side, "", 0, &inputs));
      hsc_bytes_reset(&shapes);
      hsc_bytes_append(&shapes, found, (size_t)((stop ? stop : end) - found));
    } else {
      for (size_t i = 0; i < HSC_COUNT_OF(outcomes); i++) {
        if (!(found = hsc_view_find(line, outcomes[i])) || !complete(&inputs))
          continue;
        found += strlen(outcomes[i]);
        HSC_GOTO(add_program(side, found, strcspn(found, "'\n"), &inputs));
        hsc_bytes_reset(&shapes);
      }
    }
  }
  if (inputs.size)
    HSC_GOTO(add_program(side, "", 0, &inputs));
done:
  hsc_bytes_deinit(&inputs);
  hsc_bytes_deinit(&shapes);
  return status;
}

// ---- comparing ----------------------------------------------------------------------------------

// Which of its name among the programs before it.
static int rank_of(const why_side *side, int index) {
  int rank = 0;
  for (int i = 0; i < index; i++)
    rank += !strcmp(side->programs[i].name, side->programs[index].name);
  return rank;
}

static const why_jax_program *partner_of(const why_side *side, const char *name, int rank) {
  for (int i = 0; i < side->program_count; i++)
    if (!strcmp(side->programs[i].name, name) && rank-- == 0)
      return &side->programs[i];
  return NULL;
}

static const char *shown_name(const why_jax_program *program, int rank, char out[160]) {
  if (!*program->name)
    snprintf(out, 160, "compilation %d", rank + 1);
  else if (rank)
    snprintf(out, 160, "%s (%d)", program->name, rank + 1);
  else
    snprintf(out, 160, "%s", program->name);
  return out;
}

// An input that differs, once for all programs in which it does so alike.
typedef struct difference {
  const char *input, *first, *second;  // NULL = that side has none; up to a tab or the line's end
  size_t input_length, first_length, second_length;
  char program[160];
  int more;  // programs besides the first
} difference;

static bool equal_texts(const char *a, size_t m, const char *b, size_t n) {
  return !a || !b ? a == b : m == n && !memcmp(a, b, n);
}

static void add_difference(hsc_bytes *list, const difference *d) {
  difference *at = (difference *)list->data;
  for (size_t i = 0; i < list->size / sizeof *d; i++) {
    if (!equal_texts(at[i].input, at[i].input_length, d->input, d->input_length) ||
        !equal_texts(at[i].first, at[i].first_length, d->first, d->first_length) ||
        !equal_texts(at[i].second, at[i].second_length, d->second, d->second_length))
      continue;
    at[i].more += strcmp(at[i].program, d->program) != 0;
    return;
  }
  hsc_bytes_append(list, d, sizeof *d);
}

// How many inputs differ.
static int compare_programs(const why_jax_program *a,
                            const why_jax_program *b,
                            const char *name,
                            hsc_bytes *list) {
  const char *x = hsc_bytes_text(&a->inputs);
  const char *y = hsc_bytes_text(&b->inputs);
  int count = 0;
  for (int pass = 0; pass < 2; pass++) {  // all of the first, then what only the second has
    for (const char *at = pass ? y : x; *at;) {
      size_t line = strcspn(at, "\n");
      size_t tab = strcspn(at, "\t");
      size_t length = 0;
      size_t size = line - tab - 1;
      const char *here = at + tab + 1;
      const char *there = hsc__why_value(pass ? x : y, at, tab, &length);
      difference d = {.input = at,
                      .input_length = tab,
                      .first = here,
                      .first_length = size,
                      .second = there,
                      .second_length = length};
      if (pass)
        d = (difference){.input = at, .input_length = tab, .second = here, .second_length = size};
      snprintf(d.program, sizeof d.program, "%s", name);
      if (pass ? !there : !equal_texts(here, size, there, length)) {
        add_difference(list, &d);
        count++;
      }
      at += line + (at[line] == '\n');
    }
  }
  return count;
}

static void add_value(hsc_table *table, const char *value, size_t length) {
  if (value)
    hsc_table_printf(table, "%.*s", (int)length, value);
  else
    hsc_table_missing(table);
}

static void add_rows(hsc_table *table, const hsc_bytes *list) {
  const difference *at = (const difference *)list->data;
  for (size_t i = 0; i < list->size / sizeof *at; i++) {
    hsc_table_row(table);
    if (at[i].more)
      hsc_table_printf(table, "%s and %d more", at[i].program, at[i].more);
    else
      hsc_table_text(table, at[i].program);
    hsc_table_printf(table, "%.*s", (int)at[i].input_length, at[i].input);
    add_value(table, at[i].first, at[i].first_length);
    add_value(table, at[i].second, at[i].second_length);
    hsc_table_text(table, "NO");
  }
}

static void note_causes(hsc_table *table, const hsc_bytes *list) {
  const difference *at = (const difference *)list->data;
  for (size_t c = 0; c < HSC_COUNT_OF(causes); c++) {
    bool differs = false;
    for (size_t i = 0; i < list->size / sizeof *at; i++)
      differs |= equal_texts(at[i].input, at[i].input_length, causes[c][0], strlen(causes[c][0]));
    if (differs)
      hsc_table_note(table, "%s: %s", causes[c][0], causes[c][1]);
  }
}

void hsc__why_jax_programs(hsc_table *table,
                           const why_side *first,
                           const why_side *second,
                           bool *same) {
  int equal = 0;
  int alone = 0;
  hsc_bytes only = {0};
  hsc_bytes list = {0};
  for (int i = 0; i < second->program_count; i++) {
    char name[160];
    int rank = rank_of(second, i);
    const why_jax_program *b = &second->programs[i];
    const why_jax_program *a = partner_of(first, b->name, rank);
    shown_name(b, rank, name);
    if (!a) {
      if (alone++ < 8)
        hsc_bytes_printf(&only, "%s%s", only.size ? ", " : "", name);
    } else if (!compare_programs(a, b, name, &list)) {
      equal++;
    } else if (second->program_count == 1) {  // one program: what is the same is worth seeing, too
      hsc__why_rows(table, name, hsc_bytes_text(&a->inputs), hsc_bytes_text(&b->inputs), same);
    }
  }
  if (second->program_count > 1)
    add_rows(table, &list);
  *same = !list.size && !alone;
  note_causes(table, &list);
  if (equal)
    hsc_table_note(table, "%d program%s the same key in both", equal,
                   equal == 1 ? " has" : "s have");
  if (alone)
    hsc_table_note(table, "%d only in the second: %s%s", alone, hsc_bytes_text(&only),
                   alone > 8 ? ", ..." : "");
  if (*same)
    hsc_table_note(table,
                   "nothing differs: the second should have been found; if it was not, it was "
                   "removed, damaged, or looked for elsewhere");
  hsc_bytes_deinit(&only);
  hsc_bytes_deinit(&list);
}
