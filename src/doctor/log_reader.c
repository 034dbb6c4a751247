// log_reader.c - cuts a stream into lines where something was found, and only there.
//
// The search runs over whole blocks; newlines are counted between two hits, so a line without
// anything costs no call of its own.
#include "base/core/clock.h"
#include "doctor/log_internal.h"

enum {
  LINE_BYTES_MAX = HSC_LOG_SEGMENT_BYTES / 32,
  OVERLAP_BYTES = 8192,
  PENDING_MAX = 16,
  PADDING = 8,
  PEEK_LINES = 3
};

typedef struct pending {
  size_t entry;
  size_t at;  // where on the line
  hsc_capture_groups groups;
} pending;

struct hsc_log_reader {
  hsc_arena *arena;
  hsc_matcher *matcher;
  hsc__tally tally;
  hsc_bytes buffer;  // not yet looked at; PADDING bytes are readable after it
  hsc_bytes clean;   // a block without escapes
  uint64_t lines;    // newlines in what was looked at
  uint64_t bytes;
  bool ended_in_line;            // the last block ended without a newline
  pending pending[PENDING_MAX];  // what was recognised on the current line
  size_t pending_count;
};

hsc_status *hsc_log_reader_create(const hsc_knowledge *knowledge,
                                  const hsc_log_options *options,
                                  hsc_log_reader **out_reader) {
  hsc_log_reader *reader = hsc_alloc(sizeof *reader);
  if (!reader)
    return hsc_status_out_of_memory();
  hsc_status *status = NULL;
  HSC_GOTO(hsc_arena_create(&reader->arena));
  HSC_GOTO(hsc_matcher_create(knowledge, &reader->matcher));
  HSC_GOTO(hsc__tally_init(&reader->tally, reader->arena, knowledge, options));
  *out_reader = reader;
  return NULL;
done:
  hsc_log_reader_destroy(reader);
  return status;
}

void hsc_log_reader_destroy(hsc_log_reader *reader) {
  if (!reader)
    return;
  hsc__tally_deinit(&reader->tally);
  hsc_matcher_destroy(reader->matcher);
  hsc_bytes_deinit(&reader->buffer);
  hsc_bytes_deinit(&reader->clean);
  hsc_arena_destroy(reader->arena);
  hsc_free(reader);
}

const hsc_log_report *hsc_log_reader_report(const hsc_log_reader *reader) {
  return &reader->tally.report;
}
uint64_t hsc_log_reader_bytes(const hsc_log_reader *reader) {
  return reader->bytes;
}
const hsc_knowledge_problem *hsc_log_reader_problems(const hsc_log_reader *reader,
                                                     size_t *out_count) {
  return hsc_matcher_problems(reader->matcher, out_count);
}

// Newlines in a run of bytes, and where the last of them is (*io_last stays where there is none);
// memchr of the C library is the fastest thing at hand for lines of usual length.
static uint64_t count_newlines(const char *text, size_t size, const char **io_last) {
  uint64_t count = 0;
  const char *end = text + size;
  while (text < end && (text = memchr(text, '\n', (size_t)(end - text)))) {
    *io_last = text;
    count++;
    text++;
  }
  return count;
}

// Copies without ANSI escapes: CSI (ESC [ ... letter), OSC (ESC ] ... BEL or ESC \), and two-byte
// ones.
static void strip_escapes(hsc_view text, hsc_bytes *out) {
  hsc_bytes_reset(out);
  const char *at = text.data;
  const char *end = text.data + text.size;
  while (at < end) {
    const char *escape = memchr(at, 0x1b, (size_t)(end - at));
    if (!escape)
      escape = end;
    hsc_bytes_append(out, at, (size_t)(escape - at));
    if (escape == end)
      return;
    at = escape + 1;
    if (at == end)
      return;
    if (*at == '[') {
      at++;
      while (at < end && *at != '\n' && ((unsigned char)*at < 0x40 || (unsigned char)*at > 0x7e))
        at++;
      if (at < end && *at != '\n')
        at++;
    } else if (*at == ']') {
      while (at < end && *at != '\n' && *at != 7 && *at != 0x1b)
        at++;
      if (at < end && *at == 7)
        at++;
      else if (at + 1 < end && *at == 0x1b && at[1] == '\\')
        at += 2;
    } else if (*at != '\n') {
      at++;
    }
  }
}

static const char *last_of(const char *from, const char *to, char c) {
  const char *found = from < to ? memrchr(from, c, (size_t)(to - from)) : NULL;
  return found;
}

// The line, or the part of it between carriage returns, around `at`. It begins after `newline`
// (the last one before `at`, NULL = with the text).
static hsc_view line_around(hsc_view text, size_t at, const char *newline, bool has_returns) {
  const char *place = text.data + at;
  const char *low = at > LINE_BYTES_MAX ? place - LINE_BYTES_MAX : text.data;
  const char *high =
      text.size - at > LINE_BYTES_MAX ? place + LINE_BYTES_MAX : text.data + text.size;
  const char *start = newline && newline >= low ? newline + 1 : low;
  const char *end = memchr(place, '\n', (size_t)(high - place));
  if (!end)
    end = high;
  const char *back = has_returns ? last_of(start, place, '\r') : NULL;
  if (back)
    start = back + 1;
  const char *forth = has_returns ? memchr(place, '\r', (size_t)(end - place)) : NULL;
  if (forth)
    end = forth;
  return (hsc_view){start, (size_t)(end - start)};
}

