// line_match.c - many literals at once, then one line at a time.
//
// Each match gives one window of `window` bytes out of its longest literal: the one whose bytes are
// rarest in logs. shift[h] says how far the search may go on when the last four bytes of its window
// hash to h: 0 where a window of some match ends with them, else the least distance from such bytes
// to the end of a window, FAR where no window holds them: then it may go on by window - 3. A chain
// of candidates hangs on each hash with shift 0.
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "doctor/line_match.h"

enum {
  HASH_BITS = 14,
  HASH_SIZE = 1 << HASH_BITS,
  MAX_REGEX_LINE = 16384,
  MATCH_LIMIT = 100000,
  FAR = 128,
  GRAM = 4
};

typedef struct anchor {
  const hsc_match *match;
  uint32_t entry;
  uint32_t window_at;  // offset of the window in the literal
  hsc_view literal;
  pcre2_code *code;
  bool tried_jit, has_jit;
  bool has_groups;
  // the expression begins with the literal, so it can begin only where the literal does
  bool leads;
  // numbers, 0 = none
  int group_module, group_seconds, group_subject, group_package, group_version;
} anchor;

struct hsc_matcher {
  hsc_arena *arena;
  uint8_t shift[HASH_SIZE];
  int first[HASH_SIZE];  // chain of anchors, -1 = none
  anchor *anchors;
  struct link {     // of each anchor, apart from it: the search reads nothing else
    uint64_t head;  // the window's first bytes, as many as fit, under head_mask
    int next;       // in the chain of its hash, -1 = last
  } *links;
  size_t count;
  size_t window;
  uint64_t head_mask;
  pcre2_match_data *data;
  pcre2_match_context *context;
  hsc_knowledge_problem *problems;
  size_t problem_count;
};

static inline uint32_t hash4(const char *at) {
  uint32_t word;
  memcpy(&word, at, GRAM);
  return (word * 0x9E3779B1u) >> (32 - HASH_BITS);
}

static inline uint64_t head_of(const char *at) {
  uint64_t word;
  memcpy(&word, at, 8);
  return word;
}

// How much a byte says: common letters, digits and blanks of logs say little.
static int rarity(unsigned char c) {
  static const char common[] = " etaoinsrldcupmhf0123456789./_-:,";
  const char *place = c ? strchr(common, c) : NULL;
  if (place)
    return place - common < 16 ? 1 : 2;
  return c >= 'a' && c <= 'z' ? 4 : 6;
}

static uint32_t best_window(hsc_view literal, size_t window) {
  int best = -1;
  uint32_t at = 0;
  for (size_t i = 0; i + window <= literal.size; i++) {
    int sum = 0;
    for (size_t k = 0; k < window; k++)
      sum += rarity((unsigned char)literal.data[i + k]);
    if (sum > best) {
      best = sum;
      at = (uint32_t)i;
    }
  }
  return at;
}

static hsc_view longest_literal(const hsc_match *match) {
  hsc_view longest = match->literals[0];
  for (size_t i = 1; i < match->literal_count; i++)
    if (match->literals[i].size > longest.size)
      longest = match->literals[i];
  return longest;
}

static void add_problem(hsc_matcher *m, const hsc_entry *entry, int line, const char *message) {
  m->problems[m->problem_count++] = (hsc_knowledge_problem){
      .path = entry->path ? entry->path : entry->id, .message = message, .line = line};
}

static int group_number(const pcre2_code *code, const char *name) {
  int number = pcre2_substring_number_from_name(code, (PCRE2_SPTR)name);
  return number > 0 ? number : 0;
}

// Whether every match of the expression begins with the literal: it is there as written, with
// nothing after it that could take its last byte back, and there are no alternatives to it.
static bool leads(const char *regex, hsc_view literal) {
  if (strlen(regex) < literal.size || memcmp(regex, literal.data, literal.size) != 0 ||
      strchr("?*+{", regex[literal.size]) || strchr(regex, '|'))
    return false;
  for (size_t i = 0; i < literal.size; i++)
    if (strchr("\\^$.[]()?*+{}", literal.data[i]))
      return false;
  return true;
}

// False when the expression is malformed (noted).
static bool compile(hsc_matcher *m, anchor *a, const hsc_entry *entry) {
  if (!a->match->regex)
    return true;
  int error = 0;
  PCRE2_SIZE offset = 0;
  // Logs are bytes: an expression that asked for UTF-8, as (*UTF) does, would be run over text that
  // is none, which the compiled form does not check.
  a->code = pcre2_compile((PCRE2_SPTR)a->match->regex, PCRE2_ZERO_TERMINATED,
                          PCRE2_NEVER_BACKSLASH_C | PCRE2_NEVER_UTF, &error, &offset, NULL);
  if (!a->code) {
    PCRE2_UCHAR text[128];
    pcre2_get_error_message(error, text, sizeof text);
    add_problem(m, entry, a->match->line,
                hsc_arena_printf(m->arena, "the regex is malformed at byte %zu: %s", (size_t)offset,
                                 (const char *)text));
    return false;
  }
  a->leads = leads(a->match->regex, a->literal);
  a->group_module = group_number(a->code, "module");
  a->group_seconds = group_number(a->code, "seconds");
  a->group_subject = group_number(a->code, "subject");
  a->group_package = group_number(a->code, "package");
  a->group_version = group_number(a->code, "version");
  a->has_groups = a->group_module || a->group_seconds || a->group_subject || a->group_package ||
                  a->group_version;
  return true;
}

