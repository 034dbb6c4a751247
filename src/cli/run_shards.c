// run_shards.c - a program of several partitions on a terminal: the answer in a sentence, then a
// chip, the mesh, the collectives, the buffers.
#include <math.h>

#include "base/text/text.h"
#include "cli/run_shards.h"
#include "lab/run/json_tree.h"
#include "lab/run/run_counts.h"

enum { MOST_COLLECTIVES = 24, MOST_DRAWN = 16 };

static double number_of(json_t *from, const char *key) {
  return hsc_json_number(json_object_get(from, key));
}

static const char *quantity(hsc_cli *cli, double value, const char *unit) {
  char text[32];
  if (!isfinite(value))
    return "-";
  hsc_format_quantity(value, unit, cli->out_style.unicode, text);
  return hsc_arena_strdup(cli->arena, text);
}

// "x=2 y=4"
static const char *mesh_text(hsc_cli *cli, json_t *device) {
  hsc_bytes text = {0};
  json_t *axis;
  size_t i;
  json_array_foreach (hsc_json_path(device, "mesh", "axes", NULL), i, axis) {
    const char *name = hsc_json_text(axis, "name");
    hsc_bytes_printf(&text, "%s%s%s%lld", i ? " " : "", name ? name : "", name ? "=" : "",
                     (long long)json_integer_value(json_object_get(axis, "size")));
  }
  const char *copy = hsc_arena_strdup(cli->arena, hsc_bytes_text(&text));
  hsc_bytes_deinit(&text);
  return copy;
}

// Copies of an output that differ between devices are a fault, whatever it is compared with.
static void say_differing_copies(hsc_cli *cli, json_t *device) {
  json_t *output;
  size_t i;
  json_array_foreach (json_object_get(device, "outputs"), i, output)
    if (json_is_true(json_object_get(output, "copies_differ")))
      hsc_cli_paragraph(cli,
                        "%s: output %zu lies on %lld devices for each of its %lld pieces, and "
                        "these copies differ\n",
                        hsc_json_text(device, "device"), i,
                        (long long)json_integer_value(json_object_get(output, "copies")),
                        (long long)json_integer_value(json_object_get(output, "pieces")));
}

// One device that ran what is for several; one that refused it has its error.
static void say_whole(hsc_cli *cli, json_t *device) {
  const char *name = hsc_json_text(device, "device");
  const char *status = hsc_json_text(device, "status");
  long long wanted = json_integer_value(json_object_get(device, "whole_of"));
  if (status && !strcmp(status, "ok"))
    hsc_cli_paragraph(cli, "%s: the whole program on one device, though it is for %lld\n", name,
                      wanted);
  if (strcmp(name, "reference") != 0)
    hsc_cli_paragraph(cli, "-d %s:%lld runs it in parts\n", name, wanted);
}

// What a chip does; of a count with gaps only that it is the least.
static void say_chip(hsc_cli *cli, json_t *device, json_t *per, hsc_bytes *line) {
  size_t collectives = json_array_size(json_object_get(device, "collectives"));
  hsc_bytes uncounted = {0};
  bool gaps = hsc_say_uncounted(per, &uncounted);
  hsc_bytes_printf(line, "; a chip computes %s%sflop%s%s%s, holds %s at its peak",
                   gaps ? "at least " : "", quantity(cli, number_of(per, "flops"), "flops"),
                   gaps ? " (" : "", gaps ? hsc_bytes_text(&uncounted) : "", gaps ? ")" : "",
                   quantity(cli, number_of(per, "peak_bytes"), "bytes"));
  hsc_bytes_printf(line, ", takes part in %zu %s", collectives,
                   hsc_plural((double)collectives, "collective", "collectives"));
  hsc_bytes_deinit(&uncounted);
}

bool hsc_run_shards_headline(hsc_cli *cli, json_t *device) {
  say_differing_copies(cli, device);
  if (json_is_integer(json_object_get(device, "whole_of")))
    say_whole(cli, device);
  json_t *per = json_object_get(device, "per_partition");
  json_t *fits = json_object_get(device, "fits");
  long long partitions = json_integer_value(json_object_get(device, "partitions"));
  long long replicas = json_integer_value(json_object_get(device, "replicas"));
  const char *mesh = mesh_text(cli, device);
  const char *capacity = quantity(cli, number_of(device, "capacity_bytes"), "bytes");
  if (partitions * (replicas ? replicas : 1) < 2)
    return false;
  hsc_bytes line = {0};
  hsc_bytes_printf(&line, "%s: %lld %s", hsc_json_text(device, "device"), partitions,
                   hsc_plural((double)partitions, "partition", "partitions"));
  if (replicas > 1)
    hsc_bytes_printf(&line, ", %lld replicas", replicas);
  if (*mesh)
    hsc_bytes_printf(&line, " (mesh %s)", mesh);
  if (per)
    say_chip(cli, device, per, &line);
  if (json_is_true(fits))
    hsc_bytes_printf(&line, ". Fits in its %s", capacity);
  else if (json_is_false(fits))
    hsc_bytes_printf(&line, ". Does not fit: lacks %s%s%s",
                     quantity(cli, number_of(device, "lacks_bytes"), "bytes"),
                     json_is_integer(json_object_get(device, "capacity_bytes")) ? " in its " : "",
                     json_is_integer(json_object_get(device, "capacity_bytes")) ? capacity : "");
  hsc_cli_paragraph(cli, "%s\n", hsc_bytes_text(&line));
  hsc_bytes_deinit(&line);
  return true;
}

