// hlo_stages.c - names of dump files taken apart, their lines numbered.
//
// module_0001.jit_f.0003.simplification.after_algsimp.before_cse.txt: module, run, pipeline, pass,
// the pass that comes next. XLA also writes module_0001.jit_f.before_optimizations.txt and
// ...cpu_after_optimizations.txt: the program as it came, and the last stage.
#include "base/core/map.h"
#include "base/core/memory.h"
#include "base/files/file_io.h"
#include "base/json/json_write.h"
#include "base/text/text.h"
#include "report/hlo_stages.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>

#include "report/page.h"

enum { MODULES_AT_MOST = 8, NAME_BYTES = 512 };
static const size_t TEXT_AT_MOST = (size_t)512 << 20;

typedef struct stage {
  char file[NAME_BYTES];
  char module[NAME_BYTES];  // "module_0001.jit_f"
  size_t pipeline, pass;    // offsets in `parts`; 0 = ""
  const char *word;         // what the pass is called where no file name says it
  char parts[NAME_BYTES];
  long run;
} stage;

typedef struct stage_list {
  stage *items;
  size_t count, room;
} stage_list;

static bool all_digits(const char *text, size_t size) {
  for (size_t i = 0; i < size; i++)
    if (text[i] < '0' || text[i] > '9')
      return false;
  return size > 0;
}

// Takes a file name apart; false when it is no dump of a stage.
static bool take_apart(const char *name, stage *out) {
  size_t length = strlen(name);
  if (length >= NAME_BYTES || strncmp(name, "module_", 7) || !hsc_ends_with(name, ".txt"))
    return false;
  *out = (stage){0};
  memcpy(out->file, name, length + 1);
  memcpy(out->parts, name, length + 1);
  char *body = out->parts;
  body[length - 4] = 0;
  if (hsc_ends_with(body, ".before_optimizations") || hsc_ends_with(body, "after_optimizations")) {
    bool first = hsc_ends_with(body, ".before_optimizations");
    char *dot = strrchr(body, '.');
    if (!dot)
      return false;
    *dot = 0;
    memcpy(out->module, body, (size_t)(dot - body) + 1);
    out->run = first ? -1 : 1000000;
    out->word = first ? "input" : "the end";
    return true;
  }
  char *after = strstr(body, ".after_");
  if (!after)
    return false;
  // The run's number is the last token of digits before the pipeline's name; names of modules may
  // hold dots.
  char *number = NULL;
  for (char *at = body; at < after;) {
    char *end = strchr(at, '.');
    if (!end)
      break;
    if (at != body && end - at >= 4 && all_digits(at, (size_t)(end - at)))
      number = at;
    at = end + 1;
  }
  if (!number || number == body)
    return false;
  *after = 0;
  number[-1] = 0;
  memcpy(out->module, body, strlen(body) + 1);
  char *rest = NULL;
  out->run = strtol(number, &rest, 10);
  out->pipeline = rest && *rest == '.' ? (size_t)(rest + 1 - body) : 0;
  char *pass = after + strlen(".after_");
  char *next = strstr(pass, ".before_");
  if (next)
    *next = 0;
  out->pass = (size_t)(pass - body);
  return true;
}

static hsc_status *list_stages(const char *dir, stage_list *out) {
  DIR *open = opendir(dir);
  if (!open)
    return hsc_status_errno(errno, "open the directory", dir);
  hsc_status *status = NULL;
  for (struct dirent *entry; !status && (entry = readdir(open));) {
    if (out->count == out->room) {
      size_t room = out->room ? 2 * out->room : 64;
      stage *items = hsc_realloc(out->items, room * sizeof *items);
      if (!items) {
        status = hsc_status_out_of_memory();
        break;
      }
      out->items = items;
      out->room = room;
    }
    if (take_apart(entry->d_name, &out->items[out->count]))
      out->count++;
  }
  closedir(open);
  return status;
}

static int by_module_and_run(const void *a, const void *b) {
  const stage *x = a;
  const stage *y = b;
  int order = strcmp(x->module, y->module);
  if (order)
    return order;
  if (x->run != y->run) {
    if (x->run < y->run)
      return -1;
    return 1;
  }
  return strcmp(x->file, y->file);
}

bool hsc_hlo_stages_is_at(const char *dir) {
  DIR *open = opendir(dir);
  if (!open)
    return false;
  bool found = false;
  stage one;
  for (struct dirent *entry; !found && (entry = readdir(open));)
    found = take_apart(entry->d_name, &one);
  closedir(open);
  return found;
}

// One module's document.
typedef struct module_text {
  hsc_arena *arena;
  hsc_map *lines;    // text -> number + 1
  hsc_bytes stages;  // what is between the brackets
  hsc_bytes before;  // the numbers of the lines of the stage before
  hsc_bytes more;    // int32_t a line: how often the stage has it more than the one before
  hsc_hlo_stages sums;
  hsc_hlo_pass *passes;  // [sums.pass_count]
  size_t bytes;
} module_text;

