// plugin_peers.c - see plugin_peers.h. A thread a connection reads what comes and keeps it until it
// is asked for, so that two processes that send to each other at the same time do not wait for one
// another.
#include "plugin/plugin_peers.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/core/clock.h"
#include "base/core/timed_wait.h"
#include "plugin/plugin_internal.h"

enum { TOKEN_BYTES = 16, MEET_SECONDS = 120, WAIT_SECONDS = 600, TEXT_BYTES = 256 };

typedef enum kind { DATA = 1, GIVE_UP = 2 } kind;
typedef struct header {  // of each message on the wire; both ends are the same build
  uint32_t kind;
  uint32_t unused;
  hsc_cpu_message message;
  uint64_t bytes;  // that follow
} header;
typedef struct hello {  // the first bytes of whoever connects
  char magic[8];
  unsigned char token[TOKEN_BYTES];  // of the one it connects to: only the job's processes know it
  int32_t process;
} hello;
static const char magic[8] = "hscpeer1";

typedef struct item {
  header header;
  struct item *next;
  unsigned char data[];
} item;

typedef struct peer {
  struct hsc__peers *peers;
  int32_t process;
  int socket;  // -1 = none
  pthread_t reader;
  bool has_reader;
  bool is_gone;        // under the lock, as what came
  item *first, **end;  // in the order of arrival
  pthread_mutex_t writing;
} peer;

typedef struct counter {
  uint64_t program, runs;
  struct counter *next;
} counter;

struct hsc__peers {
  int process, count;
  int wait_seconds;
  int listener;  // -1 = closed
  unsigned char token[TOKEN_BYTES];
  char boot[40];  // this machine since it was started
  pthread_mutex_t lock;
  pthread_cond_t came;
  counter *counters;
  peer all[];  // [count]; our own has no socket: what it sends itself comes at once
};

// ---- bytes --------------------------------------------------------------------------------------

static hsc_status *gone(int process) {
  return HSC_ERR(UNAVAILABLE, "process %d of this job is gone", process);
}

static bool write_all(int socket, const void *data, size_t bytes) {
  const char *at = data;
  while (bytes > 0) {
    ssize_t wrote = send(socket, at, bytes, MSG_NOSIGNAL);
    if (wrote < 0 && errno == EINTR)
      continue;
    if (wrote <= 0)
      return false;
    at += wrote;
    bytes -= (size_t)wrote;
  }
  return true;
}

static bool read_all(int socket, void *data, size_t bytes) {
  char *at = data;
  while (bytes > 0) {
    ssize_t got = recv(socket, at, bytes, 0);
    if (got < 0 && errno == EINTR)
      continue;
    if (got <= 0)
      return false;
    at += got;
    bytes -= (size_t)got;
  }
  return true;
}

// Takes the item.
static void deliver(peer *p, item *i) {
  pthread_mutex_lock(&p->peers->lock);
  *p->end = i;
  p->end = &i->next;
  pthread_cond_broadcast(&p->peers->came);
  pthread_mutex_unlock(&p->peers->lock);
}

static void *read_messages(void *argument) {
  peer *p = argument;
  header h;
  for (;;) {
    if (!read_all(p->socket, &h, sizeof h) || h.bytes > PTRDIFF_MAX - sizeof(item))
      break;
    item *i = hsc_alloc(sizeof *i + h.bytes);
    if (!i)
      break;
    i->header = h;
    if (!read_all(p->socket, i->data, h.bytes)) {
      hsc_free(i);
      break;
    }
    deliver(p, i);
  }
  pthread_mutex_lock(&p->peers->lock);
  p->is_gone = true;
  pthread_cond_broadcast(&p->peers->came);
  pthread_mutex_unlock(&p->peers->lock);
  return NULL;
}

// ---- the key-value store ------------------------------------------------------------------------

static PJRT_Error *callback_error(PJRT_Error_Code code, const char *message, size_t size) {
  return hsc__error_of(
      hsc_status_make((hsc_code)code, __FILE__, __LINE__, "%.*s", (int)size, message));
}
static PJRT_CallbackError callback = callback_error;

