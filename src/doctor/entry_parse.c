// entry_parse.c - reads one entry of the knowledge base.
//
//   id: torch-xla-device-deprecated          header lines `key: value`, comments begin with #
//   severity: info
//   == match                                 then sections; known names only
//   literal: Use torch_xla.device instead
//   == meaning
//   Any text. A line that would begin a section is led by a backslash.
//
// Two passes: the first counts lists, so that each is one array in the arena. Linear in the size of
// the text.
#include <errno.h>
#include <stdlib.h>

#include "base/text/text.h"
#include "doctor/versions.h"

typedef enum field_kind {
  FIELD_TEXT,
  FIELD_LIST,
  FIELD_FLAG,
  FIELD_SEVERITY,
  FIELD_EVENT,
  FIELD_RANK,
  FIELD_REMEDY
} field_kind;

static const struct header_field {
  const char *key;
  field_kind kind;
  size_t offset;
} header_fields[] = {
    {"id", FIELD_TEXT, offsetof(hsc_entry, id)},
    {"title", FIELD_TEXT, offsetof(hsc_entry, title)},
    {"severity", FIELD_SEVERITY, offsetof(hsc_entry, severity)},
    {"event", FIELD_EVENT, offsetof(hsc_entry, event)},
    {"rank", FIELD_RANK, offsetof(hsc_entry, rank)},
    {"generic", FIELD_FLAG, offsetof(hsc_entry, generic)},
    {"transient", FIELD_FLAG, offsetof(hsc_entry, transient)},
    {"by-text", FIELD_FLAG, offsetof(hsc_entry, by_text)},
    {"systems", FIELD_LIST, offsetof(hsc_entry, systems)},
    {"since", FIELD_LIST, offsetof(hsc_entry, since)},
    {"until", FIELD_LIST, offsetof(hsc_entry, until)},
    {"seen", FIELD_LIST, offsetof(hsc_entry, seen)},
    {"also", FIELD_LIST, offsetof(hsc_entry, also)},
    {"remedy", FIELD_REMEDY, 0},
};

static const struct text_section {
  const char *name;
  size_t offset;
} text_sections[] = {
    {"meaning", offsetof(hsc_entry, meaning)}, {"matters", offsetof(hsc_entry, matters)},
    {"cause", offsetof(hsc_entry, cause)},     {"workaround", offsetof(hsc_entry, workaround)},
    {"before", offsetof(hsc_entry, before)},   {"after", offsetof(hsc_entry, after)},
    {"next", offsetof(hsc_entry, next)},
};

typedef struct parser {
  hsc_view text;
  const char *path;
  hsc_arena *arena;
  hsc_entry *entry;
  size_t at;      // of the next line
  int line;       // of the current one
  hsc_view row;   // the current line, without its end
  unsigned seen;  // header fields, by index
  unsigned seen_sections;
  hsc_match *matches;
  hsc_reference *references;
  hsc_proof_log *logs;
  hsc_proof_program *programs;
  hsc_remedy *remedies;
} parser;

static hsc_status *wrong(const parser *p, const char *format, ...) HSC_PRINTF(2, 3);
static hsc_status *wrong(const parser *p, const char *format, ...) {
  va_list args;
  va_start(args, format);
  hsc_status *status = hsc_status_make_v(HSC_INVALID_ARGUMENT, __FILE__, __LINE__, format, args);
  va_end(args);
  char shown[160];
  int length = p->row.size < sizeof shown ? (int)p->row.size : (int)sizeof shown - 1;
  snprintf(shown, sizeof shown, "%.*s", length, p->row.data ? p->row.data : "");
  return hsc_status_at(status, p->path, p->line, 1, shown);
}

static bool next_row(parser *p) {
  if (p->at >= p->text.size)
    return false;
  const char *start = p->text.data + p->at;
  const char *end = memchr(start, '\n', p->text.size - p->at);
  size_t length = end ? (size_t)(end - start) : p->text.size - p->at;
  p->at += length + 1;
  p->line++;
  if (length && start[length - 1] == '\r')
    length--;
  p->row = (hsc_view){start, length};
  return true;
}