// The time of a line, else of one of the next few: a line "Compiler status PASS" has none of its
// own.
static hsc_log_time time_near(hsc_view text, hsc_view line, bool live) {
  hsc_log_time time = hsc_line_time(line);
  if (live) {
    time.arrival_ns = hsc_wall_ns();
    return time;
  }
  const char *at = line.data + line.size;
  const char *end = text.data + text.size;
  for (int i = 0; i < PEEK_LINES && !time.zoned_ns && !time.local_ns && at < end; i++) {
    const char *next = memchr(at, '\n', (size_t)(end - at));
    if (!next)
      break;
    at = next + 1;
    hsc_view following = {at, (size_t)(end - at) < 200 ? (size_t)(end - at) : 200};
    const char *stop = following.size ? memchr(at, '\n', following.size) : NULL;
    if (stop)
      following.size = (size_t)(stop - at);
    time = hsc_line_time(following);
  }
  return time;
}

// Of a very long line the part that is worth showing: from a little before what was recognised.
static hsc_view around(hsc_view line, size_t at) {
  enum { BEFORE_BYTES = 120, SHORT_BYTES = 300 };
  if (at <= SHORT_BYTES)
    return line;
  size_t from = at - BEFORE_BYTES;
  // not within a character
  while (from < at && ((unsigned char)line.data[from] & 0xc0) == 0x80)
    from++;
  return (hsc_view){line.data + from, line.size - from};
}

// What was recognised on the line is counted: generic entries only where no other spoke, and of
// those the ones of the highest rank.
static hsc_status *commit_line(hsc_log_reader *reader,
                               hsc_view text,
                               hsc_view line,
                               uint64_t line_number) {
  const hsc_knowledge *kb = reader->tally.knowledge;
  int least_rank = -1;  // of generic entries that count
  for (size_t i = 0; i < reader->pending_count; i++) {
    const hsc_capture_groups *groups = &reader->pending[i].groups;
    if (groups->version.size)
      HSC_TRY(hsc_versions_add(reader->tally.versions, groups->package, groups->version,
                               HSC_VERSIONS_FROM_LOG));
  }
  for (size_t i = 0; i < reader->pending_count;) {
    const hsc_entry *entry = hsc_knowledge_at(kb, reader->pending[i].entry);
    if (hsc__tally_excludes(&reader->tally, reader->pending[i].entry)) {  // then another may speak
      HSC_TRY(hsc__tally_leave_out(&reader->tally, reader->pending[i].entry, line, line_number));
      reader->pending[i] = reader->pending[--reader->pending_count];
      continue;
    }
    i++;
    int rank = entry->generic ? entry->rank : 101;
    if (rank > least_rank)
      least_rank = rank;
  }
  size_t count = reader->pending_count;
  reader->pending_count = 0;
  for (size_t i = 0; i < count; i++) {
    const pending *p = &reader->pending[i];
    const hsc_entry *entry = hsc_knowledge_at(kb, p->entry);
    if (entry->generic && entry->rank < least_rank)
      continue;
    hsc_log_time now = {0};
    if (entry->event != HSC_EVENT_NONE)
      now = time_near(text, line, reader->tally.options.live);
    HSC_TRY(hsc__tally_line(&reader->tally, p->entry, around(line, p->at), line_number, &p->groups,
                            now));
  }
  return NULL;
}

static size_t digits(const char *at, const char *end) {
  size_t n = 0;
  while (at + n < end && at[n] >= '0' && at[n] <= '9')
    n++;
  return n;
}

static bool begins(const char *at, const char *end, const char *text) {
  size_t size = strlen(text);
  return (size_t)(end - at) >= size && !memcmp(at, text, size);
}

// What launchers write before each line of a process: "[rank3]: " (torchrun), "[1,3]<stderr>:"
// (mpirun --tag-output), "(train pid=17, ip=10.0.0.2) " (Ray), "3: " (srun --label). NULL =
// nothing.
static const char *after_tag(const char *at, const char *end) {
  enum { LONGEST = 80 };
  const char *close;
  if (at < end && *at == '(') {
    close = memchr(at, ')', (size_t)(end - at < LONGEST ? end - at : LONGEST));
    bool has_pid = close && memmem(at, (size_t)(close - at), "pid=", 4);
    return has_pid ? close + 1 : NULL;
  }
  bool bracket = at < end && *at == '[';
  at += bracket;
  at += bracket && begins(at, end, "rank") ? strlen("rank") : 0;
  size_t n = digits(at, end);
  if (!n)
    return NULL;
  at += n;
  if (bracket && at < end && *at == ',')
    at += 1 + digits(at + 1, end);
  if (bracket && !(at < end && *at++ == ']'))
    return NULL;
  if (begins(at, end, "<stderr>") || begins(at, end, "<stdout>"))
    at += strlen("<stderr>");
  return at < end && *at == ':' ? at + 1 : NULL;
}