// How many lines came and went between the stage before and this one.
static void count_lines(module_text *m, const hsc_bytes *numbers, size_t *came, size_t *went) {
  const hsc_bytes *const sides[] = {&m->before, numbers};
  size_t needed = hsc_map_count(m->lines) * sizeof(int32_t);
  *came = 0;
  *went = 0;
  if (m->more.size < needed) {
    size_t size = needed - m->more.size;
    char *room = hsc_bytes_extend(&m->more, size);
    if (!room)
      return;  // sticky in m->more
    memset(room, 0, size);
  }
  int32_t *more = (int32_t *)(void *)m->more.data;
  for (int side = 0; side < 2; side++)
    for (size_t i = 0; i < sides[side]->size / sizeof(uint32_t); i++)
      more[((const uint32_t *)(const void *)sides[side]->data)[i]] += side ? 1 : -1;
  // each line is counted where it is seen first, and is zero again for the next stage
  for (int side = 0; side < 2; side++)
    for (size_t i = 0; i < sides[side]->size / sizeof(uint32_t); i++) {
      int32_t *balance = &more[((const uint32_t *)(const void *)sides[side]->data)[i]];
      *came += *balance > 0 ? (size_t)*balance : 0;
      *went += *balance < 0 ? (size_t)-*balance : 0;
      *balance = 0;
    }
}

static void add_to_pass(module_text *m, const char *name, size_t came, size_t went) {
  size_t at = 0;
  while (at < m->sums.pass_count && strcmp(m->passes[at].name, name) != 0)
    at++;
  if (at == m->sums.pass_count)
    m->passes[m->sums.pass_count++] = (hsc_hlo_pass){.name = name};
  m->passes[at].came += came;
  m->passes[at].went += went;
}

static int by_lines(const void *a, const void *b) {
  const hsc_hlo_pass *x = a;
  const hsc_hlo_pass *y = b;
  size_t of_x = x->came + x->went;
  size_t of_y = y->came + y->went;
  if (of_x != of_y)
    return of_x < of_y ? 1 : -1;
  return strcmp(x->name, y->name);
}

// Counts a stage and keeps its lines' numbers for the next one; takes them.
static void count_stage(
    module_text *m, const char *pass, hsc_bytes *numbers, size_t *came, size_t *went) {
  hsc_hlo_stages *sums = &m->sums;
  bool is_same = m->before.size == numbers->size &&
                 (!numbers->size || !memcmp(m->before.data, numbers->data, numbers->size));
  *came = 0;
  *went = 0;
  if (sums->stage_count && !is_same)
    count_lines(m, numbers, came, went);
  if (*came + *went)
    add_to_pass(m, pass, *came, *went);
  sums->lines_after = numbers->size / sizeof(uint32_t);
  if (!sums->stage_count)
    sums->lines_before = sums->lines_after;
  sums->changed_count += sums->stage_count && !is_same;
  sums->stage_count++;
  hsc_bytes_deinit(&m->before);
  m->before = *numbers;
  *numbers = (hsc_bytes){0};
}

static hsc_status *add_stage(module_text *m, const char *dir, const stage *s) {
  hsc_bytes text = {0};
  hsc_bytes numbers = {0};
  const char *path = hsc_arena_printf(m->arena, "%s/%s", dir, s->file);
  hsc_status *status = path ? hsc_file_read_regular(path, &text) : hsc_status_out_of_memory();
  if (!status && (m->bytes += text.size) > TEXT_AT_MOST)
    status = HSC_ERR(
        RESOURCE_EXHAUSTED,
        "the dumps in %s hold more than 512 MiB: too much for a page; dump fewer passes", dir);
  const char *at = hsc_bytes_text(&text);
  const char *end = at + text.size;
  while (at < end && !status) {
    const char *stop = memchr(at, '\n', (size_t)(end - at));
    if (!stop)
      stop = end;
    hsc_view line = {at, (size_t)(stop - at)};
    uintptr_t number = (uintptr_t)hsc_map_get(m->lines, line);
    if (!number) {
      number = hsc_map_count(m->lines) + 1;
      char *copy = hsc_arena_copy(m->arena, line.size ? line.data : "", line.size ? line.size : 1);
      status = copy ? hsc_map_put(m->lines, (hsc_view){copy, line.size}, (void *)number)
                    : hsc_status_out_of_memory();
    }
    uint32_t index = (uint32_t)(number - 1);
    hsc_bytes_append(&numbers, &index, sizeof index);
    at = stop + 1;
  }
  if (!status) {
    hsc_json json;
    hsc_bytes_append_text(&m->stages, m->stages.size ? "," : "");
    hsc_json_init(&json, &m->stages, 0);
    hsc_json_begin_object(&json);
    hsc_json_kv_int(&json, "run", s->run);
    const char *pass = s->word ? s->word : s->parts + s->pass;
    hsc_json_kv_string(&json, "pipeline", s->pipeline ? s->parts + s->pipeline : "");
    if (!strcmp(pass, "pipeline-start"))
      pass = "start";
    hsc_json_kv_string(&json, "pass", pass);
    hsc_json_key(&json, "lines");
    hsc_bytes coded = {0};
    hsc_base64(&coded, numbers.data, numbers.size);
    hsc_json_string(&json, hsc_bytes_text(&coded));
    status = hsc_bytes_status(&coded);
    hsc_bytes_deinit(&coded);
    size_t came;
    size_t went;
    count_stage(m, pass, &numbers, &came, &went);
    hsc_json_kv_int(&json, "came", (int64_t)came);
    hsc_json_kv_int(&json, "went", (int64_t)went);
    hsc_json_end_object(&json);
    if (!status)
      status = hsc_bytes_status(&m->more);
  }
  hsc_bytes_deinit(&text);
  hsc_bytes_deinit(&numbers);
  return status;
}