static hsc_view trimmed(hsc_view text) {
  while (text.size && (text.data[0] == ' ' || text.data[0] == '\t')) {
    text.data++;
    text.size--;
  }
  while (text.size && (text.data[text.size - 1] == ' ' || text.data[text.size - 1] == '\t'))
    text.size--;
  return text;
}

static bool is_section(hsc_view row) {
  return row.size >= 3 && !memcmp(row.data, "== ", 3);
}

// "key: value"; the value may be put in double quotes to keep blanks at its ends.
static bool key_value(hsc_view row, hsc_view *out_key, hsc_view *out_value) {
  const char *colon = row.size ? memchr(row.data, ':', row.size) : NULL;
  if (!colon)
    return false;
  *out_key = trimmed((hsc_view){row.data, (size_t)(colon - row.data)});
  *out_value = trimmed((hsc_view){colon + 1, row.size - (size_t)(colon + 1 - row.data)});
  if (out_value->size >= 2 && out_value->data[0] == '"' &&
      out_value->data[out_value->size - 1] == '"') {
    out_value->data++;
    out_value->size -= 2;
  }
  return out_key->size > 0;
}

static const char *const *split_list(hsc_arena *arena, hsc_view value) {
  size_t count = 1;
  for (size_t i = 0; i < value.size; i++)
    count += value.data[i] == ',';
  const char **list = HSC_NEW_ARRAY(arena, const char *, count + 1);
  size_t filled = 0;
  while (list && value.size) {
    const char *comma = memchr(value.data, ',', value.size);
    size_t length = comma ? (size_t)(comma - value.data) : value.size;
    hsc_view item = trimmed((hsc_view){value.data, length});
    if (item.size)
      list[filled++] = hsc_arena_strndup(arena, item.data, item.size);
    length += comma != NULL;
    value.data += length;
    value.size -= length;
  }
  return list;
}

static hsc_status *no_such(
    const parser *p, const char *what, hsc_view name, const char *const *names, size_t count) {
  char text[64];
  snprintf(text, sizeof text, "%.*s", hsc_view_shown(name, 60), name.data);
  const char *near = hsc_did_you_mean(text, names, count);
  return near ? wrong(p, "there is no %s '%s'; did you mean '%s'?", what, text, near)
              : wrong(p, "there is no %s '%s'", what, text);
}

static hsc_status *unknown_key(const parser *p, hsc_view key) {
  const char *names[HSC_COUNT_OF(header_fields)];
  for (size_t i = 0; i < HSC_COUNT_OF(header_fields); i++)
    names[i] = header_fields[i].key;
  return no_such(p, "key", key, names, HSC_COUNT_OF(header_fields));
}

static hsc_status *read_remedy(parser *p, hsc_view value) {
  const char *equals = value.size ? memchr(value.data, '=', value.size) : NULL;
  if (!equals || equals == value.data)
    return wrong(p, "a remedy is written NAME=VALUE");
  hsc_remedy *remedy = &p->remedies[p->entry->remedy_count++];
  remedy->name = hsc_arena_strndup(p->arena, value.data, (size_t)(equals - value.data));
  remedy->value =
      hsc_arena_strndup(p->arena, equals + 1, value.size - (size_t)(equals + 1 - value.data));
  return NULL;
}

// `since` and `until` hold versions, or one word that says why there is none; see
// docs/formats/knowledge.md.
static hsc_status *check_versions(const parser *p, const char *key, const char *const *list) {
  bool is_since = !strcmp(key, "since");
  bool is_until = !strcmp(key, "until");
  if ((!is_since && !is_until && strcmp(key, "seen")) || !list || !list[0])
    return NULL;
  for (size_t i = 0; list[i]; i++) {
    if (hsc_is_package_version(list[i]))
      continue;
    bool alone = i == 0 && !list[1];
    bool word = !strcmp(list[i], "any") || !strcmp(list[i], "unknown") ||
                (is_until && !strcmp(list[i], "open"));
    if (!alone || !word || (!is_since && !is_until))
      return wrong(p,
                   "'%s' is 'PACKAGE VERSION', or for since and until alone: any (no matter of "
                   "versions), unknown (nobody says)%s; not '%s'",
                   key, is_until ? ", open (the newest still shows it)" : "", list[i]);
  }
  return NULL;
}