// The error that a callback returned, as a status; NULL for NULL.
static hsc_status *status_of(PJRT_Error *error) {
  if (!error)
    return NULL;
  PJRT_Error_Message_Args message = {.struct_size = PJRT_Error_Message_Args_STRUCT_SIZE,
                                     .error = error};
  PJRT_Error_GetCode_Args code = {.struct_size = PJRT_Error_GetCode_Args_STRUCT_SIZE,
                                  .error = error};
  PJRT_Error_Destroy_Args destroy = {.struct_size = PJRT_Error_Destroy_Args_STRUCT_SIZE,
                                     .error = error};
  hsc__PJRT_Error_Message(&message);
  hsc__PJRT_Error_GetCode(&code);
  hsc_status *status = hsc_status_make((hsc_code)code.code, __FILE__, __LINE__, "%.*s",
                                       (int)message.message_size, message.message);
  hsc__PJRT_Error_Destroy(&destroy);
  return status;
}

static hsc_status *put_value(const hsc__peers_options *o, const char *key, const char *value) {
  PJRT_KeyValuePutCallback_Args args = {.struct_size = PJRT_KeyValuePutCallback_Args_STRUCT_SIZE,
                                        .key = key,
                                        .key_size = strlen(key),
                                        .value = value,
                                        .value_size = strlen(value),
                                        .callback_error = &callback,
                                        .user_arg = o->put_user};
  return status_of(o->put(&args));
}

static hsc_status *get_value(const hsc__peers_options *o, const char *key, char out[TEXT_BYTES]) {
  PJRT_KeyValueGetCallback_Args args = {.struct_size = PJRT_KeyValueGetCallback_Args_STRUCT_SIZE,
                                        .key = key,
                                        .key_size = strlen(key),
                                        .timeout_in_ms = MEET_SECONDS * 1000,
                                        .callback_error = &callback,
                                        .user_arg = o->get_user};
  HSC_TRY(status_of(o->get(&args)));
  bool fits = args.value && args.value_size < TEXT_BYTES;
  if (fits) {
    memcpy(out, args.value, args.value_size);
    out[args.value_size] = 0;
  }
  if (args.value && args.value_deleter_callback)
    args.value_deleter_callback(args.value);
  return fits ? NULL : HSC_ERR(INTERNAL, "the key-value store has no sound value for %s", key);
}

// ---- meeting ------------------------------------------------------------------------------------

// What a process tells the others: "1 BOOT ADDRESS PORT TOKEN DEVICES".
typedef struct card {
  char boot[40], address[64], token[2 * TOKEN_BYTES + 1];
  int port, device_count;
} card;

static void read_boot_id(char out[40]) {
  FILE *file = fopen("/proc/sys/kernel/random/boot_id", "r");
  if (!file || fscanf(file, "%39s", out) != 1)
    snprintf(out, 40, "unknown");
  if (file)
    fclose(file);
}

// Listens where the others are told to connect: on this machine only, unless
// HLOSCOPE_PEER_ADDRESS names an address of it that other machines reach.
static hsc_status *start_listening(hsc__peers *peers, card *own) {
  const char *address = getenv("HLOSCOPE_PEER_ADDRESS");
  struct sockaddr_in where = {.sin_family = AF_INET};
  socklen_t size = sizeof where;
  snprintf(own->address, sizeof own->address, "%s", address && *address ? address : "127.0.0.1");
  if (inet_pton(AF_INET, own->address, &where.sin_addr) != 1)
    return HSC_ERR(INVALID_ARGUMENT, "HLOSCOPE_PEER_ADDRESS=%s: an IPv4 address is expected",
                   own->address);
  peers->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (peers->listener < 0 ||
      bind(peers->listener, (const struct sockaddr *)&where, sizeof where) < 0 ||
      listen(peers->listener, peers->count) < 0 ||
      getsockname(peers->listener, (struct sockaddr *)&where, &size) < 0)
    return hsc_status_errno(errno, "cannot listen for the other processes of this job",
                            own->address);
  own->port = ntohs(where.sin_port);
  if (getrandom(peers->token, sizeof peers->token, 0) != (ssize_t)sizeof peers->token)
    return hsc_status_errno(errno, "no random number", "getrandom");
  for (int i = 0; i < TOKEN_BYTES; i++)
    snprintf(own->token + 2 * i, 3, "%02x", peers->token[i]);
  return NULL;
}

