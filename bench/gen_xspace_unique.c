// gen_xspace_unique.c - a profile of any size in which no event is like another, with what its
// tables must say: gen_xspace_unique EVENTS FILE [SUMS]
//
// Seven eighths of the events are operators of seven devices /device:TPU:N: each step runs a loop
// that holds a shuffled choice of 400 operators, every duration and every gap drawn anew. The rest
// are operators on four threads of /host:CPU, as XLA:CPU writes them, with five stats each. Written
// straight through: a line is generated twice, for its length and for its bytes, so that memory
// does not grow with the file. SUMS gets a row for each operator: plane kind, name, occurrences,
// time and self time in picoseconds, as the generator added them up. 88 million events are 2.4 GB.
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEVICES = 7, THREADS = 4, OPS = 400, IN_STEP = 250 };

typedef struct sink {
  FILE *file;  // NULL: only counted
  uint64_t bytes;
} sink;

static void put(sink *s, const void *data, size_t size) {
  s->bytes += size;
  if (s->file && fwrite(data, 1, size, s->file) != size) {
    perror("write");
    exit(1);
  }
}

static int varint(uint8_t *out, uint64_t value) {
  int size = 0;
  for (; value > 127; value >>= 7)
    out[size++] = (uint8_t)(value | 128);
  out[size++] = (uint8_t)value;
  return size;
}

typedef struct message {
  uint8_t data[1024];
  int size;
} message;

static void number(message *m, int field, uint64_t value) {
  m->size += varint(m->data + m->size, (uint64_t)field << 3);
  m->size += varint(m->data + m->size, value);
}

static void bytes(message *m, int field, const void *data, int size) {
  m->size += varint(m->data + m->size, (uint64_t)field << 3 | 2);
  m->size += varint(m->data + m->size, (uint64_t)size);
  memcpy(m->data + m->size, data, (size_t)size);
  m->size += size;
}

static void text(message *m, int field, const char *string) {
  bytes(m, field, string, (int)strlen(string));
}

static void put_message(sink *s, int field, const message *m) {
  message head = {.size = 0};
  head.size += varint(head.data, (uint64_t)field << 3 | 2);
  head.size += varint(head.data + head.size, (uint64_t)m->size);
  put(s, head.data, (size_t)head.size);
  put(s, m->data, (size_t)m->size);
}

static uint64_t draw(uint64_t *state) {  // xorshift64*
  *state ^= *state >> 12;
  *state ^= *state << 25;
  *state ^= *state >> 27;
  return *state * 2685821657736338717u;
}

typedef struct sum {
  uint64_t count, time, self;
} sum;
static sum device_sums[OPS + 1], host_sums[OPS + 1];  // the loop is the last

enum {
  STAT_CATEGORY = 1,
  STAT_PROGRAM,
  STAT_SYMBOL,
  STAT_FLOPS,
  STAT_BYTES,
  STAT_TF_OP,
  STAT_RUN,
  STAT_HLO_OP,
  STAT_MODULE,
  STAT_ORDINAL,
  STAT_COUNT,
  STAT_TEXTS = 100
};
static const char *const stat_names[] = {"",       "hlo_category",   "program_id",    "symbol_id",
                                         "flops",  "bytes_accessed", "tf_op",         "run_id",
                                         "hlo_op", "hlo_module",     "device_ordinal"};

static void event(
    sink *s, uint64_t meta, uint64_t offset, uint64_t duration, const message *stats) {
  message e = {.size = 0};
  number(&e, 1, meta);
  number(&e, 2, offset);
  number(&e, 3, duration);
  memcpy(e.data + e.size, stats->data, (size_t)stats->size);
  e.size += stats->size;
  put_message(s, 4, &e);
}

static void stat_number(message *m, int field, int name, int kind, uint64_t value) {
  message stat = {.size = 0};
  number(&stat, 1, (uint64_t)name);
  number(&stat, kind, value);
  bytes(m, field, stat.data, stat.size);
}