static hsc_status *read_field(parser *p, const struct header_field *field, hsc_view value) {
  char *target = (char *)p->entry + field->offset;
  char *text = hsc_arena_strndup(p->arena, value.data, value.size);
  HSC_TRY(hsc_arena_status(p->arena));
  switch (field->kind) {
    case FIELD_TEXT:
      memcpy(target, &text, sizeof text);
      return NULL;
    case FIELD_LIST: {
      const char *const *list = split_list(p->arena, value);
      memcpy(target, &list, sizeof list);
      return check_versions(p, field->key, list);
    }
    case FIELD_FLAG: {
      bool on = !strcmp(text, "yes");
      if (!on && strcmp(text, "no"))
        return wrong(p, "'%s' is yes or no, not '%s'", field->key, text);
      memcpy(target, &on, sizeof on);
      return NULL;
    }
    case FIELD_SEVERITY:
      if (!hsc_severity_of_name(text, &p->entry->severity))
        return wrong(p, "severity is info, warning or error, not '%s'", text);
      return NULL;
    case FIELD_EVENT:
      if (!hsc_event_of_name(text, &p->entry->event)) {
        const char *names[HSC_EVENT_COUNT];
        for (int i = 0; i < HSC_EVENT_COUNT; i++)
          names[i] = hsc_event_name((hsc_event)i);
        return no_such(p, "event", value, names, HSC_EVENT_COUNT);
      }
      return NULL;
    case FIELD_RANK: {
      char *end = NULL;
      errno = 0;
      long rank = strtol(text, &end, 10);
      if (errno || !*text || *end || rank < 0 || rank > 100)
        return wrong(p, "rank is a whole number from 0 to 100, not '%s'", text);
      p->entry->rank = (int)rank;
      return NULL;
    }
    case FIELD_REMEDY:
      return read_remedy(p, value);
  }
  return NULL;
}

static hsc_status *read_header_row(parser *p) {
  hsc_view key;
  hsc_view value;
  hsc_view row = trimmed(p->row);
  if (!row.size || row.data[0] == '#')
    return NULL;
  if (!key_value(row, &key, &value))
    return wrong(p, "a line before the first section is 'key: value'");
  for (size_t i = 0; i < HSC_COUNT_OF(header_fields); i++) {
    if (!hsc_view_equals_text(key, header_fields[i].key))
      continue;
    if (header_fields[i].kind != FIELD_REMEDY && (p->seen & (1u << i)))
      return wrong(p, "'%s' is given twice", header_fields[i].key);
    p->seen |= 1u << i;
    if (!value.size)
      return wrong(p, "'%s' has no value", header_fields[i].key);
    return read_field(p, &header_fields[i], value);
  }
  return unknown_key(p, key);
}

// Rows up to the next section, without empty ones at both ends; a leading backslash is dropped.
static hsc_status *read_body(parser *p, hsc_view *out_body) {
  hsc_bytes body = {0};
  size_t kept = 0;
  while (p->at < p->text.size) {
    size_t at = p->at;
    int line = p->line;
    next_row(p);
    if (is_section(p->row)) {
      p->at = at;
      p->line = line;
      break;
    }
    hsc_view row = p->row;
    if (row.size && row.data[0] == '\\') {
      row.data++;
      row.size--;
    }
    if (!row.size && !body.size)
      continue;
    hsc_bytes_append(&body, row.data, row.size);
    if (row.size)
      kept = body.size;
    hsc_bytes_append_char(&body, '\n');
  }
  hsc_status *status = hsc_bytes_status(&body);
  if (!status) {
    char *copy = hsc_arena_strndup(p->arena, hsc_bytes_text(&body), kept);
    *out_body = (hsc_view){copy, copy ? kept : 0};
    if (!copy)
      status = hsc_status_out_of_memory();
  }
  hsc_bytes_deinit(&body);
  return status;
}