static void put_in_tables(hsc_matcher *m) {
  memset(m->shift, FAR, sizeof m->shift);
  for (size_t i = 0; i < HASH_SIZE; i++)
    m->first[i] = -1;
  for (size_t i = 0; i < m->count; i++) {
    const char *window = m->anchors[i].literal.data + m->anchors[i].window_at;
    for (size_t at = 0; at + GRAM <= m->window; at++) {
      uint32_t h = hash4(window + at);
      uint8_t distance = (uint8_t)(m->window - GRAM - at);
      if (distance < m->shift[h])
        m->shift[h] = distance;
      if (distance)
        continue;
      m->links[i].next = m->first[h];
      m->first[h] = (int)i;
    }
  }
}

hsc_status *hsc_matcher_create(const hsc_knowledge *knowledge, hsc_matcher **out_matcher) {
  hsc_status *status = NULL;
  hsc_matcher *m = hsc_alloc(sizeof *m);
  if (!m)
    return hsc_status_out_of_memory();
  HSC_GOTO(hsc_arena_create(&m->arena));
  size_t total = 0;
  m->window = 12;
  for (size_t e = 0; e < hsc_knowledge_count(knowledge); e++)
    total += hsc_knowledge_at(knowledge, e)->match_count;
  m->anchors = HSC_NEW_ARRAY(m->arena, anchor, total + 1);
  m->links = HSC_NEW_ARRAY(m->arena, struct link, total + 1);
  m->problems = HSC_NEW_ARRAY(m->arena, hsc_knowledge_problem, total + 1);
  m->data = pcre2_match_data_create(8, NULL);
  m->context = pcre2_match_context_create(NULL);
  if (!m->anchors || !m->links || !m->problems || !m->data || !m->context) {
    status = hsc_status_out_of_memory();
    goto done;
  }
  pcre2_set_match_limit(m->context, MATCH_LIMIT);
  for (size_t e = 0; e < hsc_knowledge_count(knowledge); e++) {
    const hsc_entry *entry = hsc_knowledge_at(knowledge, e);
    for (size_t i = 0; i < entry->match_count; i++) {
      anchor *a = &m->anchors[m->count];
      *a = (anchor){.match = &entry->matches[i],
                    .entry = (uint32_t)e,
                    .literal = longest_literal(&entry->matches[i])};
      if (!compile(m, a, entry))
        continue;
      if (a->literal.size < m->window)
        m->window = a->literal.size;
      m->count++;
    }
  }
  m->head_mask = m->window >= 8 ? UINT64_MAX : (UINT64_C(1) << 8 * m->window) - 1;
  for (size_t i = 0; i < m->count; i++) {
    anchor *a = &m->anchors[i];
    char bytes[8] = {0};
    a->window_at = best_window(a->literal, m->window);
    memcpy(bytes, a->literal.data + a->window_at, m->window < 8 ? m->window : 8);
    m->links[i] = (struct link){head_of(bytes), -1};
  }
  put_in_tables(m);
  HSC_GOTO(hsc_arena_status(m->arena));
  *out_matcher = m;
  return NULL;
done:
  hsc_matcher_destroy(m);
  return status;
}

void hsc_matcher_destroy(hsc_matcher *m) {
  if (!m)
    return;
  for (size_t i = 0; i < m->count; i++)
    pcre2_code_free(m->anchors[i].code);
  pcre2_match_data_free(m->data);
  pcre2_match_context_free(m->context);
  hsc_arena_destroy(m->arena);
  hsc_free(m);
}

const hsc_knowledge_problem *hsc_matcher_problems(const hsc_matcher *m, size_t *out_count) {
  *out_count = m->problem_count;
  return m->problems;
}

size_t hsc_matcher_entry_of(const hsc_matcher *m, int index) {
  return m->anchors[index].entry;
}

// The first place from p on where the last GRAM bytes of a window may be those of an anchor (its
// shift is 0); beyond `last` where there is none. A shift says how far the window may move without
// missing anything (Wu and Manber, "A Fast Algorithm for Multi-Pattern Searching", 1994).
static inline const char *next_place(const uint8_t *shift,
                                     const char *p,
                                     const char *last,
                                     size_t most) {
  // Four places at once: their look-ups do not wait for each other. The first that is not far away
  // says how to go on from there.
  while (last - p >= 4 * (ptrdiff_t)most) {
    uint32_t a = shift[hash4(p)];
    uint32_t b = shift[hash4(p + most)];
    uint32_t c = shift[hash4(p + 2 * most)];
    uint32_t d = shift[hash4(p + 3 * most)];
    uint32_t step = a;
    if ((a & b & c & d) >= FAR) {
      p += 4 * most;
      continue;
    }
    if (a < FAR) {
      // p stays
    } else if (b < FAR) {
      p += most;
      step = b;
    } else if (c < FAR) {
      p += 2 * most;
      step = c;
    } else {
      p += 3 * most;
      step = d;
    }
    if (!step)
      return p;
    p += step;
  }
  for (uint32_t step; p <= last && (step = shift[hash4(p)]) != 0;)
    p += step < FAR ? step : most;
  return p;
}

