// serve_folder.c - what serve_folder.h says: the listing, one file as a page, a piece of a
// timeline.
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/stat.h>

#include "base/core/clock.h"
#include "cli/report_files.h"
#include "cli/serve_folder.h"
#include "views/timeline_page.h"

enum { DEEPEST = 3, ENTRIES_AT_MOST = 2000, FIRST_PIXELS = 2400 };

struct hsc_serve {
  hsc_cli *cli;
  int64_t limit;        // rows of each table
  char root[PATH_MAX];  // the directory, resolved
  char token[33];
  // the recording that was asked for last, as long as its file is the same
  char timeline_path[PATH_MAX];
  struct timespec timeline_time;
  hsc_timeline *timeline;
};

// ---- what there is ----

typedef struct entry {
  const char *name, *kind;  // relative to the root
  int64_t bytes, seconds;   // size, age
} entry;

typedef struct entry_list {
  hsc_arena *arena;
  entry items[ENTRIES_AT_MOST];
  size_t count;
  bool cut;
} entry_list;

static int64_t size_of(const char *path, const struct stat *info) {
  if (!S_ISDIR(info->st_mode))
    return info->st_size;
  int64_t sum = 0;
  DIR *open = opendir(path);
  for (struct dirent *e; open && (e = readdir(open));) {
    char inner[PATH_MAX];
    struct stat of;
    if (e->d_name[0] != '.' &&
        snprintf(inner, sizeof inner, "%s/%s", path, e->d_name) < (int)sizeof inner &&
        !stat(inner, &of) && S_ISREG(of.st_mode))
      sum += of.st_size;
  }
  if (open)
    closedir(open);
  return sum;
}

static void list(const hsc_serve *s, const char *relative, int depth, entry_list *out) {
  const char *path = *relative ? hsc_arena_printf(out->arena, "%s/%s", s->root, relative) : s->root;
  DIR *open = opendir(path);
  if (!open)
    return;
  for (struct dirent *e; (e = readdir(open));) {
    if (e->d_name[0] == '.')
      continue;
    if (out->count == ENTRIES_AT_MOST) {
      out->cut = true;
      break;
    }
    const char *name = *relative ? hsc_arena_printf(out->arena, "%s/%s", relative, e->d_name)
                                 : hsc_arena_strdup(out->arena, e->d_name);
    const char *full = hsc_arena_printf(out->arena, "%s/%s", s->root, name);
    struct stat info;
    if (stat(full, &info) || (!S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode)))
      continue;
    const char *kind = hsc_report_kind(full);
    if (kind && (strcmp(kind, "json") || S_ISREG(info.st_mode)))
      out->items[out->count++] = (entry){name, kind, size_of(full, &info),
                                         (int64_t)(hsc_wall_ns() / 1000000000 - info.st_mtime)};
    else if (S_ISDIR(info.st_mode) && depth < DEEPEST)
      list(s, name, depth + 1, out);
  }
  closedir(open);
}

static int by_age(const void *a, const void *b) {
  const entry *x = a;
  const entry *y = b;
  if (x->seconds != y->seconds) {
    if (x->seconds < y->seconds)
      return -1;
    return 1;
  }
  return strcmp(x->name, y->name);
}

static hsc_status *listing(hsc_serve *s, hsc_bytes *out) {
  entry_list *found = hsc_alloc(sizeof *found);
  if (!found)
    return hsc_status_out_of_memory();
  *found = (entry_list){0};
  hsc_bytes text = {0};
  hsc_status *status = hsc_arena_create(&found->arena);
  if (!status) {
    list(s, "", 0, found);
    qsort(found->items, found->count, sizeof *found->items, by_age);
    hsc_json json;
    hsc_json_init(&json, &text, 0);
    hsc_json_begin_object(&json);
    hsc_json_kv_string(&json, "directory", s->root);
    hsc_json_kv_bool(&json, "cut", found->cut);
    hsc_json_key(&json, "entries");
    hsc_json_begin_array(&json);
    for (size_t i = 0; i < found->count; i++) {
      hsc_json_begin_object(&json);
      hsc_json_kv_string(&json, "name", found->items[i].name);
      hsc_json_kv_string(&json, "kind", found->items[i].kind);
      hsc_json_kv_int(&json, "bytes", found->items[i].bytes);
      hsc_json_kv_int(&json, "age", found->items[i].seconds);
      hsc_json_end_object(&json);
    }
    hsc_json_end_array(&json);
    hsc_json_end_object(&json);
    hsc_page page;
    hsc_page_begin(&page, hsc_report_base_name(s->root), out);
    hsc_page_part(&page, "listing", hsc_report_base_name(s->root), "", NULL, hsc_bytes_view(&text));
    hsc_page_end(&page);
    hsc_arena_destroy(found->arena);
    status = hsc_bytes_status(out);
  }
  hsc_bytes_deinit(&text);
  hsc_free(found);
  return status;
}