// ---- a chip -------------------------------------------------------------------------------------

static hsc_status *print_chip(hsc_cli *cli, json_t *device) {
  static const char *const rows[][3] = {
      {"flops", "flops", "flops"},          {"transcendentals", "transcendentals", "count"},
      {"bytes accessed", "bytes", "bytes"}, {"arguments", "argument_bytes", "bytes"},
      {"outputs", "output_bytes", "bytes"}, {"temporaries", "temp_bytes", "bytes"},
      {"peak", "peak_bytes", "bytes"},
  };
  json_t *per = json_object_get(device, "per_partition");
  json_t *whole = json_object_get(device, "whole");
  double chips = number_of(device, "partitions") * number_of(device, "replicas");
  hsc_table *table = NULL;
  HSC_TRY(hsc_table_create("chip", &table));
  hsc_table_column(table, "", "");
  hsc_table_column(table, "a chip", "");
  hsc_table_column(table, "all chips", "");
  hsc_table_column(table, "as written", "");
  for (size_t i = 0; i < HSC_COUNT_OF(rows); i++) {
    double value = number_of(per, rows[i][1]);
    if (!isfinite(value))
      continue;
    hsc_table_row(table);
    hsc_table_text(table, rows[i][0]);
    hsc_table_text(table, quantity(cli, value, rows[i][2]));
    hsc_table_text(table, quantity(cli, value * chips, rows[i][2]));
    hsc_table_text(table, quantity(cli, number_of(whole, rows[i][1]), rows[i][2]));
  }
  long long loops = json_integer_value(json_object_get(per, "guessed_loops"));
  if (loops > 0)
    hsc_table_note(table, "%lld %s no trip count in the program: %s as one trip", loops,
                   hsc_plural((double)loops, "loop has", "loops have"),
                   hsc_plural((double)loops, "it counts", "they count"));
  hsc_bytes uncounted = {0};
  if (hsc_say_uncounted(per, &uncounted))
    hsc_table_note(table, "a chip: %s", hsc_bytes_text(&uncounted));
  hsc_bytes_deinit(&uncounted);
  return hsc_cli_table(cli, table);
}

// ---- the mesh -----------------------------------------------------------------------------------

// The partitions in their places: the last axis to the right, the one before it down.
static void draw_mesh(hsc_cli *cli, json_t *device) {
  json_t *axes = hsc_json_path(device, "mesh", "axes", NULL);
  json_t *devices = hsc_json_path(device, "mesh", "devices", NULL);
  size_t rank = json_array_size(axes);
  json_t *right = json_array_get(axes, rank - 1);
  json_t *down = rank > 1 ? json_array_get(axes, rank - 2) : NULL;
  if (!rank)
    return;
  long long columns = json_integer_value(json_object_get(right, "size"));
  long long rows = down ? json_integer_value(json_object_get(down, "size")) : 1;
  long long drawn = columns < MOST_DRAWN ? columns : MOST_DRAWN;
  bool unicode = cli->out_style.unicode;
  const char *name = hsc_json_text(right, "name");
  hsc_cli_print(cli, "%14s%s %s\n", "", name ? name : "last axis", unicode ? "→" : "->");
  for (long long r = 0; r < rows && r < MOST_DRAWN; r++) {
    const char *label = r == 0 && down ? hsc_json_text(down, "name") : NULL;
    const char *arrow = "";
    if (r == 1)
      arrow = unicode ? "↓" : "v";
    hsc_cli_print(cli, "%10s ", label ? label : "");
    hsc_cli_print(cli, "%s%s", arrow, r == 1 ? " " : "  ");
    for (long long c = 0; c < drawn; c++) {
      long long chip = r * columns + c;
      if (devices)
        chip = json_integer_value(json_array_get(devices, (size_t)chip));
      hsc_cli_print(cli, "%4lld", chip);
    }
    hsc_cli_print(cli, "%s\n", drawn < columns ? " ..." : "");
  }
  if (rows > MOST_DRAWN)
    hsc_cli_print(cli, "%14s...\n", "");
  if (rank > 2)
    hsc_cli_print(cli, "%14sthe first of %zu planes\n", "", rank);
  hsc_cli_print(cli, "\n");
}

