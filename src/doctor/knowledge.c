// knowledge.c - loads the knowledge base from its directories.
#include "base/files/file_io.h"
#include "base/files/places.h"
#include "base/text/text.h"
#include "doctor/knowledge.h"

#include <dirent.h>
#include <stdlib.h>
#include <sys/stat.h>

struct hsc_knowledge {
  hsc_arena *arena;
  const hsc_entry **entries;  // sorted by id
  size_t count, capacity;
  hsc_knowledge_problem *problems;
  size_t problem_count, problem_capacity;
  const char *directory;
};

static hsc_status *add_problem(hsc_knowledge *kb, const char *path, int line, const char *message) {
  if (!HSC_GROW(kb->problems, kb->problem_count, kb->problem_capacity))
    return hsc_status_out_of_memory();
  kb->problems[kb->problem_count++] = (hsc_knowledge_problem){
      hsc_arena_strdup(kb->arena, path), hsc_arena_strdup(kb->arena, message), line};
  return hsc_arena_status(kb->arena);
}

// `replace`: an entry of the same id takes the place of the earlier one (the user's own); else it
// is a problem.
static hsc_status *add_entry(hsc_knowledge *kb, const hsc_entry *entry, bool replace) {
  for (size_t i = 0; i < kb->count; i++) {
    if (strcmp(kb->entries[i]->id, entry->id) != 0)
      continue;
    if (!replace)
      return add_problem(kb, entry->path, 1,
                         hsc_arena_printf(kb->arena, "the id '%s' is taken by %s", entry->id,
                                          kb->entries[i]->path));
    kb->entries[i] = entry;
    return NULL;
  }
  if (!HSC_GROW(kb->entries, kb->count, kb->capacity))
    return hsc_status_out_of_memory();
  kb->entries[kb->count++] = entry;
  return NULL;
}

static hsc_status *load_file(hsc_knowledge *kb, const char *path, bool replace) {
  hsc_bytes text = {0};
  hsc_status *status = hsc_file_read_regular(path, &text);
  hsc_entry *entry = HSC_NEW(kb->arena, hsc_entry);
  if (!entry) {
    hsc_bytes_deinit(&text);
    hsc_status_free(status);
    return hsc_status_out_of_memory();
  }
  if (!status)
    status = hsc_entry_parse(hsc_bytes_view(&text), path, kb->arena, entry);
  hsc_bytes_deinit(&text);
  if (!status)
    return add_entry(kb, entry, replace);
  if (hsc_status_code(status) == HSC_RESOURCE_EXHAUSTED)
    return status;
  hsc_status *problem = add_problem(kb, path, hsc_status_line(status), hsc_status_message(status));
  hsc_status_free(status);
  return problem;
}

static int by_name(const void *a, const void *b) {
  return strcmp(*(char *const *)a, *(char *const *)b);
}

// Files in the order of their names, folders one level deep and more; what begins with a dot is
// left out.
static hsc_status *load_directory(hsc_knowledge *kb,
                                  const char *directory,
                                  bool replace,
                                  int depth) {
  DIR *open = opendir(directory);
  if (!open)
    return depth ? NULL
                 : HSC_ERR(NOT_FOUND, "%s: there is no such directory of the knowledge base",
                           directory);
  char **names = NULL;
  size_t count = 0;
  size_t capacity = 0;
  hsc_status *status = NULL;
  for (struct dirent *item; !status && (item = readdir(open));) {
    if (item->d_name[0] == '.')
      continue;
    if (!HSC_GROW(names, count, capacity))
      status = hsc_status_out_of_memory();
    else if (!(names[count] = hsc_arena_printf(kb->arena, "%s/%s", directory, item->d_name)))
      status = hsc_status_out_of_memory();
    else
      count++;
  }
  closedir(open);
  if (count)
    qsort(names, count, sizeof *names, by_name);
  for (size_t i = 0; i < count && !status; i++) {
    struct stat info;
    if (hsc_ends_with(names[i], ".entry"))
      status = load_file(kb, names[i], replace);
    else if (depth < 4 && !stat(names[i], &info) && S_ISDIR(info.st_mode))
      status = load_directory(kb, names[i], replace, depth + 1);
  }
  hsc_free(names);
  return status;
}

static hsc_status *find_directory(hsc_arena *arena, const char **out_directory) {
  return hsc_place_find_data("HLOSCOPE_KNOWLEDGE", "knowledge", "knowledge base", arena,
                             out_directory);
}

const char *hsc_knowledge_user_dir(hsc_arena *arena) {
  const char *data = getenv("XDG_DATA_HOME");
  const char *home = getenv("HOME");
  if (data && *data)
    return hsc_arena_printf(arena, "%s/hloscope/knowledge", data);
  return home && *home ? hsc_arena_printf(arena, "%s/.local/share/hloscope/knowledge", home) : NULL;
}

static int by_id(const void *a, const void *b) {
  return strcmp((*(const hsc_entry *const *)a)->id, (*(const hsc_entry *const *)b)->id);
}

hsc_status *hsc_knowledge_load(const char *directory, hsc_knowledge **out_knowledge) {
  hsc_knowledge *kb = hsc_alloc(sizeof *kb);
  if (!kb)
    return hsc_status_out_of_memory();
  hsc_status *status = NULL;
  HSC_GOTO(hsc_arena_create(&kb->arena));
  bool with_user = !directory;
  if (directory)
    kb->directory = hsc_arena_strdup(kb->arena, directory);
  else
    HSC_GOTO(find_directory(kb->arena, &kb->directory));
  HSC_GOTO(hsc_arena_status(kb->arena));
  HSC_GOTO(load_directory(kb, kb->directory, false, 0));
  const char *user = with_user ? hsc_knowledge_user_dir(kb->arena) : NULL;
  if (user && hsc_file_exists(user))
    HSC_GOTO(load_directory(kb, user, true, 1));
  if (kb->count)
    qsort(kb->entries, kb->count, sizeof *kb->entries, by_id);
  *out_knowledge = kb;
  return NULL;
done:
  hsc_knowledge_destroy(kb);
  return status;
}

void hsc_knowledge_destroy(hsc_knowledge *kb) {
  if (!kb)
    return;
  hsc_free(kb->entries);
  hsc_free(kb->problems);
  hsc_arena_destroy(kb->arena);
  hsc_free(kb);
}

size_t hsc_knowledge_count(const hsc_knowledge *kb) {
  return kb->count;
}
const hsc_entry *hsc_knowledge_at(const hsc_knowledge *kb, size_t index) {
  return kb->entries[index];
}

const hsc_entry *hsc_knowledge_find(const hsc_knowledge *kb, const char *id) {
  for (size_t i = 0; i < kb->count; i++)
    if (!strcmp(kb->entries[i]->id, id))
      return kb->entries[i];
  return NULL;
}

const char *hsc_knowledge_near(const hsc_knowledge *kb, const char *id) {
  const char **names = hsc_alloc(kb->count * sizeof *names + 1);
  if (!names)
    return NULL;
  for (size_t i = 0; i < kb->count; i++)
    names[i] = kb->entries[i]->id;
  const char *near = hsc_did_you_mean(id, names, kb->count);
  hsc_free(names);
  return near;
}

const hsc_knowledge_problem *hsc_knowledge_problems(const hsc_knowledge *kb, size_t *out_count) {
  *out_count = kb->problem_count;
  return kb->problems;
}