// *io_anchor continues the chain at the place *io_at where the last call left off; -1 begins at
// *io_at.
bool hsc_matcher_next(
    const hsc_matcher *m, const char *text, size_t size, size_t *io_at, int *io_anchor) {
  if (m->count == 0 || size < m->window)
    return false;
  const uint8_t *shift = m->shift;
  const size_t most = m->window + 1 - GRAM;
  // the last bytes of the window, GRAM of them, begin at p
  const char *end = text + size;
  const char *p = text + *io_at + m->window - GRAM;
  const struct link *links = m->links;
  const bool head_is_all = m->window <= 8;
  int candidate = *io_anchor >= 0 ? links[*io_anchor].next : -1;
  if (*io_anchor >= 0 && candidate < 0)
    p++;
  const char *last = end - GRAM;
  while (p <= last) {
    if (candidate < 0) {
      p = next_place(shift, p, last, most);
      if (p > last)
        return false;
      candidate = m->first[hash4(p)];
    }
    const char *window = p + GRAM - m->window;
    uint64_t head = head_of(window) & m->head_mask;
    for (; candidate >= 0; candidate = links[candidate].next) {
      if (head != links[candidate].head)
        continue;
      const anchor *a = &m->anchors[candidate];
      if (!head_is_all && memcmp(window, a->literal.data + a->window_at, m->window) != 0)
        continue;
      *io_at = (size_t)(window - text);
      *io_anchor = candidate;
      return true;
    }
    p++;
  }
  return false;
}

// By the literal's rarest byte: memchr looks at 32 bytes at once, the C library's memmem at one.
static bool holds(hsc_view line, hsc_view literal) {
  size_t rare = 0;
  int best = 0;
  for (size_t i = 0; i < literal.size && best < 6; i++)
    if (rarity((unsigned char)literal.data[i]) > best) {
      best = rarity((unsigned char)literal.data[i]);
      rare = i;
    }
  if (!literal.size || literal.size > line.size)
    return literal.size == 0;
  const char *at = line.data + rare;
  const char *end = line.data + line.size - literal.size + rare + 1;
  while (at < end && (at = memchr(at, literal.data[rare], (size_t)(end - at)))) {
    if (!memcmp(at - rare, literal.data, literal.size))
      return true;
    at++;
  }
  return false;
}

static hsc_view group_text(const hsc_matcher *m, hsc_view line, int number) {
  if (!number)
    return (hsc_view){NULL, 0};
  const PCRE2_SIZE *range = pcre2_get_ovector_pointer(m->data) + 2 * number;
  if ((uint32_t)number >= pcre2_get_ovector_count(m->data) || range[0] == PCRE2_UNSET ||
      range[1] < range[0])
    return (hsc_view){NULL, 0};
  return (hsc_view){line.data + range[0], range[1] - range[0]};
}

bool hsc_matcher_try(
    hsc_matcher *m, int index, hsc_view line, const char *place, hsc_capture_groups *out_groups) {
  anchor *a = &m->anchors[index];
  *out_groups = (hsc_capture_groups){0};
  size_t before = (size_t)(place - line.data);
  size_t length = a->literal.size;
  if (before < a->window_at || before - a->window_at + length > line.size ||
      memcmp(place - a->window_at, a->literal.data, length) != 0)
    return false;
  for (size_t i = 0; i < a->match->literal_count; i++)
    if (a->match->literals[i].data != a->literal.data && !holds(line, a->match->literals[i]))
      return false;
  for (size_t i = 0; i < a->match->absent_count; i++)
    if (holds(line, a->match->absent[i]))
      return false;
  if (!a->code)
    return true;
  if (!a->tried_jit) {
    // without JIT it still matches
    a->tried_jit = true;
    a->has_jit = pcre2_jit_compile(a->code, PCRE2_JIT_COMPLETE) == 0;
  }
  size_t start = a->leads ? before - a->window_at : 0;
  if (line.size > MAX_REGEX_LINE)
    line.size = start < MAX_REGEX_LINE ? MAX_REGEX_LINE : start + length;
  PCRE2_SPTR text = (PCRE2_SPTR)line.data;
  int found = a->has_jit ? pcre2_jit_match(a->code, text, line.size, start, 0, m->data, m->context)
                         : pcre2_match(a->code, text, line.size, start, 0, m->data, m->context);
  if (found < 0)
    return false;
  if (!a->has_groups)
    return true;
  out_groups->module = group_text(m, line, a->group_module);
  out_groups->seconds = group_text(m, line, a->group_seconds);
  out_groups->subject = group_text(m, line, a->group_subject);
  out_groups->package = group_text(m, line, a->group_package);
  out_groups->version = group_text(m, line, a->group_version);
  return true;
}