// ---- one of them ----

// A file or a folder that a page shows; opening a pipe would wait for its writer for ever.
static bool is_shown(const char *path) {
  struct stat info;
  return stat(path, &info) == 0 && (S_ISREG(info.st_mode) || S_ISDIR(info.st_mode)) &&
         hsc_report_kind(path);
}

// The file of this name: inside of the root also after links and dots are followed, and something
// that a page shows.
static bool resolve(const hsc_serve *s, const char *name, char out[PATH_MAX]) {
  char path[PATH_MAX];
  size_t root = strlen(s->root);
  if (!*name || snprintf(path, sizeof path, "%s/%s", s->root, name) >= (int)sizeof path ||
      !realpath(path, out))
    return false;
  return !strncmp(out, s->root, root) && out[root] == '/' && is_shown(out);
}

static hsc_status *open_timeline(hsc_serve *s, const char *path) {
  struct stat info;
  if (stat(path, &info))
    return hsc_status_errno(errno, "read", path);
  if (s->timeline && !strcmp(s->timeline_path, path) &&
      s->timeline_time.tv_sec == info.st_mtim.tv_sec &&
      s->timeline_time.tv_nsec == info.st_mtim.tv_nsec)
    return NULL;
  hsc_timeline_close(s->timeline);
  s->timeline = NULL;
  hsc_status *status;
  if (!strcmp(hsc_report_kind(path), "profile")) {
    hsc_profile *profile = NULL;
    HSC_TRY(hsc_profile_open(path, &profile));
    status = hsc_timeline_open_profile(profile, &s->timeline);
    hsc_profile_close(profile);
  } else {
    hsc_capture *capture = NULL;
    HSC_TRY(hsc_capture_open(path, &capture));
    status = hsc_timeline_open_capture(capture, &s->timeline);
    hsc_capture_close(capture);
  }
  if (status)
    return status;
  snprintf(s->timeline_path, sizeof s->timeline_path, "%s", path);
  s->timeline_time = info.st_mtim;
  return NULL;
}

static void percent(hsc_bytes *out, const char *text) {
  for (; *text; text++) {
    bool plain = (*text >= 'a' && *text <= 'z') || (*text >= 'A' && *text <= 'Z') ||
                 (*text >= '0' && *text <= '9') || strchr("-._~/", *text);
    if (plain)
      hsc_bytes_append_char(out, *text);
    else
      hsc_bytes_printf(out, "%%%02X", (unsigned char)*text);
  }
}

static hsc_status *slice(
    hsc_serve *s, const char *path, double from, double to, int pixels, hsc_bytes *out) {
  hsc_bytes remote = {0};
  HSC_TRY(open_timeline(s, path));
  hsc_bytes_printf(&remote, "/%s/range/", s->token);
  percent(&remote, path + strlen(s->root) + 1);
  hsc_status *status =
      hsc_timeline_slice(s->timeline, from, to, pixels, hsc_bytes_text(&remote), out);
  hsc_bytes_deinit(&remote);
  return status;
}

static hsc_status *first_piece(void *user, const char *path, hsc_bytes *out) {
  return slice(user, path, 0, INFINITY, FIRST_PIXELS, out);
}

static hsc_status *view(hsc_serve *s, const char *path, hsc_bytes *out) {
  hsc_page page;
  hsc_report_options o = {.limit = s->limit, .first_piece = first_piece, .user = s};
  hsc_page_begin(&page, path + strlen(s->root) + 1, out);
  hsc_status *status = hsc_report_add_file(&page, path, &o, s->cli);
  hsc_page_end(&page);
  return status ? status : hsc_bytes_status(out);
}

