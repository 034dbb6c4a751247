// hlo_diff_print.c - a diff of two modules as text and JSON.
#include "lab/passes/hlo_diff.h"

static const hsc_print_options short_form = {.no_metadata = true,
                                             .elide_large_constants = true,
                                             .no_backend_config = true,
                                             .no_percent = true};

static const char *instr_text(const hsc_instr *instr, hsc_bytes *room) {
  hsc_bytes_reset(room);
  if (instr)
    hsc_instr_print(instr, &short_form, room);
  const char *text = hsc_bytes_text(room);
  while (*text == ' ')
    text++;
  return text;
}

static const hsc_computation *place_of(const hsc_diff_row *row) {
  return row->right ? row->right->parent : row->left->parent;
}

// ---- text ---------------------------------------------------------------------------------------

static const char *const colors[HSC_DIFF_STATES] = {"",         "\x1b[33m", "\x1b[36m",
                                                    "\x1b[36m", "\x1b[32m", "\x1b[31m"};
static const char signs[HSC_DIFF_STATES] = {' ', '~', '>', '>', '+', '-'};

void hsc_diff_counts(const hsc_diff *diff, hsc_bytes *out) {
  static const hsc_diff_state order[] = {HSC_DIFF_KEPT,  HSC_DIFF_CHANGED, HSC_DIFF_FUSED,
                                         HSC_DIFF_MOVED, HSC_DIFF_ADDED,   HSC_DIFF_REMOVED};
  for (size_t i = 0; i < HSC_COUNT_OF(order); i++)
    hsc_bytes_printf(out, "%s%lld %s", i ? ", " : "", (long long)diff->counts[order[i]],
                     hsc_diff_state_text(order[i]));
}

// A row that is shown: parameters of a fusion are not, which are how it names its inputs.
static bool is_shown(const hsc_diff_row *row) {
  bool names_input =
      place_of(row)->scratch && (row->right ? row->right : row->left)->op == HSC_OP_PARAMETER;
  return row->state != HSC_DIFF_KEPT && !names_input;
}

// What the signs mean, and what is not shown.
static void append_note(long long hidden, int width, hsc_bytes *out) {
  hsc_bytes note = {0};
  hsc_bytes_printf(&note, "~ changed   > fused or moved   + added   - removed");
  if (hidden)
    hsc_bytes_printf(&note, "; %lld parameters of fusions are left out", hidden);
  if (hsc_text_width(hsc_bytes_text(&note), note.size) > width)
    hsc_text_wrap(hsc_bytes_text(&note), 0, width, out);
  else
    hsc_bytes_printf(out, "%s\n", hsc_bytes_text(&note));
  hsc_bytes_deinit(&note);
}

void hsc_diff_text(const hsc_diff *diff, const hsc_text_style *style, size_t most, hsc_bytes *out) {
  const hsc_computation *in = NULL;
  hsc_bytes room = {0};
  hsc_bytes old = {0};
  long long hidden = 0;
  size_t shown = 0;
  size_t left_out = 0;
  bool in_color = style && style->color;
  const char *end = in_color ? "\x1b[0m" : "";
  for (size_t i = 0; i < diff->row_count; i++) {
    const hsc_diff_row *row = &diff->rows[i];
    const hsc_computation *place = place_of(row);
    const hsc_instr *fusion = place->scratch;
    if (!is_shown(row)) {
      hidden += row->state != HSC_DIFF_KEPT;
      continue;
    }
    if (most && shown >= most) {
      left_out++;
      continue;
    }
    shown += 1 + (place != in) + (row->state == HSC_DIFF_CHANGED);
    if (place != in) {
      in = place;
      hsc_bytes_printf(out, "%s%s%s%s%s\n", in_color ? "\x1b[1m" : "", in->name,
                       fusion ? ", of " : "", fusion ? fusion->name : "", end);
    }
    const char *color = in_color ? colors[row->state] : "";
    const char *text = instr_text(row->right ? row->right : row->left, &room);
    hsc_bytes_printf(out, "%s%c %s%s", color, signs[row->state], text, end);
    if (row->state == HSC_DIFF_CHANGED)
      hsc_bytes_printf(out, "\n%s    %s; was: %s%s", color, row->what, instr_text(row->left, &old),
                       end);
    hsc_bytes_append_char(out, '\n');
  }
  if (left_out)
    hsc_bytes_printf(out, "and %zu more instructions: --all, or a page: -o FILE.html\n", left_out);
  if (shown)
    hsc_bytes_append_char(out, '\n');
  append_note(hidden, style && style->width > 20 ? style->width : 200, out);
  hsc_bytes_deinit(&room);
  hsc_bytes_deinit(&old);
}

// ---- JSON ---------------------------------------------------------------------------------------

hsc_status *hsc_diff_json(const hsc_diff *diff, bool kept_too, json_t **out_document) {
  json_t *summary = json_object();
  json_t *rows = json_array();
  hsc_bytes room = {0};
  for (int s = 0; s < HSC_DIFF_STATES; s++)
    json_object_set_new(summary, hsc_diff_state_text((hsc_diff_state)s),
                        json_integer((json_int_t)diff->counts[s]));
  for (size_t i = 0; i < diff->row_count; i++) {
    const hsc_diff_row *row = &diff->rows[i];
    if (row->state == HSC_DIFF_KEPT && !kept_too)
      continue;
    json_t *out = json_pack("{s:s, s:s, s:s, s:s}", "state", hsc_diff_state_text(row->state),
                            "what", row->what, "name", (row->right ? row->right : row->left)->name,
                            "computation", place_of(row)->name);
    json_object_set_new(out, "left",
                        row->left ? json_string(instr_text(row->left, &room)) : json_null());
    json_object_set_new(out, "right",
                        row->right ? json_string(instr_text(row->right, &room)) : json_null());
    json_object_set_new(out, "into", row->into ? json_string(row->into->name) : json_null());
    json_array_append_new(rows, out);
  }
  hsc_bytes_deinit(&room);
  *out_document = json_pack("{s:o, s:o}", "summary", summary, "instructions", rows);
  return *out_document ? NULL : hsc_status_out_of_memory();
}
