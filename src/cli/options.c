// options.c - reads an argument vector into structs by rows.
#include "base/text/text.h"
#include "cli/options.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>

enum { MAX_NAMES = 128 };

void hsc_option_names(const hsc_option *option, char out_long[64], char *out_short) {
  size_t length = strcspn(option->name, "|");
  if (length > 63)
    length = 63;
  memcpy(out_long, option->name, length);
  out_long[length] = 0;
  *out_short = option->name[length] == '|' ? option->name[length + 1] : 0;
}

bool hsc_option_has_verb(const hsc_option *option, const char *verb) {
  if (!option->verbs || !verb)
    return true;
  size_t length = strlen(verb);
  for (const char *at = option->verbs; *at; at += *at == ',') {
    size_t size = strcspn(at, ",");
    if (size == length && memcmp(at, verb, size) == 0)
      return true;
    at += size;
  }
  return false;
}

void hsc_option_default_text(const hsc_option *option, hsc_bytes *out) {
  char number[32];
  switch (option->kind) {
    case HSC_OPTION_KIND_INT:
      hsc_bytes_printf(out, "%lld", (long long)option->default_int);
      break;
    case HSC_OPTION_KIND_DOUBLE:
      hsc_bytes_append(out, number, (size_t)hsc_format_double(option->default_double, number));
      break;
    case HSC_OPTION_KIND_STRING:
    case HSC_OPTION_KIND_LIST:
      if (option->default_text)
        hsc_bytes_append_text(out, option->default_text);
      break;
    case HSC_OPTION_KIND_CHOICE:
      if (option->default_int >= 0)
        hsc_bytes_append_text(out, option->choices[option->default_int]);
      break;
    case HSC_OPTION_KIND_FLAG:
    case HSC_OPTION_KIND_END:
      break;
  }
}

static void *field_of(const hsc_option *option, void *args) {
  return (char *)args + option->offset;
}

static void set_int(const hsc_option *option, void *args, int64_t value) {
  if (option->size == sizeof(int)) {
    int narrow = (int)value;
    memcpy(field_of(option, args), &narrow, sizeof narrow);
  } else {
    memcpy(field_of(option, args), &value, sizeof value);
  }
}

// "--name" for options, the name itself for positionals.
static const char *shown_name(const hsc_option *option, hsc_arena *arena) {
  char name[64], letter;
  hsc_option_names(option, name, &letter);
  return option->positional ? hsc_arena_strdup(arena, name) : hsc_arena_printf(arena, "--%s", name);
}

static hsc_status *add_items(hsc_list *list,
                             const char *const *items,
                             size_t count,
                             hsc_arena *arena) {
  const char **merged = HSC_NEW_ARRAY(arena, const char *, list->count + count);
  HSC_TRY(hsc_arena_status(arena));
  if (list->count)
    memcpy(merged, list->items, list->count * sizeof *merged);
  if (count)
    memcpy(merged + list->count, items, count * sizeof *merged);
  *list = (hsc_list){merged, list->count + count};
  return NULL;
}

static hsc_status *split_list(const char *text, hsc_list *list, hsc_arena *arena) {
  while (*text) {
    size_t length = strcspn(text, ",");
    const char *item = hsc_arena_strndup(arena, text, length);
    if (length)
      HSC_TRY(add_items(list, &item, 1, arena));
    text += length;
    if (*text == ',')
      text++;
  }
  return NULL;
}

