// error_text.c - a status for people and for programs.
//
//   error: dot: contracting dimensions differ: lhs[1] = 128, rhs[0] = 64
//     --> models/broken.hlo:7:12   %d = f32[32,64] dot(%x, %w), lhs_contracting_dims={1}
//                                  ^
//     while: reading the program
//     hint: hloscope convert --help says which formats there are
#include "base/text/text.h"
#include "cli/command.h"

// how much of a long source line is shown, where the width of the terminal is not known
enum { SOURCE_WIDTH = 120 };

int hsc_exit_code_of(const hsc_status *status, bool is_usage_error) {
  if (!status)
    return 0;
  if (is_usage_error || hsc_status_is_usage(status))
    return 2;
  return hsc_status_code(status) == HSC_UNIMPLEMENTED ? 3 : 1;
}

// "path:7:12", as much of it as is known.
static void write_place(const hsc_status *status, hsc_bytes *out) {
  hsc_bytes_append_text(out, hsc_status_path(status) ? hsc_status_path(status) : "input");
  if (hsc_status_line(status))
    hsc_bytes_printf(out, ":%d", hsc_status_line(status));
  if (hsc_status_line(status) && hsc_status_column(status))
    hsc_bytes_printf(out, ":%d", hsc_status_column(status));
}

static bool points_somewhere(const hsc_status *status) {
  return hsc_status_path(status) || hsc_status_line(status) > 0;
}

// The next UTF-8 boundary at or after `at`.
static size_t boundary(const char *text, size_t length, size_t at) {
  while (at < length && ((unsigned char)text[at] & 0xc0) == 0x80)
    at++;
  return at < length ? at : length;
}

// Control characters would move the caret too.
static bool is_blank(const char *line, size_t at, size_t length) {
  bool in_pair = at > 0 && hsc_text_control((hsc_view){line, length}, at - 1) > 1;
  return (unsigned char)line[at] < 0x20 || in_pair ||
         hsc_text_control((hsc_view){line, length}, at) > 0;
}

// The source line from its first character that is not blank, moved so that the column is in sight,
// and a caret under the column.
static void write_source(const hsc_status *status, int indent, int room, hsc_bytes *out) {
  const char *line = hsc_status_source_line(status);
  size_t length = strcspn(line, "\r\n");
  size_t begin = strspn(line, " \t");
  size_t column = hsc_status_column(status) > 0 ? (size_t)hsc_status_column(status) - 1 : begin;
  if (begin > length)
    begin = length;
  if (column > length)
    column = length;
  if (begin > column)
    begin = column;
  if (column - begin > (size_t)room * 2 / 3)
    begin = boundary(line, length, column - (size_t)room / 3);
  size_t end =
      length - begin > (size_t)room ? boundary(line, length, begin + (size_t)room) : length;
  for (size_t i = begin; i < end; i++)
    hsc_bytes_append_char(out, is_blank(line, i, length) ? ' ' : line[i]);
  hsc_bytes_append_char(out, '\n');
  if (hsc_status_column(status) <= 0)
    return;
  for (int i = 0; i < indent + hsc_text_width(line + begin, column - begin); i++)
    hsc_bytes_append_char(out, ' ');
  hsc_bytes_append_text(out, "^\n");
}

void hsc_error_text(const hsc_status *status, const hsc_text_style *style, hsc_bytes *out) {
  const char *message = hsc_status_message(status);
  hsc_bytes_printf(out, "%serror:%s ", style->color ? "\x1b[1;31m" : "",
                   style->color ? "\x1b[0m" : "");
  hsc_text_plain(hsc_view_of(message), false, out);
  hsc_bytes_append_char(out, '\n');
  if (points_somewhere(status)) {
    hsc_bytes place = {0};
    write_place(status, &place);
    hsc_bytes_append_text(out, "  --> ");
    hsc_text_plain(hsc_bytes_view(&place), false, out);
    int indent = 6 + hsc_text_width(hsc_bytes_text(&place), place.size) + 3;
    int room = style->width > indent + 20 ? style->width - indent : SOURCE_WIDTH;
    if (hsc_status_source_line(status)) {
      hsc_bytes_append_text(out, "   ");
      write_source(status, indent, room, out);
    } else {
      hsc_bytes_append_char(out, '\n');
    }
    hsc_bytes_deinit(&place);
  }
  for (const char *note = hsc_status_notes(status); *note;) {
    size_t length = strcspn(note, "\n");
    hsc_bytes_append_text(out, "  ");
    hsc_text_plain((hsc_view){note, length}, false, out);
    hsc_bytes_append_char(out, '\n');
    note += length;
    if (*note)
      note++;
  }
  if (hsc_status_code(status) == HSC_INTERNAL) {
    int line;
    const char *file = hsc_status_made_at(status, &line);
    hsc_bytes_printf(out, "  from: %s:%d (hloscope %s); %s\n", file, line, HSC_VERSION,
                     hsc_code_advice(HSC_INTERNAL));
  }
  if (hsc_status_hint_text(status)) {
    hsc_bytes_append_text(out, "  hint: ");
    hsc_text_plain(hsc_view_of(hsc_status_hint_text(status)), false, out);
    hsc_bytes_append_char(out, '\n');
  }
}

void hsc_error_json(const hsc_status *status, hsc_bytes *out) {
  hsc_json json;
  hsc_bytes place = {0};
  if (points_somewhere(status))
    write_place(status, &place);
  hsc_json_init(&json, out, 2);
  hsc_json_begin_object(&json);
  hsc_json_key(&json, "error");
  hsc_json_begin_object(&json);
  hsc_json_kv_string(&json, "code", hsc_code_name(hsc_status_code(status)));
  hsc_json_kv_string(&json, "message", hsc_status_message(status));
  hsc_json_kv_string(&json, "where", place.size ? hsc_bytes_text(&place) : NULL);
  hsc_json_kv_string(&json, "hint", hsc_status_hint_text(status));
  hsc_json_key(&json, "notes");
  hsc_json_begin_array(&json);
  for (const char *note = hsc_status_notes(status); *note;) {
    size_t length = strcspn(note, "\n");
    hsc_json_string_n(&json, note, length);
    note += length;
    if (*note)
      note++;
  }
  hsc_json_end_array(&json);
  hsc_json_end_object(&json);
  hsc_json_end_object(&json);
  hsc_bytes_append_char(out, '\n');
  hsc_bytes_deinit(&place);
}