// The line without its launcher's tag, so that what stands at the beginning of a message is found
// there; the whole line where `place` is inside of the tag.
static hsc_view untagged(hsc_view line, const char *place) {
  const char *end = line.data + line.size;
  const char *at = after_tag(line.data, end);
  while (at && at < end && *at == ' ')
    at++;
  return at && at <= place ? (hsc_view){at, (size_t)(end - at)} : line;
}

static void try_line(hsc_log_reader *reader, int anchor, hsc_view line, const char *place) {
  size_t entry = hsc_matcher_entry_of(reader->matcher, anchor);
  for (size_t i = 0; i < reader->pending_count; i++)
    if (reader->pending[i].entry == entry)
      return;
  hsc_capture_groups groups;
  if (reader->pending_count == PENDING_MAX ||
      !hsc_matcher_try(reader->matcher, anchor, untagged(line, place), place, &groups))
    return;
  reader->pending[reader->pending_count++] = (pending){entry, (size_t)(place - line.data), groups};
}

// Looks at `text`, which ends with a newline unless it is a piece of a longer line. PADDING bytes
// after it are readable.
static hsc_status *look_at(hsc_log_reader *reader, hsc_view text) {
  if (text.size && memchr(text.data, 0x1b, text.size)) {
    strip_escapes(text, &reader->clean);
    hsc_bytes_append(&reader->clean, "\0\0\0\0\0\0\0\0", PADDING);
    HSC_TRY(hsc_bytes_status(&reader->clean));
    text = (hsc_view){reader->clean.data, reader->clean.size - PADDING};
  }
  size_t at = 0;
  size_t counted = 0;
  int anchor = -1;
  hsc_view line = {text.data, 0};
  const char *line_end = text.data;
  uint64_t line_number = reader->lines + 1;
  const char *newline = NULL;
  const bool has_returns = text.size && memchr(text.data, '\r', text.size);
  while (hsc_matcher_next(reader->matcher, text.data, text.size, &at, &anchor)) {
    const char *place = text.data + at;
    if (place >= line_end) {
      if (reader->pending_count)
        HSC_TRY(commit_line(reader, text, line, line_number));
      reader->lines += count_newlines(text.data + counted, at - counted, &newline);
      line = line_around(text, at, newline, has_returns);
      line_end = line.data + line.size;
      counted = at;
      line_number = reader->lines + 1;
    }
    try_line(reader, anchor, line, place);
  }
  if (reader->pending_count)
    HSC_TRY(commit_line(reader, text, line, line_number));
  reader->lines += count_newlines(text.data + counted, text.size - counted, &newline);
  return NULL;
}

static void drop_front(hsc_bytes *buffer, size_t size) {
  memmove(buffer->data, buffer->data + size, buffer->size - size);
  buffer->size -= size;
}

static hsc_status *look_at_buffer(hsc_log_reader *reader, bool is_end) {
  hsc_bytes *buffer = &reader->buffer;
  while (buffer->size) {
    const char *newline = memrchr(buffer->data, '\n', buffer->size);
    size_t size = newline ? (size_t)(newline - buffer->data) + 1 : 0;
    bool is_piece = !size && buffer->size >= HSC_LOG_SEGMENT_BYTES;
    if (!size && (is_piece || is_end))
      size = buffer->size;
    if (!size)
      return NULL;
    size_t whole = buffer->size;
    hsc_bytes_append(buffer, "\0\0\0\0\0\0\0\0", PADDING);
    HSC_TRY(hsc_bytes_status(buffer));
    buffer->size = whole;
    if (is_piece)
      reader->tally.long_line = reader->lines + 1;
    HSC_TRY(look_at(reader, (hsc_view){buffer->data, size}));
    reader->ended_in_line = is_piece || (is_end && !newline);
    drop_front(buffer, is_piece && !is_end ? size - OVERLAP_BYTES : size);
    if (is_piece && !is_end)
      return NULL;
  }
  return NULL;
}

hsc_status *hsc_log_reader_feed(hsc_log_reader *reader, const void *bytes, size_t size) {
  reader->bytes += size;
  while (size) {
    size_t piece = size < HSC_LOG_SEGMENT_BYTES ? size : HSC_LOG_SEGMENT_BYTES;
    hsc_bytes_append(&reader->buffer, bytes, piece);
    HSC_TRY(hsc_bytes_status(&reader->buffer));
    HSC_TRY(look_at_buffer(reader, false));
    bytes = (const char *)bytes + piece;
    size -= piece;
  }
  return NULL;
}

hsc_status *hsc_log_reader_finish(hsc_log_reader *reader) {
  HSC_TRY(look_at_buffer(reader, true));
  return hsc__tally_finish(&reader->tally, reader->lines + (reader->ended_in_line ? 1 : 0),
                           reader->bytes);
}