static hsc_status *connect_to(hsc__peers *peers, int process, const card *other) {
  struct sockaddr_in where = {.sin_family = AF_INET, .sin_port = htons((uint16_t)other->port)};
  hello h = {.process = peers->process};
  if (strcmp(other->boot, peers->boot) != 0 && !strncmp(other->address, "127.", 4))
    return hsc_status_hint(
        HSC_ERR(UNAVAILABLE, "process %d of this job is on another machine", process),
        "HLOSCOPE_PEER_ADDRESS=ADDRESS there says how it is reached");
  memcpy(h.magic, magic, sizeof magic);
  for (int i = 0; i < TOKEN_BYTES; i++) {
    unsigned byte = 0;
    sscanf(other->token + 2 * i, "%2x", &byte);
    h.token[i] = (unsigned char)byte;
  }
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  peers->all[process].socket = fd;
  if (fd < 0 || inet_pton(AF_INET, other->address, &where.sin_addr) != 1 ||
      connect(fd, (const struct sockaddr *)&where, sizeof where) < 0 ||
      !write_all(fd, &h, sizeof h))
    return HSC_ERR(UNAVAILABLE, "process %d of this job does not answer at %s:%d", process,
                   other->address, other->port);
  return NULL;
}

// Takes the connections of the processes with higher numbers. Whoever says something else than
// they would is hung up on.
static hsc_status *accept_others(hsc__peers *peers) {
  int64_t begin = hsc_now_ns();
  for (int missing = peers->count - 1 - peers->process; missing > 0;) {
    int64_t left_ms = MEET_SECONDS * 1000 - (hsc_now_ns() - begin) / 1000000;
    struct pollfd ready = {.fd = peers->listener, .events = POLLIN};
    if (left_ms <= 0 || poll(&ready, 1, (int)left_ms) == 0)
      return HSC_ERR(DEADLINE_EXCEEDED, "%d processes of this job did not connect within %d s",
                     missing, MEET_SECONDS);
    int fd = accept4(peers->listener, NULL, NULL, SOCK_CLOEXEC);
    struct timeval patience = {.tv_sec = 5};
    hello h;
    if (fd < 0)
      continue;
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    bool is_ours = read_all(fd, &h, sizeof h) && !memcmp(h.magic, magic, sizeof magic) &&
                   !memcmp(h.token, peers->token, TOKEN_BYTES) && h.process > peers->process &&
                   h.process < peers->count && peers->all[h.process].socket < 0;
    if (!is_ours) {
      close(fd);
      continue;
    }
    patience.tv_sec = 0;
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    peers->all[h.process].socket = fd;
    missing--;
  }
  return NULL;
}

// The processes that are there after this client's: a job may make several clients.
static hsc_status *meet(hsc__peers *peers, const hsc__peers_options *o, int *out_device_counts) {
  static _Atomic int clients[HSC_PLUGIN_MAX_DEVICES];  // by process: a test has several in one
  int client = clients[peers->process]++;
  card own = {.device_count = o->device_count};
  char key[64];
  char text[TEXT_BYTES];
  read_boot_id(peers->boot);
  HSC_TRY(start_listening(peers, &own));
  snprintf(text, sizeof text, "1 %s %s %d %s %d", peers->boot, own.address, own.port, own.token,
           own.device_count);
  snprintf(key, sizeof key, "hloscope/%d/%d", client, peers->process);
  HSC_TRY(put_value(o, key, text));
  for (int i = 0; i < peers->count; i++) {
    card other = {.device_count = o->device_count};
    out_device_counts[i] = o->device_count;
    if (i == peers->process)
      continue;
    snprintf(key, sizeof key, "hloscope/%d/%d", client, i);
    HSC_TRY(hsc_status_note(get_value(o, key, text), "while: waiting for process %d of %d", i,
                            peers->count));
    if (sscanf(text, "1 %39s %63s %d %32s %d", other.boot, other.address, &other.port, other.token,
               &other.device_count) != 5 ||
        other.device_count < 1)
      return HSC_ERR(FAILED_PRECONDITION, "process %d of this job has another version of hloscope",
                     i);
    out_device_counts[i] = other.device_count;
    if (i < peers->process)
      HSC_TRY(connect_to(peers, i, &other));
  }
  return accept_others(peers);
}