static hsc_status *set_choice(const hsc_option *option,
                              const char *text,
                              void *args,
                              hsc_arena *arena) {
  size_t count = 0;
  hsc_bytes all = {0};
  for (; option->choices[count]; count++) {
    if (strcmp(option->choices[count], text) == 0) {
      set_int(option, args, (int64_t)count);
      hsc_bytes_deinit(&all);
      return NULL;
    }
    hsc_bytes_printf(&all, "%s%s", count ? ", " : "", option->choices[count]);
  }
  const char *near = hsc_did_you_mean(text, option->choices, count);
  hsc_status *status = HSC_ERR(INVALID_ARGUMENT, "%s: '%s' is none of %s%s%s%s",
                               shown_name(option, arena), text, hsc_bytes_text(&all),
                               near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
  hsc_bytes_deinit(&all);
  return status;
}

static hsc_status *set_whole_number(const hsc_option *option,
                                    const char *text,
                                    void *args,
                                    hsc_arena *arena) {
  char *end;
  errno = 0;
  long long value = strtoll(text, &end, 10);
  if (end == text || *end)
    return HSC_ERR(INVALID_ARGUMENT, "%s: '%s' is not a whole number", shown_name(option, arena),
                   text);
  long long most = option->size == sizeof(int) ? INT_MAX : INT64_MAX;
  if (value < option->min_int)
    return HSC_ERR(INVALID_ARGUMENT, "%s: %s is out of range, the least is %lld",
                   shown_name(option, arena), text, (long long)option->min_int);
  if (errno == ERANGE || value > most)
    return HSC_ERR(INVALID_ARGUMENT, "%s: %s is out of range, the most is %lld",
                   shown_name(option, arena), text, most);
  set_int(option, args, value);
  return NULL;
}

static hsc_status *set_number(const hsc_option *option,
                              const char *text,
                              void *args,
                              hsc_arena *arena) {
  char *end;
  double value = strtod(text, &end);
  if (end == text || *end || !isfinite(value))
    return HSC_ERR(INVALID_ARGUMENT, "%s: '%s' is not a number", shown_name(option, arena), text);
  bool is_default = value == option->default_double;
  if (value < 0 && !is_default)
    return HSC_ERR(INVALID_ARGUMENT, "%s: %s is out of range, the least is 0",
                   shown_name(option, arena), text);
  if (value > HSC_OPTION_MOST)
    return HSC_ERR(INVALID_ARGUMENT, "%s: %s is out of range, the most is %.0f",
                   shown_name(option, arena), text, HSC_OPTION_MOST);
  memcpy(field_of(option, args), &value, sizeof value);
  return NULL;
}

static hsc_status *set_value(const hsc_option *option,
                             const char *text,
                             void *args,
                             hsc_arena *arena) {
  switch (option->kind) {
    case HSC_OPTION_KIND_INT:
      return set_whole_number(option, text, args, arena);
    case HSC_OPTION_KIND_DOUBLE:
      return set_number(option, text, args, arena);
    case HSC_OPTION_KIND_STRING:
      memcpy(field_of(option, args), &text, sizeof text);
      return NULL;
    // a setting is one, whatever its value holds: xla_disable_hlo_passes=cse,dce
    case HSC_OPTION_KIND_LIST:
      if (option->value_name && !strcmp(option->value_name, "NAME=VALUE"))
        return add_items(field_of(option, args), &text, 1, arena);
      return split_list(text, field_of(option, args), arena);
    case HSC_OPTION_KIND_CHOICE:
      return set_choice(option, text, args, arena);
    case HSC_OPTION_KIND_FLAG:
      *(bool *)field_of(option, args) = true;
      return NULL;
    case HSC_OPTION_KIND_END:
      break;
  }
  return NULL;
}

static hsc_status *set_defaults(const hsc_option_set *set, hsc_arena *arena) {
  for (const hsc_option *it = set->options; it && it->kind != HSC_OPTION_KIND_END; it++) {
    switch (it->kind) {
      case HSC_OPTION_KIND_INT:
      case HSC_OPTION_KIND_CHOICE:
        set_int(it, set->args, it->default_int);
        break;
      case HSC_OPTION_KIND_DOUBLE:
        memcpy(field_of(it, set->args), &it->default_double, sizeof it->default_double);
        break;
      case HSC_OPTION_KIND_STRING:
        memcpy(field_of(it, set->args), &it->default_text, sizeof it->default_text);
        break;
      case HSC_OPTION_KIND_LIST:
        *(hsc_list *)field_of(it, set->args) = (hsc_list){0};
        if (it->default_text)
          HSC_TRY(split_list(it->default_text, field_of(it, set->args), arena));
        break;
      case HSC_OPTION_KIND_FLAG:
        *(bool *)field_of(it, set->args) = false;
        break;
      case HSC_OPTION_KIND_END:
        break;
    }
  }
  return NULL;
}

typedef struct parse {
  const char *command_name;
  const hsc_option_set *sets;
  size_t set_count;
  hsc_arena *arena;
  const hsc_option *given_lists[32];  // lists whose default is gone because a value came
  size_t given_list_count;
  const hsc_option *of_verbs[64];  // options that were given and that not every verb takes
  size_t of_verb_count;
  size_t positional_count;  // so far
} parse;

// The row with this long name (of `length` bytes) or, when `letter` is not 0, this short form.
static const hsc_option *find_option(
    const parse *p, const char *name, size_t length, char letter, void **out_args) {
  for (size_t s = 0; s < p->set_count; s++) {
    for (const hsc_option *it = p->sets[s].options; it && it->kind != HSC_OPTION_KIND_END; it++) {
      char long_name[64], short_name;
      if (it->positional)
        continue;
      hsc_option_names(it, long_name, &short_name);
      if (letter ? short_name != letter
                 : strlen(long_name) != length || memcmp(long_name, name, length) != 0)
        continue;
      *out_args = p->sets[s].args;
      return it;
    }
  }
  return NULL;
}

static hsc_status *unknown_option(const parse *p, const char *text) {
  char names[MAX_NAMES][64], letter;
  const char *pointers[MAX_NAMES];
  size_t count = 0;
  for (size_t s = 0; s < p->set_count; s++)
    for (const hsc_option *it = p->sets[s].options;
         it && it->kind != HSC_OPTION_KIND_END && count < MAX_NAMES; it++) {
      if (it->positional)
        continue;
      hsc_option_names(it, names[count], &letter);
      pointers[count] = names[count];
      count++;
    }
  int length = (int)strcspn(text, "=");
  char name[64];
  snprintf(name, sizeof name, "%.*s", length, text + strspn(text, "-"));
  name[strcspn(name, "=")] = 0;
  const char *near = hsc_did_you_mean(name, pointers, count);
  hsc_status *status =
      HSC_ERR(INVALID_ARGUMENT, "%s: unknown option '%.*s'%s%s%s", p->command_name, length, text,
              near ? "; did you mean '--" : "", near ? near : "", near ? "'?" : "");
  return hsc_status_hint(status, "hloscope %s --help shows all options", p->command_name);
}

static hsc_status *give_value(parse *p, const hsc_option *option, const char *text, void *args) {
  if (option->kind == HSC_OPTION_KIND_LIST && option->default_text) {
    bool given = false;
    for (size_t i = 0; i < p->given_list_count; i++)
      given = given || p->given_lists[i] == option;
    if (!given) {
      *(hsc_list *)field_of(option, args) = (hsc_list){0};
      if (p->given_list_count < HSC_COUNT_OF(p->given_lists))
        p->given_lists[p->given_list_count++] = option;
    }
  }
  return set_value(option, text, args, p->arena);
}

// "-q" or "--output=x": an option of this command, and no value that somebody left to the end.
static bool is_option(const parse *p, const char *text) {
  void *args;
  bool is_long = text[0] == '-' && text[1] == '-' && text[2];
  bool is_letter = text[0] == '-' && text[1] && !text[2];
  if (is_long)
    return find_option(p, text + 2, strcspn(text + 2, "="), 0, &args) != NULL;
  return is_letter && find_option(p, "", 0, text[1], &args) != NULL;
}

static hsc_status *take_option(parse *p, int argc, char *const *argv, int *at) {
  const char *text = argv[*at];
  bool is_long = text[1] == '-';
  const char *equals = is_long ? strchr(text, '=') : NULL;
  size_t length = 0;
  if (is_long)
    length = (equals ? (size_t)(equals - text) : strlen(text)) - 2;
  void *args = NULL;
  const hsc_option *option = find_option(p, text + 2, length, is_long ? 0 : text[1], &args);
  if (!option)
    return unknown_option(p, text);
  if (option->verbs && p->of_verb_count < HSC_COUNT_OF(p->of_verbs))
    p->of_verbs[p->of_verb_count++] = option;
  const char *value;
  if (equals)
    value = equals + 1;
  else if (!is_long && text[2])
    value = text + 2;
  else
    value = NULL;
  if (option->kind == HSC_OPTION_KIND_FLAG) {
    if (value)
      return HSC_ERR(INVALID_ARGUMENT, "%s takes no value", shown_name(option, p->arena));
    return set_value(option, NULL, args, p->arena);
  }
  if (!value) {
    if (*at + 1 >= argc)
      return HSC_ERR(INVALID_ARGUMENT, "%s needs a value", shown_name(option, p->arena));
    value = argv[++*at];
    if (is_option(p, value))
      return HSC_ERR(INVALID_ARGUMENT, "%s needs a value, and %s is an option",
                     shown_name(option, p->arena), value);
  }
  return give_value(p, option, value, args);
}

// The n-th positional row over all sets; a rest row stands for all later ones.
static const hsc_option *find_positional(const parse *p, size_t n, void **out_args) {
  for (size_t s = 0; s < p->set_count; s++) {
    for (const hsc_option *it = p->sets[s].options; it && it->kind != HSC_OPTION_KIND_END; it++) {
      if (!it->positional)
        continue;
      *out_args = p->sets[s].args;
      if (n == 0 || it->kind == HSC_OPTION_KIND_LIST)
        return it;
      n--;
    }
  }
  return NULL;
}

static hsc_status *take_positional(parse *p, const char *text) {
  void *args = NULL;
  const hsc_option *option = find_positional(p, p->positional_count, &args);
  if (!option)
    return hsc_status_hint(
        HSC_ERR(INVALID_ARGUMENT, "%s: '%s' is one argument too many", p->command_name, text),
        "hloscope %s --help shows what it takes", p->command_name);
  p->positional_count++;
  if (option->kind == HSC_OPTION_KIND_LIST)
    return add_items(field_of(option, args), &text, 1, p->arena);
  return set_value(option, text, args, p->arena);
}

static bool has_rest(const parse *p) {
  void *args;
  const hsc_option *option = find_positional(p, p->positional_count, &args);
  return option && option->kind == HSC_OPTION_KIND_LIST;
}

// An option that the verb does not know would be taken and do nothing.
static hsc_status *check_verbs(const parse *p) {
  const char *verb = NULL;
  for (size_t s = 0; s < p->set_count; s++)
    for (const hsc_option *it = p->sets[s].options; it && it->kind != HSC_OPTION_KIND_END && !verb;
         it++) {
      int64_t value = 0;
      int narrow;
      if (!it->positional || it->kind != HSC_OPTION_KIND_CHOICE)
        continue;
      memcpy(it->size == sizeof narrow ? (void *)&narrow : (void *)&value,
             field_of(it, p->sets[s].args), it->size);
      verb = it->choices[it->size == sizeof narrow ? narrow : value];
    }
  for (size_t i = 0; verb && i < p->of_verb_count; i++) {
    const hsc_option *option = p->of_verbs[i];
    if (!hsc_option_has_verb(option, verb))
      return hsc_status_hint(
          HSC_ERR(INVALID_ARGUMENT, "%s %s does not take %s, which belongs to: %s", p->command_name,
                  verb, shown_name(option, p->arena), option->verbs),
          "hloscope %s %s --help shows what it takes", p->command_name, verb);
  }
  return NULL;
}

hsc_status *hsc_options_parse(const char *command_name,
                              const hsc_option_set *sets,
                              size_t set_count,
                              int argc,
                              char *const *argv,
                              hsc_arena *arena) {
  parse p = {.command_name = command_name, .sets = sets, .set_count = set_count, .arena = arena};
  for (size_t s = 0; s < set_count; s++)
    HSC_TRY(set_defaults(&sets[s], arena));
  bool options_ended = false;
  for (int at = 0; at < argc; at++) {
    const char *text = argv[at];
    if (!options_ended && strcmp(text, "--") == 0)
      options_ended = true;
    else if (!options_ended && text[0] == '-' && text[1])
      HSC_TRY(take_option(&p, argc, argv, &at));
    else
      HSC_TRY(take_positional(&p, text));
  }
  void *args = NULL;
  const hsc_option *missing = find_positional(&p, p.positional_count, &args);
  if (missing && missing->presence == HSC_REQUIRED &&
      !(has_rest(&p) && ((hsc_list *)field_of(missing, args))->count > 0))
    return hsc_status_hint(HSC_ERR(INVALID_ARGUMENT, "%s: %s is missing: %s", command_name,
                                   missing->name, missing->help),
                           "hloscope %s --help shows what it takes", command_name);
  HSC_TRY(check_verbs(&p));
  return hsc_arena_status(arena);
}