static hsc_status *one_module(const char *dir,
                              const stage *stages,
                              size_t count,
                              hsc_status *(*put)(void *user,
                                                 const hsc_hlo_stages *stages,
                                                 hsc_view json),
                              void *user) {
  module_text m = {0};
  hsc_bytes out = {0};
  const char *name =
      strchr(stages[0].module, '.') ? strchr(stages[0].module, '.') + 1 : stages[0].module;
  hsc_status *status = hsc_arena_create(&m.arena);
  m.sums.module = name;
  if (!status)
    status = hsc_map_create(&m.lines);
  if (!status) {
    m.passes = HSC_NEW_ARRAY(m.arena, hsc_hlo_pass, count);  // a stage is of one pass
    status = hsc_arena_status(m.arena);
  }
  for (size_t i = 0; i < count && !status; i++)
    status = add_stage(&m, dir, &stages[i]);
  if (!status) {
    hsc_json json;
    hsc_bytes_append_text(&out, "{\"module\":");
    hsc_json_init(&json, &out, 0);
    hsc_json_string(&json, name);
    hsc_bytes_append_text(&out, ",\"lines\":");
    hsc_json_init(&json, &out, 0);
    hsc_json_begin_array(&json);
    for (size_t i = 0; i < hsc_map_count(m.lines); i++) {
      hsc_view line;
      (void)hsc_map_at(m.lines, i, &line);
      hsc_json_string_n(&json, line.data, line.size);
    }
    hsc_json_end_array(&json);
    hsc_bytes_append_text(&out, ",\"stages\":[");
    hsc_bytes_append(&out, m.stages.data, m.stages.size);
    hsc_bytes_append_text(&out, "]}");
    status = hsc_bytes_status(&out);
  }
  if (m.sums.pass_count)
    qsort(m.passes, m.sums.pass_count, sizeof *m.passes, by_lines);
  m.sums.passes = m.passes;
  if (!status)
    status = put(user, &m.sums, hsc_bytes_view(&out));
  hsc_bytes_deinit(&out);
  hsc_bytes_deinit(&m.stages);
  hsc_bytes_deinit(&m.before);
  hsc_bytes_deinit(&m.more);
  if (m.lines)
    hsc_map_destroy(m.lines);
  if (m.arena)
    hsc_arena_destroy(m.arena);
  return status;
}

hsc_status *hsc_hlo_stages_read(const char *dir,
                                hsc_status *(*put)(void *user,
                                                   const hsc_hlo_stages *stages,
                                                   hsc_view json),
                                void *user,
                                size_t *out_left_out) {
  stage_list list = {0};
  *out_left_out = 0;
  hsc_status *status = list_stages(dir, &list);
  if (!status && !list.count)
    status = HSC_ERR(NOT_FOUND, "there are no dumps of a compile in %s", dir);
  if (!status)
    qsort(list.items, list.count, sizeof *list.items, by_module_and_run);
  size_t starts[MODULES_AT_MOST + 1];
  size_t sizes[MODULES_AT_MOST + 1];
  size_t modules = 0;
  for (size_t i = 0; i < list.count && !status;) {
    size_t from = i;
    while (i < list.count && !strcmp(list.items[i].module, list.items[from].module))
      i++;
    // Kept sorted by the number of stages; what falls off the end is left out.
    size_t at = modules;
    while (at > 0 && sizes[at - 1] < i - from)
      at--;
    if (modules == MODULES_AT_MOST)
      ++*out_left_out;
    if (at >= MODULES_AT_MOST)
      continue;
    size_t last = modules < MODULES_AT_MOST ? modules++ : MODULES_AT_MOST - 1;
    for (size_t k = last; k > at; k--) {
      starts[k] = starts[k - 1];
      sizes[k] = sizes[k - 1];
    }
    starts[at] = from;
    sizes[at] = i - from;
  }
  for (size_t k = 0; k < modules && !status; k++)
    status = one_module(dir, list.items + starts[k], sizes[k], put, user);
  hsc_free(list.items);
  return status;
}