// What a line's events are; the same from the same seed. kind: 0 operators, 1 runs, 2 steps, 3 a
// thread of the host.
static uint64_t generate(sink *s, int kind, int which, uint64_t events, bool add) {
  uint64_t state = 88172645463325252u + 1000003u * (uint64_t)which;
  uint64_t at = 0;
  uint64_t step = 0;
  for (uint64_t done = 0; done < events; step++) {
    message stats = {.size = 0};
    uint64_t start = at;
    uint64_t inside = 0;
    uint64_t count = events - done < IN_STEP + 1 ? events - done : IN_STEP + 1;
    uint64_t members = count - 1;
    static uint64_t ops[IN_STEP], gaps[IN_STEP], durations[IN_STEP];
    for (uint64_t i = 0; i < members; i++) {
      uint64_t r = draw(&state);
      ops[i] = r % OPS;
      gaps[i] = (r >> 12) % 300000;
      durations[i] = 1000 + (r >> 32) % 30000000;
      inside += gaps[i] + durations[i];
    }
    uint64_t loop = inside + 5000 + draw(&state) % 100000;
    uint64_t pause = draw(&state) % 3000000;
    if (kind == 0 || kind == 3) {
      sum *sums = kind == 0 ? device_sums : host_sums;
      uint64_t self = loop;
      for (uint64_t i = 0; i <= members; i++) {
        uint64_t op = i ? ops[i - 1] : OPS;
        uint64_t duration = i ? durations[i - 1] : loop;
        if (i)
          at += gaps[i - 1];
        stats.size = 0;
        if (kind == 3) {
          stat_number(&stats, 4, STAT_HLO_OP, 7, STAT_TEXTS + op);
          stat_number(&stats, 4, STAT_MODULE, 7, STAT_TEXTS + OPS + 1);
          stat_number(&stats, 4, STAT_PROGRAM, 4, 38);
          stat_number(&stats, 4, STAT_RUN, 4, step);
          stat_number(&stats, 4, STAT_ORDINAL, 4, (uint64_t)which);
        } else {
          stat_number(&stats, 4, STAT_RUN, 3, 1000 + step);
        }
        event(s, 1000 + op, at, duration, &stats);
        if (i) {
          at += duration;
          self -= duration;
        }
        if (add && i) {
          sums[op].count++;
          sums[op].time += duration;
          sums[op].self += duration;
        }
      }
      if (add) {
        sums[OPS].count++;
        sums[OPS].time += loop;
        sums[OPS].self += self;
      }
    } else {
      stat_number(&stats, 4, STAT_RUN, 3, 1000 + step);
      event(s, kind == 1 ? 1 : 100000 + step, start, loop, &stats);
    }
    at = start + loop + pause;
    done += count;
  }
  return step;
}

static void put_line(
    sink *s, int number_of_line, const char *name, int kind, int which, uint64_t events) {
  message head = {.size = 0};
  number(&head, 1, (uint64_t)number_of_line);
  text(&head, 2, name);
  number(&head, 3, 1000);
  sink counted = {0};
  generate(&counted, kind, which, events, false);
  message prefix = {.size = 0};
  prefix.size += varint(prefix.data, 3 << 3 | 2);
  prefix.size += varint(prefix.data + prefix.size, (uint64_t)head.size + counted.bytes);
  put(s, prefix.data, (size_t)prefix.size);
  put(s, head.data, (size_t)head.size);
  generate(s, kind, which, events, s->file != NULL);
}

static void put_meta(sink *s, int field, uint64_t id, const message *value) {
  message entry = {.size = 0};
  number(&entry, 1, id);
  bytes(&entry, 2, value->data, value->size);
  put_message(s, field, &entry);
}

static void put_stat_meta(sink *s, uint64_t id, const char *name) {
  message m = {.size = 0};
  number(&m, 1, id);
  text(&m, 2, name);
  put_meta(s, 5, id, &m);
}

static void op_name(char *out, size_t size, int op) {
  if (op == OPS)
    snprintf(out, size, "while.1");
  else
    snprintf(out, size, "fusion.%d", op);
}