static hsc_status *read_match(parser *p) {
  hsc_match *match = &p->matches[p->entry->match_count++];
  *match = (hsc_match){.line = p->line};
  size_t at = p->at;
  size_t rows = 0;
  int line = p->line;
  while (next_row(p) && !is_section(p->row))
    rows++;
  p->at = at;
  p->line = line;
  match->literals = HSC_NEW_ARRAY(p->arena, hsc_view, rows + 1);
  match->absent = HSC_NEW_ARRAY(p->arena, hsc_view, rows + 1);
  if (!match->literals || !match->absent)
    return hsc_status_out_of_memory();
  size_t longest = 0;
  for (size_t i = 0; i < rows; i++) {
    next_row(p);
    hsc_view key;
    hsc_view value;
    hsc_view row = trimmed(p->row);
    if (!row.size || row.data[0] == '#')
      continue;
    if (!key_value(row, &key, &value))
      return wrong(p, "a line of a match is 'literal:', 'not:' or 'regex:'");
    if (!value.size)
      return wrong(p, "'%.*s' has no value", (int)key.size, key.data);
    const char *copy = hsc_arena_strndup(p->arena, value.data, value.size);
    HSC_TRY(hsc_arena_status(p->arena));
    if (hsc_view_equals_text(key, "literal")) {
      match->literals[match->literal_count++] = (hsc_view){copy, value.size};
      if (value.size > longest)
        longest = value.size;
    } else if (hsc_view_equals_text(key, "not")) {
      match->absent[match->absent_count++] = (hsc_view){copy, value.size};
    } else if (hsc_view_equals_text(key, "regex")) {
      if (match->regex)
        return wrong(p, "a match has one regex; further ones are matches of their own");
      match->regex = copy;
    } else {
      return no_such(p, "line of a match", key, (const char *const[]){"literal", "not", "regex"},
                     3);
    }
  }
  if (longest < HSC_ANCHOR_BYTES) {
    p->line = match->line;
    return wrong(p, "a match needs a literal of at least %d bytes: it is what the search looks for",
                 HSC_ANCHOR_BYTES);
  }
  return NULL;
}

static hsc_status *read_references(parser *p) {
  while (p->at < p->text.size) {
    size_t at = p->at;
    int line = p->line;
    next_row(p);
    if (is_section(p->row)) {
      p->at = at;
      p->line = line;
      return NULL;
    }
    hsc_view row = trimmed(p->row);
    if (!row.size || row.data[0] == '#')
      continue;
    size_t length = 0;
    while (length < row.size && row.data[length] != ' ')
      length++;
    if (length < 9 || memcmp(row.data, "https://", 8))
      return wrong(p, "a reference is 'https://... what it says'");
    hsc_view note = trimmed((hsc_view){row.data + length, row.size - length});
    hsc_reference *reference = &p->references[p->entry->reference_count++];
    reference->url = hsc_arena_strndup(p->arena, row.data, length);
    reference->note = hsc_arena_strndup(p->arena, note.data, note.size);
  }
  return NULL;
}

// "proof log" or "proof program DEVICE [OPTIONS]"
static hsc_status *read_proof(parser *p, hsc_view what) {
  int line = p->line;
  if (hsc_view_equals_text(what, "log")) {
    hsc_proof_log *log = &p->logs[p->entry->log_count++];
    log->line = line;
    HSC_TRY(read_body(p, &log->text));
    if (log->text.size)
      return NULL;
    p->line = line;
    return wrong(p, "the proof is empty");
  }
  if (what.size < 8 || memcmp(what.data, "program ", 8))
    return wrong(p, "a proof is 'proof log' or 'proof program DEVICE [OPTIONS]'");
  hsc_view rest = trimmed((hsc_view){what.data + 8, what.size - 8});
  size_t length = 0;
  while (length < rest.size && rest.data[length] != ' ')
    length++;
  if (!length)
    return wrong(p, "a proof by a program names a device");
  hsc_proof_program *program = &p->programs[p->entry->program_count++];
  hsc_view options = trimmed((hsc_view){rest.data + length, rest.size - length});
  *program = (hsc_proof_program){.device = hsc_arena_strndup(p->arena, rest.data, length),
                                 .options = hsc_arena_strndup(p->arena, options.data, options.size),
                                 .line = line};
  return read_body(p, &program->text);
}

