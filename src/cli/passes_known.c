// passes_known.c - what is known of passes that hloscope has not itself.
#include "cli/passes_known.h"

#include <ctype.h>
#include <strings.h>

static const hsc_known_pass known[] = {
#define OPEN(name, classes, devices, source, what, more) \
  {name, classes, devices, source, what, more, false},
#define CLOSED(name, classes, devices, source, what, more) \
  {name, classes, devices, source, what, more, true},
#include "passes/manager/known_passes.def"
#undef OPEN
#undef CLOSED
};

// Letters and digits in lower case, at most `size` - 1; *out_bare: behind what stands in front of
// class names.
static void plain(const char *name, char *out, size_t size, const char **out_bare) {
  static const char *const fronts[] = {"hlo", "gpu", "tpu", "cpu"};
  size_t n = 0;
  for (; *name && n + 1 < size; name++)
    if (isalnum((unsigned char)*name))
      out[n++] = (char)tolower((unsigned char)*name);
  out[n] = 0;
  *out_bare = out;
  for (size_t i = 0; i < HSC_COUNT_OF(fronts); i++)
    if (!strncmp(out, fronts[i], 3) && out[3])
      *out_bare = out + 3;
}

bool hsc_pass_name_alike(const char *a, const char *b) {
  char x[128];
  char y[128];
  const char *bare_x;
  const char *bare_y;
  plain(a, x, sizeof x, &bare_x);
  plain(b, y, sizeof y, &bare_y);
  return *x &&
         (!strcmp(x, y) || !strcmp(bare_x, y) || !strcmp(x, bare_y) || !strcmp(bare_x, bare_y));
}

static bool among(const char *list, const char *name, bool alike) {
  for (const char *at = list; *at;) {
    char one[128];
    size_t size = strcspn(at, ",");
    snprintf(one, sizeof one, "%.*s", (int)size, at);
    if (alike ? hsc_pass_name_alike(one, name) : !strcasecmp(one, name))
      return true;
    at += size + (at[size] == ',');
  }
  return false;
}

const hsc_known_pass *hsc_known_pass_find(const char *name) {
  for (int looser = 0; looser < 4; looser++)
    for (size_t i = 0; i < HSC_COUNT_OF(known); i++) {
      const hsc_known_pass *p = &known[i];
      bool alike = looser >= 2;
      if (looser % 2)
        alike = among(p->classes, name, alike);
      else
        alike = alike ? hsc_pass_name_alike(p->name, name) : !strcmp(p->name, name);
      if (alike)
        return p;
    }
  return NULL;
}

static hsc_status *print_json(const hsc_known_pass *p, hsc_cli *cli) {
  hsc_bytes text = {0};
  hsc_json json;
  hsc_json_init(&json, &text, 2);
  hsc_json_begin_object(&json);
  hsc_json_kv_string(&json, "pass", p->name);
  hsc_json_kv_string(&json, "other_names", p->classes);
  hsc_json_kv_string(&json, "devices", p->devices);
  hsc_json_kv_string(&json, "what", p->what);
  hsc_json_kv_string(&json, "built_in", NULL);
  hsc_json_kv_string(&json, "found_2021", NULL);
  hsc_json_kv_string(&json, "more", *p->more ? p->more : NULL);
  hsc_json_kv_string(&json, "source", *p->source ? p->source : NULL);
  hsc_json_kv_bool(&json, "closed", p->closed);
  hsc_json_kv_bool(&json, "on_request", false);
  hsc_json_kv_string(&json, "before", NULL);
  hsc_json_kv_string(&json, "after", NULL);
  hsc_json_end_object(&json);
  hsc_bytes_append_char(&text, '\n');
  hsc_status *status = hsc_bytes_status(&text);
  if (!status)
    hsc_cli_put(cli, &text);
  hsc_bytes_deinit(&text);
  return status;
}

// A device as --device takes it, of the first compiler that lists the pass.
static const char *target_of(const hsc_known_pass *p) {
  if (!strncmp(p->devices, "tpu", 3))
    return "tpu:v5e";
  if (!strncmp(p->devices, "cuda", 4))
    return "cuda:h100";
  return strncmp(p->devices, "xla-cpu", 7) ? "cpu" : "xla-cpu";
}

hsc_status *hsc_known_pass_print(const hsc_known_pass *p, hsc_cli *cli) {
  if (cli->format == HSC_FORMAT_JSON)
    return print_json(p, cli);
  hsc_cli_paragraph(cli, "%s\n\n%s\n", p->name, p->what);
  if (*p->more)
    hsc_cli_paragraph(cli, "\n%s\n", p->more);
  hsc_cli_paragraph(cli, "\nListed by: %s\n", p->devices);
  if (*p->classes)
    hsc_cli_paragraph(cli, "Also called: %s\n", p->classes);
  if (*p->source)
    hsc_cli_paragraph(cli, "Source: %s%s\n", p->source,
                      p->closed ? ", by what libtpu names; it is not public" : " (openxla/xla)");
  if (p->closed)
    hsc_cli_paragraph(cli,
                      "Its source is closed: this is from its name and from the file that libtpu "
                      "names. What it does to a program is seen with the command below.\n");
  const char *target = target_of(p);
  hsc_cli_print(cli,
                "\nBefore and after on a program of yours:\n  hloscope passes diff PROGRAM -d %s "
                "--pass '%s'\n",
                target, p->name);
  return NULL;
}