// A page from a file may ask nothing of anybody; a served one may ask its server.
static void allow_own_server(hsc_bytes *html) {
  static const char rule[] = "default-src 'none'; ";
  static const char with[] = "connect-src 'self'; ";
  char *at = memmem(html->data, html->size < 2000 ? html->size : 2000, rule, sizeof rule - 1);
  if (!at)
    return;
  size_t place = (size_t)(at - (char *)html->data) + sizeof rule - 1;
  size_t size = html->size;
  if (!hsc_bytes_extend(html, sizeof with - 1))
    return;
  char *text = (char *)html->data;
  memmove(text + place + sizeof with - 1, text + place, size - place);
  memcpy(text + place, with, sizeof with - 1);
}

static double number(const hsc_http_request *r, const char *key, double otherwise) {
  const char *text = r->query(r->connection, key);
  char *end;
  double value = text ? strtod(text, &end) : 0;
  return text && end != text && !*end ? value : otherwise;
}

void hsc_serve_answer(void *user, const hsc_http_request *request, hsc_http_response *response) {
  hsc_serve *s = user;
  static const char html[] = "text/html; charset=utf-8";
  const char *slash = strchr(request->path, '/');
  size_t verb = slash ? (size_t)(slash - request->path) : strlen(request->path);
  char path[PATH_MAX];
  hsc_status *status = NULL;
  bool is_view = verb == 4 && !memcmp(request->path, "view", 4);
  bool is_range = verb == 5 && !memcmp(request->path, "range", 5);
  bool is_file = verb == 4 && !memcmp(request->path, "file", 4);
  if (!*request->path) {
    response->type = html;
    status = listing(s, &response->body);
  } else if ((!is_view && !is_range && !is_file) || !slash || !resolve(s, slash + 1, path)) {
    response->status = 404;
    hsc_bytes_append_text(&response->body, "There is nothing of this name.\n");
    return;
  } else if (is_view) {
    response->type = html;
    status = view(s, path, &response->body);
    if (!status)
      allow_own_server(&response->body);
  } else if (is_range) {
    const char *kind = hsc_report_kind(path);
    response->type = "application/json";
    if (strcmp(kind, "capture") && strcmp(kind, "profile"))
      status = HSC_ERR(INVALID_ARGUMENT, "this has no timeline");
    else
      status = slice(s, path, number(request, "from", 0), number(request, "to", INFINITY),
                     (int)fmin(16384, fmax(16, number(request, "pixels", FIRST_PIXELS))),
                     &response->body);
  } else {
    response->type = "application/octet-stream";
    snprintf(response->file, sizeof response->file, "%s", path);
  }
  if (!status)
    return;
  response->status = hsc_status_code(status) == HSC_NOT_FOUND ? 404 : 500;
  response->type = "text/plain; charset=utf-8";
  response->body.size = 0;
  hsc_error_text(status, &(hsc_text_style){0}, &response->body);
  hsc_status_free(status);
}

// ---- its life ----

static hsc_status *make_token(char out[33]) {
  unsigned char bytes[16];
  if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes)
    return hsc_status_errno(errno, "draw a token from", "getrandom");
  for (int i = 0; i < 16; i++)
    snprintf(out + 2 * i, 3, "%02x", bytes[i]);
  return NULL;
}

hsc_status *hsc_serve_open(const char *folder, int64_t limit, hsc_cli *cli, hsc_serve **out_serve) {
  hsc_serve *s = hsc_alloc(sizeof *s);
  if (!s)
    return hsc_status_out_of_memory();
  *s = (hsc_serve){.cli = cli, .limit = limit};
  struct stat info;
  hsc_status *status = NULL;
  if (!realpath(folder, s->root) || stat(s->root, &info))
    status = hsc_status_errno(errno, "open the directory", folder);
  else if (!S_ISDIR(info.st_mode))
    status = hsc_status_hint(HSC_ERR(INVALID_ARGUMENT, "%s is a file, not a directory", folder),
                             "`hloscope report %s` makes a page of it", folder);
  if (!status)
    status = make_token(s->token);
  if (status)
    hsc_free(s);
  else
    *out_serve = s;
  return status;
}

const char *hsc_serve_root(const hsc_serve *s) {
  return s->root;
}

const char *hsc_serve_token(const hsc_serve *s) {
  return s->token;
}

void hsc_serve_close(hsc_serve *s) {
  if (!s)
    return;
  hsc_timeline_close(s->timeline);
  hsc_free(s);
}