static void put_plane(sink *s, int which, uint64_t events) {
  bool is_host = which == DEVICES;
  char name[64];
  message m = {.size = 0};
  snprintf(name, sizeof name, is_host ? "/host:CPU" : "/device:TPU:%d", which);
  number(&m, 1, (uint64_t)which);
  text(&m, 2, name);
  put(s, m.data, (size_t)m.size);
  uint64_t steps = 0;
  if (is_host) {
    for (int t = 0; t < THREADS; t++) {
      snprintf(name, sizeof name, "tf_XLAEigen/%d", t);
      put_line(s, 10 + t, name, 3, 100 + t, events / THREADS);
    }
  } else {
    put_line(s, 1, "Steps", 2, which, events);
    put_line(s, 2, "XLA Modules", 1, which, events);
    put_line(s, 3, "XLA Ops", 0, which, events);
    sink none = {0};
    steps = generate(&none, 2, which, events, false);
  }
  for (int op = 0; op <= OPS; op++) {
    char whole[200], framework[64];
    op_name(name, sizeof name, op);
    snprintf(whole, sizeof whole,
             op == OPS ? "%%%s = s32[] while(%%p)" : "%%%s = f32[128,%d]{1,0} fusion(%%p)", name,
             op + 1);
    snprintf(framework, sizeof framework, "jit(f)/layer_%d/%s:", op / 10, name);
    m.size = 0;
    number(&m, 1, 1000 + (uint64_t)op);
    text(&m, 2, is_host ? name : whole);
    if (!is_host) {
      text(&m, 4, name);
      stat_number(&m, 5, STAT_CATEGORY, 7, STAT_TEXTS + (op == OPS ? 1001 : 1000));
      stat_number(&m, 5, STAT_PROGRAM, 3, 38);
      stat_number(&m, 5, STAT_SYMBOL, 3, 1 + (uint64_t)op);
      stat_number(&m, 5, STAT_FLOPS, 3, op == OPS ? 0 : 1000 + (uint64_t)op);
      stat_number(&m, 5, STAT_BYTES, 3, op == OPS ? 0 : 4096);
      message stat = {.size = 0};
      number(&stat, 1, STAT_TF_OP);
      text(&stat, 5, framework);
      bytes(&m, 5, stat.data, stat.size);
    }
    put_meta(s, 4, 1000 + (uint64_t)op, &m);
    if (is_host)
      put_stat_meta(s, STAT_TEXTS + (uint64_t)op, name);
  }
  m.size = 0;
  number(&m, 1, 1);
  text(&m, 2, "jit_f(38)");
  put_meta(s, 4, 1, &m);
  for (uint64_t i = 0; i < steps; i++) {
    snprintf(name, sizeof name, "%" PRIu64, i);
    m.size = 0;
    number(&m, 1, 100000 + i);
    text(&m, 2, name);
    put_meta(s, 4, 100000 + i, &m);
  }
  for (int i = 1; i < STAT_COUNT; i++)
    put_stat_meta(s, (uint64_t)i, stat_names[i]);
  put_stat_meta(s, STAT_TEXTS + OPS + 1, "jit_f");
  put_stat_meta(s, STAT_TEXTS + 1000, "loop fusion");
  put_stat_meta(s, STAT_TEXTS + 1001, "while");
}

int main(int count, char **arguments) {
  if (count < 3) {
    fprintf(stderr, "gen_xspace_unique EVENTS FILE [SUMS]\n");
    return 2;
  }
  uint64_t events = (uint64_t)strtod(arguments[1], NULL) / (DEVICES + 1);
  sink s = {.file = fopen(arguments[2], "wb")};
  if (!s.file) {
    perror(arguments[2]);
    return 1;
  }
  static char buffer[1 << 20];
  setvbuf(s.file, buffer, _IOFBF, sizeof buffer);
  for (int plane = 0; plane <= DEVICES; plane++) {
    sink counted = {0};
    message prefix = {.size = 0};
    put_plane(&counted, plane, events);
    prefix.size += varint(prefix.data, 1 << 3 | 2);
    prefix.size += varint(prefix.data + prefix.size, counted.bytes);
    put(&s, prefix.data, (size_t)prefix.size);
    put_plane(&s, plane, events);
  }
  if (fclose(s.file)) {
    perror(arguments[2]);
    return 1;
  }
  FILE *sums = count > 3 ? fopen(arguments[3], "w") : NULL;
  if (count > 3 && !sums) {
    perror(arguments[3]);
    return 1;
  }
  if (sums)
    fprintf(sums, "kind,name,occurrences,time_ps,self_ps\n");
  for (int kind = 0; sums && kind < 2; kind++)
    for (int op = 0; op <= OPS; op++) {
      const sum *x = kind ? &host_sums[op] : &device_sums[op];
      char name[64];
      op_name(name, sizeof name, op);
      fprintf(sums, "%s,%s,%" PRIu64 ",%" PRIu64 ",%" PRIu64 "\n", kind ? "host" : "device", name,
              x->count, x->time, x->self);
    }
  if (sums && fclose(sums)) {
    perror(arguments[3]);
    return 1;
  }
  printf("%" PRIu64 " bytes\n", s.bytes);
  return 0;
}