static hsc_status *read_section(parser *p) {
  hsc_view name = trimmed((hsc_view){p->row.data + 3, p->row.size - 3});
  if (hsc_view_equals_text(name, "match"))
    return read_match(p);
  if (hsc_view_equals_text(name, "references"))
    return read_references(p);
  if (name.size > 6 && !memcmp(name.data, "proof ", 6))
    return read_proof(p, trimmed((hsc_view){name.data + 6, name.size - 6}));
  const char *names[HSC_COUNT_OF(text_sections) + 3] = {"match", "references", "proof log"};
  for (size_t i = 0; i < HSC_COUNT_OF(text_sections); i++) {
    names[i + 3] = text_sections[i].name;
    if (!hsc_view_equals_text(name, text_sections[i].name))
      continue;
    if (p->seen_sections & (1u << i))
      return wrong(p, "the section '%s' is there twice", text_sections[i].name);
    p->seen_sections |= 1u << i;
    hsc_view body;
    HSC_TRY(read_body(p, &body));
    memcpy((char *)p->entry + text_sections[i].offset, &body.data, sizeof body.data);
    return NULL;
  }
  return no_such(p, "section", name, names, HSC_COUNT_OF(names));
}

// What every entry must have.
static hsc_status *check_complete(parser *p) {
  hsc_entry *e = p->entry;
  p->row = (hsc_view){NULL, 0};
  p->line = 1;
  if (!e->id)
    return wrong(p, "the entry has no id");
  for (const char *c = e->id; *c; c++)
    if (!((*c >= 'a' && *c <= 'z') || (*c >= '0' && *c <= '9') || *c == '-'))
      return wrong(p, "the id '%s' has other characters than a-z, 0-9 and -", e->id);
  if (p->path) {
    const char *file = hsc_path_file(p->path);
    size_t stem = strcspn(file, ".");
    if (strlen(e->id) != stem || memcmp(e->id, file, stem))
      return wrong(p, "the id is '%s', but the file is %s", e->id, file);
  }
  if (!e->title)
    return wrong(p, "the entry has no title");
  if (!(p->seen & (1u << 2)))
    return wrong(p, "the entry has no severity");
  if (!e->match_count)
    return wrong(p, "the entry has no match");
  if (!*e->meaning)
    return wrong(p, "the entry has no meaning");
  if (e->severity != HSC_SEVERITY_INFO && !*e->workaround)
    return wrong(p, "a warning or an error has a workaround");
  if (!e->log_count && !e->program_count)
    return wrong(p, "the entry has no proof");
  return NULL;
}

hsc_status *hsc_entry_parse(hsc_view text,
                            const char *path,
                            hsc_arena *arena,
                            hsc_entry *out_entry) {
  static const char *const none[] = {NULL};
  *out_entry = (hsc_entry){.path = path ? hsc_arena_strdup(arena, path) : NULL,
                           .rank = 50,
                           .systems = none,
                           .since = none,
                           .until = none,
                           .seen = none,
                           .also = none,
                           .meaning = "",
                           .matters = "",
                           .cause = "",
                           .workaround = "",
                           .before = "",
                           .after = "",
                           .next = ""};
  parser p = {.text = text, .path = path, .arena = arena, .entry = out_entry};
  if (text.size && memchr(text.data, 0, text.size))
    return wrong(&p, "the file holds a NUL byte");
  size_t rows = 1;
  for (size_t i = 0; i < text.size; i++)
    rows += text.data[i] == '\n';
  if (rows > 20000)
    return wrong(&p, "the file has %zu lines; an entry is short", rows);
  p.matches = HSC_NEW_ARRAY(arena, hsc_match, rows);
  p.references = HSC_NEW_ARRAY(arena, hsc_reference, rows);
  p.logs = HSC_NEW_ARRAY(arena, hsc_proof_log, rows);
  p.programs = HSC_NEW_ARRAY(arena, hsc_proof_program, rows);
  p.remedies = HSC_NEW_ARRAY(arena, hsc_remedy, rows);
  if (!p.matches || !p.references || !p.logs || !p.programs || !p.remedies)
    return hsc_status_out_of_memory();
  out_entry->matches = p.matches;
  out_entry->references = p.references;
  out_entry->logs = p.logs;
  out_entry->programs = p.programs;
  out_entry->remedies = p.remedies;
  bool in_header = true;
  while (next_row(&p)) {
    if (is_section(p.row)) {
      in_header = false;
      HSC_TRY(read_section(&p));
    } else if (in_header) {
      HSC_TRY(read_header_row(&p));
    } else if (trimmed(p.row).size) {
      return wrong(&p, "this line belongs to no section");
    }
  }
  HSC_TRY(check_complete(&p));
  return hsc_arena_status(arena);
}