hsc_status *hsc__peers_create(const hsc__peers_options *options,
                              int *out_device_counts,
                              hsc__peers **out_peers) {
  *out_peers = NULL;
  if (options->process_count > 1 && (!options->get || !options->put))
    return HSC_ERR(FAILED_PRECONDITION,
                   "a job of %d processes needs the key-value store of its host",
                   options->process_count);
  size_t count = (size_t)options->process_count;
  hsc__peers *peers = hsc_alloc(sizeof *peers + count * sizeof(peer));
  if (!peers)
    return hsc_status_out_of_memory();
  const char *wait = getenv("HLOSCOPE_COLLECTIVE_TIMEOUT");
  peers->process = options->process;
  peers->count = options->process_count;
  peers->wait_seconds = wait && atoi(wait) > 0 ? atoi(wait) : WAIT_SECONDS;
  peers->listener = -1;
  pthread_mutex_init(&peers->lock, NULL);
  hsc_cond_init(&peers->came);
  for (int i = 0; i < peers->count; i++) {
    peers->all[i] = (peer){.peers = peers, .process = i, .socket = -1};
    peers->all[i].end = &peers->all[i].first;
    pthread_mutex_init(&peers->all[i].writing, NULL);
  }
  out_device_counts[peers->process] = options->device_count;
  hsc_status *status = peers->count > 1 ? meet(peers, options, out_device_counts) : NULL;
  for (int i = 0; i < peers->count && !status; i++) {
    peer *p = &peers->all[i];
    int on = 1;
    if (i == peers->process)
      continue;
    setsockopt(p->socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    int error = pthread_create(&p->reader, NULL, read_messages, p);
    p->has_reader = error == 0;
    if (error)
      status = hsc_status_errno(error, "cannot start a thread", "pthread_create");
  }
  if (peers->listener >= 0)
    close(peers->listener);
  if (status)
    hsc__peers_destroy(peers);
  else
    *out_peers = peers;
  return status;
}

void hsc__peers_destroy(hsc__peers *peers) {
  if (!peers)
    return;
  for (int i = 0; i < peers->count; i++) {
    peer *p = &peers->all[i];
    if (p->socket >= 0)
      shutdown(p->socket, SHUT_RDWR);
    if (p->has_reader)
      pthread_join(p->reader, NULL);
    if (p->socket >= 0)
      close(p->socket);
    for (item *at = p->first, *next; at; at = next) {
      next = at->next;
      hsc_free(at);
    }
    pthread_mutex_destroy(&p->writing);
  }
  for (counter *at = peers->counters, *next; at; at = next) {
    next = at->next;
    hsc_free(at);
  }
  pthread_mutex_destroy(&peers->lock);
  pthread_cond_destroy(&peers->came);
  hsc_free(peers);
}

// ---- messages -----------------------------------------------------------------------------------

static hsc_status *send_message(peer *p, const header *h, const void *data) {
  if (p->process == p->peers->process) {
    item *i = hsc_alloc(sizeof *i + h->bytes);
    if (!i)
      return hsc_status_out_of_memory();
    i->header = *h;
    if (h->bytes > 0)
      memcpy(i->data, data, h->bytes);
    deliver(p, i);
    return NULL;
  }
  pthread_mutex_lock(&p->writing);
  bool is_sent = write_all(p->socket, h, sizeof *h) && write_all(p->socket, data, h->bytes);
  pthread_mutex_unlock(&p->writing);
  return is_sent ? NULL : gone(p->process);
}

hsc_status *hsc__peers_send(
    void *user, int32_t process, const hsc_cpu_message *message, const void *data, size_t bytes) {
  hsc__peers *peers = user;
  header h = {.kind = DATA, .message = *message, .bytes = bytes};
  return send_message(&peers->all[process], &h, data);
}

// A process that is gone needs not be told.
void hsc__peers_give_up_to(hsc__peers *peers, int32_t process, uint64_t run) {
  header h = {.kind = GIVE_UP, .message = {.run = run}};
  hsc_status_free(send_message(&peers->all[process], &h, NULL));
}

void hsc__peers_give_up(void *user, uint64_t run) {
  hsc__peers *peers = user;
  for (int i = 0; i < peers->count; i++)
    if (i != peers->process)
      hsc__peers_give_up_to(peers, i, run);
}

static void unlink_item(peer *p, item **at) {
  item *taken = *at;
  *at = taken->next;
  if (p->end == &taken->next)
    p->end = at;
}

// Under the lock: the item, unlinked, or NULL; *out_failed: that process gave the run up.
static item *take_item(peer *p, const hsc_cpu_message *message, bool *out_failed) {
  for (item **at = &p->first; *at; at = &(*at)->next) {
    const header *h = &(*at)->header;
    if (h->message.run != message->run)
      continue;
    *out_failed = *out_failed || h->kind == GIVE_UP;
    if (h->kind == DATA && !memcmp(&h->message, message, sizeof *message)) {
      item *taken = *at;
      unlink_item(p, at);
      return taken;
    }
  }
  return NULL;
}

hsc_status *hsc__peers_receive(
    void *user, int32_t process, const hsc_cpu_message *message, void *out_data, size_t bytes) {
  hsc__peers *peers = user;
  peer *p = &peers->all[process];
  bool is_failed = false;
  bool is_late = false;
  item *taken = NULL;
  struct timespec until = hsc_moment_after_ns(peers->wait_seconds * (int64_t)1000000000);
  pthread_mutex_lock(&peers->lock);
  while (!(taken = take_item(p, message, &is_failed)) && !is_failed && !p->is_gone && !is_late)
    is_late = !hsc_cond_wait_until(&peers->came, &peers->lock, &until);
  pthread_mutex_unlock(&peers->lock);
  hsc_status *status = NULL;
  if (taken && taken->header.bytes == bytes)
    memcpy(out_data, taken->data, bytes);
  else if (taken)
    status = HSC_ERR(FAILED_PRECONDITION, "process %d of this job runs another program", process);
  else if (is_failed)
    status = HSC_ERR(ABORTED, "a device of process %d failed", process);
  else if (is_late)
    status =
        hsc_status_hint(HSC_ERR(DEADLINE_EXCEEDED,
                                "process %d of this job did not come to this program's exchange "
                                "within %d s",
                                process, peers->wait_seconds),
                        "all processes must run the same programs in the same order; "
                        "HLOSCOPE_COLLECTIVE_TIMEOUT=SECONDS waits longer");
  else
    status = gone(process);
  hsc_free(taken);
  return status;
}

void hsc__peers_forget(hsc__peers *peers, uint64_t run) {
  pthread_mutex_lock(&peers->lock);
  for (int i = 0; i < peers->count; i++)
    for (item **at = &peers->all[i].first; *at;) {
      item *here = *at;
      if (here->header.message.run != run) {
        at = &here->next;
        continue;
      }
      unlink_item(&peers->all[i], at);
      hsc_free(here);
    }
  pthread_mutex_unlock(&peers->lock);
}

uint64_t hsc__peers_next_run(hsc__peers *peers, uint64_t program) {
  pthread_mutex_lock(&peers->lock);
  counter *at = peers->counters;
  while (at && at->program != program)
    at = at->next;
  if (!at && (at = hsc_alloc(sizeof *at))) {
    *at = (counter){.program = program, .next = peers->counters};
    peers->counters = at;
  }
  uint64_t parts[2] = {program, at ? at->runs++ : 0};
  pthread_mutex_unlock(&peers->lock);
  return hsc_hash64(parts, sizeof parts, 0);
}