static hsc_status *print_axes(hsc_cli *cli, json_t *device) {
  hsc_table *table = NULL;
  const char *name;
  json_t *axis;
  if (!json_object_size(json_object_get(device, "axes")))
    return NULL;
  HSC_TRY(hsc_table_create("axes", &table));
  hsc_table_column(table, "along", "");
  hsc_table_column(table, "collectives", "");
  hsc_table_column(table, "bytes a run", "bytes");
  hsc_table_column(table, "sent by a chip", "bytes");
  json_object_foreach (json_object_get(device, "axes"), name, axis) {
    hsc_table_row(table);
    hsc_table_text(table, name);
    hsc_table_int(table, json_integer_value(json_object_get(axis, "collectives")));
    hsc_table_double(table, number_of(axis, "bytes"));
    hsc_table_double(table, number_of(axis, "wire_bytes"));
  }
  hsc_table_note(table, "sent: as in a ring, over all runs of loops");
  hsc_status *status = hsc_cli_table(cli, table);
  hsc_cli_print(cli, "\n");
  return status;
}

// ---- collectives --------------------------------------------------------------------------------

static const char *waits_text(hsc_cli *cli, json_t *c) {
  json_t *between = json_object_get(c, "between");
  long long count = json_integer_value(json_object_get(between, "instructions"));
  if (!json_is_true(json_object_get(c, "async")))
    return "waits";
  if (!count)
    return "async, nothing between";
  return hsc_arena_printf(cli->arena, "async over %lld (%s)", count,
                          quantity(cli, number_of(between, "flops"), "flops"));
}

static hsc_status *print_collectives(hsc_cli *cli, json_t *device) {
  json_t *list = json_object_get(device, "collectives");
  json_t *c;
  size_t i;
  hsc_table *table = NULL;
  if (!json_array_size(list)) {
    hsc_cli_print(cli, "no collectives: the chips do not talk to each other\n\n");
    return NULL;
  }
  static const char *const columns[] = {"collective", "bytes", "group",      "along", "times",
                                        "loop",       "waits", "brought by", "source"};
  HSC_TRY(hsc_table_create("collectives", &table));
  for (size_t k = 0; k < HSC_COUNT_OF(columns); k++)
    hsc_table_column(table, columns[k], k == 1 ? "bytes" : "");
  json_array_foreach (list, i, c) {
    if (i == MOST_COLLECTIVES) {
      hsc_table_note(table, "%zu more are in --format=json", json_array_size(list) - i);
      break;
    }
    bool known = json_is_true(json_object_get(c, "times_known"));
    hsc_table_row(table);
    hsc_table_text(table, hsc_json_text(c, "kind"));
    hsc_table_double(table, number_of(c, "bytes"));
    hsc_table_int(table, json_integer_value(json_object_get(c, "group_size")));
    hsc_table_text(table, hsc_json_text(c, "axes"));
    hsc_table_printf(table, "%lld%s", (long long)json_integer_value(json_object_get(c, "times")),
                     known ? "" : " or more");
    hsc_table_text(table, hsc_json_text(c, "loop"));
    hsc_table_text(table, waits_text(cli, c));
    hsc_table_text(table, hsc_json_text(c, "brought_by"));
    hsc_table_text(table, hsc_json_text(c, "source"));
  }
  hsc_status *status = hsc_cli_table(cli, table);
  hsc_cli_print(cli, "\n");
  return status;
}

static hsc_status *print_buffers(hsc_cli *cli, json_t *device) {
  json_t *list = json_object_get(device, "top_buffers");
  json_t *b;
  size_t i;
  hsc_table *table = NULL;
  if (!json_array_size(list))
    return NULL;
  HSC_TRY(hsc_table_create("buffers", &table));
  hsc_table_column(table, "buffer at the peak", "");
  hsc_table_column(table, "bytes", "bytes");
  hsc_table_column(table, "shape", "");
  hsc_table_column(table, "source", "");
  json_array_foreach (list, i, b) {
    hsc_table_row(table);
    hsc_table_printf(table, "%s%s", hsc_json_text(b, "name"),
                     json_is_true(json_object_get(b, "argument")) ? " (argument)" : "");
    hsc_table_double(table, number_of(b, "bytes"));
    hsc_table_text(table, hsc_json_text(b, "shape"));
    hsc_table_text(table, hsc_json_text(b, "source"));
  }
  hsc_table_note(table, "by the compiled order: %s alive at once, before buffers share memory",
                 quantity(cli, number_of(device, "top_buffers_peak_bytes"), "bytes"));
  hsc_status *status = hsc_cli_table(cli, table);
  hsc_cli_print(cli, "\n");
  return status;
}

hsc_status *hsc_run_shards_print(hsc_cli *cli, json_t *device) {
  if (!json_object_get(device, "per_partition"))
    return NULL;
  HSC_TRY(print_chip(cli, device));
  hsc_cli_print(cli, "\n");
  draw_mesh(cli, device);
  HSC_TRY(print_axes(cli, device));
  HSC_TRY(print_collectives(cli, device));
  return print_buffers(cli, device);
}
